"""Processes that read documents, kept from one ingest to the next: hardly a test of an ingest is about their start.

A module that is has a fixture `kept_readers` of its own, which does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from groundgraph.core.errors import IngestError
from groundgraph.ingest.readers import ReaderProcess, Readers, _arguments

_kept: dict[tuple[str, ...], list[ReaderProcess]] = {}
_as_shipped = Readers._taken, Readers.close


def _taken(self: Readers) -> ReaderProcess:
    """One that another ingest started with the same limits and paths, in the folder of this one; else a new one."""
    waiting = _kept.get(tuple(_arguments(self._limits)), [])
    if self._closed or self._idle or not waiting:
        return _as_shipped[0](self)
    process = waiting.pop()
    try:
        process.call(os.chdir, os.getcwd())
    except IngestError:
        return _taken(self)
    with self._lock:
        self._all.add(process)
    return process


def _close(self: Readers) -> None:
    with self._lock:
        idle, self._idle = self._idle, []
        self._all.difference_update(idle)
    _kept.setdefault(tuple(_arguments(self._limits)), []).extend(idle)
    _as_shipped[1](self)


@pytest.fixture(scope="session")
def readers_of_the_session() -> Iterator[None]:
    yield
    for process in (process for idle in _kept.values() for process in idle):
        process.stop()
    _kept.clear()


@pytest.fixture(autouse=True)
def kept_readers(readers_of_the_session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ingests of this test take processes of those before, and leave theirs."""
    monkeypatch.setattr(Readers, "_taken", _taken)
    monkeypatch.setattr(Readers, "close", _close)
