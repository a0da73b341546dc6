"""Checkpoints and the store in PostgreSQL, over a pool of connections.

Loaded only where a configuration asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import Op, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection, DataError, InterfaceError, OperationalError
from psycopg.abc import Buffer
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzBinaryLoader, TimestamptzLoader
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError, StorageUnavailable
from groundgraph.core.evidence_store import readable_value
from groundgraph.resilience.blocking import end_task
from groundgraph.storage.checkpoint_serializer import CheckpointSerializer, NotReadable
from groundgraph.storage.storage_errors import KeptRow, TellsDamage, server_error
from groundgraph.storage.thread_locks import claimed

# One turn at a time on one thread, whichever process runs it, by PostgreSQL's advisory locks.

# Keeps our locks apart from those of other programs on the same database.
_SEED = 0x67726F756E64
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
            StorageUnavailable: the server does not answer.
        """
        with _told_as_ours():
            await claimed(name, wait, lambda: self._claimed(name))
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

    async def _claimed(self, name: str) -> Literal[True] | None:
        """True where the server gives the claim; one that it gives when nobody waits any more is given back."""
        asked = self._started(_LOCK, name)
        try:
            return True if await asyncio.shield(asked) else None
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
        async with self._guard:
            kept, connection = self._connection, await self._open()
            try:
                return await self._asked(connection, statement, name)
            except OperationalError:
                if connection is not kept or not connection.broken:
                    raise
                # The server ended it while nobody asked, as at a restart, and takes new ones.
                return await self._asked(await self._open(), statement, name)

    async def _asked(self, connection: Any, statement: str, name: str) -> bool:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                cursor = await connection.execute(statement, (name, _SEED))
                row = await cursor.fetchone()
        except TimeoutError as error:
            await connection.close()
            raise OperationalError(f"no answer within {_ANSWER_SECONDS:g} seconds") from error
        return bool(row and row[0])

    async def _open(self) -> Any:
        if self._closed:
            raise InterfaceError("the graph was closed")
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = await AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=5, application_name="groundgraph claims"
            )
        return self._connection


CONNECT_SECONDS = 5
# A turn that waits longer for a free connection is told so.
POOL_SECONDS = 10.0
# As SQLite's: a statement that another session's lock holds up for longer is an error.
LOCK_TIMEOUT = "5s"
_SETUP_SECONDS = 60.0
# What a turn cannot do without the server, it says itself.
_TOLD_AGAIN_SECONDS = 60.0
_LOST_CONNECTION = ("error connecting", "discarding ", "reconnection attempt")
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

    @staticmethod
    @override
    def _ingest_stage1_page(page: Any, channels: Any, parent_of: dict[str, str | None], *found: Any) -> str | None:
        """As LangGraph's, which would walk around a circle of checkpoints for ever, and remember each step."""
        oldest = AsyncPostgresSaver._ingest_stage1_page(page, channels, parent_of, *found)
        _refuse_circle(parent_of)
        return oldest

    @override
    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        with _told_as_ours():
            yield

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


def _refuse_circle(parent_of: dict[str, str | None]) -> None:
    # The first is the one that is loaded.
    at, passed = next(iter(parent_of), None), set[str]()
    while at in parent_of:
        if at in passed:
            raise NotReadable(f"{at} is its own ancestor")
        passed.add(at)
        at = parent_of[at]


def _with_values(checkpoint: Any) -> Any:
    """A checkpoint as its row holds it, whose values may all stand in rows of their own."""
    return {"channel_values": {}, **checkpoint} if isinstance(checkpoint, dict) else checkpoint


class _PooledPostgresStore(AsyncPostgresStore):
    """LangGraph's store, whose errors of the server are ours, and whose task in the background ends with it."""

    _closed = False

    def _ensure_task(self) -> None:
        if self._closed:
            raise StorageUnavailable("The graph was closed, and with it the store.")
        super()._ensure_task()

    async def close(self) -> None:
        """End the task: LangGraph leaves it to the end of the loop, which waits for it for ever where its only
        cancellation is lost."""
        self._closed = True
        await end_task(self._task)

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


_TABLES = {"checkpointer": ["checkpoints", "checkpoint_blobs", "checkpoint_writes"], "store": ["store"]}
_LACKING = (
    "SELECT format('%%s on %%s', wanted, there) FROM unnest(%s::text[]) AS name, "
    "unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted, to_regclass(name) AS there "
    "WHERE there IS NOT NULL AND NOT has_table_privilege(there, wanted) ORDER BY 1"
)


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
        self._stack.push_async_callback(store.close)
        async with _setting_up(claims):
            await store.setup()
        return store

    async def probe(self, url: str, key: str) -> None:
        """Make a table and take it back, as a saver or a store makes its own, and look at the rights on those of `key`
        that are there: the first turn would fail without one of them.

        Raises:
            StorageUnavailable: as for `saver`.
        """
        with _told_as_ours():
            async with await AsyncConnection.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
                await connection.execute("CREATE TABLE groundgraph_probe ()")
                cursor = await connection.execute(_LACKING, [_TABLES[key]])
                lacking = [row[0] for row in await cursor.fetchall()]
                await connection.rollback()
                if lacking:
                    raise InsufficientPrivilege(f"the role has no right to {', '.join(lacking)}")

    async def _pool(self, url: str, pool_size: int) -> tuple[Any, ThreadClaims]:
        if url not in self._pools:
            pool = AsyncConnectionPool(
                url,
                min_size=1,
                max_size=pool_size,
                timeout=POOL_SECONDS,
                # It tries at ever longer intervals, and anew with a request once it has given up: an outage of minutes
                # would go on for as long again.
                reconnect_timeout=POOL_SECONDS,
                check=lambda connection: _answering(pool, connection),
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


async def _answering(pool: AsyncConnectionPool[Any], connection: Any) -> None:
    """Nothing where `connection` works: one that a restart of the server has cut is replaced before it is used, and the
    others with it. The pool by itself asks one after the other, at intervals that double, and gives up at the fifth."""
    try:
        await pool.check_connection(connection)
    except Exception:
        await pool.check()
        raise


# In place of a date that Python has none for, such as "infinity": nothing but the order of records depends on it.
_NO_DATE = datetime.min.replace(tzinfo=UTC)


class _AnyDate(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _NO_DATE


class _AnyBinaryDate(TimestamptzBinaryLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _NO_DATE


async def _bounded(connection: Any) -> None:
    for loader in (_AnyDate, _AnyBinaryDate):
        connection.adapters.register_loader("timestamptz", loader)
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
