"""Quotes first: the blocks of the evidence that best answer a question, verbatim and labelled; and
rows that fit it as well as one that is quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from groundgraph.answers.check_support import names_in
from groundgraph.answers.evidence_blocks import INTRODUCES, MAX_BLOCK, Shape, began_above, block_around, has_lines
from groundgraph.answers.quote_candidates import Asked, Candidate, candidates_of, hidden_in, stems_above
from groundgraph.answers.sentence_index import running_lines, sentences_of, stems_of
from groundgraph.answers.table_rows import doubt_of_rows, row_stems, rows_alike, table_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import FoundQuote
from groundgraph.text.original import Original
from groundgraph.text.words import detect_language

MAX_QUOTES = 3
# What all blocks of prose together may have, unless the first one has more; and all those with code, lists or tables.
MAX_CHARS = 660
MAX_CHARS_IN_LINES = 1200
# How many sentences are looked at for the blocks that they belong to.
ANCHORS = 8
# What a stem of the question counts that stands in the block, but in another sentence than its best.
ELSEWHERE = 0.5
# Nothing is quoted unless a sentence, with what it stands under, holds this share of the question.
LEAST_SHARE = 0.1
# A sentence of another piece of evidence than the best one's is quoted when its worth is this share of that one's.
RELATIVE_CUT = 0.7
# A part of a question is quoted for when a sentence holds this share of it, which is also what a source must find.
PART_SHARE = 0.3
# What cannot stand alone is quoted for this share of the question, when no other quote holds that.
HIDDEN_SHARE = 0.3
# From this relevance on, a piece that shares no word with the question was still found for it. Only of these sources a
# relevance means the same for every question.
FOUND_OTHERWISE = 0.4
JUDGED = ("knowledge_base", "cascade")


@dataclass(frozen=True)
class Quote:
    """A block of the evidence with label `label`; `start` and `end` are offsets in that evidence's content.

    `score` is the idf-weighted share of the question's stems that its best sentence holds, or by 0.8 that its title or
    heading path holds, discounted by the rank of its evidence; `held` are the stems that the block holds itself.
    """

    label: int
    text: str
    start: int
    end: int
    score: float
    held: frozenset[str]

    def repeats(self, other: Quote) -> bool:
        """Whether some of it stands in `other`."""
        overlaps = self.label == other.label and self.start < other.end and other.start < self.end
        return overlaps or self.text == other.text


def select_quotes(
    question: str,
    evidence: Sequence[SourceResult],
    limit: int = MAX_QUOTES,
    behind: str = "",
    among: Sequence[int] = (),
) -> list[Quote]:
    """At most `limit` blocks, the one that is worth most first; deterministic, without a model.

    An answer mostly stands in several sentences of one piece of evidence. So those of the piece that holds the best
    sentence have only to be the best that are left, and those of other pieces must come close to it. With labels
    `among` which they stand, nothing else is quoted.
    """
    asked = Asked.of(question, evidence, behind)
    candidates = candidates_of(asked, evidence, cut=RELATIVE_CUT, share=LEAST_SHARE, among=among)
    if not any(candidate.score >= LEAST_SHARE for candidate in candidates):
        return [] if any(candidate.holds_some for candidate in candidates) else _in_other_words(evidence)[:limit]
    best = max(candidates, key=lambda candidate: candidate.worth)
    close = [
        candidate
        for candidate in candidates
        if candidate.label == best.label or (candidate.holds_some and candidate.worth >= RELATIVE_CUT * best.worth)
    ]
    # Of equal ones the first in the evidence: the candidates stand in its order.
    anchors = sorted(close, key=lambda candidate: -candidate.worth)[:ANCHORS]
    blocks = [_block(one, candidates, asked, evidence[one.label - 1]) for one in anchors]
    chosen = _Chosen(evidence)
    for block in sorted(blocks, key=lambda block: -block.worth):
        chosen.take(block)
    return chosen.quotes[:limit]


def with_names(question: str, quotes: list[Quote], evidence: Sequence[SourceResult]) -> list[Quote]:
    """`quotes`, the last of `MAX_QUOTES` replaced by the best block that holds a name of the question which none of
    them holds, and nothing that they stand under: of a table with a line for each state, that of the one asked about.
    """
    held = frozenset[str]().union(*(quote.held | stems_above(evidence[quote.label - 1]) for quote in quotes))
    names = names_in(question, detect_language(question)) if quotes else ()
    lacking = frozenset[str]().union(*map(stems_of, names)) - held
    if not lacking:
        return quotes
    asked = Asked.of(question, evidence)
    candidates = candidates_of(asked, evidence)
    naming = [candidate for candidate in candidates if not lacking.isdisjoint(candidate.sentence.stems)]
    if not naming:
        return quotes
    best = max(naming, key=lambda candidate: (len(lacking & candidate.sentence.stems), candidate.worth))
    block = _block(best, candidates, asked, evidence[best.label - 1]).whole
    return quotes if any(map(block.repeats, quotes)) else [*quotes[: MAX_QUOTES - 1], block]


def _hidden(
    asked: Asked, evidence: Sequence[SourceResult], held: frozenset[str]
) -> Iterator[tuple[float, Quote, bool]]:
    """What cannot stand alone, with the share of the question that it alone holds, and whether it stands aside."""
    for label, result in enumerate(evidence, 1):
        known = held | stems_above(result)
        for start, end, aside in hidden_in(result) if asked.stems - known else ():
            text = result.content[start:end]
            own = asked.stems & stems_of(text)
            # Most hold nothing of the question: of lines of marks alone there may be thousands.
            if more := own - known:
                yield asked.share(more), Quote(label, text, start, end, asked.share(own), own), aside


def with_hidden(question: str, quotes: list[Quote], evidence: Sequence[SourceResult]) -> list[Quote]:
    """`quotes` with what holds `HIDDEN_SHARE` of the question that they do not, and cannot stand alone: what a question
    is answered by must be seen. First when it holds more than the first of them, and does not stand aside."""
    asked = Asked.of(question, evidence)
    held = frozenset[str]().union(*(quote.held | stems_above(evidence[quote.label - 1]) for quote in quotes))
    gain, best, behind = HIDDEN_SHARE, None, False
    for more, hidden, aside in _hidden(asked, evidence if asked.weights else (), held):
        if more > gain:
            gain, best, behind = more, hidden, aside
    if best is None or any(map(best.repeats, quotes)):
        return quotes
    ahead = not quotes or (best.score > quotes[0].score and not behind)
    return [best, *quotes][:MAX_QUOTES] if ahead else [*quotes[: MAX_QUOTES - 1], best]


def select_for_parts(
    parts: Mapping[str, Sequence[int]], evidence: Sequence[SourceResult], *, each: bool = True
) -> list[Quote]:
    """The best blocks of each of `parts`, which a question consists of, in turn: those with a sentence that holds
    `PART_SHARE` of it, or where there is none the best for `each`. Behind each part stands what it is quoted `among`,
    as for `select_quotes`."""
    every = [select_quotes(part, evidence, among=among) for part, among in parts.items()]
    found = [[one for one in own if one.score >= PART_SHARE] or own[:each] for own in every]
    chosen: list[Quote] = []
    for one in filter(None, chain.from_iterable(zip_longest(*found))):
        if len(chosen) < max(MAX_QUOTES, len(parts)) and not any(map(one.repeats, chosen)):
            chosen.append(one)
    return chosen


def closest_quotes(question: str, evidence: Sequence[SourceResult], among: Sequence[int] = ()) -> list[Quote]:
    """The best block of the first piece, then the best blocks, for a question that nothing answers: which passage comes
    closest is better told by its rank than by its sentences. See `select_quotes`."""
    rank = min(among, default=1)
    first = select_quotes(question, evidence[:rank], 1, among=[rank])
    others = [one for one in select_quotes(question, evidence, among=among) if not any(map(one.repeats, first))]
    return [*first, *others][:MAX_QUOTES]


class _Block(NamedTuple):
    """The block of a sentence, what it is worth, and the sentence alone, if that says something by itself; `in_lines`
    when code, a list or a table is part of it."""

    worth: float
    whole: Quote
    alone: Quote | None
    in_lines: bool


def _block(anchor: Candidate, candidates: Sequence[Candidate], asked: Asked, result: SourceResult) -> _Block:
    worths = {one.sentence.start: one.worth for one in candidates if one.label == anchor.label}
    own, shape = anchor.sentence, Shape.of(result)
    start, end = block_around(shape, own, worths, asked.stems)
    text = result.content[start:end]
    held = asked.stems & stems_of(text)
    # What it stands under counts for each of its sentences.
    elsewhere = held - own.stems - stems_above(result)
    more = asked.share(elsewhere) if elsewhere else 0.0
    whole = Quote(anchor.label, text, start, end, anchor.score, held)
    alone = Quote(anchor.label, anchor.text, own.start, own.end, anchor.score, asked.stems & own.stems)
    worth = anchor.worth + ELSEWHERE * more * anchor.discount
    is_whole = own.quotable and not began_above(shape, own.start)
    return _Block(worth, whole, alone if is_whole else None, has_lines(shape, start, end))


class _Chosen:
    """The quotes of an answer: what there is room for, nothing twice, and what stands together together."""

    def __init__(self, evidence: Sequence[SourceResult]) -> None:
        self._evidence = evidence
        self._taken = {True: 0, False: 0}
        self.quotes: list[Quote] = []

    def take(self, block: _Block) -> None:
        """Take `block` in, or the sentence alone where the whole repeats something or is too long; perhaps neither."""
        for quote, in_lines in ((block.whole, block.in_lines), (block.alone, False)):
            taken, most = self._taken[in_lines], MAX_CHARS_IN_LINES if in_lines else MAX_CHARS
            if quote and (not self.quotes or taken + len(quote.text) <= most) and self._is_new(quote):
                self._taken[in_lines] += len(quote.text)
                self._add(quote)
                return

    def _is_new(self, quote: Quote) -> bool:
        # Behind another block an introduction alone promises something that does not come.
        introduces = self.quotes and quote.text.endswith(INTRODUCES)
        return not introduces and not any(map(quote.repeats, self.quotes))

    def _add(self, quote: Quote) -> None:
        content = self._evidence[quote.label - 1].content
        for place, other in enumerate(self.quotes):
            start, end = min(quote.start, other.start), max(quote.end, other.end)
            between = content[min(quote.end, other.end) : max(quote.start, other.start)]
            if quote.label == other.label and not between.strip() and end - start <= MAX_BLOCK:
                held = quote.held | other.held
                self.quotes[place] = Quote(quote.label, content[start:end], start, end, other.score, held)
                return
        self.quotes.append(quote)


def found_quote(label: int, result: SourceResult, start: int, end: int) -> FoundQuote:
    """Characters `start` to `end` of the content of `result`, with their offsets in the original where it is known."""
    offset = Original(result).origin or 0
    return {"label": label, "text": result.content[start:end], "start": offset + start, "end": offset + end}


def _in_other_words(evidence: Sequence[SourceResult]) -> list[Quote]:
    """The first block of the best piece that was found by a text written for it, by a transformed query or by its
    vector, and shares no word with the question; none otherwise."""
    for label, result in enumerate(evidence, 1):
        if result.source_type in JUDGED and result.relevance >= FOUND_OTHERWISE:
            own = [one for one in sentences_of(result.content, running_lines(result)) if one.quotable]
            blocks = [block_around(Shape.of(result), one, {}) for one in own[:1]]
            return [Quote(label, result.content[start:end], start, end, 0.0, frozenset()) for start, end in blocks]
    return []


MAX_ROWS = 10


class Alike(NamedTuple):
    """The quotes with those rows among them.

    Attributes:
        quotes: the quotes.
        labels: of the rows among them, none where no other row fits as well as one that was quoted.
        found: how many of them were found, if more may be in the source or are left out; else 0.
    """

    quotes: list[Quote]
    labels: frozenset[int]
    found: int


def stated_rows(evidence: Sequence[SourceResult]) -> Alike | None:
    """The numbers that were computed for a question, and the rows that it asked for as such; None when it asked for
    something else. A number is the answer though it may hold no word of "And in April?"."""
    labels = [label for label, result in enumerate(evidence, 1) if result.metadata.get("asked_for")]
    counts = [label for label, result in enumerate(evidence, 1) if result.metadata.get("computed")]
    if not labels and not counts:
        return None
    quotes = [_whole(label, evidence[label - 1]) for label in [*counts, *labels[:MAX_ROWS]]]
    return Alike(quotes, frozenset(labels), len(labels) if len(labels) > MAX_ROWS else 0)


def with_rows_alike(question: str, quotes: list[Quote], evidence: Sequence[SourceResult], behind: str = "") -> Alike:
    """`quotes`, with at most `MAX_ROWS` rows that hold the same words of the question as the first row among them, and
    of the one `behind` it; none more where other evidence holds more of the question. What holds of its words
    only some that these rows hold too is left out."""
    first = _first_row(quotes, evidence)
    alike = rows_alike(first.label, Asked.of(question, evidence), evidence, behind) if first else []
    if first is None or len(alike) < 2:
        return Alike(quotes, frozenset(), 0)
    quoted = {quote.label: quote for quote in quotes}
    shown = alike[:MAX_ROWS]
    rows = [quoted.get(label) or _whole(label, evidence[label - 1]) for label in shown]
    # None of the rows stands before the first.
    besides = [
        one for one in quotes if one.label not in alike and not _holds_less(one, first.label, question, evidence)
    ]
    at = quotes.index(first)
    # Of rows of which some say the opposite it is not told that they fit alike.
    told = not quoted.keys() >= set(alike) and doubt_of_rows(question, [evidence[label - 1] for label in alike]) is None
    return Alike([*besides[:at], *rows, *besides[at:]], frozenset(shown), len(alike) if told else 0)


def _holds_less(quote: Quote, row: int, question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether `quote` with what it stands under holds only some of the words of `question` that the `row` holds."""
    asked = Asked.of(question, evidence).stems
    return asked & (quote.held | stems_above(evidence[quote.label - 1])) < asked & row_stems(evidence[row - 1])


def _first_row(quotes: Sequence[Quote], evidence: Sequence[SourceResult]) -> Quote | None:
    return next((quote for quote in quotes if any(table_of(evidence[quote.label - 1]))), None)


def _whole(label: int, result: SourceResult) -> Quote:
    return Quote(label, result.content, 0, len(result.content), 0.0, frozenset())
