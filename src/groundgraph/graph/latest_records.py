"""The newest records of turns in a store, for somebody who does not know what a conversation or a turn is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore

from groundgraph.core.provenance import provenance_namespace
from groundgraph.graph.evidence_references import items_below

# The databases give the newest first, so more of them would name the same conversations and older ones.
_LOOKED_AT = 200
_ALL_RECORDS = provenance_namespace("-")[:-1]


async def latest_threads(store: BaseStore, most: int = 5) -> list[str]:
    """The ids of conversations, that with the newest turn first; `most` is how many at most."""
    items = await store.asearch(_ALL_RECORDS, limit=_LOOKED_AT)
    records = _newest_first([item.value for item in items])
    named = (str(record["thread_id"]) for record in records if record.get("thread_id") is not None)
    return list(dict.fromkeys(named))[:most]


async def latest_turns(store: BaseStore, thread_id: str, most: int = 5) -> list[str]:
    """The ids of the turns of one conversation, the newest first; `most` is how many at most."""
    items = [item async for item in items_below(store, provenance_namespace(thread_id))]
    records = _newest_first([item.value for item in items if "turn_id" in item.value])
    return [str(record["turn_id"]) for record in records][:most]


def _newest_first(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def started(record: Mapping[str, Any]) -> float:
        return float(record.get("started_at") or 0.0)

    return sorted(records, key=started, reverse=True)
