"""A new question on a thread whose last answer still waits for a person: that review ends, and both turns say so."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime
from langgraph.store.base import PutOp

from groundgraph.core.context import Context
from groundgraph.core.evidence import preview
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.provenance import KEPT_AT, provenance_namespace, reader_notes, stored_record
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Draft, Review
from groundgraph.nodes.turn_lineage import kept_here
from groundgraph.prompts import Prompts


def waits_for_review(state: Any) -> bool:
    """Whether the turn in `state` waits for a person's decision, and can be recorded."""
    draft = state.get("draft") or {}
    if not state.keys() >= {"turn", "intent", "ranking"}:
        # What of a turn was damaged in storage is not there for the next one.
        return False
    return bool(draft) and "review" not in draft and (state.get("check") or {}).get("verdict") == "review"


async def end_review(
    state: Any, language: str, settings: Settings, prompts: Prompts, evidence: EvidenceStore, runtime: Runtime[Context]
) -> str:
    """Record the turn in `state`, whose answer was not given out; what the reader of the next is told in `language`.

    To decide after all, somebody goes on from the state in which the turn waited, as with any other fork.
    """
    turn, check = state["turn"], state["check"]
    review: Review = {"decision": "none", "score": check.get("score", 0.0)}
    note = prompts.note("review_ended", turn["language"])
    draft: Draft = {
        **state["draft"],
        **{"text": "", "outcome": "insufficient", "finish": "withheld", "order": [], "written": 0, "review": review},
        "notes": [*state["draft"].get("notes", []), note],
    }
    unread = {**check, "labels": [], "order": [], "quotes": []}
    left = {**state, "draft": draft, "check": unread}
    info = runtime.execution_info
    store = evidence.store_of(runtime.store) if settings.store_provenance else None
    if store is not None and info is not None and info.thread_id is not None:
        space, record = provenance_namespace(info.thread_id), stored_record(left, [], info.thread_id)
        # What is there already was recorded when this step ran before, or by another way in which the turn went.
        if await store.aget(space, turn["id"]) is None:
            value = {**record, "notes": reader_notes(prompts.note, left), KEPT_AT: kept_here(info)}
            await store.abatch([PutOp(space, turn["id"], value, index=False)])
    return prompts.note("earlier_review_ended", language, question=preview(turn["question"]))
