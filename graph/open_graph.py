"""Opening a graph with everything its settings name, and closing it again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import SaverSettings, Settings
from groundgraph.graph.turn import turn_graph
from groundgraph.graph.turn_runner import TurnRunner


@asynccontextmanager
async def open_graph(settings: Settings, **passed: Any) -> AsyncIterator[TurnRunner]:
    """The turn graph with the configured checkpointer and store; on leaving, both and the configured sources are
    closed.

    Args:
        settings: from `load_settings`.
        passed: `sources`, `chat_model`, `query_model`, `embeddings` as for `turn_graph`.

    Raises:
        ConfigurationError: see `turn_graph`; or the settings name PostgreSQL, whose packages are not installed.
        StorageUnavailable: the server that the settings name does not answer.
    """
    async with AsyncExitStack() as stack:
        server = _Server(stack)
        saver = await _open_saver(stack, server, settings, settings.checkpointer)
        store = await _open_store(stack, server, settings, settings.store)
        graph = turn_graph(settings, checkpointer=saver, store=store, **passed)
        stack.push_async_callback(graph.resources.close)
        yield graph


class _Server:
    """PostgreSQL's storage, loaded and opened when it is first asked for."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._storage: Any = None

    def storage(self, key: str) -> Any:
        if find_spec("psycopg_pool") is None or find_spec("langgraph.checkpoint.postgres") is None:
            raise ConfigurationError([Problem(f"{key}.type", 'needs: pip install "groundgraph[postgres]"')])
        from groundgraph.graph.postgres_storage import PostgresStorage

        self._storage = self._storage or PostgresStorage(self._stack)
        return self._storage


def _file(settings: Settings, saver: SaverSettings) -> str:
    path: Path = settings.at(saver.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


async def _open_saver(stack: AsyncExitStack, server: _Server, settings: Settings, saver: SaverSettings) -> Any:
    if saver.type == "memory":
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()
    if saver.type == "postgres":
        return await server.storage("checkpointer").saver(saver.url, saver.pool_size)
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    return await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(_file(settings, saver)))


async def _open_store(stack: AsyncExitStack, server: _Server, settings: Settings, saver: SaverSettings) -> BaseStore:
    if saver.type == "memory":
        from langgraph.store.memory import InMemoryStore

        return InMemoryStore()
    if saver.type == "postgres":
        opened: BaseStore = await server.storage("store").store(saver.url, saver.pool_size)
        return opened
    import aiosqlite
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    connection = await stack.enter_async_context(aiosqlite.connect(_file(settings, saver), isolation_level=None))
    # Without the write-ahead log each batch waits for the disk: more than half of a turn.
    await connection.execute("PRAGMA journal_mode=WAL")
    await connection.execute("PRAGMA synchronous=NORMAL")
    store = await stack.enter_async_context(AsyncSqliteStore(connection))
    await store.setup()
    return store
