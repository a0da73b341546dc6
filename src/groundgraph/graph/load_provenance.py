"""The full record of a turn, with texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.stored_provenance import stored_provenance
from groundgraph.graph.turn_runner import TurnRunner


async def load_provenance(graph: TurnRunner, thread_id: str, turn_id: str | None = None) -> dict[str, Any]:
    """The record of features V1 and V2, evidence spelled out.

    Args:
        graph: the graph with its checkpointer and store.
        thread_id: the thread.
        turn_id: the turn; the latest when absent. Needed where the turn ran inside a parent graph, whose thread it is.
            A turn that was forked, or run again from an earlier state, has a record for each way in which it went, each
            with an id of its own, which is in `response_metadata["turn_id"]` of its answer. When absent, that of the
            thread's head is given. `other_records` lists the others; that of a fork has `forked_from`, the id of the
            record that it left, and `edited`, what was changed by hand in the state since then.

    Raises:
        EvidenceMissing: the thread has no such turn, or the store no longer holds its record or evidence.
        StorageDamaged: its state, record or evidence cannot be read.
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
    return await stored_provenance(graph.resources.evidence, graph.store, thread_id, wanted, values.get("bodies"))


async def _state(graph: TurnRunner, thread_id: str) -> Mapping[str, Any]:
    """What the thread holds; nothing where a parent graph keeps it."""
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return {}
    values: Mapping[str, Any] = (await graph.aget_state({"configurable": {"thread_id": thread_id}})).values
    return values
