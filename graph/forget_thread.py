"""Removing everything that was kept of one conversation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore, Op, PutOp

from groundgraph.core.provenance import messages_namespace, provenance_namespace
from groundgraph.graph.turn_runner import TurnRunner

_PAGE = 500
# What `evidence_key` makes.
_KEY = re.compile(r"[A-Za-z0-9_-]{16}")
_ALL_RECORDS = provenance_namespace("-")[:-1]


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

    To know which texts those are, the records and checkpoints of all other threads are read. Do it while no other
    process answers: one that has written a text does not write it again.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread; when nobody knows it, nothing is removed and the result is false.
    """
    saver, store = graph.checkpointer, graph.store
    referred = await _referred(saver, store, thread_id)
    checkpoints = await _forget_checkpoints(saver, thread_id) if saver else 0
    records = await _forget_items(store, provenance_namespace(thread_id)) if store else 0
    messages = await _forget_items(store, messages_namespace(thread_id)) if store else 0
    unused = referred and referred - await _referred(saver, store, None, among=referred)
    return Forgotten(checkpoints, records, messages, await graph.resources.evidence.remove(store, unused))


async def _referred(
    saver: Any, store: BaseStore | None, thread_id: str | None, among: set[str] | None = None
) -> set[str]:
    """The keys of evidence that a thread refers to, or that any thread does; of `among` when that is given."""
    found: set[str] = set()
    async for value in _kept_values(saver, store, thread_id):
        found.update(_keys(value) if among is None else among.intersection(_keys(value)))
        if among is not None and len(found) == len(among):
            break
    return found


async def _kept_values(saver: Any, store: BaseStore | None, thread_id: str | None) -> AsyncIterator[Any]:
    """Everything in which a thread, or any thread, refers to evidence."""
    if store is not None:
        async for item in _items(store, _ALL_RECORDS if thread_id is None else provenance_namespace(thread_id)):
            yield item.value
    if saver:
        async for point in saver.alist({"configurable": {"thread_id": thread_id}} if thread_id is not None else None):
            yield point.checkpoint["channel_values"]
            yield [write[2] for write in point.pending_writes or ()]


def _keys(value: Any) -> Iterator[str]:
    """Everything in a JSON value that looks like the key of a piece of evidence."""
    if isinstance(value, str):
        if _KEY.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _keys(key)
            yield from _keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


async def _items(store: BaseStore, namespace: tuple[str, ...]) -> AsyncIterator[Any]:
    """The items below a namespace."""
    offset = 0
    while page := await store.asearch(namespace, limit=_PAGE, offset=offset):
        for item in page:
            # Some stores take a prefix by its characters, and give "a1" for "a" as well.
            if item.namespace[: len(namespace)] == namespace:
                yield item
        offset += len(page)


async def _forget_checkpoints(saver: Any, thread_id: str) -> int:
    count = 0
    async for _ in saver.alist({"configurable": {"thread_id": thread_id}}):
        count += 1
    if count:
        await saver.adelete_thread(thread_id)
    return count


async def _forget_items(store: BaseStore, namespace: tuple[str, ...]) -> int:
    keys = [item.key async for item in _items(store, namespace)]
    removals: list[Op] = [PutOp(namespace, key, None) for key in keys]
    if removals:
        await store.abatch(removals)
    return len(removals)
