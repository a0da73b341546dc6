"""Taking old checkpoints out of a SQLite file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from groundgraph.graph.turn_points import Cut

_PLACE = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"


async def cut_thread(saver: Any, thread_id: str, cut: Cut, values: Mapping[str, Any]) -> None:
    """Remove the checkpoints that `cut` removes, in one transaction.

    Args:
        saver: LangGraph's SQLite saver.
        thread_id: the conversation.
        cut: what stays.
        values: the whole values, at the root of the cut, of those channels that a checkpoint holds only in part: what
            the rest of them is made from goes.
    """
    inner = await _inner_removed(saver, thread_id, {point.id for point in cut.removed})
    gone = [*(("", point.id) for point in cut.removed), *inner]
    async with saver.lock:
        try:
            # A write of a turn that was cancelled may stand open; the saver's next one would end it like this.
            await saver.conn.commit()
            await saver.conn.execute("BEGIN IMMEDIATE")
            await _make_first(saver, thread_id, cut.root.id, values)
            for table in ("checkpoints", "writes"):
                rows = [(thread_id, space, point) for space, point in gone]
                await saver.conn.executemany(f"DELETE FROM {table} WHERE {_PLACE}", rows)
            await saver.conn.commit()
        except BaseException:
            await saver.conn.rollback()
            raise


async def _inner_removed(saver: Any, thread_id: str, removed: set[str]) -> list[tuple[str, str]]:
    """The checkpoints of inner graphs that belong to a removed one of the conversation."""
    query = "SELECT checkpoint_ns, checkpoint_id, metadata FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != ''"
    async with saver.lock, saver.conn.execute(query, (thread_id,)) as cursor:
        rows = await cursor.fetchall()
    return [
        (space, point)
        for space, point, metadata in rows
        if (json.loads(metadata).get("parents") or {}).get("") in removed
    ]


async def _make_first(saver: Any, thread_id: str, point: str, values: Mapping[str, Any]) -> None:
    """Make a checkpoint stand by itself, as LangGraph does with every hundredth: nothing before it is read again."""
    place = (thread_id, "", point)
    query = f"SELECT type, checkpoint, metadata FROM checkpoints WHERE {_PLACE}"
    async with saver.conn.execute(query, place) as cursor:
        kind, blob, metadata = await cursor.fetchone()
    checkpoint = saver.serde.loads_typed((kind, blob))
    checkpoint["channel_values"] |= {name: _DeltaSnapshot(value) for name, value in values.items()}
    kind, blob = saver.serde.dumps_typed(checkpoint)
    told = json.loads(metadata)
    told.pop("counters_since_delta_snapshot", None)
    await saver.conn.execute(
        f"UPDATE checkpoints SET type = ?, checkpoint = ?, metadata = ?, parent_checkpoint_id = NULL WHERE {_PLACE}",
        (kind, blob, json.dumps(told, ensure_ascii=False).encode(), *place),
    )


async def thread_ids(saver: Any) -> list[str]:
    """The ids of all conversations in the file."""
    query = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
    async with saver.lock, saver.conn.execute(query) as cursor:
        return [row[0] for row in await cursor.fetchall()]


async def keys_before(store: Any, namespace: tuple[str, ...], seconds: float) -> set[str]:
    """The keys of the items of `namespace` that nobody has written for so many seconds.

    Args:
        store: LangGraph's SQLite store; its own search would read the items too.
        namespace: theirs, without what is below it.
        seconds: by the clock of this machine.
    """
    query = "SELECT key FROM store WHERE prefix = ? AND updated_at < datetime('now', ?)"
    parameters = (".".join(namespace), f"-{seconds:.0f} seconds")
    async with store.lock, store.conn.execute(query, parameters) as cursor:
        return {row[0] for row in await cursor.fetchall()}


async def compact(holders: Iterable[Any]) -> None:
    """Give the space of removed rows back to the disk; a file needs as much again while it is rewritten.

    Args:
        holders: LangGraph's SQLite savers and stores, whose turns under way wait meanwhile.
    """
    async with AsyncExitStack() as stack:
        connections = {}
        for holder in holders:
            # Else this would end a transaction of theirs, and a statement of theirs would stop this.
            await stack.enter_async_context(holder.lock)
            connections[id(holder.conn)] = holder.conn
        for connection in connections.values():
            await connection.commit()
            await connection.execute("VACUUM")
            await connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
