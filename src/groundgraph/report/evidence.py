"""The evidence of a recorded turn: what the answer cites, what it had beside, and what was left out on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from groundgraph.answers.citations import best_scored, claims_by_label
from groundgraph.core.evidence import SourceResult, from_row
from groundgraph.report.words import Span, joined
from groundgraph.text.original import Original

# Which sentence is meant, wherever it is read: in the answer's Markdown, in its lines without markup, in a finding.

_MARKUP = re.compile(r"[*_`~#>|\\\s]+")


def claim_key(text: str) -> str:
    """The letters, digits and other signs of a sentence, without Markdown, list signs and white space."""
    return _MARKUP.sub("", text).lstrip("-+•")


# The path that a turn took through the graph, with the time of every step.

# Behind the search.
_FIRST_WORK = "merge_results"
# The order of the steps in records of version 0.1, which do not tell it; others stood before the answer.
_BEFORE = ("rewrite_question", "resolve_intent", "route_categories", "judge_complexity", "decompose_question")
_BEHIND = (_FIRST_WORK, "join_neighbours", "process_results", "rerank_results", "rotate_results", "fit_budget",
           "arrange_results", "backfill_facts")  # fmt: skip
_LAST = ("answer", "check_citations")
_STYLES = ("conversational", "structured", "hybrid")


@dataclass(frozen=True)
class Step:
    """One node of the graph in this turn, or one work of `process_results`.

    Attributes:
        node: its name.
        start: milliseconds from the first step that was timed to its beginning.
        elapsed: how long it took, in milliseconds; None where the record holds no time.
        source: for `retrieve_source`, which one was asked.
        status: `ok`, or how it ended otherwise.
    """

    node: str
    start: float = 0.0
    elapsed: float | None = None
    source: str = ""
    status: str = "ok"


def path_of(record: Mapping[str, Any]) -> list[Step]:
    """The steps of a full `record` in their order.

    Sources are asked at once, so their steps begin together and the next one begins when the slowest has ended.
    """
    names = _names(record)
    if "mode" not in record["intent"]:
        # A fixed reply, which the first step gives: nothing was searched for.
        return [Step("begin_turn"), Step("record_turn")]
    at_search = names.index(_FIRST_WORK) if _FIRST_WORK in names else len(names)
    before = _timed(record, names[:at_search], 0.0)
    at = _end(before)
    asked = [
        Step("retrieve_source", at, report.get("elapsed_ms", 0.0), name, report["status"])
        for name, report in record["sources"].items()
    ]
    steps = [Step("begin_turn"), *before, *asked, *_timed(record, names[at_search:], max(at, _end(asked)))]
    end = duration_of(steps)
    steps += [Step("repair_answer", end)] if record.get("repaired") else []
    steps += [Step("refuse_answer", end)] if record["finish"] == "withheld" else []
    return [*steps, Step("record_turn", end)]


def _names(record: Mapping[str, Any]) -> list[str]:
    """The steps of a record in their order; an answer whose time is not known stands before what follows it."""
    timings = record.get("timings_ms", {})
    known = [step["step"] for step in record.get("steps", [])]
    if not known:
        others = [name for name in timings if name not in (*_BEFORE, *_BEHIND, *_LAST)]
        known = [name for name in (*_BEFORE, *_BEHIND, *others, *_LAST) if name in timings]
    if "answer" not in known:
        known.insert(known.index("check_citations") if "check_citations" in known else len(known), "answer")
    return known


def _timed(record: Mapping[str, Any], names: Sequence[str], at: float) -> list[Step]:
    """Steps one after another from `at` on."""
    stages, timings = record["intent"].get("stages", {}), record.get("timings_ms", {})
    steps: list[Step] = []
    for name in names:
        ended = stages.get(name, {}).get("status", "ran")
        node = _answering(record) if name == "answer" else name
        steps.append(Step(node, at, timings.get(name), status="ok" if ended == "ran" else ended))
        at += timings.get(name, 0.0)
    return steps


def _end(steps: Sequence[Step]) -> float:
    return max((step.start + (step.elapsed or 0.0) for step in steps), default=0.0)


def duration_of(steps: Sequence[Step]) -> float:
    """Milliseconds of all steps that were timed, on the longest way."""
    return _end(steps)


def _answering(record: Mapping[str, Any]) -> str:
    style = record["style"]["used"]
    return f"answer_{style}" if style in _STYLES else "report_absence"


Record = Mapping[str, Any]


@dataclass(frozen=True)
class Piece:
    """One piece of evidence.

    Attributes:
        row: as the record holds it: `text`, `source_name`, `relevance`, `metadata` and so on.
        label: its number in the turn; for what was left out, that of the passage it is part of.
        citations: of the record, those of this passage, the best first; empty where the answer does not cite it.
        spans: what supports the answer, offsets in the row's text; the first citation's quote has the id `qLABEL`.
        targets: by `claim_key`, the id of the span that a sentence of the answer rests on.
        reasons: for what was left out, the steps that may have done it.
    """

    row: Record
    label: int | None = None
    citations: Sequence[Record] = ()
    spans: Sequence[Span] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    reasons: Sequence[str] = ()


@dataclass(frozen=True)
class Evidence:
    """All evidence of a turn, in the order of labels, what was left out in the order of sources."""

    cited: list[Piece] = field(default_factory=list)
    others: list[Piece] = field(default_factory=list)
    left_out: list[Piece] = field(default_factory=list)


def evidence_of(record: Record) -> Evidence:
    """The evidence of a full `record`, as `load_provenance` gives it."""
    citations: dict[int, list[Record]] = {}
    for citation in record.get("citations", []):
        citations.setdefault(citation["label"], []).append(citation)
    claims = claims_by_label(record["answer"])
    cited, others = list[Piece](), list[Piece]()
    for row in sorted(record["results"], key=lambda row: row["label"]):
        label = row["label"]
        if label in citations:
            cited.append(_cited(row, citations[label], claims.get(label, []), record))
        else:
            others.append(Piece(row, label))
    return Evidence(cited, others, _left_out(record))


def _cited(row: Record, citations: Sequence[Record], claims: Sequence[str], record: Record) -> Piece:
    """The piece with its citations' quotes, the answer's other quotations, and a place for every sentence that cites
    it: that of the sentence which agrees best with it, by the same rule that chose the quote."""
    label = row["label"]
    result = from_row(row)
    quote, *more = [_cited_place(result, citation) for citation in citations]
    quotations = (
        _quoted_place(row, one) for one in record["citation_check"].get("quotes", []) if one["label"] == label
    )
    places = {
        claim_key(text): Span(one.start, one.end) for text in claims if (one := best_scored([text], label, result))
    }
    spans = _spans(quote, (*more, *quotations, *places.values()), label)
    targets = {key: one.id for key, place in places.items() for one in spans if _overlap(place, one)}
    return Piece(row, label, citations, spans, targets)


def _spans(quote: Span | None, others: Iterable[Span | None], label: int) -> list[Span]:
    """What is marked: the quote at its offsets and nowhere else, since what overlaps with it rests on it, and the
    others."""
    beside = joined([span for span in others if span and not (quote and _overlap(span, quote))])
    spans = [Span(span.start, span.end, f"q{label}-{at}") for at, span in enumerate(beside, 1)]
    if quote:
        spans.append(Span(quote.start, quote.end, f"q{label}"))
    return sorted(spans, key=lambda span: span.start)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _cited_place(result: SourceResult, citation: Record) -> Span | None:
    """Where the quote of `citation` stands in the text: at its offsets, which count in the original; else where its
    words stand, as in a text that a model wrote from the original."""
    at = Original(result).find(citation["quote"], citation["start"])
    return None if at is None else Span(at, at + len(citation["quote"].replace("\r\n", "\n")))


def _quoted_place(row: Record, quote: Record) -> Span | None:
    """Where a quotation of the answer stands in the text of `row`: its offsets count from that text's own."""
    text, words = row["text"], quote["text"]
    origin, start = row["metadata"].get("start"), quote["start"]
    if isinstance(start, int):
        start -= origin if isinstance(origin, int) else 0
        if start >= 0 and text[start : start + len(words)] == words:
            return Span(start, start + len(words))
    at = text.find(words)
    return Span(at, at + len(words)) if words and at >= 0 else None


