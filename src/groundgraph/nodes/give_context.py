"""The last step of a retrieval: the evidence as a context for whoever asked, and its record."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.provenance import absence_outcome, full_record, reader_notes, record_keys, stored_record
from groundgraph.answers.structured_answer import context_text
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_record import Evidence, TurnRecord
from groundgraph.core.turn_values import EMPTY_CHECK, EMPTY_DRAFT, Draft, Outcome, Ranking, Retrieval, Turn
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.settings import Settings


class GiveContextInput(TypedDict, total=False):
    """What the step reads."""

    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]
    ranking: Ranking
    draft: Draft


class GiveContextUpdate(TypedDict):
    """What the step writes: the outputs of the run."""

    context: str
    evidence: list[Evidence]
    outcome: Outcome
    notes: list[str]
    provenance: TurnRecord


def give_context(
    settings: Settings, prompts: Prompts, evidence: EvidenceStore
) -> Node[GiveContextInput, GiveContextUpdate]:
    """The node. `evidence` are the rows of the ranking, `context` their texts with labels."""

    async def give_context(state: GiveContextInput, runtime: Runtime[Context]) -> GiveContextUpdate:
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        ranking = state["ranking"]
        if ranking["insufficient"]:
            # Whoever asked for a context would take what only comes closest for an answer.
            ranking = {**ranking, "refs": [], "clusters": []}
            state = {**state, "ranking": ranking}
        found = ranking["refs"] and not ranking["needs"]
        outcome: Outcome = "answered" if found else absence_outcome(state["retrievals"].values())
        ready = state["draft"] if state["draft"]["text"] else state["turn"]["small_talk"]
        if ready:
            outcome = ready["outcome"]
        draft: Draft = {**EMPTY_DRAFT, "style": "context", "outcome": outcome, "finish": "stop"}
        complete = {**state, "draft": draft, "check": EMPTY_CHECK}
        notes = reader_notes(prompts.note, complete)
        thread = runtime.execution_info.thread_id if runtime.execution_info else None
        record = stored_record(complete, notes, thread)
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        bodies = await evidence.load(runtime.store, record_keys(record), state.get("bodies"), scope=scope)
        provenance = full_record(record, bodies)
        results = await evidence.results(runtime.store, record["results"], state.get("bodies"), scope=scope)
        return {
            "context": context_text(results, options.citation_format, record["clusters"], ranking["divider"]),
            "evidence": provenance["results"],
            "outcome": outcome,
            "notes": notes,
            "provenance": provenance,
        }

    return give_context
