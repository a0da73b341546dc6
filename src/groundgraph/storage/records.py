"""The records of turns as a store keeps them: one with the texts of its evidence, the newest, what they refer to."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from langgraph.store.base import BaseStore

from groundgraph.answers.provenance import KEPT_AT, full_record, provenance_namespace, record_keys, turn_of_thread
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import EvidenceMissing, StorageDamaged
from groundgraph.core.evidence_store import EvidenceStore, stored_item, stored_items
from groundgraph.core.turn_record import OtherRecord, TurnRecord
from groundgraph.nodes.turn_lineage import records_of_turn
from groundgraph.storage.storage_errors import damaged

# What still refers to a piece of evidence: the records and checkpoints of conversations.

_PAGE = 500
# What `evidence_key` makes.
_KEY = re.compile(r"[A-Za-z0-9_-]{16}")


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
    while page := await stored_items(store, namespace, limit=_PAGE, offset=offset):
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


async def stored_provenance(
    evidence: EvidenceStore,
    running: BaseStore | None,
    thread_id: str,
    turn_id: str,
    in_state: Mapping[str, Any] | None = None,
) -> TurnRecord:
    """The record of the turn `turn_id` from the store `running`, or from that of `evidence` when it is None.

    Raises:
        EvidenceMissing: as for `load_provenance`.
        StorageDamaged: the record or its evidence cannot be read.
    """
    store = evidence.store_of(running)
    if store is None:
        raise EvidenceMissing(
            "This graph has no store, in which the records of turns are kept. Give it one beside its checkpointer, as "
            "store=, or open it with open_graph; turns that ran without one have no whole record."
        )
    # No turn is called like what a database could not write.
    wanted = clean_text(turn_id)
    item = await stored_item(store, provenance_namespace(thread_id), wanted)
    record: Mapping[str, Any] | None = item.value if item else None
    if record is None:
        raise EvidenceMissing(
            f"There is no record of the turn '{wanted}' on the thread '{thread_id}' in the store of this graph. "
            "Open the graph with the store that the turn ran with."
        )
    try:
        bodies = await evidence.load(running, record_keys(record), in_state, scope=None)
        others = await _other_records(store, thread_id, record)
        record = {name: value for name, value in record.items() if name != KEPT_AT}
        told = full_record(record, bodies)
        if others:
            told["other_records"] = others
        return told
    except StorageDamaged as error:
        raise damaged(thread_id, error.row, "is missing in part, or damaged") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"cannot be read ({type(error).__name__})"
        raise damaged(thread_id, f"the record of the turn '{wanted}'", reason) from error


async def _other_records(store: BaseStore, thread_id: str, record: Mapping[str, Any]) -> list[OtherRecord]:
    """The records of the other ways in which a turn went, the oldest first."""
    shown = ("turn_id", "forked_from", "outcome", "started_at")
    others = await records_of_turn(store, thread_id, turn_of_thread(record))
    return [
        cast("OtherRecord", {name: item.value[name] for name in shown if name in item.value})
        for item in sorted(others, key=lambda item: item.created_at)
        if item.key != record["turn_id"]
    ]


# The newest records of turns in a store, for somebody who does not know what a conversation or a turn is called.

# The databases give the newest first, so more of them would name the same conversations and older ones.
_LOOKED_AT = 200
_FEW = 5
_ALL_RECORDS = provenance_namespace("-")[:-1]


async def latest_threads(store: BaseStore) -> list[str]:
    """The ids of a few conversations, that with the newest turn first."""
    items = await stored_items(store, _ALL_RECORDS, limit=_LOOKED_AT)
    records = _newest_first([item.value for item in items])
    named = (str(record["thread_id"]) for record in records if record.get("thread_id") is not None)
    return list(dict.fromkeys(named))[:_FEW]


async def latest_turns(store: BaseStore, thread_id: str) -> list[str]:
    """The ids of a few turns of one conversation, the newest first."""
    return [str(record["turn_id"]) for record in reversed(await recorded_turns(store, thread_id))][:_FEW]


async def recorded_threads(store: BaseStore) -> dict[str, list[dict[str, Any]]]:
    """The records of every conversation by its id, that with the newest turn first; those of each the oldest first."""
    threads: dict[str, list[dict[str, Any]]] = {}
    for record in _newest_first([item.value async for item in items_below(store, _ALL_RECORDS)]):
        if record.get("turn_id") is not None and record.get("thread_id") is not None:
            threads.setdefault(str(record["thread_id"]), []).append(record)
    return {thread: records[::-1] for thread, records in threads.items()}


async def recorded_turns(store: BaseStore, thread_id: str) -> list[dict[str, Any]]:
    """The records of one conversation, the oldest first."""
    items = [item async for item in items_below(store, provenance_namespace(thread_id))]
    return _newest_first([item.value for item in items if "turn_id" in item.value])[::-1]


def _newest_first(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def started(record: Mapping[str, Any]) -> float:
        return float(record.get("started_at") or 0.0)

    return sorted(records, key=started, reverse=True)
