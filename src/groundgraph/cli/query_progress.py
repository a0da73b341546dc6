"""Showing how many queries of an evaluation are done: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundgraph.cli.output import note
from groundgraph.cli.progress import SECONDS_BETWEEN_LINES

Progress = Callable[[int, int], None]


@contextmanager
def query_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A function to report progress to: (queries done, queries in all). With `quiet` it shows nothing."""
    if quiet:
        yield lambda _done, _total: None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        task = bar.add_task("Asking", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines() -> Progress:
    next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def report(done: int, total: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES
            note(f"Asking: {done} of {total} queries")

    return report
