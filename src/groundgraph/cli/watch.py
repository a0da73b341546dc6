"""`groundgraph ingest --watch`: files and folders are followed, and what changes in them is taken in."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from groundgraph.cli.output import note
from groundgraph.core.document import MEDIA_TYPES
from groundgraph.core.errors import ConfigurationError, GroundGraphError, InputInvalid, Problem

NEEDS_EXTRA = 'following files needs: pip install "groundgraph[watch]"'
# So long after the start, and after a run that failed, everything is looked at without a change.
_MILLISECONDS = 2_000


def check_followed(paths: Sequence[str]) -> None:
    """Refuse what cannot be followed, before anything is taken in.

    Raises:
        ConfigurationError: the extra is not installed.
        InputInvalid: one of `paths` is a web page, or is not there.
    """
    if find_spec("watchfiles") is None:
        raise ConfigurationError([Problem("--watch", NEEDS_EXTRA)])
    for path in paths:
        if "://" in path:
            raise InputInvalid(f"{path}: a web page cannot be followed; ingest it without --watch.")
        if not Path(path).exists():
            raise InputInvalid(f"{path} does not exist, so it cannot be followed.")


def follow(paths: Sequence[str], ingest: Callable[[], None], *, sidecar: str | None) -> None:
    """Call `ingest` after every change of a document below `paths`, until Ctrl-C.

    Args:
        paths: existing files and folders.
        ingest: takes in what changed. What it raises is told, and it is called again: another process may be writing.
        sidecar: the name of the files that hold the metadata of others.
    """
    from watchfiles import Change, watch

    def is_document(_: Change, path: str) -> bool:
        return Path(path).suffix.lower() in MEDIA_TYPES or Path(path).name == sidecar

    note("Following the documents; Ctrl-C ends.")
    # What changed before the first look of the loop is taken in as well.
    behind = True
    with _until_interrupted() as interrupted:
        for changes in watch(
            *paths, watch_filter=is_document, yield_on_timeout=True, rust_timeout=_MILLISECONDS, stop_event=interrupted
        ):
            if changes or behind:
                behind = not _succeeds(ingest)


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Ends the block at Ctrl-C, of which the event tells too: what comes while a run ends is lost in asyncio's own
    handler, which gives way to any other."""
    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with suppress(KeyboardInterrupt):
            yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _succeeds(ingest: Callable[[], None]) -> bool:
    try:
        ingest()
    except (GroundGraphError, OSError, sqlite3.Error) as error:
        note(f"Not taken in, and tried again: {error}")
        return False
    return True
