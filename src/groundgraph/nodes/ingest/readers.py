"""The processes in which an ingest reads its documents: a file that hangs, crashes or bloats them costs only itself."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from groundgraph.core.document_settings import ReaderSettings
from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.reader_process import ReaderProcess

T = TypeVar("T")
# Where in the configuration of a run they stand, like the documents that are passed in.
READERS = "__groundgraph_readers"


class Readers:
    """As many processes as there are cores, started when they are needed and kept from file to file.

    Args:
        limits: of each process.
        size: the most processes at once; by default the cores that this process may use.
    """

    def __init__(self, limits: ReaderSettings, size: int | None = None) -> None:
        self.size = size or _cores()
        self._limits = limits
        self._slots = threading.BoundedSemaphore(self.size)
        self._lock = threading.Lock()
        self._all: set[ReaderProcess] = set()
        self._idle: list[ReaderProcess] = []
        self._closed = False

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """What `function(*arguments)` returns in one of the processes; blocks, from any thread.

        Raises:
            IngestError: it failed, or passed a limit; the message says which, as a sentence.
        """
        with self._slots:
            process = self._taken()
            try:
                return process.call(function, *arguments)
            finally:
                self._give_back(process)

    def close(self) -> None:
        """End every process, also one that is reading; its call fails."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for process in self._all:
                process.kill()
        for process in idle:
            process.stop()

    def _taken(self) -> ReaderProcess:
        with self._lock:
            if self._closed:
                raise IngestError("the ingest was ended")
            if self._idle:
                return self._idle.pop()
            process = ReaderProcess(self._limits)
            self._all.add(process)
            return process

    def _give_back(self, process: ReaderProcess) -> None:
        with self._lock:
            keep = not self._closed
            if keep and not process.ended:
                self._idle.append(process)
            else:
                self._all.discard(process)
        if not keep and not process.ended:
            process.stop()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
