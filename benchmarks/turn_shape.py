"""How many steps and tasks a real turn has, counted from its updates."""

from __future__ import annotations

from itertools import groupby

from benchmarks.shape import TurnShape
from groundgraph.graph.turn_runner import TurnRunner


async def shape_of(graph: TurnRunner, question: str) -> TurnShape:
    """The shape of the turn that answers `question`. The graph must have no checkpointer."""
    names: list[str] = []
    async for update in graph.astream({"messages": [("user", question)]}, stream_mode="updates"):
        names += update
    return TurnShape(tuple((name, len(list(tasks))) for name, tasks in groupby(names)))
