"""Showing how far work is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from groundgraph.cli.output import note

if TYPE_CHECKING:
    from groundgraph.nodes.ingest.work import IngestEvent

# (done, in all or None); an ingest adds the name of the last one.
Progress = Callable[..., None]
OnEvent = Callable[["IngestEvent"], None]
SECONDS_BETWEEN_LINES = 2.0
# After fewer nobody can know how long the rest takes: the start of the processes that read weighs too much.
_FEW = 10


@dataclass
class Course:
    """How far the work is.

    Attributes:
        of: what is dealt with.
        done: how many of them are.
        total: how many there are, None when nobody knows.
        chunks: that were written.
        failed: documents that could not be taken in.
        stage: the step that is under way.
        started: in seconds of `time.monotonic`.
    """

    of: str = "documents"
    done: int = 0
    total: int | None = None
    chunks: int = 0
    failed: int = 0
    stage: str = ""
    started: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - tests set the clock

    def take(self, event: IngestEvent) -> None:
        """Count what a step of an ingest tells."""
        self.stage = event.get("stage", self.stage)
        self.total = event.get("total", self.total)
        self.done += len(event.get("finished", ()))
        self.failed += event.get("failed", 0)
        self.chunks += event.get("chunks", 0)

    def rate(self, now: float) -> str:
        """How many in a second so far."""
        elapsed = now - self.started
        return f"{self.done / elapsed:.0f} {self.of}/s" if elapsed > 0 else ""

    def left(self, now: float) -> str:
        """How long the rest takes at this rate; empty while nobody can know."""
        if self.total is None or self.done >= self.total or self.done < min(_FEW, self.total / 2):
            return ""
        seconds = round((now - self.started) / self.done * (self.total - self.done))
        minutes, rest = divmod(seconds, 60)
        return f"{minutes} min {rest} s left" if minutes else f"{rest} s left"

    def line(self, now: float) -> str:
        """Everything in one line."""
        total = f" of {self.total}" if self.total is not None else ""
        parts = [f"{self.done}{total} {self.of}", f"{self.chunks} chunks" if self.chunks else "", self.rate(now)]
        parts += [f"{self.failed} failed" if self.failed else "", self.left(now)]
        return ", ".join(part for part in parts if part)


@contextmanager
def shown_progress(what: str, *, of: str = "documents", quiet: bool = False) -> Iterator[Progress]:
    """A function to report progress to.

    Args:
        what: what is being done, for example "Reading documents".
        of: what is counted.
        quiet: show nothing.
    """
    course = Course(of)
    with _shown(what, course, quiet=quiet) as show:

        def report(done: int, total: int | None, _name: str = "") -> None:
            course.done, course.total = done, total
            show()

        yield report


@contextmanager
def shown_ingest(what: str, *, quiet: bool = False) -> Iterator[OnEvent]:
    """A function to give the events of an ingest to; the arguments are those of `shown_progress`."""
    course = Course()
    with _shown(what, course, quiet=quiet) as show:

        def listen(event: IngestEvent) -> None:
            course.take(event)
            show()

        yield listen


@contextmanager
def _shown(what: str, course: Course, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """A function that shows how far `course` is."""
    if quiet:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(what, course) as show:
            yield show
    else:
        yield _lines(what, course)


@contextmanager
def _bar(what: str, course: Course) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, told="")

        def show() -> None:
            bar.update(task, completed=course.done, total=course.total, told=_beside_the_bar(course))

        yield show


def _beside_the_bar(course: Course) -> str:
    """What the bar itself does not say."""
    now = time.monotonic()
    step = course.stage.replace("_", " ") if course.done != course.total else ""
    parts: list[Any] = [f"{course.chunks} chunks" if course.chunks else "", course.rate(now)]
    parts += [f"{course.failed} failed" if course.failed else "", course.left(now), step]
    return ", ".join(part for part in parts if part)


def _lines(what: str, course: Course) -> Callable[[], None]:
    due = course.started + SECONDS_BETWEEN_LINES

    def show() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + SECONDS_BETWEEN_LINES
            note(f"{what}: {course.line(now)}")

    return show
