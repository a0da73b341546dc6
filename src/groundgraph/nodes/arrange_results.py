"""Results that say similar things stand together, and the best ones at both ends (P5, P8)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.budget import Budget
from groundgraph.chains.budgets_of import budgets_of
from groundgraph.chains.clustering.arrange import arrange
from groundgraph.chains.clustering.cluster import Cluster, clusters
from groundgraph.chains.clustering.similarity import Similarities
from groundgraph.chains.count_tokens import TokenCounter
from groundgraph.chains.result_rows import context_text
from groundgraph.chains.strategy_chain import Ran, Strategy, first_available
from groundgraph.core.blocking import run_blocking
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.deadline import within
from groundgraph.core.evidence import SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.failure import Failure
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import ClusterValue, Ranking
from groundgraph.nodes.counted import counted
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, changed, ended, of_path, with_issue
from groundgraph.prompts import Prompts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class ClusterMethod:
    """One way of clustering: from a question and texts to their similarities, and its bounds."""

    name: str
    compare: Callable[[str, Sequence[str]], Awaitable[Similarities]]
    threshold: float
    min_size: int


def arrange_results(
    settings: Settings,
    methods: Sequence[ClusterMethod],
    model: BaseChatModel | None,
    evidence: EvidenceStore,
    prompts: Prompts,
    *,
    ending: Ending | None = None,
) -> Node[RankingInput, RankingUpdate]:
    """The node. Nothing is dropped: it only changes the order, and says what belongs together."""
    reorders = {path: wanted.reorder for path, wanted in settings.paths.items()}
    counter = TokenCounter(model)
    budgets = {path: budgets_of(settings, wanted, counter, model) for path, wanted in settings.paths.items()}

    async def arrange_results(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        refs, wanted = ranking["refs"], of_path(budgets, state["turn"])
        reorder, results = of_path(reorders, state["turn"]), list[SourceResult]()
        ran: dict[str, object] = {"reorder": reorder} if reorder else {}
        found: list[Cluster] = []
        if methods and refs:
            scope = evidence_scope(settings, runtime, state["turn"]["options"])
            results = await evidence.results(runtime.store, refs, state.get("bodies"), scope=scope)
            texts = [result.content for result in results]
            grouped = await _clustered(methods, state["turn"]["question"], texts, settings.deadlines.model)
            ran["cluster"] = grouped.record()
            found = grouped.value or []
            if grouped.value is None:
                ranking = _with_failure(ranking, prompts, state["turn"]["language"], grouped.classes)
        order, found = arrange(len(refs), found, both_ends=reorder == "zigzag")
        ranking = changed(ranking, "arrange_results", started, [refs[place] for place in order], **ran)
        form = options_in_force(settings, state["turn"]["options"], runtime.context).citation_format
        ordered = [results[place] for place in order] if found else []
        ranking["clusters"] = await counted(counter, partial(fitting, ordered, found, form, wanted)) if found else []
        runtime.stream_writer({"stage": "arrange_results", "clusters": len(ranking["clusters"])})
        return {"ranking": await ended(state, runtime, ranking, ending)}

    return arrange_results


def fitting(
    results: Sequence[SourceResult], found: Sequence[Cluster], form: str, budgets: Sequence[Budget]
) -> list[ClusterValue]:
    """The clusters as the state holds them, without those whose tags no budget has room for, the worst first.

    The budget was filled with what was found, and what was found stays.
    """
    kept = sorted(found, key=lambda one: -one.score)
    while kept:
        values = _as_values([one for one in found if one in kept])
        context = context_text(results, form, values)
        if all(budget.size(context) <= budget.limit for budget in budgets):
            return values
        kept.pop()
    return []


def _as_values(found: Sequence[Cluster]) -> list[ClusterValue]:
    return [{"label": one.label, "score": one.score, "labels": [place + 1 for place in one.members]} for one in found]


async def _clustered(
    methods: Sequence[ClusterMethod], question: str, texts: Sequence[str], limit: float
) -> Ran[list[Cluster]]:
    def strategy(method: ClusterMethod) -> Strategy[list[Cluster]]:
        async def work() -> list[Cluster]:
            near = await method.compare(question, texts)
            bounds = {"threshold": method.threshold, "min_size": method.min_size}
            return await run_blocking(clusters, texts, near, **bounds)

        return method.name, lambda: within(limit, work())

    return await first_available([strategy(method) for method in methods])


def _with_failure(ranking: Ranking, prompts: Prompts, language: str, reason: dict[str, Failure]) -> Ranking:
    return with_issue(ranking, prompts.note("step_failed", language, step="cluster_strategy", reason=reason))
