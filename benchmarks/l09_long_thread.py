"""L9: a thread that grows long: neither a turn's CPU nor its bytes nor the memory may grow with it."""

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
from benchmarks.memory import anonymous_mb
from benchmarks.report import Row
from benchmarks.setting import TOPICS, thread
from benchmarks.stored_bytes import checkpoint_bytes, file_bytes

CPU_RATIO = 1.3
KB_PER_TURN = 85.0
# What the limit compares: the last so many turns with as many behind the first ones.
WINDOW = 20
MEMORY_RATIO = 1.1
# Bytes are looked at after each tenth of the thread.
TENTHS = 10
WARM_UP_TURNS = 5
# A graph whose messages are in LangGraph's ordinary channel writes all of them in each step: not for longer than this.
USUAL_TURNS = 200


@dataclass
class Course:
    """How a thread developed: CPU of each turn in milliseconds; bytes at the end of each window."""

    cpu_ms: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    file: list[int] = field(default_factory=list)

    @property
    def window(self) -> int:
        return min(WINDOW, len(self.cpu_ms) // TENTHS)

    @property
    def cpu(self) -> tuple[float, float]:
        """CPU of a turn behind the first ones, and of one of the last."""
        return median(self.cpu_ms[self.window : 2 * self.window]), median(self.cpu_ms[-self.window :])

    def mean_kb(self, bytes_: list[int]) -> float:
        """What a turn adds on average over the whole thread."""
        return (bytes_[-1] - bytes_[0]) / 1000 / len(self.cpu_ms)

    def kb_per_turn(self, bytes_: list[int], tenth: int) -> float:
        """What a turn of a tenth adds; `values` and `file` begin with the size before the first turn."""
        at = tenth % TENTHS
        return (bytes_[at + 1] - bytes_[at]) / 1000 / (len(self.cpu_ms) // TENTHS)


def run(effort: Effort) -> list[Row]:
    return [row for turns in effort.long_threads for row in measured(turns)]


def measured(turns: int) -> list[Row]:
    """The rows of a thread of so many turns."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_measured(turns, Path(folder)))


async def _measured(turns: int, folder: Path) -> list[Row]:
    async with AsyncExitStack() as stack:
        # The same texts again and again, so that what grows is the thread, and not what is held of texts.
        graph = await open_conversation(stack, folder, TOPICS)
        bare = await open_bare(stack, folder / "bare.sqlite", graph)
        subjects: list[Subject] = [
            (graph.checkpointer.conn, lambda name, number: converse(graph, name, number)),  # type: ignore[union-attr]
            (bare.checkpointer.conn, lambda name, _: bare.ainvoke({"value": 0}, thread(name))),
        ]
        if turns <= USUAL_TURNS:
            names = {"answer_conversational": _reply}
            plain = await open_bare(stack, folder / "plain.sqlite", graph, work=names)
            subjects.append((plain.checkpointer.conn, lambda name, _: plain.ainvoke(_message(), thread(name))))
        own, base, *usual = await _courses(turns, *subjects)
    return [
        _cpu_row(own, base),
        _memory_row(own),
        *_bytes_rows(own, usual[0] if usual else None),
        _linear_row(own, usual[0] if usual else None),
    ]


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
            course.memory_mb.append(anonymous_mb())
            if (number + 1) % (turns // TENTHS) == 0:
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
    growth, bare_growth = own.cpu[1] / own.cpu[0], base.cpu[1] / base.cpu[0]
    return Row(
        "L9",
        f"{len(own.cpu_ms)} turns on a thread: CPU of one of the last {own.window} over one of turns {own.window} to "
        f"{2 * own.window}",
        f"{own.cpu[0]:.1f} to {own.cpu[1]:.1f} ms: {growth:.2f} times",
        f"{base.cpu[0]:.1f} to {base.cpu[1]:.1f} ms: {bare_growth:.2f} times, empty state",
        f"{growth / bare_growth:.2f} times",
        f"{CPU_RATIO} times",
        growth <= CPU_RATIO,
        {"turns": len(own.cpu_ms), "growth": growth, "bare_growth": bare_growth},
    )


def _memory_row(own: Course) -> Row:
    before, after = own.memory_mb[2 * own.window - 1], own.memory_mb[-1]
    return Row(
        "L9",
        f"anonymous memory of the process, after {2 * own.window} turns and after {len(own.cpu_ms)}",
        f"{before:.0f} to {after:.0f} MB: {after / before:.2f} times",
        allowed=f"flat: {MEMORY_RATIO} times",
        ok=after <= MEMORY_RATIO * before,
        values={"turns": len(own.cpu_ms), "before_mb": before, "after_mb": after},
    )


def _bytes_rows(own: Course, usual: Course | None) -> list[Row]:
    return [
        _size_row("mean checkpoint bytes of a turn", own, usual, lambda one: one.mean_kb(one.values)),
        _size_row(
            "checkpoint bytes of a turn of the last tenth", own, usual, lambda one: one.kb_per_turn(one.values, -1)
        ),
        _size_row("mean growth of the saver's file per turn", own, usual, lambda one: one.mean_kb(one.file)),
    ]


def _size_row(what: str, own: Course, usual: Course | None, size: Callable[[Course], float]) -> Row:
    kb, usual_kb = size(own), size(usual) if usual else 0.0
    return Row(
        "L9",
        f"{len(own.cpu_ms)} turns: {what}",
        f"{kb:.1f} kB",
        f"{usual_kb:.1f} kB, with messages only" if usual else "",
        f"{kb / usual_kb:.2f} times" if usual else "",
        f"{KB_PER_TURN:g} kB",
        kb <= KB_PER_TURN,
        {"turns": len(own.cpu_ms), "kb": kb, **({"bare_kb": usual_kb} if usual else {})},
    )


def _linear_row(own: Course, usual: Course | None) -> Row:
    """Of the file, in which the conversation is written whole each time that it has doubled: second half over first."""
    growth = _halves(own)
    bare = f"{_halves(usual):.2f} times, with messages only" if usual else ""
    return Row(
        "L9",
        f"{len(own.cpu_ms)} turns: growth of the saver's file in the second half over that in the first",
        f"{growth:.2f} times",
        bare,
        allowed="linear growth: about 1",
        ok=growth <= 1.2,
        values={"turns": len(own.cpu_ms), "growth": growth},
    )


def _halves(course: Course) -> float:
    first, middle, last = course.file[0], course.file[TENTHS // 2], course.file[-1]
    return (last - middle) / (middle - first)
