"""The full record of a turn, with texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from groundgraph.chains.full_record import full_record, record_keys
from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import EvidenceMissing, StorageDamaged
from groundgraph.core.provenance import KEPT_AT, provenance_namespace, turn_of_thread
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.damaged_rows import damaged
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.nodes.turn_lineage import records_of_turn


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
    return await stored_provenance(graph, graph.store, thread_id, wanted, values.get("bodies"))


async def stored_provenance(
    graph: TurnRunner, running: Any, thread_id: str, turn_id: str, in_state: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The record of the turn `turn_id` from the store `running`, or from that of the graph when it is None.

    Raises:
        EvidenceMissing: as for `load_provenance`.
        StorageDamaged: the record or its evidence cannot be read.
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
    try:
        bodies = await evidence.load(running, record_keys(record), in_state, scope=None)
        others = await _other_records(store, thread_id, record) if store else []
        record = {name: value for name, value in record.items() if name != KEPT_AT}
        return {**full_record(record, bodies), **({"other_records": others} if others else {})}
    except StorageDamaged as error:
        raise damaged(thread_id, error.row, "is missing in part, or damaged") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"cannot be read ({type(error).__name__})"
        raise damaged(thread_id, f"the record of the turn '{wanted}'", reason) from error


async def _other_records(store: BaseStore, thread_id: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of the other ways in which a turn went, the oldest first."""
    shown = ("turn_id", "forked_from", "outcome", "started_at")
    others = await records_of_turn(store, thread_id, turn_of_thread(record))
    return [
        {name: item.value[name] for name in shown if name in item.value}
        for item in sorted(others, key=lambda item: item.created_at)
        if item.key != record["turn_id"]
    ]


async def _state(graph: TurnRunner, thread_id: str) -> Mapping[str, Any]:
    """What the thread holds; nothing where a parent graph keeps it."""
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return {}
    values: Mapping[str, Any] = (await graph.aget_state({"configurable": {"thread_id": thread_id}})).values
    return values
