"""From the lists that sources returned to one ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

RRF_K = 60


class Hit(NamedTuple):
    """One result of one query to one source, by reference.

    Attributes:
        key: the evidence key.
        source_name: the source that returned it.
        source_id: its id within the source.
        relevance: 0 to 1.
        score: the number by which the source ordered its results.
        text: of the evidence; one id with two texts is two pieces of it.
    """

    key: str
    source_name: str
    source_id: str
    relevance: float
    score: float
    text: str = ""

    @property
    def passage(self) -> tuple[str, str]:
        """See `SourceResult.passage`."""
        return self.source_id, self.text


def fuse_queries(lists: Sequence[Sequence[Hit]], k: int = RRF_K) -> list[Hit]:
    """One list out of several queries' lists over one source, each id with one text in it once.

    Reciprocal rank fusion: sum over the lists of 1 / (k + rank), ranks from 1 (Cormack, Clarke and Buettcher 2009).
    What several queries found keeps its best relevance and score. A single list keeps its order.
    """
    if len(lists) == 1 and len({hit.passage for hit in lists[0]}) == len(lists[0]):
        return [*lists[0]]
    fused: dict[tuple[str, str], float] = {}
    best: dict[tuple[str, str], Hit] = {}
    for hits in lists:
        for rank, hit in enumerate(hits, 1):
            passage = hit.passage
            fused[passage] = fused.get(passage, 0.0) + 1 / (k + rank)
            known = best.get(passage)
            if known is None or (hit.relevance, hit.score) > (known.relevance, known.score):
                best[passage] = hit
    return [best[one] for one in sorted(fused, key=lambda one: -fused[one])]


def round_robin(by_source: Mapping[str, Sequence[Hit]], weights: Mapping[str, int]) -> list[Hit]:
    """Weighted round-robin: in each cycle every source gives its next `weight` results, in the order of the sources."""
    merged: list[Hit] = []
    turns = [(hits, weights.get(name, 1)) for name, hits in by_source.items()]
    for cycle in count():
        taken = [hit for hits, weight in turns for hit in hits[cycle * weight : (cycle + 1) * weight]]
        if not taken:
            return merged
        merged += taken
    raise AssertionError("unreachable: some cycle takes nothing")


def relative_score(by_source: Mapping[str, Sequence[Hit]], weights: Mapping[str, int]) -> list[Hit]:
    """By score, scaled per source to 0..1 by minimum and maximum, times the source's weight.

    A source whose results all have one score, or that has one result, counts with 1. Ties keep the sources' order.
    """
    scored: list[tuple[float, Hit]] = []
    for name, hits in by_source.items():
        scores = [hit.score for hit in hits]
        low, span = (min(scores), max(scores) - min(scores)) if scores else (0.0, 0.0)
        scored += [(((hit.score - low) / span if span > 0 else 1.0) * weights.get(name, 1), hit) for hit in hits]
    return [hit for _, hit in sorted(scored, key=lambda pair: -pair[0])]


def concatenate(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The lists of several queries one after another, with what was found twice standing twice."""
    return [hit for hits in lists for hit in hits]


def times_found(sources: Iterable[Sequence[Sequence[Hit]]]) -> dict[str, int]:
    """How often each passage of a source was found, by the key of its first hit, where that is more than once."""
    first: dict[tuple[str, tuple[str, str]], str] = {}
    times: dict[str, int] = {}
    for hit in (hit for lists in sources for hits in lists for hit in hits):
        key = first.setdefault((hit.source_name, hit.passage), hit.key)
        times[key] = times.get(key, 0) + 1
    return {key: number for key, number in times.items() if number > 1}


def in_order(by_source: Mapping[str, Sequence[Hit]], weights: Mapping[str, int]) -> list[Hit]:  # noqa: ARG001
    """One source after another, each in its own order; weights count nothing."""
    return [hit for hits in by_source.values() for hit in hits]


STRATEGIES = {"round_robin": round_robin, "relative_score": relative_score, "in_order": in_order}
