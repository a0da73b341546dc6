"""Checkpoints and the store in PostgreSQL, over a pool of connections.

Loaded only where a configuration asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import Op, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError
from groundgraph.core.stored_values import readable_value
from groundgraph.graph.checkpoint_serializer import CheckpointSerializer
from groundgraph.graph.damaged_rows import KeptRow, TellsDamage
from groundgraph.graph.own_checkpoints import note_own
from groundgraph.graph.postgres_claims import ThreadClaims
from groundgraph.graph.server_errors import server_error

CONNECT_SECONDS = 5
# A turn that waits longer for a free connection is told so.
POOL_SECONDS = 10.0
# As SQLite's: a statement that another session's lock holds up for longer is an error.
LOCK_TIMEOUT = "5s"
_SETUP_SECONDS = 60.0
# What a turn cannot do without the server, it says itself.
_TOLD_AGAIN_SECONDS = 60.0
_LOST_CONNECTION = ("error connecting", "discarding ")
_POINTS = "SELECT thread_id, checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = coalesce(%s, thread_id)"
_VALUES = (
    "SELECT thread_id, channel, version AS place, type, blob FROM checkpoint_blobs "
    "WHERE thread_id = coalesce(%s, thread_id) AND type <> 'empty'"
)
_WRITES = (
    "SELECT thread_id, channel, checkpoint_id AS place, type, blob FROM checkpoint_writes "
    "WHERE thread_id = coalesce(%s, thread_id)"
)


class _NoLock:
    """In place of the saver's own lock: with a pool every statement has a connection of its own."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class PooledPostgresSaver(TellsDamage, AsyncPostgresSaver):
    """LangGraph's saver over a pool, without its lock, which lets one statement of a process run at a time.

    Attributes:
        claims: keeps other processes from running a turn on the same thread.
    """

    def __init__(self, pool: Any, claims: ThreadClaims) -> None:
        super().__init__(pool, serde=CheckpointSerializer())
        self.lock = _NoLock()  # type: ignore[assignment]
        self.claims = claims

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's.

        Raises:
            StorageLocked: another session held the table.
            StorageUnavailable: the server does not answer, has no room, or is read-only.
        """
        with _told_as_ours():
            written = await super().aput(config, checkpoint, metadata, new_versions)
        note_own(config, checkpoint)
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's; raises as `aput` does."""
        with _told_as_ours():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As LangGraph's; raises as `aput` does."""
        with _told_as_ours():
            await super().adelete_thread(thread_id)

    @override
    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        return server_error(error)

    async def kept_rows(self, thread_id: str | None) -> AsyncGenerator[KeptRow, None]:
        """The checkpoints, the values of their channels, and the writes."""
        async with self._cursor() as cursor:
            await cursor.execute(_POINTS, (thread_id,))
            async for row in cursor:
                name = f"the checkpoint {row['checkpoint_id']} in PostgreSQL"
                yield KeptRow(row["thread_id"], name, partial(_with_values, row["checkpoint"]), whole=True)
            for query, name in ((_VALUES, "the value of '{}' at {}"), (_WRITES, "the write to '{}' at {}")):
                await cursor.execute(query, (thread_id,))
                async for row in cursor:
                    named = f"{name.format(row['channel'], row['place'])} in PostgreSQL"
                    yield KeptRow(row["thread_id"], named, partial(self.serde.loads_typed, (row["type"], row["blob"])))


def _with_values(checkpoint: Any) -> Any:
    """A checkpoint as its row holds it, whose values may all stand in rows of their own."""
    return {"channel_values": {}, **checkpoint} if isinstance(checkpoint, dict) else checkpoint


class _PooledPostgresStore(AsyncPostgresStore):
    """LangGraph's store, whose errors of the server are ours."""

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As LangGraph's; raises as `PooledPostgresSaver.aput` does."""
        with _told_as_ours():
            return await super().abatch(ops)


class _OncePerOutage(logging.Filter):
    """Lets through one warning of lost connections in so many seconds: pools write several for each that they try."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether `record` is written."""
        if record.levelno != logging.WARNING or not str(record.msg).startswith(_LOST_CONNECTION):
            return True
        if 0 <= record.created - self._last < self._seconds:
            return False
        self._last = record.created
        return True


_QUIET = _OncePerOutage(_TOLD_AGAIN_SECONDS)


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
        store = _PooledPostgresStore(pool, deserializer=readable_value)
        await self._stack.enter_async_context(store)
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
            logging.getLogger("psycopg.pool").addFilter(_QUIET)
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
    with _told_as_ours():
        async with claims.hold("groundgraph setup", _SETUP_SECONDS):
            yield


@contextmanager
def _told_as_ours() -> Iterator[None]:
    """Errors of the server as typed ones; see `server_error`."""
    try:
        yield
    except Exception as error:
        told = server_error(error)
        if told is None:
            raise
        raise told from error
