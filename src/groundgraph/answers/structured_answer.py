"""Answers that need no model: a template over the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import Template

from groundgraph.answers.citations import reference
from groundgraph.answers.evidence_blocks import Shape, ends_in_lines, in_markdown
from groundgraph.answers.label_gate import LabelGate, escape_labels
from groundgraph.answers.named_things import of_numbered, without_name
from groundgraph.answers.provenance import reworded
from groundgraph.answers.quotes import (
    Alike,
    Quote,
    closest_quotes,
    found_quote,
    select_for_parts,
    select_quotes,
    stated_rows,
    with_hidden,
    with_names,
    with_rows_alike,
)
from groundgraph.answers.sentence_index import question_weights, running_lines, snippet
from groundgraph.answers.table_rows import has_cells
from groundgraph.core.characters import without_hidden
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_DRAFT, EMPTY_RANKING, ClusterValue, Divider, Draft, FoundQuote, Ranking
from groundgraph.prompts import Prompts, fenced
from groundgraph.settings.answers import SynthesisSettings
from groundgraph.text.follow_up import asked_parts, question_behind, standing_question
from groundgraph.text.numbers import holds_number, only_days_differ
from groundgraph.text.templates import checked_template, render

# Evidence as answer templates see it.

SNIPPET_CHARS = 300
CONTEXT_SEPARATOR = "\n\n"
# What ends a line in Markdown, and no paragraph.
_BREAK = "  \n"

Shown = Literal["all", "listing", "quotes"]
"""Of the evidence: all that templates of the user's may use, what the built-in ones print, or of that only the quotes,
unless there are none."""


def template_variables(
    evidence: Sequence[SourceResult],
    *,
    message: str,
    metadata: Mapping[str, Any],
    intent: Mapping[str, Any],
    citation_format: str,
    ranking: Ranking = EMPTY_RANKING,
    shown: Shown = "all",
) -> dict[str, Any]:
    """The variables of `synthesis.template` and `synthesis.provenance_template`.

    Numbers in brackets that stand in the evidence or the message themselves are escaped, so that they do not read as
    labels. With clusters, each row's `cluster` is the label of its cluster, or None. What is `shown` by the built-in
    templates is less than all. Where the `ranking` is insufficient, its first pieces are quoted; for the part of
    the question that it leaves unanswered, nothing is.
    """
    asked = standing_question(message, intent)
    queries = list(intent.get("text_queries", ()))
    forms = [asked, *reworded(intent), *queries[:1], *(one for one in queries[1:] if only_days_differ(one, message))]
    behind = question_behind(message, intent)
    quoted = _quotes(forms, evidence, behind, ranking)
    quotes = [
        _quote_row(quote, evidence[quote.label - 1], citation_format, in_lines=not quoted.labels)
        | {"alike": quoted.found if quote.label in quoted.labels else 0}
        for quote in quoted.quotes
    ]
    is_listed = shown != "quotes" or not quotes
    rows = _result_rows(evidence, asked, citation_format, whole=shown == "all") if is_listed else []
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_source.setdefault(row["source_name"], []).append(row)
    variables = {"results": rows, "results_by_source": by_source, "quotes": quotes}
    if shown != "all":
        return variables
    _name_clusters(rows, ranking["clusters"])
    pieces = [_piece(row["label"], row["reference"], row["text"]) for row in rows]
    return {
        **variables,
        "context": _context_of(pieces, ranking["clusters"], ranking["divider"]),
        "message": escape_labels(message),
        "metadata": dict(metadata),
        "intent": dict(intent),
    }


def _name_clusters(rows: Sequence[dict[str, Any]], clusters: Sequence[ClusterValue]) -> None:
    named = {label: cluster["label"] for cluster in clusters for label in cluster["labels"]}
    for label, row in enumerate(rows, 1):
        row["cluster"] = named.get(label)


def _quotes(forms: Sequence[str], evidence: Sequence[SourceResult], behind: str, ranking: Ranking) -> Alike:
    """The quotes for the first of `forms`, the question and what was searched for, of which a sentence holds a word;
    where they answer, with the rows that fit as well. A number that was computed, and rows that were asked for as such,
    are quoted alone, but for other parts of the question."""
    if ranking["insufficient"]:
        closest = (closest_quotes(asked, evidence, _near(asked, evidence)) for asked in dict.fromkeys(forms))
        return Alike(next(filter(None, closest), []), frozenset(), 0)
    unanswered = _unanswered(ranking)
    rows = stated_rows(evidence)
    if rows is not None:
        told = {quote.label for quote in rows.quotes}
        others = select_for_parts(dict.fromkeys(_parts(forms[0], unanswered), ()), evidence, each=False)
        return rows._replace(quotes=[*rows.quotes, *(quote for quote in others if quote.label not in told)])
    for asked in dict.fromkeys(forms):
        if found := _answering(asked, evidence, behind, unanswered):
            return with_rows_alike(asked, found, evidence, behind)
    return Alike([], frozenset(), 0)


def _unanswered(ranking: Ranking) -> str:
    """The part of a question that the evidence hardly answers; empty for none."""
    doubt = ranking["doubt"]
    return doubt[0] if doubt and ranking["doubted"] == "by_part" else ""


def _near(asked: str, evidence: Sequence[SourceResult]) -> list[int]:
    """The labels of what may be quoted for `asked`: what tells of no thing with another number, and holds the code that
    is asked about; none where all of it may be."""
    far = of_numbered(asked, evidence).others | without_name(asked, evidence)
    return [label for label in range(1, len(evidence) + 1) if label - 1 not in far] if far else []


def _parts(asked: str, unanswered: str) -> list[str]:
    """What `asked` consists of, but for the part that the evidence hardly answers."""
    return [part for part in asked_parts(asked) if not unanswered or unanswered not in part]


def _answering(asked: str, evidence: Sequence[SourceResult], behind: str, unanswered: str) -> list[Quote]:
    """The quotes for `asked`, by its parts or as a whole; first with the words of what it leans on."""
    if found := select_for_parts({part: _near(part, evidence) for part in _parts(asked, unanswered)}, evidence):
        return found
    found = select_quotes(asked, evidence, behind=behind) if behind else []
    found = found or select_quotes(asked, evidence, among=_near(asked, evidence))
    return with_hidden(asked, with_names(asked, found, evidence), evidence)


def _quote_row(quote: Quote, result: SourceResult, citation_format: str, *, in_lines: bool) -> dict[str, Any]:
    # Several rows that fit alike are read one below the other, a single one cell by cell.
    by_cell = in_lines and not result.metadata.get("computed") and has_cells(result)
    shown = _BREAK.join(quote.text.splitlines()) if by_cell else in_markdown(Shape.of(result), quote.start, quote.end)
    text = escape_labels(shown)
    return {
        "label": quote.label,
        "text": text,
        "score": quote.score,
        "reference": escape_labels(reference(result, citation_format)),
        "apart": ends_in_lines(text),
        "computed": bool(result.metadata.get("computed")),
        "found": found_quote(quote.label, result, quote.start, quote.end),
    }


def context_text(
    evidence: Sequence[SourceResult],
    citation_format: str,
    clusters: Sequence[ClusterValue] = (),
    divider: Divider | None = None,
) -> str:
    """The evidence as one text, each piece under its label and what the label resolves to, clusters in their tags, and
    `divider` on a line of its own before the facts of the dialogue's state."""
    pieces = [context_piece(label, result, citation_format) for label, result in enumerate(evidence, 1)]
    return _context_of(pieces, clusters, divider)


