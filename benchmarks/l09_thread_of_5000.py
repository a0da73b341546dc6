"""L9 with 5000 turns on a thread: a quarter of an hour, half a gigabyte of disk."""

from __future__ import annotations

from benchmarks.effort import FULL, Effort
from benchmarks.l09_long_thread import measured
from benchmarks.report import Row


def run(effort: Effort) -> list[Row]:
    return measured(5000 if effort == FULL else effort.long_threads[0])
