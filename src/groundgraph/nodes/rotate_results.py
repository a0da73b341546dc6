"""Evidence that recent turns showed yields to fresh evidence, before the budget is filled (P10)."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime

from groundgraph.chains.rotation import recently_used, rotate
from groundgraph.core.context import Context
from groundgraph.core.result_settings import ResultProcessingSettings
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ref
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, changed, ended, of_path, parts_of


def rotate_results(settings: Settings, *, ending: Ending | None = None) -> Node[RankingInput, RankingUpdate]:
    """The node. `record_turn` remembers what was shown, in the thread's metadata."""
    by_path = settings.paths

    async def rotate_results(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        wanted = of_path(by_path, state["turn"])
        refs, ran = ranking["refs"], {}
        if wanted.rotation:
            refs = _rotated(state, wanted)
            ran = {"rotation": {"method": wanted.rotation, "left_out": len(ranking["refs"]) - len(refs)}}
        ranking = changed(ranking, "rotate_results", started, refs, **ran)
        runtime.stream_writer({"stage": "rotate_results", "results": len(refs)})
        return {"ranking": await ended(state, runtime, ranking, ending)}

    return rotate_results


def _rotated(state: RankingInput, wanted: ResultProcessingSettings) -> list[Ref]:
    ranking = state["ranking"]
    recent = recently_used(state.get("metadata", {}))
    return rotate(
        ranking["refs"],
        lambda ref: recent.issuperset(parts_of(ranking, ref[0])),
        suppress=wanted.rotation == "suppress",
        min_results=wanted.min_results,
    )