def _context_of(pieces: list[str], clusters: Sequence[ClusterValue], divider: Divider | None) -> str:
    if clusters:
        pieces = [fenced(piece) for piece in pieces]
    for cluster in clusters:
        first, last = cluster["labels"][0] - 1, cluster["labels"][-1] - 1
        tag = f'<cluster label="{cluster["label"]}" relevance="{cluster["score"]:.2f}">'
        pieces[first] = f"{tag}\n{pieces[first]}"
        pieces[last] = f"{pieces[last]}\n</cluster>"
    if divider and divider["at"] < len(pieces):
        pieces = [*pieces[: divider["at"]], divider["text"], *pieces[divider["at"] :]]
    return CONTEXT_SEPARATOR.join(pieces)


def context_piece(label: int, result: SourceResult, citation_format: str) -> str:
    """One piece of evidence in a context."""
    return _piece(label, escape_labels(reference(result, citation_format)), escape_labels(result.content))


def _piece(label: int, referred: str, text: str) -> str:
    return f"[{label}] {referred}\n{text}"


def _result_rows(
    evidence: Sequence[SourceResult], question: str, citation_format: str, *, whole: bool
) -> list[dict[str, Any]]:
    """The keys of `SourceResult.to_dict`, with `content`, `reference`, `snippet`, `topic`, `depth` and `place` beside
    them, in the order of the labels; of the first what a listing prints unless `whole`."""
    weights = question_weights(question, evidence)
    rows = []
    for label, result in enumerate(evidence, 1):
        row = _whole_row(label, result) if whole else _listed_row(label, result)
        row["snippet"] = escape_labels(snippet(result.content, weights, SNIPPET_CHARS, running_lines(result)))
        row["reference"] = escape_labels(reference(result, citation_format))
        row["topic"], row["depth"], row["place"] = _in_outline(result, row["reference"])
        rows.append(row)
    return rows


