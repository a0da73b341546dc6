"""LangGraph's SQLite saver, with a conversation that costs the same to load late in a thread as early in it."""

from __future__ import annotations

import asyncio
import copy
import json
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, DeltaChannelHistory
from langgraph.checkpoint.sqlite._delta import build_delta_channels_writes_history, build_delta_stage2_sql
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.graph.damaged_rows import KeptRow, TellsDamage
from groundgraph.graph.own_checkpoints import note_own
from groundgraph.graph.sqlite_errors import sqlite_error
from groundgraph.graph.thread_files import ThreadFiles

_ONE = "FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"

# The target and its ancestors, nearest first; only their ids.
_ANCESTORS = """
WITH RECURSIVE ancestors(id, parent) AS (
    SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
    UNION ALL
    SELECT c.checkpoint_id, c.parent_checkpoint_id FROM ancestors CROSS JOIN checkpoints c
    ON c.checkpoint_id = ancestors.parent WHERE c.thread_id = ? AND c.checkpoint_ns = ?
)
SELECT id FROM ancestors LIMIT ?
"""

_KEPT_CHECKPOINTS = """
SELECT thread_id, checkpoint_id, type, checkpoint, metadata FROM checkpoints
WHERE thread_id = coalesce(?, thread_id) ORDER BY checkpoint_id DESC
"""
_KEPT_WRITES = """
SELECT thread_id, checkpoint_id, channel, type, value FROM writes
WHERE thread_id = coalesce(?, thread_id) ORDER BY checkpoint_id DESC
"""


