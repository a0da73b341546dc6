"""Checkpoints and the store in PostgreSQL, over a pool of connections.

Loaded only where a configuration asks for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from groundgraph.graph.postgres_claims import ThreadClaims
from groundgraph.graph.server_errors import server_error

CONNECT_SECONDS = 5
# A turn that waits longer for a free connection is told so.
POOL_SECONDS = 10.0
# As SQLite's: a statement that another session's lock holds up for longer is an error.
LOCK_TIMEOUT = "5s"
_SETUP_SECONDS = 60.0


class _NoLock:
    """In place of the saver's own lock: with a pool every statement has a connection of its own."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class PooledPostgresSaver(AsyncPostgresSaver):
    """LangGraph's saver over a pool, without its lock, which lets one statement of a process run at a time.

    Attributes:
        claims: keeps other processes from running a turn on the same thread.
    """

    def __init__(self, pool: Any, claims: ThreadClaims) -> None:
        super().__init__(pool)
        self.lock = _NoLock()  # type: ignore[assignment]
        self.claims = claims


class PostgresStorage:
    """Opens savers and stores; those in one database share a pool.

    Args:
        stack: closes what was opened.
    """

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._pools: dict[str, tuple[Any, ThreadClaims]] = {}

    async def saver(self, url: str, pool_size: int) -> PooledPostgresSaver:
        """A saver whose tables are there and of this version.

        Raises:
            StorageUnavailable: the server does not answer, or refuses.
        """
        pool, claims = await self._pool(url, pool_size)
        saver = PooledPostgresSaver(pool, claims)
        async with _setting_up(claims):
            await saver.setup()
        return saver

    async def store(self, url: str, pool_size: int) -> AsyncPostgresStore:
        """A store whose tables are there and of this version.

        Raises:
            StorageUnavailable: as for `saver`.
        """
        pool, claims = await self._pool(url, pool_size)
        store = await self._stack.enter_async_context(AsyncPostgresStore(pool))
        async with _setting_up(claims):
            await store.setup()
        return store

    async def _pool(self, url: str, pool_size: int) -> tuple[Any, ThreadClaims]:
        if url not in self._pools:
            pool = AsyncConnectionPool(
                url,
                min_size=1,
                max_size=pool_size,
                timeout=POOL_SECONDS,
                # A connection that a restart of the server has cut is replaced before it is used.
                check=AsyncConnectionPool.check_connection,
                kwargs={
                    "autocommit": True,
                    "prepare_threshold": 0,
                    "row_factory": dict_row,
                    "connect_timeout": CONNECT_SECONDS,
                    "application_name": "groundgraph",
                },
                configure=_bounded,
                open=False,
            )
            claims = ThreadClaims(url)
            self._stack.push_async_callback(claims.close)
            await self._stack.enter_async_context(pool)
            self._pools[url] = (pool, claims)
        return self._pools[url]


async def _bounded(connection: Any) -> None:
    # As a statement: start-up options would take the place of those in the user's url.
    await connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")


@asynccontextmanager
async def _setting_up(claims: ThreadClaims) -> AsyncIterator[None]:
    """One process at a time makes or migrates the tables."""
    try:
        async with claims.hold("groundgraph setup", _SETUP_SECONDS):
            yield
    except Exception as error:
        told = server_error(error)
        if told is None:
            raise
        raise told from error
