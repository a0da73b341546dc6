"""Relevances on one scale, the user's own words in them, and the weak results dropped (P1 to P3)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from groundgraph.chains.merge import Hit
from groundgraph.chains.normalize import normalize
from groundgraph.chains.query_overlap import blend_query_overlap
from groundgraph.chains.relative_threshold import relative_threshold
from groundgraph.chains.strategy_chain import Ran, Strategy, first_available
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import (
    Ending,
    RankingInput,
    RankingUpdate,
    changed,
    ended,
    hits_of,
    ref_of,
    with_issue,
)
from groundgraph.prompts import Prompts


def process_results(
    settings: Settings, evidence: EvidenceStore, prompts: Prompts, *, ending: Ending | None = None
) -> Node[RankingInput, RankingUpdate]:
    """The node; each part of it runs only when it is configured."""
    wanted = settings.result_processing
    weights = {entry.name: entry.weight for entry in settings.sources}

    async def process_results(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking, turn = time.perf_counter(), state["ranking"], state["turn"]
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        records = await evidence.load(
            runtime.store, [ref[0] for ref in ranking["refs"]], state.get("bodies"), scope=scope
        )
        hits = hits_of(ranking["refs"], records)
        strategies: dict[str, object] = {}
        if wanted.normalize_steps:
            ran = await _normalized(hits, [step.method for step in wanted.normalize_steps], weights)
            strategies["normalize"] = ran.record()
            hits = hits if ran.value is None else ran.value
            if ran.value is None:
                note = prompts.note("step_failed", turn["language"], step="normalize_strategy", reason=ran.classes)
                ranking = with_issue(ranking, note)
        if wanted.query_rerank_weight is not None:
            hits = blend_query_overlap(hits, records, turn["question"], wanted.query_rerank_weight)
            strategies["query_rerank"] = {"weight": wanted.query_rerank_weight}
        if wanted.relative_threshold is not None:
            kept = relative_threshold(hits, wanted.relative_threshold, wanted.min_results)
            dropped, hits = len(hits) - len(kept), kept
            strategies["relative_threshold"] = {"threshold": wanted.relative_threshold, "dropped": dropped}
        refs = [ref_of(hit) for hit in hits]
        ranking = changed(ranking, "process_results", started, refs, **strategies)
        runtime.stream_writer({"stage": "process_results", "results": len(refs)})
        return {"ranking": await ended(state, runtime, ranking, ending)}

    return process_results


async def _normalized(hits: Sequence[Hit], methods: Sequence[str], weights: Mapping[str, int]) -> Ran[list[Hit]]:
    def strategy(method: str) -> Strategy[list[Hit]]:
        async def run() -> list[Hit]:
            return normalize(hits, method, weights)

        return method, run

    return await first_available([strategy(method) for method in methods])
