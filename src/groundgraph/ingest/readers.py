"""The processes in which an ingest reads its documents: a file that hangs, crashes or bloats them costs only itself."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import spawn
from multiprocessing.connection import Connection
from typing import TypeVar

from groundgraph.core.errors import IngestError
from groundgraph.ingest.reader_main import OUT_OF_MEMORY
from groundgraph.settings.knowledge_base import ReaderSettings

# One process that reads documents: asked here, ended here.

# Not `multiprocessing.Process`: that runs the user's own program once more, and must not be started by a daemon.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[3:]; from groundgraph.ingest.reader_main import main; "
    "main(int(sys.argv[1]), float(sys.argv[2]))"
)
_START_SECONDS = 60.0


class ReaderProcess:
    """A running process; one thread at a time may call it, any may kill it.

    Raises:
        IngestError: it cannot be started.
    """

    def __init__(self, limits: ReaderSettings) -> None:
        self._limits = limits
        self._ready = False
        asked, ask = os.pipe()
        answer, answered = os.pipe()
        self._requests, self._answers = Connection(ask, readable=False), Connection(answer, writable=False)
        try:
            self._process = subprocess.Popen(
                [os.fsdecode(spawn.get_executable()), "-c", _PROGRAM, *_arguments(limits)],
                stdin=asked,
                stdout=answered,
                stderr=subprocess.PIPE,
                # Ctrl-C in a terminal goes to a whole group; this process is ended by the one that started it.
                process_group=0,
            )
        except (OSError, TypeError) as error:
            self._close()
            raise IngestError(f"no process to read it in could be started: {error}") from error
        finally:
            os.close(asked)
            os.close(answered)

    @property
    def ended(self) -> bool:
        """Whether it cannot be called any more."""
        return self._requests.closed

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """What `function`, which is found by its module and name, returns in the process.

        The process has ended afterwards when it passed a limit or crashed.

        Raises:
            IngestError: the call failed, took too long or too much memory; the message says which, as a sentence.
        """
        try:
            self._await_start()
            self._requests.send_bytes(pickle.dumps((function, arguments), protocol=5))
            if not self._answers.poll(self._limits.seconds):
                self.stop()
                raise IngestError(_too_long(self._limits))
            # Made by our own program: who could forge it could do whatever that program may.
            kind, value, spent = pickle.loads(self._answers.recv_bytes())
        except (EOFError, OSError) as error:
            raise IngestError(self._cause()) from error
        if spent:
            self.stop()
        if kind == "failed":
            raise IngestError(value)
        result: T = value
        return result

    def kill(self) -> None:
        """End it at once; a thread that waits in `call` gets its error and cleans up."""
        self._process.kill()

    def stop(self) -> None:
        """End it and give back what it held."""
        self.kill()
        self._process.wait()
        self._close()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _await_start(self) -> None:
        if self._ready:
            return
        if not self._answers.poll(_START_SECONDS):
            self.stop()
            raise IngestError(f"the process to read it in did not start within {_START_SECONDS:g} s")
        self._answers.recv_bytes()
        self._ready = True

    def _close(self) -> None:
        self._requests.close()
        self._answers.close()

    def _cause(self) -> str:
        """Why the process ended on its own."""
        # It closed the pipe, so it ends now.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        told = b"" if self._ready or self._process.stderr is None else self._process.stderr.read()
        self.stop()
        code = self._process.returncode
        memory = memory_told(self._limits.memory)
        if code == OUT_OF_MEMORY:
            return f"needed more than {memory} of memory to read; the limit is knowledge_base.reader.memory"
        if code == -signal.SIGALRM:
            return _too_long(self._limits)
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if not self._ready:
            last = (os.fsdecode(told).strip().splitlines() or ["no message"])[-1]
            return f"the process to read it in did not start: {ended}, {last}"
        return f"reading it ended with {ended}: it may be damaged, or need more than {memory} of memory"


def _arguments(limits: ReaderSettings) -> list[str]:
    paths = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]
    return [str(int(limits.memory)), str(limits.seconds), *paths]


def _too_long(limits: ReaderSettings) -> str:
    return f"could not be read within {limits.seconds:g} s; the limit is knowledge_base.reader.seconds"


def memory_told(size: int) -> str:
    """A number of bytes for a reader: `1 GB`, `300 MB`."""
    return f"{size / 1e9:g} GB" if size >= 1e9 else f"{size / 1e6:g} MB"


T = TypeVar("T")
# Where in the configuration of a run they stand, like the documents that are passed in.
READERS = "__groundgraph_readers"


class Readers:
    """As many processes as there are cores, started when they are needed and kept from file to file.

    Args:
        limits: of each process.
        size: the most processes at once; by default the cores that this process may use.
        patience: how many seconds a call may wait for one of them to be free; None is for ever.
    """

    def __init__(self, limits: ReaderSettings, size: int | None = None, *, patience: float | None = None) -> None:
        self.size = size or _cores()
        self._limits = limits
        self._patience = patience
        self._slots = threading.BoundedSemaphore(self.size)
        self._lock = threading.Lock()
        self._all: set[ReaderProcess] = set()
        self._idle: list[ReaderProcess] = []
        self._closed = False

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """What `function(*arguments)` returns in one of the processes; blocks, from any thread.

        Raises:
            IngestError: it failed, passed a limit, or none was free in time; the message says which, as a sentence.
        """
        if not self._slots.acquire(timeout=self._patience):
            raise IngestError(f"no process was free to read it within {self._patience:g} s")
        try:
            process = self._taken()
            try:
                return process.call(function, *arguments)
            finally:
                self._give_back(process)
        finally:
            self._slots.release()

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
