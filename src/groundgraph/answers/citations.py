"""The sentences of an answer as the checks of its citations see them, and the places that its labels stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from groundgraph.answers.label_gate import CODE, LABEL, label_numbers
from groundgraph.answers.sentence_index import (
    best_sentence,
    question_weights,
    running_lines,
    sentence_weights,
    sentences_of,
    stems_of,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Citation, Flag, FoundQuote
from groundgraph.text.original import Original
from groundgraph.text.words import LANGUAGES, language_data, sentences

# The sentences of an answer.

_SENTENCE_CHARS = 200
_QUOTATION_CHARS = 1000
_CLAIM_CHARS = 4000
# Brackets in code while labels are looked for.
_HIDDEN = str.maketrans("[［【", "\ue000\ue001\ue002")
_SHOWN = str.maketrans("\ue000\ue001\ue002", "[［【")
_LIST_NUMBER = re.compile(r"^([ \t>]*(?:[-*+•#]+[ \t]+)?\**)\d{1,3}[.)](?=\s)", re.MULTILINE)
_INLINE_NUMBER = re.compile(r"(?<![^\s(])(\d{1,2})[.)](?=\s)")
_LEADING_LABELS = re.compile(rf"(?:\s*{LABEL.pattern})+")
_BEFORE_WORDS = re.compile(rf"(?:[ \t]*{LABEL.pattern})++[^\w\n]*\w")


@dataclass(frozen=True)
class Claim:
    """A sentence of an answer without its labels, and the labels that stand in it or right behind it.

    `start` and `end` are where it stands in the answer; `parts` are what stands before each label in it, and the rest.
    """

    text: str
    labels: tuple[int, ...]
    start: int = 0
    end: int = 0
    parts: tuple[Claim, ...] = ()

    def flag(self, kind: str, detail: str) -> Flag:
        """A finding about this sentence."""
        short = self.text if len(self.text) <= _SENTENCE_CHARS else self.text[: _SENTENCE_CHARS - 1] + "…"
        return {"kind": kind, "sentence": short, "detail": detail}


def claims_of(answer: str) -> list[Claim]:
    """The sentences of `answer` with the labels that belong to each; brackets in code are no labels."""
    prose = CODE.sub(lambda code: code.group().translate(_HIDDEN), answer)
    claims: list[Claim] = []
    # Labels that begin a line stand before what they belong to, and so do those further on in it.
    ahead, last = False, 0
    for start, end in _bounded(_sentences(prose)):
        segment = prose[start:end]
        leading = _LEADING_LABELS.match(segment)
        # Nothing stands before the first one, which opens a line too.
        ahead, last = _stand_ahead(segment, prose[last:start] if claims else "\n", ahead), end
        if leading and claims and not ahead:
            claims[-1] = _joined(claims[-1], leading.group(), start + leading.end())
            segment = segment[leading.end() :]
        text = LABEL.sub("", segment).strip().translate(_SHOWN)
        if any(character.isalnum() for character in text):
            claims.append(Claim(text, tuple(labels_of(segment)), end - len(segment), end, tuple(_parts(segment))))
        elif claims:
            claims[-1] = _joined(claims[-1], segment, end)
    return claims


def _stand_ahead(segment: str, before: str, earlier: bool) -> bool:
    """Whether the labels that `segment` begins with belong to it: where a line begins, told by the white space
    `before`, or where those `earlier` in the line do."""
    return (earlier or "\n" in before) and _BEFORE_WORDS.match(segment) is not None


def _parts(sentence: str) -> Iterator[Claim]:
    at = 0
    for found in LABEL.finditer(sentence):
        yield Claim(sentence[at : found.start()].translate(_SHOWN), tuple(label_numbers(found.group(1))))
        at = found.end()
    yield Claim(sentence[at:].translate(_SHOWN), tuple(labels_of(sentence)))


def _bounded(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """`spans` cut to a length that a check can look at; nothing that long is a sentence."""
    for start, end in spans:
        yield from ((at, min(end, at + _CLAIM_CHARS)) for at in range(start, end, _CLAIM_CHARS))


def _sentences(prose: str) -> Iterator[tuple[int, int]]:
    """The sentences of `prose`; a quotation of several sentences is not cut, as long as it stays in its paragraph."""
    open_at: int | None = None
    last = 0
    for start, end in sentences(prose):
        if open_at is not None and ("\n\n" in prose[last:start] or end - open_at > _QUOTATION_CHARS):
            yield open_at, last
            open_at = None
        first, last = start if open_at is None else open_at, end
        segment = prose[first:end]
        open_at = first if any(segment.count(a) > segment.count(b) for a, b in ("“”", "«»")) else None
        if open_at is None:
            yield first, end
    if open_at is not None:
        yield open_at, last


def _joined(claim: Claim, labels: str, end: int) -> Claim:
    """`claim` with the labels that stand behind it."""
    return replace(claim, labels=tuple(dict.fromkeys([*claim.labels, *labels_of(labels)])), end=end)


def labels_of(text: str) -> list[int]:
    """The labels of `text`, which holds no code, in order and each once."""
    return list(dict.fromkeys(number for match in LABEL.finditer(text) for number in label_numbers(match.group(1))))


# A long answer about other things must not fill the record with findings: of a kind, more are not looked for.
MAX_FLAGS = 50

# How a sentence begins that the model marks as not taken from the evidence, as its prompt tells it to.
GENERAL_KNOWLEDGE = tuple(mark for language in LANGUAGES for mark in language_data(language, "replies", "general"))


@dataclass(frozen=True)
class CheckedAnswer:
    """What a check reads: what a model wrote, what it was asked, and the evidence by label.

    Attributes:
        evidence: by label; what the answer does not cite has the labels behind those that it uses.
        cited: how many labels the whole text uses.
        general: how a sentence begins that is marked as general knowledge; empty when none may be.
    """

    written: str
    question: str
    evidence: Mapping[int, SourceResult]
    cited: int = 0
    general: Sequence[str] = ()

    @cached_property
    def claims(self) -> list[Claim]:
        """The sentences that are to rest on the evidence."""
        marks = tuple(mark.lower() for mark in self.general)
        claims = claims_of(without_numbering(self.written))
        return [claim for claim in claims if not (marks and bare(claim.text).lower().startswith(marks))]

    def rests_on(self, claim: Claim) -> list[SourceResult]:
        """The evidence that `claim` cites; all of it when it cites none."""
        cited = [self.evidence[label] for label in claim.labels if label in self.evidence]
        return cited or list(self.evidence.values())

    @cached_property
    def asked(self) -> frozenset[str]:
        """The stems of the question."""
        return stems_of(self.question)


def without_numbering(text: str) -> str:
    """`text` with blanks for the numbers of its lists, also of one that runs on in a line: "1. Drugs 2. Infection"."""
    text = _LIST_NUMBER.sub(_blanks, text)
    expected, run, inline = 1, list[re.Match[str]](), list[re.Match[str]]()
    for found in _INLINE_NUMBER.finditer(text):
        number = int(found.group(1))
        if number != expected:
            inline += run if len(run) > 1 else []
            run, expected = [], 1
        if number == expected:
            run.append(found)
            expected += 1
    blanked = {found.start() for found in [*inline, *(run if len(run) > 1 else [])]}
    return _INLINE_NUMBER.sub(
        lambda found: " " * len(found.group()) if found.start() in blanked else found.group(), text
    )


def _blanks(found: re.Match[str]) -> str:
    return found.group(1) + " " * (len(found.group()) - len(found.group(1)))


def without_fences(text: str) -> str:
    """`text` without blocks of code, whose words and numbers are a program's; code within a line is stated."""
    return CODE.sub(lambda code: " " if code.group().startswith("```") else code.group(), text)


