"""LangGraph's SQLite saver, whose writes go to the connection's thread and back once each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from typing_extensions import override

_CHECKPOINT = """
INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_WRITES = """
INSERT OR {} INTO writes
(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class QuickSqliteSaver(AsyncSqliteSaver):
    """Writes what LangGraph's writes.

    That one goes three or four times for each of the two dozen writes of a turn: to make a cursor, to write, to commit
    and to close, for 8 % of a turn.
    """

    @override
    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """As LangGraph's, and in one order with its own, without the random number behind each: a checkpoint has thirty
        of them, and keeps its values in itself, so nothing is found by a version alone."""
        last = int(str(current).partition(".")[0]) if current is not None else 0
        return f"{last + 1:032}"

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's."""
        place = config["configurable"]
        kind, blob = self.serde.dumps_typed(checkpoint)
        told = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        thread, space, parent = str(place["thread_id"]), place["checkpoint_ns"], place.get("checkpoint_id")
        await self._write(_CHECKPOINT, [(thread, space, checkpoint["id"], parent, kind, blob, told)])
        written = {"thread_id": place["thread_id"], "checkpoint_ns": space, "checkpoint_id": checkpoint["id"]}
        return {"configurable": written}

    @override
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's."""
        place = config["configurable"]
        own = (str(place["thread_id"]), str(place["checkpoint_ns"]), str(place["checkpoint_id"]), task_id, task_path)
        rows = [
            (*own, WRITES_IDX_MAP.get(channel, at), channel, *self.serde.dumps_typed(value))
            for at, (channel, value) in enumerate(writes)
        ]
        again = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"
        await self._write(_WRITES.format(again), rows)

    async def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        await self.setup()
        connection: Any = self.conn
        async with self.lock:
            # By which aiosqlite does all that it is asked for.
            await connection._execute(_written, connection._conn, statement, rows)


def _written(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    connection.executemany(statement, rows)
    connection.commit()
