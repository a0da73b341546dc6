"""Showing how far an ingest is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from groundgraph.cli.output import note

Progress = Callable[[int, int | None, str], None]
SECONDS_BETWEEN_LINES = 2.0


@contextmanager
def shown_progress(what: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A function to report progress to: (documents done, documents in all or None, name of the last one).

    Args:
        what: what is being done, for example "Reading documents".
        quiet: show nothing.
    """
    if quiet:
        yield lambda _done, _total, _name: None
    elif sys.stderr.isatty():
        with _bar(what) as report:
            yield report
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, rate="")

        def report(done: int, total: int | None, _name: str) -> None:
            bar.update(task, completed=done, total=total, rate=_rate(done, started))

        yield report


def _lines(what: str) -> Progress:
    started = time.monotonic()
    state: dict[str, Any] = {"next": started + SECONDS_BETWEEN_LINES}

    def report(done: int, total: int | None, _name: str) -> None:
        now = time.monotonic()
        if now >= state["next"]:
            state["next"] = now + SECONDS_BETWEEN_LINES
            of = f" of {total}" if total is not None else ""
            note(f"{what}: {done}{of} documents, {_rate(done, started)}")

    return report


def _rate(done: int, started: float) -> str:
    elapsed = time.monotonic() - started
    return f"{done / elapsed:.0f} documents/s" if elapsed > 0 else ""
