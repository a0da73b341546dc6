"""Telling whether another process wrote to a thread during a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from groundgraph.core.errors import ThreadConflict


@dataclass
class ForeignWrites:
    """What a thread looked like before a turn, for a saver that several processes can write to.

    Two processes that run a turn on one thread at once each build on the same checkpoint; both branches are kept, but
    only the newest is the thread's head, so the messages of the other are not seen again. SQLite tells cheaply
    whether any other connection wrote to the file (`PRAGMA data_version`); only then are the thread's checkpoints
    compared.
    """

    saver: AsyncSqliteSaver
    thread_id: str
    head: str | None
    version: int

    @classmethod
    async def watch(cls, saver: BaseCheckpointSaver[Any], thread_id: str) -> ForeignWrites | None:
        """The state of the thread now; None for a saver that belongs to one process, or has rules of its own."""
        if not isinstance(saver, AsyncSqliteSaver):
            return None
        await saver.setup()
        head, version = await _head_and_version(saver, thread_id)
        return cls(saver, thread_id, head, version)

    async def check(self) -> None:
        """
        Raises:
            ThreadConflict: a checkpoint that is no ancestor of the head was written since `watch`.
        """
        _, version = await _head_and_version(self.saver, self.thread_id)
        if version == self.version:
            return
        parents = await self._written_since()
        newest = max(parents, default=None)
        chain = set()
        while newest in parents:
            chain.add(newest)
            newest = parents[newest]
        if set(parents) - chain:
            raise ThreadConflict(
                f"Another process wrote to the thread '{self.thread_id}' during this turn, so the thread goes on from "
                "only one of the two answers. Let one process own a thread, or serve the graph with LangGraph Server."
            )

    async def _written_since(self) -> dict[str, str]:
        query = (
            "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id > ?"
        )
        async with self.saver.conn.execute(query, (self.thread_id, self.head or "")) as cursor:
            return {str(row[0]): str(row[1] or "") async for row in cursor}


async def _head_and_version(saver: AsyncSqliteSaver, thread_id: str) -> tuple[str | None, int]:
    """The newest checkpoint of a thread, and a number that changes when another connection writes to the file."""
    query = (
        "SELECT (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''), data_version "
        "FROM pragma_data_version"
    )
    async with saver.conn.execute(query, (thread_id,)) as cursor:
        row = await cursor.fetchone()
    return (row[0], int(row[1])) if row else (None, 0)
