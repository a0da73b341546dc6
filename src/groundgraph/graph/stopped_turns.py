"""A turn that stopped: it waits for a decision, or at a step that its graph lacks, or its parent was killed before it
kept the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_RUNTIME, INTERRUPT
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import EmptyInputError
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command, StateSnapshot

from groundgraph.core.errors import EvidenceMissing, NothingToResume, StorageDamaged
from groundgraph.core.evidence_store import EvidenceStore

# A turn that stopped at a step which its graph lacks: it goes on elsewhere, or its caller is told.

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
    writes that an earlier version left. A new turn has these channels too: the id of a task, by which what it wrote is
    found again, is made of all that may start it."""
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
    if not _goes_on(given):
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


async def refuse_gone_checkpoint(graph: CompiledStateGraph[Any, Any, Any, Any], configurable: dict[str, Any]) -> None:
    """LangGraph would begin with nothing, and what it writes would stand in place of the conversation.

    Args:
        graph: the graph that is to run.
        configurable: which checkpoint of which thread, of which a saver holds the checkpoints.

    Raises:
        NothingToResume: the checkpoint is not there.
    """
    saver, point = configurable.get(CONFIG_KEY_CHECKPOINTER, graph.checkpointer), configurable.get("checkpoint_id")
    if not point or not isinstance(saver, BaseCheckpointSaver) or configurable.get("thread_id") is None:
        return
    if await saver.aget_tuple({"configurable": configurable}) is None:
        raise NothingToResume(
            f"The thread '{configurable['thread_id']}' has no checkpoint '{point}', perhaps not any more: it was "
            "pruned. Leave checkpoint_id out to go on from the end of the thread, or take one that "
            "aget_state_history tells."
        )


@contextmanager
def told_nothing_is_there(what: str, begin: str) -> Iterator[None]:
    """Within it, a run without an input on which nothing is under way is refused as a user is told.

    Raises:
        NothingToResume: there is none.
    """
    try:
        yield
    except EmptyInputError as error:
        told = f"There is no {what} to go on with: None resumes one that was cut. {begin}"
        raise NothingToResume(told) from error


def _goes_on(given: Any) -> bool:
    """Whether an input goes on with a turn: none at all, or a person's decision."""
    return given is None or _decides(given)


# The output of a turn that ended before: from its record, or from its answer where there is none.


def output_without_record(message: AnyMessage) -> dict[str, Any]:
    """What the answer itself tells, where no record was stored."""
    return {
        "answer": str(message.text),
        "outcome": message.response_metadata.get("outcome", "answered"),
        "notes": [],
        "citations": [],
        "choices": message.response_metadata.get("asked_back", {}).get("choices", []),
        "support": {"score": 0.0, "answerable": 0.0, "flags": []},
        "provenance": {},
    }


