"""One ranking out of what the sources gave; a piece of evidence gets its label by its place in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from langgraph.runtime import Runtime

from groundgraph.chains.merge import STRATEGIES, Hit, concatenate, fuse_queries, times_found
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ranking, Ref, Retrieval
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, ended, hits_of, of_path, ref_of


def merge_results(
    settings: Settings, source_names: Sequence[str], evidence: EvidenceStore, *, ending: Ending | None = None
) -> Node[RankingInput, RankingUpdate]:
    """The node; sources take turns in the order of `source_names`."""
    weights = {entry.name: entry.weight for entry in settings.sources}
    merge = STRATEGIES[settings.retrieval.merge]
    joins = {path: _joining(settings, processing.rrf_k) for path, processing in settings.paths.items()}

    async def merge_results(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started = time.perf_counter()
        lists = _lists_by_source(state["retrievals"], source_names)
        keys = [ref[0] for refs in lists.values() for one in refs for ref in one]
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        records = await evidence.load(runtime.store, keys, state.get("bodies"), scope=scope)
        hits = {name: [hits_of(refs, records) for refs in found] for name, found in lists.items()}
        join = of_path(joins, state["turn"])
        by_source = {name: join(found) for name, found in hits.items()}
        merged = merge(by_source, weights)
        runtime.stream_writer({"stage": "merge_results", "results": len(merged)})
        ranking: Ranking = {
            "refs": [ref_of(hit) for hit in merged],
            "by_source": {name: [ref_of(hit) for hit in found] for name, found in by_source.items()},
            "total": len(keys),
            "found_again": times_found(hits.values()),
            "strategy": settings.retrieval.merge,
            "style": None,
        }
        ranking = await ended(state, runtime, ranking, ending)
        return {"ranking": {**ranking, "elapsed_ms": round((time.perf_counter() - started) * 1000, 3)}}

    return merge_results


def _joining(settings: Settings, k: int) -> Callable[[Sequence[Sequence[Hit]]], list[Hit]]:
    return partial(fuse_queries, k=k) if settings.retrieval.deduplicate else concatenate


def _lists_by_source(retrievals: Mapping[str, Retrieval], source_names: Sequence[str]) -> dict[str, list[list[Ref]]]:
    """Each source's lists in the order of its queries; tasks end in any order."""
    lists: dict[str, list[list[Ref]]] = {name: [] for name in source_names}
    for task in sorted(retrievals, key=_query_number):
        retrieval = retrievals[task]
        # The facts of a state answer no query: they stand behind the ranking, see `backfill_facts`.
        if retrieval.get("refs") and retrieval.get("kind") != "state_facts":
            lists[retrieval["source"]].append(retrieval["refs"])
    return {name: found for name, found in lists.items() if found}


def _query_number(task: str) -> int:
    number = task.rpartition("/")[2]
    return int(number) if number.isdigit() else 0