def _whole_row(label: int, result: SourceResult) -> dict[str, Any]:
    row = result.plain_row(label)
    row["text"] = row["content"] = escape_labels(result.content)
    row["text_preview"] = escape_labels(row["text_preview"])
    return row


def _listed_row(label: int, result: SourceResult) -> dict[str, Any]:
    return {"source_name": result.source_name, "relevance": result.relevance, "label": label}


def _in_outline(result: SourceResult, whole: str) -> tuple[str, int, str]:
    """The topic that a topic index found the evidence under, how many headings below that it stands, and its place
    there; an empty topic, 0 and `whole` for other evidence."""
    topic, headings = str(result.metadata.get("found_under") or ""), result.metadata.get("headings")
    if not topic:
        return "", 0, whole
    path = [str(heading) for heading in headings] if isinstance(headings, list) else []
    # A heading may hold the separator, so the paths are compared and not taken apart.
    above = next((count for count in range(len(path), 0, -1) if " > ".join(path[:count]) == topic), 0)
    if not above:
        return escape_labels(topic), 0, whole
    return escape_labels(topic), len(path) - above, escape_labels(path[-1])


# As many words of the question as a note names that nothing holds.
MAX_MISSING = 5


@dataclass(frozen=True)
class AnswerTemplates:
    """The user's templates, compiled, and the prompts that stand in for those that are not given."""

    prompts: Prompts
    answer: Template | None = None
    appendix: Template | None = None

    @classmethod
    def compile(cls, synthesis: SynthesisSettings, prompts: Prompts) -> AnswerTemplates:
        """The templates of `synthesis`.

        Raises:
            TemplateInvalid: one does not compile, uses a variable that it is not given, or leaves the sandbox.
        """
        compiled: dict[str, Template] = {}
        for name in ("template", "provenance_template"):
            source, key = getattr(synthesis, name), f"synthesis.{name}"
            if source:
                compiled[name] = checked_template(source, key, _sample())
        return cls(prompts, compiled.get("template"), compiled.get("provenance_template"))

    def structured(
        self,
        variables: Mapping[str, Any],
        language: str,
        opening: str = "",
        *,
        heading: str = "",
    ) -> str:
        """The whole answer: `template`, else `provenance_template`, else `opening` or the quotes first and then the
        results that none is from, below the `heading` of that name when they may not answer the question.

        Raises:
            TemplateInvalid: a template of the user's fails on these variables.
        """
        own = self.answer or self.appendix
        if own is not None:
            return render(own, variables, key="synthesis.template" if self.answer else "synthesis.provenance_template")
        if opening:
            return f"{opening}\n\n{self._listing(variables, language)}"
        quotes = variables["quotes"]
        listing = self._listing(_not_quoted(variables), language)
        return self.prompts.render(
            "structured", locale=language, quotes=quotes, heading=heading, listing=listing
        ).strip()

    def provenance(self, variables: Mapping[str, Any], language: str) -> str:
        """The appendix of the hybrid style: `provenance_template`, else the results by source.

        Raises:
            TemplateInvalid: the user's template fails on these variables.
        """
        if self.appendix is not None:
            return render(self.appendix, variables, key="synthesis.provenance_template")
        return self._listing(variables, language)

    @property
    def has_own(self) -> bool:
        """Whether a template of the user's writes the structured answer."""
        return self.answer is not None or self.appendix is not None

    def built_in(self) -> AnswerTemplates:
        """The same without the user's templates."""
        return AnswerTemplates(self.prompts)

    def _listing(self, variables: Mapping[str, Any], language: str) -> str:
        by_source = variables["results_by_source"]
        if not by_source:
            return ""
        return self.prompts.render("results", locale=language, results_by_source=by_source).strip()


