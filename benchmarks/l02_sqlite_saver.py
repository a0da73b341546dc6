"""L2: CPU of a turn under the SQLite saver at its default durability, against a bare graph under the same saver."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.interleaved import Rounds, Turn, interleaved
from benchmarks.prepared_source import PreparedSource
from benchmarks.report import Row
from benchmarks.setting import SOURCES, TOPICS, asked, memory_source, thread, turn_settings
from benchmarks.shape import TurnShape
from benchmarks.turn_shape import shape_of
from groundgraph import GroundedSource, open_graph, turn_graph

ALLOWED = {"memory": 1.3, "sqlite": 1.6, "unseen": 1.6}
STORES = {
    "memory": "in memory",
    "sqlite": "in SQLite with WAL",
    "unseen": "in SQLite with WAL, evidence never seen before, sources that need not search",
}
# What a turn with these works may cost beside one without: the same evidence goes out, in another order.
WORKS_ALLOWED = 1.1
WORKS = {
    "result_processing": {
        "normalize_strategy": "min_max",
        "relative_threshold": 0.0,
        "rotation": "demote",
        "max_kb_chars": 1_000_000,
        "reorder": "zigzag",
    },
    "reranker": {"enabled": True, "type": "identity", "candidates_count": 50},
}
# A conversation of this many turns, then a new thread.
TURNS_PER_THREAD = 5


def run(effort: Effort) -> list[Row]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_run(effort, Path(folder)))


async def _run(effort: Effort, folder: Path) -> list[Row]:
    shape = await _shape()
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "bare.sqlite")))
        subjects = {
            "bare": _bare_turns(bare_graph(shape, checkpointer=saver)),
            "memory": await _turns(stack, folder / "a", "memory", _known()),
            "sqlite": await _turns(stack, folder / "b", "sqlite", _known()),
            "unseen": await _turns(stack, folder / "c", "sqlite", _unseen(effort)),
            "works": await _turns(stack, folder / "d", "memory", _known(), **WORKS),
        }
        rounds = await interleaved(subjects, effort)
    return [*(_row(rounds, name) for name in ALLOWED), _works_row(rounds)]


async def _shape() -> TurnShape:
    graph = turn_graph(turn_settings(), sources=_known())
    return await shape_of(graph, question(0, TOPICS))


def _known() -> list[GroundedSource]:
    return [memory_source(name) for name in SOURCES]


def _unseen(effort: Effort) -> list[GroundedSource]:
    return [PreparedSource(name, effort.unseen) for name in SOURCES]


async def _turns(stack: AsyncExitStack, folder: Path, store: str, sources: list[GroundedSource], **more: Any) -> Turn:
    settings = turn_settings(
        checkpointer={"type": "sqlite", "path": str(folder / "threads.sqlite")},
        store={"type": store, **({"path": str(folder / "evidence.sqlite")} if store == "sqlite" else {})},
        **more,
    )
    graph = await stack.enter_async_context(open_graph(settings, sources=sources))

    async def turn(number: int) -> None:
        await graph.ainvoke(asked(question(number, TOPICS)), thread(number // TURNS_PER_THREAD))

    return turn


def _bare_turns(graph: Any) -> Turn:
    async def turn(number: int) -> None:
        await graph.ainvoke({"value": 0}, thread(number // TURNS_PER_THREAD))

    return turn


def _row(rounds: Rounds, name: str) -> Row:
    ratio, allowed = rounds.ratio(name, "bare"), ALLOWED[name]
    return Row(
        "L2",
        f"CPU of a turn under the SQLite saver, store {STORES[name]}",
        f"{rounds.ms(name):.2f} ms",
        f"{rounds.ms('bare'):.2f} ms",
        f"{ratio:.2f} times",
        f"{allowed} times",
        ratio <= allowed,
        {"ms": rounds.ms(name), "bare_ms": rounds.ms("bare"), "ratio": ratio},
    )


def _works_row(rounds: Rounds) -> Row:
    ratio = rounds.ratio("works", "memory")
    return Row(
        "L2",
        "CPU of a turn with five more works on its results, store in memory; the baseline is the turn without",
        f"{rounds.ms('works'):.2f} ms",
        f"{rounds.ms('memory'):.2f} ms",
        f"{ratio:.2f} times",
        f"{WORKS_ALLOWED} times",
        ratio <= WORKS_ALLOWED,
        {"ms": rounds.ms("works"), "bare_ms": rounds.ms("memory"), "ratio": ratio},
    )
