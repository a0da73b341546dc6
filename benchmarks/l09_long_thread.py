"""L9: a thread that grows long: neither a turn's CPU nor its bytes may grow with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.effort import Effort
from benchmarks.long_conversation import answer, converse, open_bare, open_conversation
from benchmarks.report import Row
from benchmarks.setting import thread
from benchmarks.stored_bytes import checkpoint_bytes, file_bytes

CPU_RATIO = 1.3
KB_PER_TURN = 85.0
# The thread is looked at in ten windows, of 20 turns each in a full run.
WINDOWS = 10
WARM_UP_TURNS = 5


@dataclass
class Course:
    """How a thread developed: CPU of each turn in milliseconds; bytes at the end of each window."""

    cpu_ms: list[float] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    file: list[int] = field(default_factory=list)

    def cpu(self, window: int) -> float:
        size = len(self.cpu_ms) // WINDOWS
        first = window % WINDOWS * size
        return median(self.cpu_ms[first : first + size])

    def mean_kb(self, bytes_: list[int]) -> float:
        """What a turn adds on average over the whole thread."""
        return (bytes_[-1] - bytes_[0]) / 1000 / len(self.cpu_ms)

    def kb_per_turn(self, bytes_: list[int], window: int) -> float:
        """What a turn of the window adds; `values` and `file` begin with the size before the first turn."""
        at = window % WINDOWS
        return (bytes_[at + 1] - bytes_[at]) / 1000 / (len(self.cpu_ms) // WINDOWS)


def run(effort: Effort) -> list[Row]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_run(effort.long_thread, Path(folder)))


async def _run(turns: int, folder: Path) -> list[Row]:
    async with AsyncExitStack() as stack:
        graph = await open_conversation(stack, folder, range(turns))
        bare = await open_bare(stack, folder / "bare.sqlite", graph)
        names = {"answer_conversational": _reply}
        plain = await open_bare(stack, folder / "plain.sqlite", graph, work=names)
        own, base, usual = await _courses(
            turns,
            (graph.checkpointer.conn, lambda name, number: converse(graph, name, number)),  # type: ignore[union-attr]
            (bare.checkpointer.conn, lambda name, _: bare.ainvoke({"value": 0}, thread(name))),
            (plain.checkpointer.conn, lambda name, _: plain.ainvoke(_message(), thread(name))),
        )
    return [_cpu_row(own, base), *_bytes_rows(own, usual), _linear_row(own, usual)]


Subject = tuple[Any, Callable[[str, int], Awaitable[Any]]]


async def _courses(turns: int, *subjects: Subject) -> list[Course]:
    """The subjects take turns, so that noise hits all of them at the same length of their threads."""
    for _, turn in subjects:
        for number in range(WARM_UP_TURNS):
            await turn("warm-up", number)
    courses = [Course() for _ in subjects]
    for course, (connection, _) in zip(courses, subjects, strict=True):
        await _look(course, connection)
    for number in range(turns):
        for course, (connection, turn) in zip(courses, subjects, strict=True):
            started = time.process_time()
            await turn("long", number)
            course.cpu_ms.append((time.process_time() - started) * 1000)
            if (number + 1) % (turns // WINDOWS) == 0:
                await _look(course, connection)
    return courses


async def _look(course: Course, connection: Any) -> None:
    course.values.append(await checkpoint_bytes(connection))
    course.file.append(await file_bytes(connection))


async def _reply(_: Any) -> dict[str, Any]:
    return {"messages": [("ai", answer())]}


def _message() -> dict[str, Any]:
    return {"messages": [("user", "How long does the part last under full load, and why?")]}


def _cpu_row(own: Course, base: Course) -> Row:
    growth, bare_growth = own.cpu(-1) / own.cpu(0), base.cpu(-1) / base.cpu(0)
    return Row(
        "L9",
        f"{len(own.cpu_ms)} turns on a thread: CPU of a turn, last tenth over first tenth",
        f"{own.cpu(0):.1f} to {own.cpu(-1):.1f} ms: {growth:.2f} times",
        f"{base.cpu(0):.1f} to {base.cpu(-1):.1f} ms: {bare_growth:.2f} times, empty state",
        f"{growth / bare_growth:.2f} times",
        f"{CPU_RATIO} times",
        growth <= CPU_RATIO,
        {"growth": growth, "bare_growth": bare_growth},
    )


def _bytes_rows(own: Course, usual: Course) -> list[Row]:
    last, usual_last = own.kb_per_turn(own.values, -1), usual.kb_per_turn(usual.values, -1)
    return [
        _size_row("mean checkpoint bytes of a turn", own.mean_kb(own.values), usual.mean_kb(usual.values)),
        _size_row("checkpoint bytes of a turn of the last tenth", last, usual_last),
        _size_row("mean growth of the saver's file per turn", own.mean_kb(own.file), usual.mean_kb(usual.file)),
    ]


def _size_row(what: str, measured: float, baseline: float) -> Row:
    return Row(
        "L9",
        what,
        f"{measured:.1f} kB",
        f"{baseline:.1f} kB, with messages only",
        f"{measured / baseline:.2f} times",
        f"{KB_PER_TURN:g} kB",
        measured <= KB_PER_TURN,
        {"kb": measured, "bare_kb": baseline},
    )


def _linear_row(own: Course, usual: Course) -> Row:
    growth = own.kb_per_turn(own.values, -1) / own.kb_per_turn(own.values, 1)
    bare = usual.kb_per_turn(usual.values, -1) / usual.kb_per_turn(usual.values, 1)
    return Row(
        "L9",
        "checkpoint bytes of a turn, last tenth over second tenth",
        f"{growth:.2f} times",
        f"{bare:.2f} times, with messages only",
        allowed="linear growth: about 1",
        ok=growth <= 1.2,
        values={"growth": growth, "bare_growth": bare},
    )
