"""One ranking out of what the sources gave; a piece of evidence gets its label by its place in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count

from groundgraph.core.evidence import Hit
from groundgraph.core.turn_values import Ref, Retrieval
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, hits_of, ref_of

# From the lists that sources returned to one ranking.

RRF_K = 60


def fuse_queries(lists: Sequence[Sequence[Hit]], k: int = RRF_K) -> list[Hit]:
    """One list out of several queries' lists over one source, each id with one text in it once.

    Reciprocal rank fusion: sum over the lists of 1 / (k + rank), ranks from 1 (Cormack, Clarke and Buettcher 2009).
    What several queries found is as the one gave it that states it, else keeps its best relevance and score.
    A single list keeps its order.
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
            if known is None or _worth(hit) > _worth(known):
                best[passage] = hit
    return [best[one] for one in sorted(fused, key=lambda one: -fused[one])]


def _worth(hit: Hit) -> tuple[bool, float, float]:
    return hit.stated, hit.relevance, hit.score


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


def merge_results(parts: WorkParts) -> Work:
    """The work; sources take turns in the order in which the graph has them."""
    settings = parts.settings
    weights = {entry.name: entry.weight for entry in settings.sources}
    strategy = settings.retrieval.merge
    merge = STRATEGIES[strategy]
    join = partial(fuse_queries, k=parts.way.rrf_k) if settings.retrieval.deduplicate else concatenate

    async def merge_results(view: View) -> Change:
        lists = _lists_by_source(view.state["retrievals"], list(parts.sources))
        refs = [ref for found in lists.values() for one in found for ref in one]
        records = await view.records(refs)
        hits = {name: [hits_of(one, records) for one in found] for name, found in lists.items()}
        by_source = {name: join(found) for name, found in hits.items()}
        merged = [ref_of(hit) for hit in merge(by_source, weights)]
        return Change(
            merged,
            ranking={
                **view.ranking,
                "by_source": {name: [ref_of(hit) for hit in found] for name, found in by_source.items()},
                "total": len(refs),
                "found_again": times_found(hits.values()),
                "strategy": strategy,
            },
            came_in=len(refs),
        )

    return merge_results


def _lists_by_source(retrievals: Mapping[str, Retrieval], source_names: Sequence[str]) -> dict[str, list[list[Ref]]]:
    """Each source's lists in the order of its queries; tasks end in any order."""
    lists: dict[str, list[list[Ref]]] = {name: [] for name in source_names}
    for task in sorted(retrievals, key=_query_number):
        retrieval = retrievals[task]
        # The facts of a state answer no query: they stand behind the ranking, see `backfill_facts`.
        if retrieval["refs"] and retrieval["kind"] != "state_facts":
            lists[retrieval["source"]].append(retrieval["refs"])
    return {name: found for name, found in lists.items() if found}


def _query_number(task: str) -> int:
    number = task.rpartition("/")[2]
    return int(number) if number.isdigit() else 0
