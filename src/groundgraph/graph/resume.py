"""Going on with a turn that was interrupted, and never mistaking an older answer for its answer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage

from groundgraph.core.context import Context
from groundgraph.core.errors import EvidenceMissing, NothingToResume
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.load_provenance import load_provenance
from groundgraph.graph.turn_output import output_of, output_without_record
from groundgraph.graph.turn_runner import TurnRunner


async def resume_turn(graph: TurnRunner, thread_id: str, *, context: Context | None = None) -> dict[str, Any]:
    """The output of the thread's last turn, which is completed first when it was interrupted.

    `ainvoke(None)` alone returns the previous answer without a word when the question that was lost never reached a
    checkpoint; here the answer is that of the last question, or an error. A turn that waits for a person
    (`human_review`) goes on waiting: there is no `answer` then, and `__interrupt__` holds what they are asked.

    Raises:
        NothingToResume: see the class.
        EvidenceMissing: the interrupted turn's evidence is in no store any more.
        InputInvalid: no thread can have this id.
    """
    checked_thread_id(thread_id)
    if graph.checkpointer is None:
        raise NothingToResume("This graph has no checkpointer, so none of its turns was kept.")
    config: Any = {"configurable": {"thread_id": thread_id}}
    snapshot = await graph.aget_state(config)
    # Not `next`, which leaves out a step whose writes are kept while the checkpoint behind it was lost.
    if snapshot.tasks:
        resumed: dict[str, Any] = await graph.ainvoke(None, config, context=context, durability="sync")
        if "answer" in resumed or "__interrupt__" in resumed:
            return resumed
        # Its last step was kept already, and with it the record, which holds the output.
        snapshot = await graph.aget_state(config)
    messages = snapshot.values.get("messages", [])
    if not messages or isinstance(messages[-1], HumanMessage):
        raise NothingToResume(
            f"The thread '{thread_id}' has no answered turn and none to resume. Ask the question again."
        )
    try:
        return {"messages": messages, **output_of(await load_provenance(graph, thread_id))}
    except EvidenceMissing:
        return {"messages": messages, **output_without_record(messages[-1])}
