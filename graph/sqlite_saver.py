"""LangGraph's SQLite saver, with a conversation that costs the same to load late in a thread as early in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory
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
    """

    @classmethod
    def over(cls, saver: Any) -> Any:
        """`saver` itself, or when it is LangGraph's SQLite saver, one like this on the same connection and lock."""
        if type(saver) is not AsyncSqliteSaver:
            return saver
        linear = copy.copy(saver)
        linear.__class__ = cls
        return linear

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As LangGraph's; falls back to it where the distance is not known."""
        found: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            known = await self._known_history(config, channel)
            if known is None:
                return await super().aget_delta_channel_history(config=config, channels=channels)
            found.update(known)
        return found

    async def _known_history(self, config: RunnableConfig, channel: str) -> Mapping[str, DeltaChannelHistory] | None:
        place = config["configurable"]
        thread, space = str(place["thread_id"]), place.get("checkpoint_ns", "")
        target = place.get("checkpoint_id")
        distance = await self._distance(thread, space, target, channel) if target else None
        if distance is None:
            return None
        rows = await self._rows(_ANCESTORS, thread, space, target, thread, space, distance + 1)
        chain = [row[0] for row in rows][1:]
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

    async def _distance(self, thread: str, space: str, target: str, channel: str) -> int | None:
        rows = await self._rows(f"SELECT metadata {_ONE}", thread, space, target)
        metadata = json.loads(rows[0][0]) if rows else {}
        counters = (metadata.get("counters_since_delta_snapshot") or {}).get(channel)
        return int(counters[1]) if counters else None

    async def _snapshot(self, thread: str, space: str, checkpoint: str, channel: str) -> dict[str, Any]:
        query = (
            "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        )
        rows = await self._rows(query, thread, space, checkpoint)
        values = self.serde.loads_typed(tuple(rows[0])).get("channel_values") or {}
        return {channel: values[channel]} if channel in values else {}

    async def _rows(self, query: str, *parameters: Any) -> list[Any]:
        await self.setup()
        async with self.lock, self.conn.execute(query, parameters) as cursor:
            return list(await cursor.fetchall())
