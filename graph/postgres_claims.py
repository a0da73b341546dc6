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

    @asynccontextmanager
    async def hold(self, name: str, wait: float) -> AsyncIterator[None]:
        """Holds `name` while inside.

        Raises:
            ThreadBusy: another process held it for all of `wait` seconds.
            psycopg.OperationalError: the server does not answer.
        """
        until = time.monotonic() + wait
        pause = _FIRST_PAUSE
        while not await self._try("SELECT pg_try_advisory_lock(hashtextextended(%s, %s))", name):
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
                await self._try("SELECT pg_advisory_unlock(hashtextextended(%s, %s))", name)

    async def close(self) -> None:
        """Give up all claims."""
        if self._connection is not None:
            await self._connection.close()

    async def _try(self, statement: str, name: str) -> bool:
        async with self._guard:
            connection = await self._open()
            cursor = await connection.execute(statement, (name, _SEED))
            row = await cursor.fetchone()
        return bool(row and row[0])

    async def _open(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=5, application_name="groundgraph claims"
            )
        return self._connection
