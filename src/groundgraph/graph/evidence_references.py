"""What still refers to a piece of evidence: the records and checkpoints of conversations (K12)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from langgraph.store.base import BaseStore

from groundgraph.core.provenance import provenance_namespace

_PAGE = 500
# What `evidence_key` makes.
_KEY = re.compile(r"[A-Za-z0-9_-]{16}")
_ALL_RECORDS = provenance_namespace("-")[:-1]


async def referred(
    saver: Any, store: BaseStore | None, thread_id: str | None, among: set[str] | None = None
) -> set[str]:
    """The keys of evidence that a thread refers to, or with None that any thread does; of `among` when it is given."""
    found: set[str] = set()
    # Closed at once: what reads a file holds the saver's lock.
    async with aclosing(_kept_values(saver, store, thread_id)) as values:
        async for value in values:
            found.update(keys_in(value) if among is None else among.intersection(keys_in(value)))
            if among is not None and len(found) == len(among):
                break
    return found


def keys_in(value: Any) -> Iterator[str]:
    """Everything in a JSON value that looks like the key of a piece of evidence."""
    if isinstance(value, str):
        if _KEY.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from keys_in(key)
            yield from keys_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from keys_in(inner)


async def items_below(store: BaseStore, namespace: tuple[str, ...]) -> AsyncIterator[Any]:
    """The items of a store below a namespace."""
    offset = 0
    while page := await store.asearch(namespace, limit=_PAGE, offset=offset):
        for item in page:
            # Some stores take a prefix by its characters, and give "a1" for "a" as well.
            if item.namespace[: len(namespace)] == namespace:
                yield item
        offset += len(page)


async def _kept_values(saver: Any, store: BaseStore | None, thread_id: str | None) -> AsyncGenerator[Any, None]:
    """Everything in which a thread, or any thread, refers to evidence."""
    if store is not None:
        async for item in items_below(store, _ALL_RECORDS if thread_id is None else provenance_namespace(thread_id)):
            yield item.value
    if saver:
        place = {"configurable": {"thread_id": thread_id}} if thread_id is not None else None
        async with aclosing(saver.alist(place)) as points:
            async for point in points:
                yield point.checkpoint["channel_values"]
                yield [write[2] for write in point.pending_writes or ()]
