"""Removing everything that was kept of one conversation."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

from langgraph.store.base import BaseStore, Op, PutOp

from groundgraph.answers.provenance import conversation_namespace, messages_namespace, provenance_namespace
from groundgraph.core.errors import StorageDamaged
from groundgraph.core.evidence_store import run_batch
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.storage.records import items_below, referred
from groundgraph.storage.thread_locks import held_thread, turns_ended


@dataclass(frozen=True)
class Forgotten:
    """How much of a thread was removed.

    Attributes:
        checkpoints: states of the conversation.
        records: provenance records of turns.
        messages: messages that had left the thread's window.
        bodies: texts of evidence that no other thread refers to.
    """

    checkpoints: int = 0
    records: int = 0
    messages: int = 0
    bodies: int = 0

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.records or self.messages)


async def forget_thread(graph: TurnRunner, thread_id: str) -> Forgotten:
    """Remove the checkpoints of a thread, what the store holds under its name, and the texts that only it refers to.

    A turn that is under way on the thread is waited for. To know which texts those are, the records and checkpoints of
    all other threads are read; while one of them cannot be read, all texts stay. Do it while no other process answers:
    one that has written a text does not write it again. A thread that is damaged is removed like any other.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread; when nobody knows it, nothing is removed and the result is false.

    Raises:
        InputInvalid: no thread can have this id.
        ThreadBusy: a turn held the thread for longer than a turn may take.
        StorageLocked: another process holds a database of the graph.
        StorageUnavailable: what keeps the threads is closed, or cannot be used.
    """
    checked_thread_id(thread_id)
    with graph.told_as_ours({"configurable": {"thread_id": thread_id}}, Exception):
        return await _forget(graph, thread_id)


async def _forget(graph: TurnRunner, thread_id: str) -> Forgotten:
    wait = graph.resources.settings.deadlines.turn
    async with held_thread(graph.checkpointer, thread_id, wait):
        candidates = await _own_references(graph, thread_id)
        removed = await remove_thread(graph, thread_id)
    forgotten = replace(removed, bodies=await remove_unused(graph, candidates))
    await empty_logs(graph.checkpointer, graph.store)
    return forgotten


async def empty_logs(*holders: Any) -> None:
    """Empty the write-ahead logs of SQLite savers and stores, which would hold what was removed until so much is
    written that SQLite begins them anew. While another process reads a file, its log stays.

    Args:
        holders: savers and stores of any kind; turns of SQLite's wait meanwhile.
    """
    aiosqlite = sys.modules.get("aiosqlite")
    for holder in holders:
        connection = getattr(holder, "conn", None)
        if aiosqlite and isinstance(connection, aiosqlite.Connection):
            async with holder.lock:
                await connection.commit()
                await connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _own_references(graph: TurnRunner, thread_id: str) -> set[str]:
    """The evidence that a thread refers to; where its checkpoints cannot be read, what its records say."""
    try:
        return await referred(graph.checkpointer, graph.store, thread_id)
    except StorageDamaged:
        return await referred(None, graph.store, thread_id)


async def remove_thread(graph: TurnRunner, thread_id: str) -> Forgotten:
    """Remove the checkpoints of a thread and what the store holds under its name, without the texts."""
    saver, store = graph.checkpointer, graph.store
    records = await _forget_items(store, provenance_namespace(thread_id)) if store else 0
    messages = await _forget_items(store, messages_namespace(thread_id)) if store else 0
    if store:
        await _forget_items(store, conversation_namespace(thread_id))
    # Last, because whoever looks for conversations finds them by these: a killed process leaves nothing unseen.
    checkpoints = await _forget_checkpoints(saver, thread_id) if saver else 0
    return Forgotten(checkpoints, records, messages)


async def remove_unused(graph: TurnRunner, candidates: set[str]) -> int:
    """Remove those texts among `candidates` that no thread refers to any more, and count them.

    A turn that is under way may refer to one of them before a checkpoint does: those that began before are waited for,
    and what the others save stays.

    Raises:
        ThreadBusy: a turn of this process took longer than a turn may take.
    """
    saver, evidence = graph.checkpointer, graph.resources.evidence
    if not candidates:
        return 0
    with evidence.watched() as saved:
        if saver:
            await turns_ended(getattr(saver, "conn", saver), graph.resources.settings.deadlines.turn)
        try:
            used = await referred(saver, graph.store, None, among=candidates)
        except StorageDamaged:
            return 0
        return await evidence.remove(graph.store, candidates - used - saved)


async def _forget_checkpoints(saver: Any, thread_id: str) -> int:
    count = 0
    try:
        async for _ in saver.alist({"configurable": {"thread_id": thread_id}}):
            count += 1
    except StorageDamaged as error:
        if not error.thread_id:
            raise
        # At least that one.
        count += 1
    # Also when nothing is listed: a killed process may have left writes without a checkpoint.
    await saver.adelete_thread(thread_id)
    return count


async def _forget_items(store: BaseStore, namespace: tuple[str, ...]) -> int:
    keys = [item.key async for item in items_below(store, namespace)]
    removals: list[Op] = [PutOp(namespace, key, None) for key in keys]
    if removals:
        await run_batch(store, removals)
    return len(removals)