def structured_draft(
    templates: AnswerTemplates,
    variables: Mapping[str, Any],
    language: str,
    ranking: Ranking = EMPTY_RANKING,
    *,
    opening: str = "",
    listed: bool = False,
) -> Draft:
    """The structured answer; when the user's template fails on this turn, the built-in one and a note that says so.
    What was found besides its quotes is `listed` below the built-in one.

    `opening` stands in the place of quotes in the built-in one: the reply to small talk, which no evidence answers.
    For a `doubt` of the `ranking`, a note and the built-in answer itself say that the question may not be answered, and
    the note says by `doubted` why; "by_number" is a doubt only where no quote holds a number. Where an answer `needs` a
    computation, or no sentence answers, the outcome is `insufficient`, and what comes closest is shown as such.

    Labels are numbered by first use. The built-in template prints the label of every result and no other, so only a
    template of the user's passes the gate.
    """
    needs, quotes = ranking["needs"], variables["quotes"]
    notes = [] if opening else _doubt_notes(templates.prompts, quotes, ranking, language)
    heading = _heading(ranking, doubtful=bool(notes))
    own = _by_own_template(templates, variables, language, notes) if templates.has_own else None
    answers = own or opening
    if not (answers or needs):
        notes += _rows_notes(templates.prompts, quotes, language)
    printed = _printed(variables, listed=listed, quoted=not opening)
    return {
        **(own or _by_built_in_template(templates, printed, language, opening, heading=heading)),
        "style": "structured",
        "outcome": "insufficient" if needs or not (answers or quotes) else "answered",
        "finish": "stop",
        "notes": notes,
    }


def _printed(variables: Mapping[str, Any], *, listed: bool, quoted: bool) -> dict[str, Any]:
    """What the built-in template prints of `variables`; without a quote, what was found."""
    if quoted and variables["quotes"]:
        return {**variables, "results_by_source": variables["results_by_source"] if listed else {}}
    return {**variables, "quotes": []}


def _heading(ranking: Ranking, *, doubtful: bool) -> str:
    if ranking["needs"]:
        return "doubtful"
    return ("partly" if ranking["doubted"] == "by_part" else "doubtful") if doubtful else ""


