"""One turn at a time on one thread, whichever process runs it, by PostgreSQL's advisory locks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from groundgraph.core.errors import ThreadBusy

# Keeps our locks apart from those of other programs on the same database.
_SEED = 0x67726F756E64
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(%s, %s))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(%s, %s))"
# None of these waits for another session, so a server that takes longer does not answer.
_ANSWER_SECONDS = 5.0


class ThreadClaims:
    """Claims threads for the turns of one process.

    All claims are held by one connection, however many turns run: a session may hold any number of advisory locks.
    When it breaks, the server gives them up; the turns then go on, and what another process wrote meanwhile is told
    by `ForeignWrites`.

    Args:
        url: the database that the checkpoints are in, reached directly: a pooler that shares sessions loses the locks.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None
        self._guard = asyncio.Lock()
        self._running: set[asyncio.Task[bool]] = set()
        self._closed = False

    @asynccontextmanager
    async def hold(self, name: str, wait: float) -> AsyncIterator[None]:
        """Holds `name` while inside.

        Raises:
            ThreadBusy: another process held it for all of `wait` seconds.
            psycopg.OperationalError: the server does not answer.
        """
        until = time.monotonic() + wait
        pause = _FIRST_PAUSE
        while not await self._claimed(name):
            if time.monotonic() >= until:
                raise ThreadBusy(
                    f"The thread '{name}' was busy with a turn of another process for {wait:g} seconds. "
                    "Nothing of this turn was written; ask again, or use another thread."
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                await asyncio.shield(self._started(_UNLOCK, name))

    async def close(self) -> None:
        """Give up all claims, also those of turns that still run; no other can be had."""
        self._closed = True
        if self._running:
            await asyncio.wait(self._running, timeout=_ANSWER_SECONDS)
        for task in self._running:
            task.cancel()
        if self._connection is not None:
            await self._connection.close()

    async def _claimed(self, name: str) -> bool:
        """Whether the server gave the claim; one that it gives when nobody waits any more is given back."""
        asked = self._started(_LOCK, name)
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda done: self._give_back(done, name))
            raise

    def _give_back(self, asked: asyncio.Task[bool], name: str) -> None:
        if not asked.cancelled() and asked.exception() is None and asked.result():
            self._started(_UNLOCK, name)

    def _started(self, statement: str, name: str) -> asyncio.Task[bool]:
        """The statement in a task of its own, which goes on when the turn is cancelled.

        A statement that is broken off leaves open whether the claim is held, and may close the connection, and with
        it give up the claims of all other turns.
        """
        task = asyncio.ensure_future(self._try(statement, name))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[bool]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Taken note of, so that asyncio does not report it when nobody waits any more.
            task.exception()

    async def _try(self, statement: str, name: str) -> bool:
        import psycopg

        async with self._guard:
            connection = await self._open()
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    cursor = await connection.execute(statement, (name, _SEED))
                    row = await cursor.fetchone()
            except TimeoutError as error:
                await connection.close()
                raise psycopg.OperationalError(f"no answer within {_ANSWER_SECONDS:g} seconds") from error
        return bool(row and row[0])

    async def _open(self) -> Any:
        import psycopg

        if self._closed:
            raise psycopg.InterfaceError("the graph was closed")
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=5, application_name="groundgraph claims"
            )
        return self._connection
