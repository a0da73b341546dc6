"""The full record of a turn, with texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.chains.full_record import full_record, record_keys
from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.provenance import provenance_namespace
from groundgraph.graph.turn_runner import TurnRunner


async def load_provenance(graph: TurnRunner, thread_id: str, turn_id: str | None = None) -> dict[str, Any]:
    """The record of features V1 and V2, evidence spelled out.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread.
        turn_id: the turn; the latest when absent.

    Raises:
        EvidenceMissing: the thread has no such turn, or the store no longer holds its record or evidence.
    """
    snapshot = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    metadata = snapshot.values.get("metadata", {})
    latest = metadata.get("retrieval_provenance", {})
    wanted = turn_id or latest.get("turn_id")
    if wanted is None:
        raise EvidenceMissing(f"The thread '{thread_id}' has no turn with a provenance record.")
    evidence = graph.resources.evidence
    store = evidence.store_of(graph.store)
    item = await store.aget(provenance_namespace(thread_id), wanted) if store else None
    record: Mapping[str, Any] | None = item.value if item else None
    if record is None:
        raise EvidenceMissing(
            f"There is no record of the turn '{wanted}' on the thread '{thread_id}' in the store of this graph. "
            "Open the graph with the store that the turn ran with."
        )
    bodies = await evidence.load(graph.store, record_keys(record), snapshot.values.get("bodies"))
    return full_record(record, bodies)