def output_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The output keys of a turn that its record holds."""
    check = record["citation_check"]
    return {
        "answer": record["answer"],
        "outcome": record["outcome"],
        "notes": record["notes"],
        "citations": record["citations"],
        "choices": record.get("choices", []),
        "support": {name: check.get(name) for name in ("score", "answerable", "flags")},
        "provenance": record,
    }


# The outputs of a run inside a parent that was killed after the run's last checkpoint and before the parent's own.
#
# The parent would otherwise go on with what its state holds of them: those of the question before.


def lacks_outputs(output: Any) -> bool:
    """Whether `output`, of a run inside a parent, has no outcome though the run does not wait for anybody."""
    return isinstance(output, dict) and "outcome" not in output and "__interrupt__" not in output


async def with_outputs(
    output: dict[str, Any], config: RunnableConfig | None, evidence: EvidenceStore, own: BaseStore | None
) -> dict[str, Any]:
    """`output` of a turn with the outputs that no checkpoint holds: from its record, or from its answer.

    Args:
        output: what the run gave.
        config: of the run.
        evidence: where the references in a record lead.
        own: the graph's store, for a parent that has none.
    """
    message = (output.get("messages") or [None])[-1]
    if not isinstance(message, AIMessage) or "turn_id" not in message.response_metadata:
        return output
    return {**output, **await _recorded(message, ensure_config(config), evidence, own)}


async def _recorded(
    message: AIMessage, config: RunnableConfig, evidence: EvidenceStore, own: BaseStore | None
) -> dict[str, Any]:
    from groundgraph.storage.records import stored_provenance

    store = getattr(config[CONF].get(CONFIG_KEY_RUNTIME), "store", None) or own
    try:
        turn_id = message.response_metadata["turn_id"]
        return output_of(await stored_provenance(evidence, store, str(config[CONF].get("thread_id")), turn_id))
    except EvidenceMissing:
        return output_without_record(message)


# A decision that nobody waits for, which LangGraph would take in without a word, or keep for whoever is asked next.

REVIEW = "review_answer"
HOW_TO_DECIDE = (
    "decide with Command(resume=…) or in Studio, or ask again on it, which ends the review without a decision"
)
# LangGraph would go on with the first decision, whatever the other one says.
_OTHERWISE = (
    "To decide otherwise, edit the state there with nothing (update_state(config, None)), run from the checkpoint that "
    "this gives with None, and decide when it asks."
)
# SQLite only: the database looks for them, where a saver would read every checkpoint.
_ASKED = "SELECT DISTINCT thread_id FROM writes WHERE channel = ?"


async def asked_of_a_person(
    graph: CompiledStateGraph[Any, Any, Any, Any], thread_id: str
) -> tuple[Mapping[str, Any], float] | None:
    """What a person is asked about the answer that waits on the thread, and when its turn began, in seconds since the
    epoch; None when none waits.

    Raises:
        StorageDamaged: the state of the thread cannot be read.
    """
    if REVIEW not in graph.nodes or not isinstance(graph.checkpointer, BaseCheckpointSaver):
        return None
    state = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    asked = [one.value for one in state.interrupts if isinstance(one.value, Mapping) and "question" in one.value]
    return (asked[0], float(state.values["turn"]["started_at"])) if asked else None


async def threads_that_wait(
    graph: CompiledStateGraph[Any, Any, Any, Any],
) -> dict[str, tuple[Mapping[str, Any], float]]:
    """What `asked_of_a_person` tells, by the id of each thread where one waits; what cannot be read is left out."""
    saver, found = graph.checkpointer, {}
    if REVIEW in graph.nodes and isinstance(saver, BaseCheckpointSaver):
        for thread in await _threads_that_asked(saver):
            with suppress(StorageDamaged):
                if waits := await asked_of_a_person(graph, thread):
                    found[thread] = waits
    return found


async def _threads_that_asked(saver: Any) -> list[str]:
    """The threads on which anybody was ever asked."""
    if hasattr(saver, "lock") and hasattr(saver, "conn") and hasattr(saver.conn, "execute_fetchall"):
        async with saver.lock:
            return [row[0] for row in await saver.conn.execute_fetchall(_ASKED, (INTERRUPT,))]
    kept = [one async for one in saver.alist(None) if any(write[1] == INTERRUPT for write in one.pending_writes or ())]
    return list(dict.fromkeys(str(one.config["configurable"]["thread_id"]) for one in kept))


async def refuse_undue_decision(
    graph: CompiledStateGraph[Any, Any, Any, Any], given: Any, config: RunnableConfig
) -> None:
    """Nothing, when the thread waits for the decision that `given` brings, or when it brings none.

    Args:
        graph: the graph that is to go on.
        given: its input.
        config: which thread, or which state of it.

    Raises:
        NothingToResume: nobody is asked, not yet or not any more.
    """
    configurable = config.get(CONF, {})
    saver, thread = configurable.get(CONFIG_KEY_CHECKPOINTER, graph.checkpointer), configurable.get("thread_id")
    if not _decides(given) or not isinstance(saver, BaseCheckpointSaver) or thread is None:
        return
    state = await graph.aget_state(config)
    # By its tasks: a decision that was taken in, but for the checkpoint behind it, is in `next` no more.
    steps = [task.name for task in state.tasks]
    await _refuse_second(graph, state, config)
    # A graph without reviews is stopped by its user, who goes on with it in any way that LangGraph knows.
    open_to_all = steps and REVIEW not in graph.nodes
    if not (state.interrupts or REVIEW in steps or open_to_all or _is_tried_again(state, config)):
        raise _undue(thread, steps)


def _decides(given: Any) -> bool:
    return isinstance(given, Command) and given.resume is not None


def _undue(thread: str, steps: Sequence[str]) -> NothingToResume:
    told = "this graph has no turn there that waits, or somebody has decided. Read the answer, or ask a question"
    if steps:
        told = f"its turn has stopped at the step '{steps[0]}'. Go on with it by None, and decide when it asks"
    return NothingToResume(f"Nobody is asked for a decision on the thread '{thread}': {told}.")


async def _refuse_second(
    graph: CompiledStateGraph[Any, Any, Any, Any], state: StateSnapshot, config: RunnableConfig
) -> None:
    """Refuse a decision at a checkpoint behind which one was taken in."""
    decided = any(task.name == REVIEW and task.result for task in state.tasks)
    if decided and await _is_behind(graph, state, config):
        thread = config[CONF]["thread_id"]
        raise NothingToResume(f"On the thread '{thread}' somebody has decided at this checkpoint. {_OTHERWISE}")


async def _is_behind(
    graph: CompiledStateGraph[Any, Any, Any, Any], state: StateSnapshot, config: RunnableConfig
) -> bool:
    """Whether `state`, which `config` names by its checkpoint, is not the end of its thread."""
    configurable = config.get(CONF, {})
    if not configurable.get("checkpoint_id"):
        return False
    end = {name: value for name, value in configurable.items() if name != "checkpoint_id"}
    return (await graph.aget_state({**config, CONF: end})).config != state.config


def _is_tried_again(state: StateSnapshot, config: RunnableConfig) -> bool:
    """Whether a server runs again what was cut, by which the decision may have been taken in."""
    run = config.get("metadata", {}).get("run_id")
    return run is not None and run == (state.metadata or {}).get("run_id")
