"""A reranker judges the best results, once, after the merge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from groundgraph.answers.strategy_chain import Judged, Strategy, first_available, identity, reranked
from groundgraph.core.evidence import from_record
from groundgraph.core.turn_values import Ranking
from groundgraph.models.call_model import collect_chain_calls
from groundgraph.nodes.process_results import Change, RankingInput, View, Work, WorkParts, hits_of, paid_call, ref_of
from groundgraph.resilience.bounds import within_turn


def rerank_results(parts: WorkParts) -> Work:
    """The work. The best `candidates_count` results are judged, the others dropped, as are those below `threshold`.

    When no reranker of the chain works, the ranking stays as it was, all of it, and the turn says so. None is asked
    about an empty ranking.
    """
    wanted, limit = parts.settings.reranker, parts.settings.deadlines.model
    pays = any(rerank is not identity for rerank in parts.rerankers.values())

    async def rerank_results(view: View) -> Change:
        if not view.refs:
            return Change(view.refs)
        records = await view.records()
        hits = hits_of(view.refs, records)[: wanted.candidates_count]
        candidates = [from_record(records[hit.key], hit.relevance, hit.score) for hit in hits]
        question = _question(view.state)
        chain = [
            (name, _call(partial(rerank, question, candidates), limit)) for name, rerank in parts.rerankers.items()
        ]
        judge = partial(_judgement, chain)
        ran = await (paid_call("rerank_results", view.refs, judge) if pays else judge())
        entry, ranking = ran["entry"], Ranking({**view.ranking, "calls": ran["calls"]})
        if ran["judged"] is None:
            note = view.note("rerank_failed", reason=ran["failures"])
            return Change(view.refs, {"reranker": entry}, [note], ranking, told=entry)
        kept = reranked(hits, [Judged(*one) for one in ran["judged"]], wanted.threshold)
        entry = {**entry, "judged": len(hits), "dropped": len(view.refs) - len(kept)}
        refs = [ref_of(hit) for hit in kept]
        return Change(refs, {"reranker": entry}, ranking=ranking, told=entry, why="reranker")

    return rerank_results


async def _judgement(chain: list[Strategy[list[Judged]]]) -> dict[str, Any]:
    """What the first reranker of `chain` that works says, in plain values; `judged` is None when none does."""
    with collect_chain_calls() as calls:
        ran = await first_available(chain)
    judged = None if ran.value is None else [[one.place, one.score] for one in ran.value]
    return {"judged": judged, "entry": ran.record(), "failures": ran.classes, "calls": list(calls)}


def _call(rerank: Callable[[], Awaitable[list[Judged]]], limit: float) -> Callable[[], Awaitable[list[Judged]]]:
    async def work() -> list[Judged]:
        return await rerank()

    return lambda: within_turn(limit, work())


def _question(state: RankingInput) -> str:
    """The message; for a follow-up that a model or a rule put together with what it leans on, that."""
    intent = state["intent"]
    if rewritten := intent["rewritten"]:
        return rewritten
    leaning = intent["mode"] == "message" and intent["text_queries"]
    return intent["text_queries"][0] if leaning else state["turn"]["question"]
