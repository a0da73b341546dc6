"""The program of a process that reads documents for an ingest. It imports little: its start is part of the ingest.

It is asked over its standard input for one call after the other, and answers over its standard output.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

# How it ends when it needs more memory than it may have.
OUT_OF_MEMORY = 70
# What the limit of the system allows beyond that of the watch: address space that is not in use. The watch knows why
# the process ends, so it comes first; the system is there for what allocates faster than anybody looks.
_UNUSED = 100_000_000
_LOOK_EVERY = 0.05
# The asking process ends a call that takes too long. When that one is gone, the alarm does it.
_GRACE = 5.0
# A process whose heap stays larger than this share of its memory would leave too little to the next file.
_SPENT = 0.4


def main(memory: int, seconds: float) -> None:
    """Answer calls until the asking process closes the pipe or dies.

    Args:
        memory: bytes that this process may occupy.
        seconds: what one call may take.
    """
    answers, requests = _pipes()
    waiting: SimpleQueue[bytes] = SimpleQueue()
    _limit_memory(memory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    threading.Thread(target=_watch_memory, args=(memory,), daemon=True).start()
    # Loaded before the clock of the first file runs.
    import groundgraph.ingest.load_document  # noqa: F401

    answers.send_bytes(b"ready")
    # Messages of parsers are nobody's; what went wrong at the start was told over the pipe that this was.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while True:
        request = waiting.get()
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
        answer = _answer(request, memory)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.send_bytes(answer)


def _pipes() -> tuple[Connection, Connection]:
    """Where answers go and requests come from, out of the way of whatever prints or reads."""
    answers, requests = Connection(os.dup(1), readable=False), Connection(os.dup(0), writable=False)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return answers, requests


def _limit_memory(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (memory + _UNUSED, memory + _UNUSED))
    except (ValueError, OSError):
        # A lower limit stands already, or the system knows none.
        return


def _receive(requests: Connection, waiting: SimpleQueue[bytes]) -> None:
    try:
        while True:
            waiting.put(requests.recv_bytes())
    except (EOFError, OSError):
        # Nobody waits for the answer any more, however much work is left on it.
        os._exit(0)


def _watch_memory(memory: int) -> None:
    while _occupied() <= memory:
        time.sleep(_LOOK_EVERY)
    os._exit(OUT_OF_MEMORY)


def _occupied() -> int:
    """The bytes that this process has in memory; where the system tells no more, the most that it ever had."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _answer(request: bytes, memory: int) -> bytes:
    """`read` with the result of the call, or `failed` with the reason as a sentence; and whether to start anew."""
    from groundgraph.core.errors import GroundGraphError

    try:
        function, arguments = pickle.loads(request)
        return _message("read", function(*arguments), memory)
    except Exception as error:  # whatever a parser makes of a damaged file
        if _ran_out(error):
            os._exit(OUT_OF_MEMORY)
        told = str(error).strip()
        reason = told if told and isinstance(error, GroundGraphError) else f"{type(error).__name__}: {told}"
        return _message("failed", reason.removesuffix(": "), memory)


def _message(kind: str, value: Any, memory: int) -> bytes:
    return pickle.dumps((kind, value, _occupied() > _SPENT * memory), protocol=5)


def _ran_out(error: BaseException | None) -> bool:
    """Whether memory was the cause, also where a parser told it as something else."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False
