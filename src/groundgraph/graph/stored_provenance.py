"""The record of a turn as a store keeps it, with the texts of its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore

from groundgraph.chains.full_record import full_record, record_keys
from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import EvidenceMissing, StorageDamaged
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.provenance import KEPT_AT, provenance_namespace, turn_of_thread
from groundgraph.graph.damaged_rows import damaged
from groundgraph.nodes.turn_lineage import records_of_turn


async def stored_provenance(
    evidence: EvidenceStore,
    running: BaseStore | None,
    thread_id: str,
    turn_id: str,
    in_state: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The record of the turn `turn_id` from the store `running`, or from that of `evidence` when it is None.

    Raises:
        EvidenceMissing: as for `load_provenance`.
        StorageDamaged: the record or its evidence cannot be read.
    """
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