_FENCED_PROGRAM = re.compile(r"```(?!(?:text|txt|plaintext|markdown|md)\s)", re.IGNORECASE)


def without_programs(text: str) -> str:
    """`text` without blocks of code, but for those that are said to be plain text or Markdown."""
    return CODE.sub(lambda code: " " if _FENCED_PROGRAM.match(code.group()) else code.group(), text)


def bare(text: str) -> str:
    """`text` without what Markdown puts before a sentence."""
    return text.lstrip("#>*+-•_ \t")


def named_text(result: SourceResult) -> str:
    """The text of a piece of evidence, with the title, heading path and document that it is shown under."""
    names = map(Original(result).text, ("title", "section", "document"))
    return "\n".join([*filter(None, dict.fromkeys(names)), result.content])


# How well each sentence of the evidence agrees with a sentence of an answer: one score for quotes, citations, checks.
#
# It is the cosine of the two sentences' idf vectors: the squared idf of the stems that they share, over the root of the
# product of both sums (Salton and Buckley 1988, with one occurrence per stem). It needs both directions, so neither a
# short sentence that a long claim happens to hold nor a long one that holds everything stands out. It sees words and
# nothing else: no negation, no swapped roles.

# A sentence of the evidence that agrees this well with a claim is cited for it. On the public half of clapnq precision
# and recall against the sentences that people marked are .96 and .92, and .91 and .94 among four other passages.
CITED_FROM = 0.25


