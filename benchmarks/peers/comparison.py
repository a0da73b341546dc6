"""What is compared, and processes that take turns in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

from benchmarks.peers.environments import python_of

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Subject:
    """Who does a work.

    Attributes:
        label: as tables and plots say it.
        environment: whose packages.
        module: the module of `workers`.
        work: what the worker calls the work; empty where it is that of the comparison.
        arguments: of the module.
        largest: the largest size that it is asked to do; 0 for all.
    """

    label: str
    environment: str
    module: str
    work: str = ""
    arguments: tuple[str, ...] = ()
    largest: int = 0


@dataclass(frozen=True)
class Comparison:
    """One work, done by several.

    Attributes:
        work: its name.
        what: what a turn of it is, and what its size counts.
        sizes: how large, from small to large.
        turns: turns in a round.
        grows: whether the turns of a size come behind those of the smaller ones, as those of a thread do.
    """

    work: str
    what: str
    sizes: tuple[int, ...]
    turns: int
    subjects: tuple[Subject, ...]
    grows: bool = False


@dataclass(frozen=True)
class Figure:
    """Medians over the rounds, of one turn, in milliseconds."""

    work: str
    label: str
    size: int
    cpu_ms: float
    wall_ms: float


class Worker:
    """The process of a subject."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject = subject
        command = [str(python_of(subject.environment, folder)), "-W", "ignore"]
        command += ["-m", f"benchmarks.peers.workers.{subject.module}", *subject.arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LANGGRAPH_STRICT_MSGPACK": "true"}
        environment["LANGSMITH_TRACING"] = "false"
        environment["HAYSTACK_TELEMETRY_ENABLED"] = "false"
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def cost(self, work: str, size: int, first: int, count: int) -> dict[str, float]:
        """Of one of `count` turns from number `first` on; nothing is done with a count of 0 but to make the work."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        told = {"work": self.subject.work or work, "size": size, "first": first, "count": count}
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.subject.label} ended with {self._process.wait()} at {told}")
        return dict(json.loads(answer))


def compared(comparison: Comparison, folder: Path, *, rounds: int, largest: int) -> list[Figure]:
    """The figures of all subjects at each size up to `largest`; every other round goes in the opposite order."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(subject, folder)) for subject in comparison.subjects]
        done = 0
        for size in (size for size in comparison.sizes if size <= largest):
            able = [worker for worker in workers if not 0 < worker.subject.largest < size]
            if comparison.grows:
                for worker in able:
                    worker.cost(comparison.work, 1, done, size - done)
                done = size
            taken = _rounds(comparison, able, size, done, rounds)
            done += rounds * comparison.turns * comparison.grows
            figures += map(partial(_figure, comparison.work, size), able, taken)
    return figures


def _rounds(
    comparison: Comparison, workers: Sequence[Worker], size: int, first: int, rounds: int
) -> list[list[dict[str, float]]]:
    made = 1 if comparison.grows else size
    if not comparison.grows:
        for worker in workers:
            worker.cost(comparison.work, made, 0, min(3, comparison.turns))
    taken: list[list[dict[str, float]]] = [[] for _ in workers]
    for number in range(rounds):
        order = range(len(workers)) if number % 2 == 0 else reversed(range(len(workers)))
        begin = first + number * comparison.turns
        for at in order:
            taken[at].append(workers[at].cost(comparison.work, made, begin, comparison.turns))
    return taken


def _figure(work: str, size: int, worker: Worker, costs: Sequence[dict[str, Any]]) -> Figure:
    cpu, wall = (median(cost[key] for cost in costs) for key in ("cpu_ms", "wall_ms"))
    return Figure(work, worker.subject.label, size, cpu, wall)
