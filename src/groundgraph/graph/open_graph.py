"""Opening a graph with everything its settings name, and closing it again."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Unpack

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from tenacity import stop_after_delay, wait_fixed

from groundgraph.core.errors import ConfigurationError, GroundGraphError, Problem, StorageLocked, StorageUnavailable
from groundgraph.core.write_ahead_log import reading_uri, use_write_ahead_log
from groundgraph.graph.parts import Parts, takes
from groundgraph.graph.state import TurnOutput
from groundgraph.graph.turn import turn_graph
from groundgraph.graph.typed_runs import TurnGraph
from groundgraph.resilience.blocking import run_blocking, run_in_background
from groundgraph.resilience.bounds import with_retries
from groundgraph.settings.load_settings import GivenSettings, settings_of
from groundgraph.settings.settings import Settings
from groundgraph.storage.checkpoint_serializer import CheckpointSerializer
from groundgraph.storage.storage_errors import sqlite_error

_LOCK_TIMEOUT = 5.0
# What is removed is overwritten; some builds of SQLite leave it in the file else.
_OVERWRITE = "PRAGMA secure_delete=ON"
# In a folder without rights SQLite cannot open the log beside the file, and on a full disk not the index of the log.
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class OpenGraph:
    """What `open_graph` gives: entered with `async with`, or with `with` by callers that are not asynchronous."""

    def __init__(self, opening: AbstractAsyncContextManager[TurnGraph[TurnOutput]]) -> None:
        self._opening = opening

    async def __aenter__(self) -> TurnGraph[TurnOutput]:
        return await self._opening.__aenter__()

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._opening.__aexit__(*raised)

    def __enter__(self) -> TurnGraph[TurnOutput]:
        return run_in_background(self.__aenter__())

    def __exit__(self, *raised: Any) -> bool | None:
        return run_in_background(self.__aexit__(*raised))


@takes(Parts)
def open_graph(settings: GivenSettings = None, **parts: Unpack[Parts]) -> OpenGraph:
    """The turn graph with the configured checkpointer and store; on leaving, both and the configured sources are
    closed. `async with`, or plain `with`.

    Args:
        settings: from `load_settings`, or what it takes.
        parts: see `Parts`: `sources` and models.

    Raises:
        ConfigurationError: see `turn_graph`; or the settings name PostgreSQL, whose packages are not installed.
        StorageUnavailable: the server that the settings name does not answer, or the file cannot be used.
        StorageDamaged: the file is damaged.
    """
    return OpenGraph(_opened(settings_of(settings), parts))


def open_for_reading(settings: Settings) -> OpenGraph:
    """As `open_graph`, for what reads old turns and runs none.

    Files that may not be written, such as those of a backup, are opened as they are.
    """
    return OpenGraph(_opened(settings, {}, reads=True))


async def server_problems(settings: Settings) -> dict[str, str]:
    """By name those of `checkpointer` and `store` that are on a server, and why nothing can be kept there, an empty
    text where it can; nothing is left there."""
    found = {}
    async with AsyncExitStack() as stack:
        storage = _Storage(stack, settings)
        for key, kept in (("checkpointer", settings.checkpointer), ("store", settings.store)):
            if kept.type == "postgres":
                try:
                    await storage.postgres(key).probe(kept.url, key)
                    found[key] = ""
                except GroundGraphError as error:
                    found[key] = str(error)
    return found


@asynccontextmanager
async def _opened(loaded: Settings, parts: Parts, *, reads: bool = False) -> AsyncIterator[TurnGraph[TurnOutput]]:
    async with AsyncExitStack() as stack:
        storage = _Storage(stack, loaded, reads)
        graph = turn_graph(loaded, checkpointer=await storage.saver(), store=await storage.store(), **parts)
        stack.push_async_callback(graph.resources.close)
        yield graph


@dataclass
class _Storage:
    """Where conversations and records are kept, opened on `stack`; what only `reads` may open files that cannot be
    written."""

    stack: AsyncExitStack
    settings: Settings
    reads: bool = False
    _postgres: Any = field(default=None, init=False)

    def postgres(self, key: str) -> Any:
        """PostgreSQL's, loaded when it is first asked for; `key` is the section that names it."""
        if find_spec("psycopg_pool") is None or find_spec("langgraph.checkpoint.postgres") is None:
            raise ConfigurationError([Problem(f"{key}.type", 'needs: pip install "groundgraph[postgres]"')])
        from groundgraph.storage.postgres_storage import PostgresStorage

        self._postgres = self._postgres or PostgresStorage(self.stack)
        return self._postgres

    async def saver(self) -> Any:
        """The checkpointer."""
        kept = self.settings.checkpointer
        if kept.type == "memory":
            return InMemorySaver(serde=CheckpointSerializer())
        if kept.type == "postgres":
            return await self.postgres("checkpointer").saver(kept.url, kept.pool_size)
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        connection, _ = await self._sqlite(kept.path)
        return AsyncSqliteSaver(connection, serde=CheckpointSerializer())

    async def store(self) -> BaseStore:
        """The store."""
        kept = self.settings.store
        if kept.type == "memory":
            from langgraph.store.memory import InMemoryStore

            return InMemoryStore()
        if kept.type == "postgres":
            opened: BaseStore = await self.postgres("store").store(kept.url, kept.pool_size)
            return opened
        from groundgraph.storage.sqlite_saver import SqliteStore

        connection, path = await self._sqlite(kept.path, isolation_level=None)
        await connection.execute("PRAGMA synchronous=NORMAL")
        store = await self.stack.enter_async_context(SqliteStore(connection, path))
        # Another process may be taking the same steps of the same new file; afterwards there are none left.
        try:
            await with_retries(store.setup, _may_be_a_race, stop=stop_after_delay(_LOCK_TIMEOUT), wait=wait_fixed(0.05))
        except sqlite3.Error as error:
            told = sqlite_error(error, path)
            raise told or error from error
        return store

    async def _sqlite(self, file: Path, **options: Any) -> tuple[Any, str]:
        """A connection to a `file` of the settings, and what the file is called there."""
        import aiosqlite

        path = await run_blocking(partial(_prepared, reads=self.reads), self.settings.at(file))
        connection = await self.stack.enter_async_context(aiosqlite.connect(path, uri=True, **options))
        await connection.execute(_OVERWRITE)
        return connection, path


def _prepared(path: Path, *, reads: bool) -> str:
    """The file of a saver or a store, with a write-ahead log: without it each batch of the store waits for the disk,
    more than half of a turn. LangGraph's own switch to it fails when two processes open a new file at once.

    Of a file that is only to be read and cannot be written, for want of a right or of room, the address that opens it
    so."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_LOCK_TIMEOUT)) as connection:
            use_write_ahead_log(connection, _LOCK_TIMEOUT)
    except (OSError, sqlite3.Error) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if reads and path.is_file() and code in (*_READ_ONLY, *_NO_ROOM):
            return reading_uri(path, full=code in _NO_ROOM)
        told = sqlite_error(error, str(path))
        raise told or StorageUnavailable(
            f"The file {path} of the checkpointer or the store cannot be used ({error}). Name another file, or free "
            "this one."
        ) from error
    return str(path)


def _may_be_a_race(error: BaseException) -> bool:
    told = sqlite_error(error)
    return isinstance(error, sqlite3.Error) and (told is None or isinstance(told, StorageLocked))