@dataclass(frozen=True)
class ScoredSentence:
    """The sentence at `start` to `end` of the content of the evidence with label `label`; `score` is 0 to 1."""

    label: int
    start: int
    end: int
    score: float


def sentence_scores(claim: str, evidence: Mapping[int, SourceResult]) -> list[ScoredSentence]:
    """Every sentence of `evidence`, by label, with its agreement with `claim`, in the order of the evidence.

    0 for sentences that share no stem of a content word, 1 for the same set of stems.
    """
    own = stems_of(claim)
    weights = sentence_weights(result.content for result in evidence.values())
    claimed = sum(weights(stem) ** 2 for stem in own)
    found: list[ScoredSentence] = []
    for label, result in evidence.items():
        for sentence in sentences_of(result.content, running_lines(result)):
            shared = sum(weights(stem) ** 2 for stem in sentence.stems & own)
            length = math.sqrt(claimed * sum(weights(stem) ** 2 for stem in sentence.stems)) if shared else 0.0
            score = min(1.0, shared / length) if length else 0.0
            found.append(ScoredSentence(label, sentence.start, sentence.end, score))
    return found


def best_scored(claims: Iterable[str], label: int, result: SourceResult) -> ScoredSentence | None:
    """The sentence of `result` that agrees best with one of `claims`, one that can be quoted before one that cannot;
    None when it shares no word with them."""
    own = sentences_of(result.content, running_lines(result))
    quotable = {sentence.start for sentence in own if sentence.quotable}
    scored = [one for claim in claims for one in sentence_scores(claim, {label: result}) if one.score]
    return max(scored, key=lambda one: (one.start in quotable, one.score), default=None)


def sentences_to_cite(claims: list[str], evidence: Mapping[int, SourceResult]) -> list[ScoredSentence]:
    """The sentences of `evidence` that one of `claims` rests on, each with its best score, in order."""
    best: dict[tuple[int, int], ScoredSentence] = {}
    for claim in claims:
        for scored in sentence_scores(claim, evidence):
            known = best.get((scored.label, scored.start))
            if scored.score >= CITED_FROM and (known is None or known.score < scored.score):
                best[scored.label, scored.start] = scored
    return [best[place] for place in sorted(best)]


# Sentences that are looked at to find the quote of one label.
_MAX_CLAIMS = 50
# A label, and offsets in the content of its evidence.
_Place = tuple[int, int, int]


def labels_in(text: str) -> list[int]:
    """The labels of `text` outside code, in the order of first use."""
    # Not a space: the brackets around the code would join to a label.
    return labels_of(CODE.sub("`", text) if "`" in text else text)


def claims_by_label(text: str) -> dict[int, list[str]]:
    """The sentences of `text` that cite each label, each once and at most 50, in their order."""
    claims: dict[int, dict[str, None]] = {}
    for claim in claims_of(without_numbering(text)):
        for label in claim.labels:
            claims.setdefault(label, {})[claim.text] = None
    return {label: list(own)[:_MAX_CLAIMS] for label, own in claims.items()}