def _left_out(record: Record) -> list[Piece]:
    """What sources gave and the ranking does not hold, each once."""
    used = {_identity(row) for row in record["results"]}
    steps = steps_that_left_out(record)
    pieces: dict[tuple[str, str, str], Piece] = {}
    for rows in record["results_by_source"].values():
        for row in rows:
            if _identity(row) not in used:
                whole = next((one["label"] for one in record["results"] if _holds(one, row)), None)
                pieces[_identity(row)] = Piece(row, whole, reasons=["joined"] if whole else steps)
    return list(pieces.values())


def _identity(row: Record) -> tuple[str, str, str]:
    # One id may stand for two texts.
    return row["source_name"], row["source_id"], row["text"]


def _holds(whole: Record, part: Record) -> bool:
    """Whether `part` was joined with its neighbours into `whole`."""
    same = whole["source_name"] == part["source_name"]
    document = whole["metadata"].get("document") == part["metadata"].get("document")
    return same and document and part["text"] in whole["text"]


def steps_that_left_out(record: Record) -> list[str]:
    """The steps between the sources and the answer that left something out: `relative_threshold`, `reranker`,
    `rotation`, `budget`, and `answerable` when what was left was held to say too little."""
    ran = record.get("strategies", {})
    counts = {
        "relative_threshold": _count(ran, "relative_threshold", "dropped"),
        "reranker": _count(ran, "reranker", "dropped"),
        "rotation": _count(ran, "rotation", "left_out"),
        "budget": _count(ran, "budget", "left_out"),
    }
    steps = [name for name, count in counts.items() if count]
    given = sum(len(rows) for rows in record["results_by_source"].values())
    return steps if record["results"] or sum(counts.values()) >= given else [*steps, "answerable"]


def _count(ran: Mapping[str, Any], step: str, name: str) -> int:
    entry = ran.get(step)
    value = entry.get(name, 0) if isinstance(entry, Mapping) else 0
    return value if isinstance(value, int) else 0


# A recorded turn with what is found out about it once, however often its page is made smaller.


@dataclass
class RecordedTurn:
    """A full record.

    Attributes:
        record: as `load_provenance` gives it.
    """

    record: Mapping[str, Any]

    @cached_property
    def evidence(self) -> Evidence:
        """Its evidence."""
        return evidence_of(self.record)

    @cached_property
    def path(self) -> Sequence[Step]:
        """Its way through the graph."""
        return path_of(self.record)

    @cached_property
    def stored(self) -> str:
        """The record as JSON, with the length of evidence in place of its text."""
        by_source = {name: [_without_text(row) for row in rs] for name, rs in self.record["results_by_source"].items()}
        results = [_without_text(row) for row in self.record["results"]]
        document = {**self.record, "results": results, "results_by_source": by_source}
        return json.dumps(document, ensure_ascii=False, indent=1, default=str)


def _without_text(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in ("text", "text_preview")}
    return {**kept, "text_characters": len(row["text"])}
