"""The user's own words in the relevance of a result (P3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from groundgraph.chains.merge import Hit
from groundgraph.chains.normalize import finite
from groundgraph.chains.sentence_index import stems_of
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.text import query_stems


def query_overlap(asked: Collection[str], record: EvidenceRecord) -> float:
    """The share of the stems `asked` that a record holds in its text, title or section, 0 to 1; 0 for no stems."""
    named = " ".join(str(record["metadata"].get(name) or "") for name in ("title", "section"))
    text, names = stems_of(record["content"]), stems_of(named)
    return sum(stem in text or stem in names for stem in asked) / len(asked) if asked else 0.0


def blend_query_overlap(
    hits: Sequence[Hit], records: Mapping[str, EvidenceRecord], message: str, weight: float
) -> list[Hit]:
    """The hits by (1 - weight) * relevance + weight * share of the user's words held, best first.

    Words are compared by their stems, in any script, without stop words. A message without any word changes nothing.
    Ties keep their order.
    """
    asked = query_stems(message)
    if not asked:
        return list(hits)
    values = [min(1.0, max(0.0, value)) for value in finite(hit.relevance for hit in hits)]
    blended = [
        round((1 - weight) * value + weight * query_overlap(asked, records[hit.key]), 6)
        for hit, value in zip(hits, values, strict=True)
    ]
    rated = [replace(hit, relevance=value, score=value) for hit, value in zip(hits, blended, strict=True)]
    return sorted(rated, key=lambda hit: -hit.relevance)
