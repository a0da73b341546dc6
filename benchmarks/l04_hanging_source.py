"""L4: a source that hangs costs its limit and nothing else; a turn ends soon after its deadline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.report import Row
from benchmarks.setting import SOURCES, TOPICS, asked, memory_source, turn_settings
from benchmarks.shape import TurnShape
from benchmarks.stopwatch import timed
from groundgraph import turn_graph
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.testing import FaultySource, Reply, ScriptedChatModel

SOURCE_LIMIT = 0.5
ONE_HANGS_MS = 700.0
DEADLINE = 1.0
PAST_DEADLINE_MS = 1000.0
HANGS = 60.0
# The baseline waits for a source that swallows cancellation; this is how long it does.
SWALLOWS = 2.0


@dataclass(frozen=True)
class Slow:
    """What is slow while the turn's deadline is near, in seconds."""

    what: str
    source: float
    reply: Reply
    swallow: bool = False


SLOW = (
    Slow("sources answer after 0.7 s, then the model waits", 0.7, Reply("Never.", delay=HANGS)),
    Slow("every source hangs and swallows cancellation", HANGS, Reply("Never."), swallow=True),
    Slow("the model writes five words a second", 0.0, Reply("word " * 100, token_delay=0.2)),
)


def run(effort: Effort) -> list[Row]:
    return asyncio.run(_run(effort))


async def _run(effort: Effort) -> list[Row]:
    rows = [await _one_hangs(effort, swallow) for swallow in (False, True)]
    return rows + [await _past_deadline(effort, slow) for slow in SLOW]


async def _one_hangs(effort: Effort, swallow: bool) -> Row:
    settings = turn_settings(deadlines={"source": SOURCE_LIMIT})
    times, outputs = [], []
    for number in range(effort.waits):
        hanging = FaultySource(memory_source("hanging"), delay=HANGS, swallow_cancellation=swallow)
        graph = turn_graph(settings, sources=[*(memory_source(name) for name in SOURCES[:2]), hanging])
        # The first question is answered by a hair, which is nothing that a hanging source should decide.
        output, ms = await timed(graph.ainvoke(asked(question(number + 1, TOPICS))))
        hanging.release()
        times.append(ms)
        outputs.append(output)
    measured, kept = median(times), min(len(output["provenance"]["results"]) for output in outputs)
    statuses = {output["provenance"]["sources"]["hanging"]["status"] for output in outputs}
    status = ", ".join(sorted(statuses))
    baseline, outcome = await _bare(swallow)
    return Row(
        "L4",
        f"one of three sources hangs, limit 0.5 s{', and swallows cancellation' if swallow else ''}",
        f"{measured:.0f} ms; {kept} pieces of evidence kept; {status}",
        f"{baseline:.0f} ms; {outcome}",
        f"{measured / baseline:.2f} times",
        f"{ONE_HANGS_MS:.0f} ms; 20 kept; timed_out",
        measured < ONE_HANGS_MS and kept == 20 and status == "timed_out",
        {"ms": measured, "bare_ms": baseline, "kept": kept, "status": status},
    )


async def _bare(swallow: bool) -> tuple[float, str]:
    """LangGraph's own time limit of a node in the same place."""
    graph = bare_graph(
        TurnShape((("begin", 1), ("ask", 3), ("answer", 1))),
        work={"ask": _hang(swallow)},
        timeout=SOURCE_LIMIT,
    )

    async def attempt() -> str:
        try:
            await graph.ainvoke({"value": 0})
        except Exception as error:
            return f"raises {type(error).__name__}"
        return "answers"

    outcome, ms = await timed(attempt())
    return ms, outcome


def _hang(swallow: bool) -> Any:
    async def hang(given: Any) -> None:
        if given["number"] < 2:
            return
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + (SWALLOWS if swallow else HANGS)
        while (left := ends_at - loop.time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                if not swallow:
                    raise

    return hang


async def _past_deadline(effort: Effort, slow: Slow) -> Row:
    settings = turn_settings(
        synthesis={"style": "conversational"}, deadlines={"turn": DEADLINE, "source": HANGS, "model": HANGS}
    )
    past, outcomes = [], []
    for number in range(effort.waits):
        sources = [
            FaultySource(memory_source(name), delay=slow.source, swallow_cancellation=slow.swallow) for name in SOURCES
        ]
        graph = turn_graph(settings, sources=sources, chat_model=ScriptedChatModel(slow.reply))
        output, ms = await timed(_streamed(graph, question(number + 1, TOPICS)))
        past.append(ms - DEADLINE * 1000)
        outcomes.append(f"{output['outcome']}, {output['provenance']['finish']}")
        for source in sources:
            source.release()
    worst, outcome = max(past), "; ".join(sorted(set(outcomes)))
    return Row(
        "L4",
        f"deadline of the turn 1 s: {slow.what}",
        f"{worst:+.0f} ms past it at worst; {outcome}",
        allowed=f"+{PAST_DEADLINE_MS:.0f} ms",
        ok=worst <= PAST_DEADLINE_MS,
        values={"past_ms": worst, "outcome": outcome},
    )


async def _streamed(graph: TurnRunner, text: str) -> dict[str, Any]:
    """The output of a turn whose answer is streamed, so that the model's tokens are too."""
    output: dict[str, Any] = {}
    async for mode, item in graph.astream(asked(text), stream_mode=["messages", "values"]):
        output = item if mode == "values" else output
    return output
