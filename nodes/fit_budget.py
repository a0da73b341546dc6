"""Evidence of recent turns yields, and what is left has to fit the budget (P9, P10)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.budget import Budget, cut_to, fit
from groundgraph.chains.count_tokens import TokenCounter, estimated_tokens
from groundgraph.chains.result_rows import CONTEXT_SEPARATOR, context_piece
from groundgraph.chains.rotation import recently_used, rotate
from groundgraph.core.blocking import run_blocking
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.deadline import DeadlinePassed, within
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, to_record
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ranking, Ref
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, changed, ended, with_issue
from groundgraph.prompts import Prompts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def fit_budget(
    settings: Settings,
    model: BaseChatModel | None,
    evidence: EvidenceStore,
    prompts: Prompts,
    *,
    ending: Ending | None = None,
) -> Node[RankingInput, RankingUpdate]:
    """The node. Where even the best piece is larger than the budget, its beginning is shown, cut between words."""
    wanted = settings.result_processing
    counter = TokenCounter(model)
    budgets = [
        *([Budget(wanted.max_kb_chars)] if wanted.max_kb_chars else []),
        *([Budget(wanted.max_kb_tokens, counter)] if wanted.max_kb_tokens else []),
        *([Budget(settings.limits.tokens // 2, estimated_tokens)] if wanted.reorder and model else []),
    ]

    async def fit_budget(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        refs = _rotated(state, settings)
        ran: dict[str, object] = {}
        if wanted.rotation:
            ran["rotation"] = {"method": wanted.rotation, "left_out": len(ranking["refs"]) - len(refs)}
        chosen = Chosen(refs)
        if budgets:
            results = await evidence.results(runtime.store, refs, state.get("bodies"))
            chosen = await _chosen(refs, results, budgets, options.citation_format, counter)
            counted = {"tokens_by": counter.method} if wanted.max_kb_tokens else {}
            ran["budget"] = {"left_out": len(refs) - len(chosen.refs), "shortened": len(chosen.cut), **counted}
        ranking = changed(ranking, "fit_budget", started, chosen.refs, **ran)
        lost = len(refs) - len(chosen.refs) + len(chosen.cut)
        if lost:
            ranking = with_issue(ranking, prompts.note("budget_cut", state["turn"]["language"], count=lost))
        for key in chosen.cut:
            ranking["joined"] = {**ranking.get("joined", {}), key: parts_of(ranking, refs[0][0])}
        bodies = await evidence.save(runtime.store, chosen.cut)
        runtime.stream_writer({"stage": "fit_budget", "results": len(chosen.refs)})
        return {"ranking": await ended(state, runtime, ranking, ending), "bodies": bodies}

    return fit_budget


@dataclass(frozen=True)
class Chosen:
    """What fits: references, and the record of a piece that was shortened to fit, by its key."""

    refs: Sequence[Ref]
    cut: dict[str, EvidenceRecord] = field(default_factory=dict)


def _rotated(state: RankingInput, settings: Settings) -> list[Ref]:
    wanted, ranking = settings.result_processing, state["ranking"]
    if not wanted.rotation:
        return ranking["refs"]
    recent = recently_used(state.get("metadata", {}))
    return rotate(
        ranking["refs"],
        lambda ref: recent.issuperset(parts_of(ranking, ref[0])),
        suppress=wanted.rotation == "suppress",
        min_results=wanted.min_results,
    )


def parts_of(ranking: Ranking, key: str) -> list[str]:
    """The keys of the chunks that a piece of evidence consists of."""
    return ranking.get("joined", {}).get(key, [key])


async def _chosen(
    refs: Sequence[Ref],
    results: Sequence[SourceResult],
    budgets: Sequence[Budget],
    citation_format: str,
    counter: TokenCounter,
) -> Chosen:
    """What fits; a model's own counter runs beside the event loop, and one that takes too long is given up."""
    if counter.method == "estimate":
        return choose(refs, results, budgets, citation_format)
    try:
        return await within(_COUNTER_LIMIT, run_blocking(choose, refs, results, budgets, citation_format))
    except DeadlinePassed:
        counter.give_up()
        return choose(refs, results, budgets, citation_format)


# Seconds for counting the tokens of a turn; a tokenizer is fetched within them, or not at all.
_COUNTER_LIMIT = 5.0


def choose(
    refs: Sequence[Ref], results: Sequence[SourceResult], budgets: Sequence[Budget], citation_format: str
) -> Chosen:
    """The pieces that fit together, each as a context shows it with the widest label."""
    pieces = [context_piece(len(results), result, citation_format) for result in results]
    kept = [refs[place] for place in fit(pieces, budgets, CONTEXT_SEPARATOR)]
    if kept or not refs:
        return Chosen(kept)

    def fits(text: str) -> bool:
        piece = context_piece(1, replace(results[0], content=text), citation_format)
        return all(budget.size(piece) <= budget.limit for budget in budgets)

    beginning = cut_to(results[0].content, fits)
    if not beginning:
        return Chosen([])
    record = _shortened(to_record(results[0]), beginning)
    key = evidence_key(record)
    return Chosen([[key, *refs[0][1:]]], {key: record})


def _shortened(record: EvidenceRecord, beginning: str) -> EvidenceRecord:
    metadata = {**record["metadata"], "shortened": True}
    start = metadata.get("start")
    if isinstance(start, int) and "end" in metadata:
        metadata["end"] = start + len(beginning)
    return {**record, "content": beginning, "metadata": metadata}
