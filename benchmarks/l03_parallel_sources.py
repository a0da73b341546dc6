"""L3: sources are asked at once."""

from __future__ import annotations

import asyncio
from statistics import median

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.report import Row
from benchmarks.setting import TOPICS, asked, memory_source, turn_settings
from benchmarks.stopwatch import timed
from benchmarks.turn_shape import shape_of
from groundgraph import turn_graph
from groundgraph.testing import FaultySource

# Number of sources, delay of each in milliseconds, hits of each, the limit in milliseconds.
CASES = ((4, 100, 5, 130.0), (4, 100, 10, 130.0), (20, 50, 5, 90.0), (20, 50, 10, 90.0))


def run(effort: Effort) -> list[Row]:
    return [asyncio.run(_case(effort, *case)) for case in CASES]


async def _case(effort: Effort, count: int, delay_ms: int, hits: int, allowed: float) -> Row:
    delay = delay_ms / 1000
    sources = [FaultySource(memory_source(f"source{n}", range(4)), delay=delay) for n in range(count)]
    graph = turn_graph(turn_settings(retrieval={"top_k": hits, "score_threshold": 0.1}), sources=sources)
    shape = await shape_of(graph, question(0, TOPICS))
    bare = bare_graph(shape, work={shape.steps[shape.fan_out][0]: lambda _: asyncio.sleep(delay)})
    own, base = [], []
    for number in range(effort.waits * 2):
        own.append((await timed(graph.ainvoke(asked(question(number, TOPICS)))))[1])
        base.append((await timed(bare.ainvoke({"value": 0})))[1])
    measured, baseline = median(own), median(base)
    return Row(
        "L3",
        f"turn with {count} sources of {delay_ms} ms, {hits} hits each",
        f"{measured:.0f} ms",
        f"{baseline:.0f} ms",
        f"{measured - baseline:+.0f} ms",
        f"{allowed:.0f} ms",
        measured < allowed,
        {"ms": measured, "bare_ms": baseline},
    )
