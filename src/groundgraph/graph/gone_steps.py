"""A turn that stopped at a step which its graph lacks: it goes on elsewhere, or its caller is told."""

from __future__ import annotations

from typing import Any

from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from groundgraph.core.errors import NothingToResume

# How LangGraph calls the channel that starts a step.
_START_OF = "branch:to:"

_RANKING_STEPS = (
    *("merge_results", "join_neighbours", "rerank_results", "rotate_results", "fit_budget", "arrange_results"),
    "backfill_facts",
)
SUCCESSORS = {**dict.fromkeys(_RANKING_STEPS, "process_results"), "judge_complexity": "resolve_intent"}
"""The steps that version 0.1 had beside the present ones, and where a turn that waits at one of them goes on: each
does its own work anew, from what the steps before it left in the state."""


def lead_on(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Let the steps of `compiled` be started by what started those in whose place they stand, in checkpoints and in
    writes that an earlier version left."""
    for gone, successor in SUCCESSORS.items():
        if successor in compiled.nodes:
            channel = f"{_START_OF}{gone}"
            compiled.channels[channel] = EphemeralValue(Any, guard=False)
            compiled.nodes[successor].triggers.append(channel)
    compiled.validate()


async def refuse_gone_step(
    graph: CompiledStateGraph[Any, Any, Any, Any], given: Any, configurable: dict[str, Any]
) -> None:
    """LangGraph would end such a run at once, without a word.

    Args:
        graph: the graph that is to go on.
        given: its input; only None and a person's decision go on with a turn.
        configurable: which thread, of which a saver holds the checkpoints.

    Raises:
        NothingToResume: the turn waits at a step that `graph` does not have.
    """
    if given is not None and not (isinstance(given, Command) and given.resume is not None):
        return
    saver, thread = configurable.get(CONFIG_KEY_CHECKPOINTER, graph.checkpointer), configurable.get("thread_id")
    if not isinstance(saver, BaseCheckpointSaver) or thread is None:
        return
    saved = await saver.aget_tuple({"configurable": configurable})
    if saved is None:
        return
    # A process that dies between a step and the checkpoint behind it leaves the step's writes alone.
    written = (channel for _, channel, _ in saved.pending_writes or ())
    for channel in (*saved.checkpoint["channel_values"], *written):
        step = channel.removeprefix(_START_OF)
        if channel.startswith(_START_OF) and channel not in graph.channels:
            raise NothingToResume(
                f"The turn of the thread '{thread}' waits at the step '{step}', which this graph does not have: it was "
                "built from other settings, or by another version. Ask the question again, or build the graph from the "
                "settings that the turn began with."
            )
