"""Rows that fit a question as well as one that is quoted: to "Which orders are open?" all of them are the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from groundgraph.answers.quote_candidates import Asked
from groundgraph.answers.quotes import Quote
from groundgraph.answers.sentence_index import stems_of
from groundgraph.core.evidence import SourceResult

MAX_ROWS = 10
# Longer ones are texts that stand in a table.
ROW_CHARS = 300


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


def asked_rows(evidence: Sequence[SourceResult]) -> Alike | None:
    """The rows that a question asked for as such, and before them how many there are in all, where not all were found;
    None when it asked for something else."""
    labels = [label for label, result in enumerate(evidence, 1) if result.metadata.get("asked_for")]
    if not labels:
        return None
    counts = [label for label, result in enumerate(evidence, 1) if result.metadata.get("computed")]
    quotes = [_whole(label, evidence[label - 1]) for label in [*counts, *labels[:MAX_ROWS]]]
    return Alike(quotes, frozenset(labels), len(labels) if len(labels) > MAX_ROWS else 0)


def with_rows_alike(question: str, quotes: list[Quote], evidence: Sequence[SourceResult]) -> Alike:
    """`quotes`, with at most `MAX_ROWS` rows that hold the same words of the question as the first row among them; none
    more where other evidence holds more of the question."""
    first = _first_row(quotes, evidence)
    alike = _labels_alike(first.label, Asked.of(question, evidence), evidence) if first else []
    if first is None or len(alike) < 2:
        return Alike(quotes, frozenset(), 0)
    quoted = {quote.label: quote for quote in quotes}
    shown = alike[:MAX_ROWS]
    rows = [quoted.get(label) or _whole(label, evidence[label - 1]) for label in shown]
    # None of the rows stands before the first.
    at, others = quotes.index(first), [quote for quote in quotes if quote.label not in alike]
    found = 0 if quoted.keys() >= set(alike) else len(alike)
    return Alike([*others[:at], *rows, *others[at:]], frozenset(shown), found)


def _first_row(quotes: Sequence[Quote], evidence: Sequence[SourceResult]) -> Quote | None:
    return next((quote for quote in quotes if any(_group(evidence[quote.label - 1]))), None)


def _labels_alike(first: int, asked: Asked, evidence: Sequence[SourceResult]) -> list[int]:
    """The labels of the rows of one table that hold the same words of the question as the row `first`; none where it
    holds no word, or something else holds more."""
    held = [asked.stems & _stems(result) for result in evidence]
    own, group = held[first - 1], _group(evidence[first - 1])
    if not own or any(asked.share(own) < asked.share(one) for one in held):
        return []
    pairs = zip(held, evidence, strict=True)
    return [label for label, (one, result) in enumerate(pairs, 1) if one == own and _group(result) == group]


def _group(result: SourceResult) -> tuple[str, str]:
    """The source and the table, or the file, of which `result` is a short row; two empty texts when it is none."""
    told, content = result.metadata, result.content
    if len(content) > ROW_CHARS or content.partition(":")[0] not in told:
        return "", ""
    if "file_row" in told:
        return result.source_name, str(told.get("document"))
    return (result.source_name, str(told["table"])) if "table" in told and "key" in told else ("", "")


def _stems(result: SourceResult) -> frozenset[str]:
    return stems_of(result.content) | stems_of(str(result.metadata.get("section") or ""))


def _whole(label: int, result: SourceResult) -> Quote:
    return Quote(label, result.content, 0, len(result.content), 0.0, frozenset())
