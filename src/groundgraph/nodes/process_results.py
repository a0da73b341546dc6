"""The results of all sources become one ranking: merging first, then the works that are configured, in their order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NotRequired

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.turn_values import Ranking, RetrievalPath, Turn, WorkReport
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.nodes.works.work import Change, RankingInput, View, Work, WorkParts
from groundgraph.settings.context import Context, options_in_force


class ProcessResultsUpdate(TypedDict):
    """What the step writes: the ranking, and new evidence where there is no store for it."""

    ranking: Ranking
    bodies: NotRequired[dict[str, EvidenceRecord]]


def process_results(
    parts: WorkParts, works: Mapping[RetrievalPath, Mapping[str, Work]]
) -> Node[RankingInput, ProcessResultsUpdate]:
    """The node.

    Nothing of an earlier ranking enters: a turn that stopped between two steps of a version in which each work was one
    begins with merging again.

    Args:
        parts: what the graph has.
        works: those of each path of retrieval, in their order, by name.
    """
    settings, evidence = parts.settings, parts.evidence

    async def process_results(state: RankingInput, runtime: Runtime[Context]) -> ProcessResultsUpdate:
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        view, made = View(parts, state, runtime, options, scope), dict[str, EvidenceRecord]()
        for name, work in _of_path(works, state["turn"]).items():
            started = time.perf_counter()
            change = await work(view)
            report = _report(name, view, change, started)
            view = view.after(change)
            view.ranking["works"] = [*view.ranking["works"], report]
            made.update(change.records)
            runtime.stream_writer({"stage": name, "results": len(change.refs), **change.told})
        update: ProcessResultsUpdate = {"ranking": view.ranking}
        if made:
            update["bodies"] = await evidence.save(runtime.store, made)
        return update

    return process_results


def _of_path(works: Mapping[RetrievalPath, Mapping[str, Work]], turn: Turn) -> Mapping[str, Work]:
    """The works for the path of `turn`; those of the plain one for a turn that began before there were paths, or under
    a configuration that had others."""
    return works.get(turn["path"] or "cascade", works["cascade"])


def _report(name: str, view: View, change: Change, started: float) -> WorkReport:
    """What the record says of a work that began at `started` of the performance counter."""
    stay = {ref[0] for ref in change.refs}
    left_out: dict[str, list[str]] = {}
    for ref in view.refs:
        if ref[0] not in stay:
            reason = change.why if isinstance(change.why, str) else change.why.get(ref[0], "")
            left_out.setdefault(reason, []).append(ref[0])
    return {
        "step": name,
        "came_in": len(view.refs) if change.came_in is None else change.came_in,
        "went_out": len(change.refs),
        "left_out": left_out,
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
    }
