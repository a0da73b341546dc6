"""The first turn of a process: groundgraph's, and that of a bare graph of the same shape.

Each function imports what it needs itself: what it costs is part of what is measured.
"""

from __future__ import annotations

import asyncio

# The shape of the turn, counted by `turn_shape` and passed on: counting it here would load groundgraph.
Shape = list[list[object]]


def first_turn() -> None:
    from benchmarks.corpus import question
    from benchmarks.setting import SOURCES, TOPICS, asked, memory_source, turn_settings
    from groundgraph import turn_graph

    graph = turn_graph(turn_settings(), sources=[memory_source(name, range(2)) for name in SOURCES])
    output = asyncio.run(graph.ainvoke(asked(question(0, TOPICS))))
    assert output["outcome"] == "answered"


def first_bare_run(shape: Shape) -> None:
    from benchmarks.bare_graph import bare_graph
    from benchmarks.shape import TurnShape

    steps = tuple((str(name), int(str(tasks))) for name, tasks in shape)
    asyncio.run(bare_graph(TurnShape(steps)).ainvoke({"value": 0}))