def _by_own_template(
    templates: AnswerTemplates, variables: Mapping[str, Any], language: str, notes: list[str]
) -> Draft | None:
    """What the user's template writes; None, and one of `notes`, when it fails on this turn."""
    gate = LabelGate(allowed=range(1, len(variables["results"]) + 1), renumber=True)
    try:
        text = gate.feed(without_hidden(templates.structured(variables, language)), final=True)
    except TemplateInvalid as error:
        problem = error.problems[0]
        notes.append(templates.prompts.note("template_failed", language, key=problem.key, reason=problem.message))
        return None
    return {**EMPTY_DRAFT, "text": text, "order": gate.used, "removed": list(dict.fromkeys(gate.removed))}


def _by_built_in_template(
    templates: AnswerTemplates, variables: Mapping[str, Any], language: str, opening: str, *, heading: str
) -> Draft:
    order = _order_of_use(variables)
    told = _relabelled(variables, order)
    quotes = [_labelled(quote["found"], quote["label"]) for quote in told["quotes"]]
    text = without_hidden(templates.built_in().structured(told, language, opening, heading=heading))
    return {**EMPTY_DRAFT, "text": text, "order": order, "body": _listing_at(text), "quotes": quotes}


def _doubt_notes(prompts: Prompts, quotes: Sequence[Mapping[str, Any]], ranking: Ranking, language: str) -> list[str]:
    doubt, doubted = ranking["doubt"], ranking["doubted"]
    if doubted == "by_number" and quotes and not any(holds_number(quote["text"]) for quote in quotes):
        doubt = []
    missing = ", ".join((doubt or [])[:MAX_MISSING])
    return [] if doubt is None else [prompts.note("may_not_answer", language, missing=missing, why=doubted)]


def _rows_notes(prompts: Prompts, quotes: Sequence[Mapping[str, Any]], language: str) -> list[str]:
    rows = [quote["alike"] for quote in quotes if quote["alike"]]
    return [prompts.note("rows_alike", language, count=rows[0], shown=len(rows))] if rows else []


def _order_of_use(variables: Mapping[str, Any]) -> list[int]:
    """The numbers of the results in the order in which the built-in template prints them: quotes, then by source."""
    rows = (row for rows in variables["results_by_source"].values() for row in rows)
    return list(dict.fromkeys(item["label"] for item in (*variables["quotes"], *rows)))


def _labelled(quote: FoundQuote, label: int) -> FoundQuote:
    return {**quote, "label": label}


def _not_quoted(variables: Mapping[str, Any]) -> dict[str, Any]:
    """`variables` with the results that no quote is from."""
    quoted = {quote["label"] for quote in variables["quotes"]}
    by_source = {
        name: [row for row in rows if row["label"] not in quoted]
        for name, rows in variables["results_by_source"].items()
    }
    return {**variables, "results_by_source": {name: rows for name, rows in by_source.items() if rows}}


def _relabelled(variables: Mapping[str, Any], order: list[int]) -> dict[str, Any]:
    label_of = {place: label for label, place in enumerate(order, 1)}

    def named(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**item, "label": label_of[item["label"]]} for item in items]

    by_source = {name: named(rows) for name, rows in variables["results_by_source"].items()}
    return {**variables, "quotes": named(variables["quotes"]), "results_by_source": by_source}


def _listing_at(text: str) -> int:
    """Where the listing of the built-in template begins."""
    at = text.find("\n## ")
    if at < 0:
        return len(text)
    line = text.rfind("\n---", 0, at)
    return line if line >= 0 and not text[line:at].strip(" -\n") else at


def _sample() -> dict[str, Any]:
    result = SourceResult(
        "A sentence of evidence.", "id", "source", "memory", 0.5, {"title": "Title", "section": "Section"}
    )
    return template_variables(
        [result],
        message="A question about evidence",
        metadata={},
        intent={"text_queries": [], "filters": {}, "scope": "focused", "mode": "static", "raw_data": {}},
        citation_format="section",
    )
