"""Relevances on one scale, the user's own words in them, and the weak results dropped (P1 to P3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundgraph.chains.merge import Hit
from groundgraph.chains.normalize import normalize
from groundgraph.chains.query_overlap import blend_query_overlap
from groundgraph.chains.relative_threshold import relative_threshold
from groundgraph.chains.strategy_chain import Ran, Strategy, first_available
from groundgraph.nodes.works.work import Change, View, Work, WorkParts, hits_of, ref_of


def score_results(parts: WorkParts) -> Work:
    """The work; each part of it runs only when it is configured."""
    wanted = parts.settings.result_processing
    weights = {entry.name: entry.weight for entry in parts.settings.sources}

    async def score_results(view: View) -> Change:
        records = await view.records()
        hits, change = hits_of(view.refs, records), Change([], why="relative_threshold")
        if wanted.normalize_steps:
            ran = await _normalized(hits, [step.method for step in wanted.normalize_steps], weights)
            change.ran["normalize"] = ran.record()
            hits = hits if ran.value is None else ran.value
            if ran.value is None:
                change.notes = [view.note("step_failed", step="normalize_strategy", reason=ran.classes)]
        if wanted.query_rerank_weight is not None:
            hits = blend_query_overlap(hits, records, view.turn["question"], wanted.query_rerank_weight)
            change.ran["query_rerank"] = {"weight": wanted.query_rerank_weight}
        if wanted.relative_threshold is not None:
            kept = relative_threshold(hits, wanted.relative_threshold, wanted.min_results)
            dropped, hits = len(hits) - len(kept), kept
            change.ran["relative_threshold"] = {"threshold": wanted.relative_threshold, "dropped": dropped}
        change.refs = [ref_of(hit) for hit in hits]
        return change

    return score_results


async def _normalized(hits: Sequence[Hit], methods: Sequence[str], weights: Mapping[str, int]) -> Ran[list[Hit]]:
    def strategy(method: str) -> Strategy[list[Hit]]:
        async def run() -> list[Hit]:
            return normalize(hits, method, weights)

        return method, run

    return await first_available([strategy(method) for method in methods])
