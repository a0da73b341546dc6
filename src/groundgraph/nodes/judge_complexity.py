"""Whether a question is made of several, by rule (C5)."""

from __future__ import annotations

from langgraph.runtime import Runtime

from groundgraph.chains.complexity import complexity_signs
from groundgraph.core.context import Context
from groundgraph.core.settings import Settings
from groundgraph.nodes.model_stage import StageInput, StageRun, StageUpdate
from groundgraph.nodes.node import Node


def judge_complexity(settings: Settings) -> Node[StageInput, StageUpdate]:
    """The node; no model is called."""
    least = settings.enhanced_retrieval.min_complexity_length

    async def judge_complexity(state: StageInput, runtime: Runtime[Context]) -> StageUpdate:
        run = StageRun("judge_complexity", state, runtime)
        signs = complexity_signs(run.question, least)
        return run.ran({"complex": bool(signs), "signs": list(signs)}, {"complex": bool(signs)})

    return judge_complexity
