"""Results that say similar things stand together, and the best ones at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from groundgraph.answers.budget import Budget, fits_all
from groundgraph.answers.clustering import Cluster, ClusterMethod, arrange, clusters
from groundgraph.answers.strategy_chain import Strategy, first_available
from groundgraph.answers.structured_answer import context_text
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import ClusterValue
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, counted, paid_call
from groundgraph.resilience.blocking import run_blocking
from groundgraph.resilience.bounds import within


def arrange_results(parts: WorkParts) -> Work:
    """The work. Nothing is dropped: it only changes the order, and says what belongs together."""
    reorder, methods = parts.way.reorder, parts.clustering
    counter, budgets, limit = parts.counter, parts.budgets, parts.settings.deadlines.model
    pays = any(method.pays for method in methods)

    async def arrange_results(view: View) -> Change:
        results, found = list[SourceResult](), list[Cluster]()
        change = Change([], {"reorder": reorder} if reorder else {})
        if methods and view.refs:
            results = await view.results()
            texts = [result.content for result in results]
            group = partial(_clustered, methods, view.turn["question"], texts, limit)
            grouped = await (paid_call("arrange_results", view.refs, group) if pays else group())
            change.ran["cluster"] = grouped["entry"]
            if grouped["clusters"] is None:
                change.notes = [view.note("step_failed", step="cluster_strategy", reason=grouped["failures"])]
            else:
                found = list(map(_cluster, grouped["clusters"]))
        order, found = arrange(len(view.refs), found, both_ends=reorder == "zigzag")
        change.refs = [view.refs[place] for place in order]
        kept: list[ClusterValue] = []
        if found:
            ordered = [results[place] for place in order]
            kept = await counted(counter, partial(fitting, ordered, found, view.options.citation_format, budgets))
        change.ranking, change.told = {**view.ranking, "clusters": kept}, {"clusters": len(kept)}
        return change

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
        if fits_all(context, budgets):
            return values
        kept.pop()
    return []


def _as_values(found: Sequence[Cluster]) -> list[ClusterValue]:
    return [{"label": one.label, "score": one.score, "labels": [place + 1 for place in one.members]} for one in found]


async def _clustered(
    methods: Sequence[ClusterMethod], question: str, texts: Sequence[str], limit: float
) -> dict[str, Any]:
    """What the first method that works finds, in plain values; `clusters` is None when none does."""

    def strategy(method: ClusterMethod) -> Strategy[list[Cluster]]:
        async def work() -> list[Cluster]:
            near = await method.compare(question, texts)
            bounds = {"threshold": method.threshold, "min_size": method.min_size}
            return await run_blocking(clusters, texts, near, **bounds)

        return method.name, lambda: within(limit, work())

    ran = await first_available([strategy(method) for method in methods])
    found = None if ran.value is None else [asdict(one) for one in ran.value]
    return {"clusters": found, "entry": ran.record(), "failures": ran.classes}


def _cluster(value: dict[str, Any]) -> Cluster:
    # A checkpoint has lists in place of tuples.
    return Cluster(value["label"], value["score"], tuple(value["members"]))
