"""LangGraph's SQLite saver, with a conversation that costs the same to load late in a thread as early in it."""

from __future__ import annotations

import asyncio
import copy
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, DeltaChannelHistory
from langgraph.checkpoint.sqlite._delta import build_delta_channels_writes_history, build_delta_stage2_sql
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

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


class LinearSqliteSaver(AsyncSqliteSaver):
    """Knows how far back the last snapshot of the messages is, and reads no checkpoint on the way to it.

    The saver that it extends unpacks every ancestor until it finds the snapshot, about nine for each turn: in the two
    hundredth turn of a thread that took most of the time. The checkpoint's own metadata tells the distance.

    A turn has up to a dozen writes under way at once. When one has waited in vain for a locked file, those that stood
    in line behind it fail as well: each would wait for as long again, one after another, for a turn that is lost.
    """

    _line: asyncio.Lock
    _locked_at: float

    @classmethod
    def over(cls, saver: Any) -> Any:
        """`saver` itself, or when it is LangGraph's SQLite saver, one like this on the same connection and lock."""
        if type(saver) is not AsyncSqliteSaver:
            return saver
        linear: Any = copy.copy(saver)
        linear.__class__ = cls
        linear._line, linear._locked_at = asyncio.Lock(), float("-inf")
        return linear

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's."""
        async with self._in_line():
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's."""
        async with self._in_line():
            await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _in_line(self) -> AsyncIterator[None]:
        came = time.monotonic()
        async with self._line:
            if came < self._locked_at:
                raise sqlite3.OperationalError("database is locked")
            try:
                yield
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    self._locked_at = time.monotonic()
                raise

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
        known = {channel: int(counters[channel][1]) for channel in channels if counters.get(channel)}
        return known if len(known) == len(set(channels)) else None

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
