"""The last step: answer, outcome and provenance, all in one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, PutOp
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from groundgraph.answers.conversation import BODY_CHARS, CHOSE, CITED, QUOTED, cited_pieces, quoted_passage
from groundgraph.answers.provenance import (
    HISTORY_TURNS,
    KEPT_AT,
    absence_outcome,
    compact_record,
    full_record,
    history_entry,
    messages_namespace,
    provenance_namespace,
    reader_notes,
    record_keys,
    stored_record,
)
from groundgraph.answers.write_answer import answer_id
from groundgraph.core.evidence_store import EvidenceStore, run_batch
from groundgraph.core.turn_record import TurnRecord
from groundgraph.core.turn_values import (
    ASKED_BACK,
    Check,
    Choice,
    Citation,
    Draft,
    Outcome,
    Support,
    Turn,
)
from groundgraph.nodes.answer_styles import AnswerInput
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.nodes.process_results import parts_of
from groundgraph.nodes.turn_lineage import Lineage, lineage_of
from groundgraph.nodes.works.rotate_results import RECENTLY_USED, SHOWN, with_turn
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings

# A longer answer is worked on beside the event loop: a thousand characters take up to half a millisecond.
LONG_ANSWER = 10_000


class RecordTurnUpdate(TypedDict, total=False):
    """What the step writes: the thread's message and metadata, and the outputs of the run.

    What the record and the message hold now is emptied, so that the thread's last checkpoint and the next turn's
    first ones do not hold it again.
    """

    messages: list[BaseMessage]
    metadata: dict[str, Any]
    answer: str
    outcome: Outcome
    notes: list[str]
    citations: list[Citation]
    choices: list[Choice]
    support: Support
    provenance: TurnRecord
    draft: dict[str, Any]
    ranking: dict[str, Any]
    retrievals: Overwrite
    bodies: Overwrite


def record_turn(settings: Settings, prompts: Prompts, evidence: EvidenceStore) -> Node[AnswerInput, RecordTurnUpdate]:
    """The node. Running it twice, after a crash in the middle, writes the same message and the same record once."""

    async def record_turn(state: AnswerInput, runtime: Runtime[Context]) -> RecordTurnUpdate:
        state = _with_outcome(state)
        draft, turn = state["draft"], state["turn"]
        notes = reader_notes(prompts.note, state)
        record = stored_record(state, notes, _thread(runtime))
        store = evidence.store_of(runtime.store) if settings.store_provenance else None
        lineage = await _lineage(store, runtime, turn, record) if store else None
        record |= lineage.own if lineage else {}
        scope = evidence_scope(settings, runtime, turn["options"])
        bodies = await evidence.load(runtime.store, record_keys(record), state.get("bodies"), scope=scope)
        long = len(draft["text"]) > LONG_ANSWER
        provenance = await run_blocking(full_record, record, bodies) if long else full_record(record, bodies)
        update: RecordTurnUpdate = {
            "messages": [_message(draft, turn, record, provenance["citations"])],
            "answer": draft["text"],
            "outcome": draft["outcome"],
            "notes": notes,
            "citations": provenance["citations"],
            "choices": record.get("choices", []),
            "support": _support(state["check"]),
            "provenance": provenance,
            "draft": {},
            "ranking": {},
            "retrievals": Overwrite({}),
            "bodies": Overwrite({}),
        }
        if "rotation" in state["ranking"]["strategies"]:
            update["metadata"] = {RECENTLY_USED: _used_lately(state, settings.result_processing.rotation_turns)}
        if settings.store_provenance:
            update["metadata"] = {**update.get("metadata", {}), **_metadata(state, record)}
        if store and lineage:
            await _store(store, record, lineage)
        older = await _move_older(state, settings.history.keep_messages, evidence, runtime)
        update["messages"] += [RemoveMessage(id=str(message.id)) for message in older]
        runtime.stream_writer({"stage": "record_turn", "turn_id": turn["id"], "outcome": draft["outcome"]})
        return update

    return record_turn


def _with_outcome(state: AnswerInput) -> AnswerInput:
    """`state` with the outcome that the turn as a whole has: no question was answered where facts of the dialogue's
    state go with the reply to a greeting, and a source that could not answer may hold what those that did lack. What
    was withheld stays withheld."""
    outcome, retrievals = state["draft"]["outcome"], state["retrievals"].values()
    if outcome == "answered" and state["turn"]["small_talk"] is not None:
        outcome = "chat"
    elif outcome == "insufficient" and retrievals:
        outcome = absence_outcome(retrievals)
    return {**state, "draft": {**state["draft"], "outcome": outcome}}


def _message(draft: Draft, turn: Turn, record: Mapping[str, Any], citations: Sequence[Citation]) -> AIMessage:
    body = len(draft["text"]) if draft["body"] is None else draft["body"]
    metadata = {"outcome": draft["outcome"], "turn_id": record["turn_id"], BODY_CHARS: body}
    if asked_back := record.get("choices"):
        # By which the next turn knows what its message chooses; see `groundgraph.answers.choices`.
        about, first = turn["question"], turn["chosen"]
        asked_in = first["asked_in"] if first else turn["message_id"]
        metadata[ASKED_BACK] = {"question": about, "message_id": asked_in, "choices": asked_back}
    elif citations and not citations[0].get("computed"):
        # The words of a computation lead to nothing that stands near it.
        metadata[QUOTED] = quoted_passage(citations[0])
    if (chosen := turn["chosen"]) and chosen["choice"]:
        metadata[CHOSE] = {"question": turn["question"], "label": chosen["choice"]["label"]}
    if pieces := cited_pieces(citations):
        metadata[CITED] = pieces
    return AIMessage(draft["text"], id=answer_id(turn), response_metadata=metadata)


def _support(check: Check) -> Support:
    return {"score": check["score"], "answerable": check["answerable"], "flags": check["flags"]}


def _metadata(state: AnswerInput, record: dict[str, Any]) -> dict[str, Any]:
    history = state.get("metadata", {}).get("retrieval_provenance_history", [])
    others = [entry for entry in history if entry["turn_id"] != record["turn_id"]]
    return {
        "retrieval_provenance": compact_record(record),
        "retrieval_provenance_history": [*others, history_entry(record)][-HISTORY_TURNS:],
    }


def _used_lately(state: AnswerInput, turns: int) -> list[list[str]]:
    """The keys of what was quoted or cited, with those of recent turns; of all that was shown where that counts."""
    ranking, check = state["ranking"], state["check"]
    # What was only asked back about has not been told yet.
    refs = ranking["refs"] if state["draft"]["outcome"] != "clarify" else []
    if ranking["divider"]:
        # The facts of a state stand there in every turn of it, and say nothing about what was asked.
        refs = refs[: ranking["divider"]["at"]]
    if ranking["strategies"]["rotation"]["method"] != SHOWN:
        places = sorted(check["order"][label - 1] for label in check["labels"])
        refs = [refs[place - 1] for place in places if place <= len(refs)]
    keys = [part for ref in refs for part in parts_of(ranking, ref[0])]
    return with_turn(state.get("metadata", {}), keys, turns)


def _thread(runtime: Runtime[Context]) -> str | None:
    return runtime.execution_info.thread_id if runtime.execution_info else None


async def _lineage(
    store: BaseStore, runtime: Runtime[Context], turn: Turn, record: Mapping[str, Any]
) -> Lineage | None:
    info, thread = runtime.execution_info, record["thread_id"]
    return await lineage_of(turn, thread, store, info) if info and thread is not None else None


async def _store(store: BaseStore, record: dict[str, Any], lineage: Lineage) -> None:
    value = {**record, KEPT_AT: lineage.kept_at}
    await run_batch(store, [PutOp(provenance_namespace(record["thread_id"]), record["turn_id"], value, index=False)])


async def _move_older(
    state: AnswerInput, keep: int | None, evidence: EvidenceStore, runtime: Runtime[Context]
) -> list[AnyMessage]:
    """The messages that the window leaves out, which are in the store then; none when no store could hold them."""
    store, thread = evidence.store_of(runtime.store), _thread(runtime)
    if keep is None or store is None or thread is None:
        return []
    messages = [message for message in state.get("messages", []) if message.id != answer_id(state["turn"])]
    older = messages[: max(0, len(messages) + 1 - keep)]
    if older:
        await run_batch(store, [_message_put(thread, message) for message in older])
    return older


def _message_put(thread: str, message: AnyMessage) -> PutOp:
    value = {"type": message.type, "text": str(message.text), "id": message.id}
    return PutOp(messages_namespace(thread), str(message.id), value, index=False)
