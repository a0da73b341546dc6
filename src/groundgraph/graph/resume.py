"""Going on with a turn that was interrupted, and never mistaking an older answer for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from groundgraph.core.errors import EvidenceMissing, NothingToResume
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.core.turn_record import TurnRecord
from groundgraph.graph.parts import the_graph
from groundgraph.graph.state import TurnOutput
from groundgraph.graph.stopped_turns import HOW_TO_DECIDE, asked_of_a_person, output_of, output_without_record
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.resilience.blocking import plain_function
from groundgraph.settings.context import Context
from groundgraph.storage.records import stored_provenance

# The full record of a turn, with texts.


async def load_provenance(graph: TurnRunner, thread_id: str, turn_id: str | None = None) -> TurnRecord:
    """The whole record of a turn, evidence spelled out.

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
    graph = the_graph(graph, "load_provenance")
    checked_thread_id(thread_id)
    values = await _state(graph, thread_id)
    latest = values.get("metadata", {}).get("retrieval_provenance", {})
    wanted = turn_id or latest.get("turn_id")
    if wanted is None and not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise EvidenceMissing(
            "This graph has no checkpointer, so it cannot tell which turn of the thread was the last. Name it: the "
            "answer's message has it in response_metadata['turn_id']."
        )
    if wanted is None and (waits := await asked_of_a_person(graph, thread_id)):
        raise EvidenceMissing(
            f"The turn of the thread '{thread_id}' waits for a person, and has its record behind the decision: "
            f"{HOW_TO_DECIDE}. Its question: {waits[0]['question']}"
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


async def resume_turn(graph: TurnRunner, thread_id: str, *, context: Context | None = None) -> TurnOutput:
    """The output of the thread's last turn, which is completed first when it was interrupted.

    `ainvoke(None)` alone returns the previous answer without a word when the question that was lost never reached a
    checkpoint; here the answer is that of the last question, or an error. A turn that waits for a person
    (`human_review`) goes on waiting: there is no `answer` then, and `__interrupt__` holds what they are asked.

    Raises:
        NothingToResume: see the class.
        EvidenceMissing: the interrupted turn's evidence is in no store any more.
        InputInvalid: no thread can have this id.
    """
    graph = the_graph(graph, "resume_turn")
    checked_thread_id(thread_id)
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise NothingToResume("This graph has no checkpointer, so none of its turns was kept.")
    config: Any = {"configurable": {"thread_id": thread_id}}
    snapshot = await graph.aget_state(config)
    # Not `next`, which leaves out a step whose writes are kept while the checkpoint behind it was lost.
    if snapshot.tasks:
        resumed: dict[str, Any] = await graph.ainvoke(None, config, context=context, durability="sync")
        if "answer" in resumed or "__interrupt__" in resumed:
            return cast("TurnOutput", resumed)
        # Its last step was kept already, and with it the record, which holds the output.
        snapshot = await graph.aget_state(config)
    messages = snapshot.values.get("messages", [])
    if not messages or isinstance(messages[-1], HumanMessage):
        raise NothingToResume(
            f"The thread '{thread_id}' has no answered turn and none to resume. Ask the question again."
        )
    try:
        kept = output_of(await load_provenance(graph, thread_id))
    except EvidenceMissing:
        kept = output_without_record(messages[-1])
    return cast("TurnOutput", {"messages": messages, "metadata": snapshot.values.get("metadata", {}), **kept})


load_provenance_sync = plain_function(load_provenance, "load_provenance_sync")
resume_turn_sync = plain_function(resume_turn, "resume_turn_sync")
