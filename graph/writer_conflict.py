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
        watch = cls(saver, thread_id, None, await _data_version(saver))
        watch.head = await watch._newest()
        return watch

    async def check(self) -> None:
        """
        Raises:
            ThreadConflict: a checkpoint that is no ancestor of the head was written since `watch`.
        """
        if await _data_version(self.saver) == self.version:
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

    async def _newest(self) -> str | None:
        query = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
        async with self.saver.conn.execute(query, (self.thread_id,)) as cursor:
            row = await cursor.fetchone()
        return row[0] if row else None

    async def _written_since(self) -> dict[str, str]:
        query = (
            "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints "
            "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id > ?"
        )
        async with self.saver.conn.execute(query, (self.thread_id, self.head or "")) as cursor:
            return {str(row[0]): str(row[1] or "") async for row in cursor}


async def _data_version(saver: AsyncSqliteSaver) -> int:
    async with saver.conn.execute("PRAGMA data_version") as cursor:
        row = await cursor.fetchone()
    return int(row[0]) if row else 0
