"""Removing everything that was kept of one conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore, Op, PutOp

from groundgraph.core.provenance import messages_namespace, provenance_namespace
from groundgraph.graph.turn_runner import TurnRunner

_PAGE = 500


@dataclass(frozen=True)
class Forgotten:
    """How much of a thread was removed.

    Attributes:
        checkpoints: states of the conversation.
        records: provenance records of turns.
        messages: messages that had left the thread's window.
    """

    checkpoints: int = 0
    records: int = 0
    messages: int = 0

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.records or self.messages)


async def forget_thread(graph: TurnRunner, thread_id: str) -> Forgotten:
    """Remove the checkpoints of a thread and what the store holds under its name.

    Texts of evidence stay: they belong to the documents, and other threads refer to the same ones.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread; when nobody knows it, nothing is removed and the result is false.
    """
    saver, store = graph.checkpointer, graph.store
    return Forgotten(
        checkpoints=await _forget_checkpoints(saver, thread_id) if saver else 0,
        records=await _forget_items(store, provenance_namespace(thread_id)) if store else 0,
        messages=await _forget_items(store, messages_namespace(thread_id)) if store else 0,
    )


async def _forget_checkpoints(saver: Any, thread_id: str) -> int:
    count = 0
    async for _ in saver.alist({"configurable": {"thread_id": thread_id}}):
        count += 1
    if count:
        await saver.adelete_thread(thread_id)
    return count


async def _forget_items(store: BaseStore, namespace: tuple[str, ...]) -> int:
    keys: list[str] = []
    offset = 0
    while page := await store.asearch(namespace, limit=_PAGE, offset=offset):
        # Some stores take a prefix by its characters, and give "a1" for "a" as well.
        keys += [item.key for item in page if item.namespace == namespace]
        offset += len(page)
    removals: list[Op] = [PutOp(namespace, key, None) for key in keys]
    if removals:
        await store.abatch(removals)
    return len(removals)
