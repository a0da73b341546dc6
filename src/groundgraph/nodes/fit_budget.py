"""What a turn shows has to fit its budget (P9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.budget import Budget, cut_to, fit
from groundgraph.chains.budgets_of import budgets_of
from groundgraph.chains.count_tokens import TokenCounter
from groundgraph.chains.result_rows import CONTEXT_SEPARATOR, context_piece
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, to_record
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ref
from groundgraph.nodes.counted import counted
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import (
    Ending,
    RankingInput,
    RankingUpdate,
    changed,
    ended,
    of_path,
    parts_of,
    with_issue,
)
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
    """The node.

    Where even the best piece is larger than the budget, its beginning is shown: cut between words, or with the stages
    of autonomous retrieval between the facts that it consists of.
    """
    counter = TokenCounter(model)
    by_path = {path: budgets_of(settings, wanted, counter, model) for path, wanted in settings.paths.items()}
    whole = "budget" in settings.stages

    async def fit_budget(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        path, refs = state["turn"].get("path", "cascade"), ranking["refs"]
        ran: dict[str, object] = {}
        chosen, scope = Chosen(refs), evidence_scope(settings, runtime, state["turn"]["options"])
        if budgets := of_path(by_path, state["turn"]):
            results = await evidence.results(runtime.store, refs, state.get("bodies"), scope=scope)
            form = Form(options.citation_format, whole_facts=whole and path != "cascade", scope=scope)
            chosen = await counted(counter, partial(choose, refs, results, budgets, form))
            told = {"tokens_by": counter.method} if any(one.size is counter for one in budgets) else {}
            ran["budget"] = {"left_out": len(refs) - len(chosen.refs), "shortened": len(chosen.cut), **told}
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
class Form:
    """How a piece is shown: what its label resolves to, and whether it is cut between its facts only; and the scope
    that it is kept in."""

    citation_format: str
    whole_facts: bool = False
    scope: str = ""


@dataclass(frozen=True)
class Chosen:
    """What fits: references, and the record of a piece that was shortened to fit, by its key."""

    refs: Sequence[Ref]
    cut: dict[str, EvidenceRecord] = field(default_factory=dict)


def choose(refs: Sequence[Ref], results: Sequence[SourceResult], budgets: Sequence[Budget], form: Form) -> Chosen:
    """The pieces that fit together, each as a context shows it with the widest label."""
    pieces = [context_piece(len(results), result, form.citation_format) for result in results]
    kept = [refs[place] for place in fit(pieces, budgets, CONTEXT_SEPARATOR)]
    if kept or not refs:
        return Chosen(kept)

    def fits(text: str) -> bool:
        piece = context_piece(1, replace(results[0], content=text), form.citation_format)
        return all(budget.size(piece) <= budget.limit for budget in budgets)

    beginning = first_facts(results[0], fits) if form.whole_facts else cut_to(results[0].content, fits)
    if not beginning:
        return Chosen([])
    record = _shortened(to_record(results[0], form.scope), beginning)
    key = evidence_key(record)
    return Chosen([[key, *refs[0][1:]]], {key: record})


def first_facts(result: SourceResult, fits: Callable[[str], bool]) -> str:
    """The longest beginning of a piece that ends with a whole fact and `fits`; empty when the piece is one fact."""
    facts = result.metadata.get("facts")
    if not isinstance(facts, list) or "\n".join(map(str, facts)) != result.content:
        return ""
    beginnings = ("\n".join(map(str, facts[:count])) for count in range(len(facts) - 1, 0, -1))
    return next((text for text in beginnings if fits(text)), "")


def _shortened(record: EvidenceRecord, beginning: str) -> EvidenceRecord:
    metadata = {**record["metadata"], "shortened": True}
    start = metadata.get("start")
    if isinstance(start, int) and "end" in metadata:
        metadata["end"] = start + len(beginning)
    return {**record, "content": beginning, "metadata": metadata}
