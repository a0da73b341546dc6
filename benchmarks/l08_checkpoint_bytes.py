"""L8: what a turn leaves in the SQLite saver, and in the store."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.effort import Effort
from benchmarks.long_conversation import converse, open_bare, open_conversation
from benchmarks.report import Row
from benchmarks.setting import thread
from benchmarks.stored_bytes import checkpoint_bytes, stored_items
from groundgraph.core.evidence_store import NAMESPACE
from groundgraph.graph.turn_runner import TurnRunner

TURNS = 5
# One topic less than there are turns, so that the last turn finds what the first one found.
DISTINCT = (TURNS - 1) * 20
FIRST_KB, FIFTH_KB, EXIT_KB = 50.0, 80.0, 9.0


def run(effort: Effort) -> list[Row]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    async with AsyncExitStack() as stack:
        graph = await open_conversation(stack, folder, range(TURNS - 1))
        bare = await open_bare(stack, folder / "bare.sqlite", graph)
        usual, usual_bare = await _sizes(graph, "async"), await _bare_sizes(bare, "async")
        evidence = await stored_items(graph.store.conn, NAMESPACE)  # type: ignore[union-attr]
        at_exit, exit_bare = await _sizes(graph, "exit"), await _bare_sizes(bare, "exit")
        return [
            _row("turn 1, default durability", usual[0], usual_bare[0], FIRST_KB),
            _row("turn 5, default durability", usual[-1], usual_bare[-1], FIFTH_KB),
            _row('turn 1, durability="exit"', at_exit[0], exit_bare[0], EXIT_KB),
            _row('turn 5, durability="exit"', at_exit[-1], exit_bare[-1], EXIT_KB),
            _evidence_row(*evidence),
        ]


async def _sizes(graph: TurnRunner, durability: Any) -> list[float]:
    """The kilobytes that each turn of a new thread adds."""
    connection = graph.checkpointer.conn  # type: ignore[union-attr]
    sizes = [await checkpoint_bytes(connection)]
    for number in range(TURNS):
        await converse(graph, durability, number, durability=durability)
        sizes.append(await checkpoint_bytes(connection))
    return _differences(sizes)


async def _bare_sizes(graph: Any, durability: Any) -> list[float]:
    sizes = [await checkpoint_bytes(graph.checkpointer.conn)]
    for _ in range(TURNS):
        await graph.ainvoke({"value": 0}, thread(durability), durability=durability)
        sizes.append(await checkpoint_bytes(graph.checkpointer.conn))
    return _differences(sizes)


def _differences(sizes: list[int]) -> list[float]:
    return [(after - before) / 1000 for before, after in pairwise(sizes)]


def _row(what: str, measured: float, baseline: float, allowed: float) -> Row:
    return Row(
        "L8",
        f"checkpoint bytes of {what}",
        f"{measured:.1f} kB",
        f"{baseline:.1f} kB, empty state",
        f"{measured - baseline:+.1f} kB",
        f"{allowed:g} kB",
        measured <= allowed,
        {"kb": measured, "bare_kb": baseline},
    )


def _evidence_row(items: int, size: int) -> Row:
    return Row(
        "L8",
        f"evidence in the store after 5 turns that found {TURNS * 20} pieces, {DISTINCT} of them different",
        f"{items} items, {size / 1000:.0f} kB",
        allowed=f"{DISTINCT} items",
        ok=items == DISTINCT,
        values={"items": items, "distinct": DISTINCT},
    )
