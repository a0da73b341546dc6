"""The full record of a turn, with texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from groundgraph.chains.full_record import full_record, record_keys
from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.provenance import provenance_namespace
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.turn_runner import TurnRunner


async def load_provenance(graph: TurnRunner, thread_id: str, turn_id: str | None = None) -> dict[str, Any]:
    """The record of features V1 and V2, evidence spelled out.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread.
        turn_id: the turn; the latest when absent. Needed where the turn ran inside a parent graph, whose thread it is.

    Raises:
        EvidenceMissing: the thread has no such turn, or the store no longer holds its record or evidence.
        InputInvalid: no thread can have this id.
    """
    checked_thread_id(thread_id)
    values = await _state(graph, thread_id)
    latest = values.get("metadata", {}).get("retrieval_provenance", {})
    wanted = turn_id or latest.get("turn_id")
    if wanted is None and not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise EvidenceMissing(
            "This graph has no checkpointer, so it cannot tell which turn of the thread was the last. Name it: the "
            "answer's message has it in response_metadata['turn_id']."
        )
    if wanted is None:
        raise EvidenceMissing(f"The thread '{thread_id}' has no turn with a provenance record.")
    return await stored_provenance(graph, graph.store, thread_id, wanted, values.get("bodies"))


async def stored_provenance(
    graph: TurnRunner, running: Any, thread_id: str, turn_id: str, in_state: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The record of the turn `turn_id` from the store `running`, or from that of the graph when it is None.

    Raises:
        EvidenceMissing: as for `load_provenance`.
    """
    evidence = graph.resources.evidence
    store = evidence.store_of(running)
    # No turn is called like what a database could not write.
    wanted = clean_text(turn_id)
    item = await store.aget(provenance_namespace(thread_id), wanted) if store else None
    record: Mapping[str, Any] | None = item.value if item else None
    if record is None:
        raise EvidenceMissing(
            f"There is no record of the turn '{wanted}' on the thread '{thread_id}' in the store of this graph. "
            "Open the graph with the store that the turn ran with."
        )
    bodies = await evidence.load(running, record_keys(record), in_state)
    return full_record(record, bodies)


async def _state(graph: TurnRunner, thread_id: str) -> Mapping[str, Any]:
    """What the thread holds; nothing where a parent graph keeps it."""
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return {}
    values: Mapping[str, Any] = (await graph.aget_state({"configurable": {"thread_id": thread_id}})).values
    return values
