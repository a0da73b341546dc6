"""The evidence of a recorded turn: what the answer cites, what it had beside, and what was left out on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundgraph.chains.claims import claims_of
from groundgraph.chains.sentence_scores import best_scored
from groundgraph.core.evidence import SourceResult
from groundgraph.core.original import Original
from groundgraph.report.claim_key import claim_key
from groundgraph.report.visible_text import Span, joined

Record = Mapping[str, Any]
# Sentences that are looked at for the places in one passage that they rest on.
_MAX_CLAIMS = 50


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
    claims = _claims_by_label(record["answer"])
    cited, others = list[Piece](), list[Piece]()
    for row in sorted(record["results"], key=lambda row: row["label"]):
        label = row["label"]
        if label in citations:
            cited.append(_cited(row, citations[label], claims.get(label, []), record))
        else:
            others.append(Piece(row, label))
    return Evidence(cited, others, _left_out(record))


def _claims_by_label(answer: str) -> dict[int, list[str]]:
    claims: dict[int, list[str]] = {}
    for claim in claims_of(answer):
        for label in claim.labels:
            claims.setdefault(label, []).append(claim.text)
    return {label: texts[:_MAX_CLAIMS] for label, texts in claims.items()}


def _cited(row: Record, citations: Sequence[Record], claims: Sequence[str], record: Record) -> Piece:
    """The piece with its citations' quotes, the answer's other quotations, and a place for every sentence that cites
    it: that of the sentence which agrees best with it, by the same rule that chose the quote."""
    label = row["label"]
    result = SourceResult(
        row["text"], row["source_id"], row["source_name"], row["source_type"], metadata=row["metadata"]
    )
    quote, *more = [_cited_place(result, citation) for citation in citations]
    quotations = [one for one in record["citation_check"].get("quotes", []) if one["label"] == label]
    others = [place for place in (*more, *(_quoted_place(row, one) for one in quotations)) if place]
    best = {text: best_scored([text], label, result) for text in dict.fromkeys(claims)}
    places = {claim_key(text): Span(one.start, one.end) for text, one in best.items() if one}
    beside = [span for span in (*others, *places.values()) if not (quote and _overlap(span, quote))]
    spans = _named(joined(beside), label)
    if quote:
        # The quote is marked at its offsets and nowhere else; what overlaps with it rests on it.
        spans = sorted([*spans, Span(quote.start, quote.end, f"q{label}")], key=lambda span: span.start)
    targets = {key: one.id for key, place in places.items() for one in spans if _overlap(place, one)}
    return Piece(row, label, citations, spans, targets)


def _named(spans: Sequence[Span], label: int) -> list[Span]:
    return [Span(span.start, span.end, f"q{label}-{at}") for at, span in enumerate(spans, 1)]


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