def resolve_citations(
    labels: Iterable[int],
    written: str,
    evidence: Mapping[int, SourceResult],
    *,
    question: str,
    quotes: Sequence[FoundQuote] = (),
    language: str = "en",
) -> list[Citation]:
    """The citations of `labels`, as far as they are keys of `evidence`: one for every quoted sentence, in the order of
    `quotes` where all labels are quoted; for a label without a quote one.

    Args:
        labels: in the order in which the citations are wanted.
        written: what a model wrote. The quote of a label is the sentence of its evidence that agrees best with one of
            the sentences that cite it here; see `sentence_scores`.
        evidence: by label.
        question: stands in for the citing sentences where there are none, as in the structured style.
        quotes: what the answer quotes word for word.
        language: of the words in `location`.
    """
    known = [label for label in labels if label in evidence]
    found = (_quoted_place(quote, evidence[quote["label"]]) for quote in quotes if quote["label"] in known)
    places = list(dict.fromkeys(found))
    quoted = {label for label, _, _ in places}
    unquoted = [label for label in known if label not in quoted]
    if unquoted:
        places += _best_places(unquoted, written, question, evidence)
        places.sort(key=lambda place: known.index(place[0]))
    return [_citation(label, evidence[label], start, end, language) for label, start, end in places]


def _quoted_place(quote: FoundQuote, result: SourceResult) -> _Place:
    origin = Original(result).origin or 0
    return quote["label"], quote["start"] - origin, quote["end"] - origin


def _best_places(
    labels: Iterable[int], written: str, question: str, evidence: Mapping[int, SourceResult]
) -> Iterator[_Place]:
    """The sentence of the evidence of each label that agrees best with what cites it, else with the question."""
    claims = claims_by_label(written)
    asked = question_weights(question, evidence.values())
    for label in labels:
        result = evidence[label]
        best = best_scored(claims.get(label, ()), label, result) or best_sentence(
            result.content, asked, running_lines(result)
        )
        yield (label, best.start, best.end) if best else (label, 0, len(result.content))


def _citation(label: int, result: SourceResult, start: int, end: int, language: str) -> Citation:
    original = Original(result)
    derived = result.metadata.get("derived")
    span = original.derived_span() if derived else original.span(start, end)
    citation: Citation = {
        "label": label,
        "source_name": result.source_name,
        "source_id": result.source_id,
        "section": original.text("section"),
        "title": original.text("title"),
        "url": original.text("url"),
        "quote": original.verbatim(start, end),
        "start": span[0] if span else None,
        "end": span[1] if span else None,
        "location": original.location(start, end, language),
        "encoding": original.encoding,
    }
    if derived:
        # A model wrote the text, so the quote stands nowhere in the original: the offsets span what it was made from.
        citation["derived"] = True
    if result.metadata.get("computed"):
        # It stands in no row: it was computed over all that the conditions keep.
        citation["computed"] = True
    return citation


def reference(result: SourceResult, citation_format: str) -> str:
    """What a label resolves to in a prompt or a list: the heading path, or the document."""
    named = Original(result).text
    section, title = named("section"), named("title")
    if citation_format == "source" or not section:
        names = ("document", "url", "title") if citation_format == "source" else ("title", "document", "url")
        # A number says nothing without what it is one of.
        numbered = f"{result.source_name} {result.source_id}" if result.source_id.isdecimal() else result.source_id
        return next(filter(None, map(named, names)), numbered)
    if not title or section.startswith(title):
        return section
    first, _, below = section.partition(" > ")
    if title.startswith(first) and not title[len(first) :][:1].isalnum():
        # Of a page, behind its own heading, that of the site: "Install — Kestrel 4".
        return f"{title} > {below}" if below else title
    # The title is the document's, above the headings of the section, or that of the section itself, the last of them.
    own = not named("document") and section.endswith(f" > {title}")
    return section if own else f"{title} > {section}"
