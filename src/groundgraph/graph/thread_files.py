"""One turn at a time on one thread of a SQLite file, whichever process runs it, by a lock file beside it."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

from groundgraph.core.errors import ThreadBusy

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25


class ThreadFiles:
    """Claims threads of one SQLite file for the turns of this process.

    Each thread has a file of its own while a turn runs on it, so that turns on other threads do not wait. The system
    gives the lock up when the process ends, however it ends. Where no file can be locked, on some network file systems
    or in a read-only folder, turns run without; what another process wrote meanwhile is told by `ForeignWrites`.

    Args:
        database: gives the path of the SQLite file; empty when it is in memory.
    """

    def __init__(self, database: Callable[[], Awaitable[str]]) -> None:
        self._database = database
        self._path: str | None = None

    @asynccontextmanager
    async def hold(self, name: str, wait: float) -> Any:
        """Holds `name` while inside.

        Raises:
            ThreadBusy: another process held it for all of `wait` seconds.
        """
        if self._path is None:
            self._path = await self._database()
        if not self._path:
            yield
            return
        path = f"{self._path}.turn-{_mark(name)}"
        until, pause = time.monotonic() + wait, _FIRST_PAUSE
        while (lock := _locked(path)) is None:
            if time.monotonic() >= until:
                raise ThreadBusy(
                    f"The thread '{name}' was busy with a turn of another process for {wait:g} seconds. "
                    "Nothing of this turn was written; ask again, or use another thread."
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        with _given_back(path, lock):
            yield


def _mark(name: str) -> str:
    """A thread id may be anything, and a file may not be called like that."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


@contextmanager
def _given_back(path: str, lock: int | Literal[False]) -> Iterator[None]:
    try:
        yield
    finally:
        if lock is not False:
            try:
                # While it is locked: whoever waits for this file finds that it is not there any more, and makes a new
                # one.
                os.unlink(path)
            except OSError:
                pass
            finally:
                os.close(lock)


def _locked(path: str) -> int | Literal[False] | None:
    """The descriptor of the locked file; None when another holds it, and False when nothing can be locked here."""
    try:
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_there(path, file):
            return file
        result: Literal[False] | None = None
    except BlockingIOError:
        result = None
    except OSError:
        result = False
    os.close(file)
    return result


def _is_there(path: str, file: int) -> bool:
    """Whether `file` is still the one at `path`, and not one that its last holder has removed."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