class _LinearHistory(AsyncSqliteSaver):
    """Knows how far back the last snapshot of the messages is, and reads no checkpoint on the way to it.

    The saver that it extends unpacks every ancestor until it finds the snapshot, about nine for each turn: in the two
    hundredth turn of a thread that took most of the time. The checkpoint's own metadata tells the distance.
    """

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As LangGraph's; falls back to it where the distance is not known."""
        place = config["configurable"]
        thread, space = str(place["thread_id"]), place.get("checkpoint_ns", "")
        target = place.get("checkpoint_id")
        distances = await self._distances(thread, space, target, channels) if target else None
        if not distances:
            return await super().aget_delta_channel_history(config=config, channels=channels)
        farthest = max(distances.values()) + 1
        rows = await self._rows(_ANCESTORS, thread, space, target, thread, space, farthest)
        ancestors = [row[0] for row in rows][1:]
        found: dict[str, DeltaChannelHistory] = {}
        for channel, distance in distances.items():
            known = await self._known_history(thread, space, channel, ancestors[:distance], distance)
            if known is None:
                return await super().aget_delta_channel_history(config=config, channels=channels)
            found.update(known)
        return found

    async def _known_history(
        self, thread: str, space: str, channel: str, chain: list[str], distance: int
    ) -> Mapping[str, DeltaChannelHistory] | None:
        seed = await self._snapshot(thread, space, chain[-1], channel) if chain else {}
        if not seed and len(chain) == distance:
            return None
        writes = build_delta_stage2_sql(has_task_path=self._has_task_path, chain_lens=[len(chain)]) if chain else ""
        return build_delta_channels_writes_history(
            channels=[channel],
            chain_by_ch={channel: chain},
            seed_val_by_ch=seed,
            seeded=set(seed),
            stage2_rows=await self._rows(writes, thread, space, channel, *chain) if chain else [],
            serde=self.serde,
        )

    async def _distances(self, thread: str, space: str, target: str, channels: Sequence[str]) -> dict[str, int] | None:
        """How many checkpoints back the last snapshot of each channel is; None when that of one is not known."""
        rows = await self._rows(f"SELECT metadata {_ONE}", thread, space, target)
        metadata = json.loads(rows[0][0]) if rows else {}
        counters = metadata.get("counters_since_delta_snapshot") or {}
        try:
            known = {channel: int(counters[channel][1]) for channel in set(channels)}
        except (IndexError, KeyError, TypeError, ValueError):
            return None
        return known if min(known.values(), default=-1) >= 0 else None

    async def _snapshot(self, thread: str, space: str, checkpoint: str, channel: str) -> dict[str, Any]:
        query = (
            "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        )
        rows = await self._rows(query, thread, space, checkpoint)
        values = self.serde.loads_typed(tuple(rows[0])).get("channel_values") or {}
        return {channel: values[channel]} if channel in values else {}

    async def _rows(self, query: str, *parameters: Any) -> list[Any]:
        await self.setup()
        async with self.lock:
            # One way to the connection's thread and back; a cursor takes three.
            return list(await self.conn.execute_fetchall(query, parameters))


class LinearSqliteSaver(TellsDamage, _LinearHistory):
    """LangGraph's SQLite saver for long threads, whose errors name the file or the row.

    A turn has up to a dozen writes under way at once. When one has waited in vain for a locked file, those that stood
    in line behind it fail as well: each would wait for as long again, one after another, for a turn that is lost.
    """

    _line: asyncio.Lock
    _locked_at: float
    claims: ThreadFiles
    """Keep other processes from running a turn on the same thread."""

    @classmethod
    def over(cls, saver: Any) -> Any:
        """`saver` itself, or when it is LangGraph's SQLite saver, one like this on the same connection and lock."""
        if type(saver) is not AsyncSqliteSaver:
            return saver
        linear: Any = copy.copy(saver)
        linear.__class__ = cls
        linear._line, linear._locked_at = asyncio.Lock(), float("-inf")
        linear.claims = ThreadFiles(partial(file_of, saver.conn))
        return linear

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's.

        Raises:
            StorageLocked: another process held the file.
            StorageUnavailable: the file cannot be written.
        """
        async with self._in_line():
            written = await super().aput(config, checkpoint, metadata, new_versions)
        note_own(config, checkpoint)
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's; raises as `aput` does."""
        async with self._in_line():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As LangGraph's; raises as `aput` does."""
        async with self._in_line():
            await super().adelete_thread(thread_id)

    @asynccontextmanager
    async def _in_line(self) -> AsyncIterator[None]:
        came = time.monotonic()
        async with self._line:
            try:
                if came < self._locked_at:
                    raise sqlite3.OperationalError("database is locked")
                yield
            except sqlite3.Error as error:
                told = await self.storage_error(error)
                if isinstance(told, StorageLocked):
                    self._locked_at = time.monotonic()
                if told is None:
                    raise
                raise told from error

    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        """The typed error for one of SQLite's that the file caused; what it left half done is undone."""
        told = sqlite_error(error)
        if told is None:
            return None
        with suppress(sqlite3.Error, ValueError):
            async with self.lock:
                # Else the file stays locked for others, and the next write would end what failed here.
                if self.conn.in_transaction:
                    await self.conn.rollback()
                return sqlite_error(error, await file_of(self.conn))
        return told

    async def kept_rows(self, thread_id: str | None) -> AsyncGenerator[KeptRow, None]:
        """The checkpoints, their metadata and writes: of a thread the newest first, or of all threads."""
        file = await file_of(self.conn)
        async with self.lock, self.conn.execute(_KEPT_CHECKPOINTS, (thread_id,)) as cursor:
            async for thread, point, kind, blob, metadata in cursor:
                name = f"the checkpoint {point} in {file}"
                yield KeptRow(thread, name, partial(self.serde.loads_typed, (kind, blob)), whole=True)
                yield KeptRow(thread, name, partial(json.loads, metadata or "{}"))
        async with self.lock, self.conn.execute(_KEPT_WRITES, (thread_id,)) as cursor:
            async for thread, point, channel, kind, blob in cursor:
                name = f"the write to '{channel}' of the checkpoint {point} in {file}"
                yield KeptRow(thread, name, partial(self.serde.loads_typed, (kind, blob)))


async def file_of(connection: Any) -> str:
    """The file behind a connection of aiosqlite; empty when it is in memory."""
    rows = await connection.execute_fetchall("PRAGMA database_list")
    return next((str(row[2] or "") for row in rows if row[1] == "main"), "")
