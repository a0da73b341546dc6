"""A reranker judges the best results, once, after the merge (P4)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from langgraph.runtime import Runtime

from groundgraph.chains.rerank import Judged, Rerank, reranked
from groundgraph.chains.strategy_chain import first_available
from groundgraph.core.chain_calls import collect_chain_calls
from groundgraph.core.context import Context
from groundgraph.core.deadline import within_turn
from groundgraph.core.evidence import from_record
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


def rerank_results(
    settings: Settings,
    rerankers: Mapping[str, Rerank],
    evidence: EvidenceStore,
    prompts: Prompts,
    *,
    ending: Ending | None = None,
) -> Node[RankingInput, RankingUpdate]:
    """The node. The best `candidates_count` results are judged, the others dropped, as are those below `threshold`.

    When no reranker of the chain works, the ranking stays as it was, all of it, and the turn says so. None is asked
    about an empty ranking.
    """
    wanted = settings.reranker

    async def rerank_results(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        refs = ranking["refs"]
        if not refs:
            return {"ranking": await ended(state, runtime, ranking, ending)}
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        records = await evidence.load(runtime.store, [ref[0] for ref in refs], state.get("bodies"), scope=scope)
        hits = hits_of(refs, records)[: wanted.candidates_count]
        candidates = [from_record(records[hit.key], hit.relevance, hit.score) for hit in hits]
        question = _question(state)
        calls = [
            (name, _call(partial(rerank, question, candidates), settings.deadlines.model))
            for name, rerank in rerankers.items()
        ]
        with collect_chain_calls() as called:
            ran = await first_available(calls)
        entry = ran.record()
        if ran.value is None:
            language = state["turn"]["language"]
            ranking = with_issue(ranking, prompts.note("rerank_failed", language, reason=ran.classes))
        else:
            kept = reranked(hits, ran.value, wanted.threshold)
            entry |= {"judged": len(hits), "dropped": len(refs) - len(kept)}
            refs = [ref_of(hit) for hit in kept]
        ranking = changed(ranking, "rerank_results", started, refs, reranker=entry)
        ranking["calls"] = list(called)
        runtime.stream_writer({"stage": "rerank_results", "results": len(refs), **entry})
        return {"ranking": await ended(state, runtime, ranking, ending)}

    return rerank_results


def _call(rerank: Callable[[], Awaitable[list[Judged]]], limit: float) -> Callable[[], Awaitable[list[Judged]]]:
    async def work() -> list[Judged]:
        return await rerank()

    return lambda: within_turn(limit, work())


def _question(state: RankingInput) -> str:
    """The message; for a follow-up that a model or a rule put together with what it leans on, that."""
    intent = state["intent"]
    if rewritten := intent.get("rewritten"):
        return rewritten
    leaning = intent.get("mode") == "message" and intent["text_queries"]
    return intent["text_queries"][0] if leaning else state["turn"]["question"]
