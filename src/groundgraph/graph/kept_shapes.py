"""What a graph takes out of storage: values of their channel's kind, and turns that wait, or stopped at a step that is
gone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER, TASKS
from langgraph._internal._typing import MISSING
from langgraph.channels import EphemeralValue
from langgraph.channels.base import BaseChannel
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.last_value import LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, Send, StateSnapshot
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from groundgraph.core.errors import InputInvalid, NothingToResume, StorageDamaged
from groundgraph.graph.state import TurnState, lifetimes

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


def _goes_on(given: Any) -> bool:
    """Whether an input goes on with a turn: none at all, or a person's decision."""
    return given is None or (isinstance(given, Command) and given.resume is not None)


# A decision that nobody waits for, which LangGraph would take in without a word, or keep for whoever is asked next.

REVIEW = "review_answer"


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
    decides = isinstance(given, Command) and given.resume is not None
    if not decides or not isinstance(saver, BaseCheckpointSaver) or thread is None:
        return
    state = await graph.aget_state(config)
    # By its tasks: a decision that was taken in, but for the checkpoint behind it, is in `next` no more.
    steps = [task.name for task in state.tasks]
    # A graph without reviews is stopped by its user, who goes on with it in any way that LangGraph knows.
    if state.interrupts or REVIEW in steps or (steps and REVIEW not in graph.nodes) or _is_tried_again(state, config):
        return
    if steps:
        told = f"its turn has stopped at the step '{steps[0]}'. Go on with it by None, and decide when it asks"
    else:
        told = "this graph has no turn there that waits, or somebody has decided. Read the answer, or ask a question"
    raise NothingToResume(f"Nobody is asked for a decision on the thread '{thread}': {told}.")


def _is_tried_again(state: StateSnapshot, config: RunnableConfig) -> bool:
    """Whether a server runs again what was cut, by which the decision may have been taken in."""
    run = config.get("metadata", {}).get("run_id")
    return run is not None and run == (state.metadata or {}).get("run_id")


# What storage holds of a turn's values: what says something, in the shape of the version that wrote it.


def saying(value: Mapping[str, Any], empty: Mapping[str, Any]) -> dict[str, Any]:
    """What of a value says something: what differs from `empty`, its like in which nothing does."""
    return dict(compress(value.items(), map(ne, value.values(), map(empty.get, value))))


def upgrade(stored: Any, empty: Mapping[str, Any]) -> dict[str, Any]:
    """A value with every key of `empty`, from what this version or an earlier one stored of it.

    What earlier versions held otherwise: version 0.1 did not tell the class of a source's failure, whose text is not
    the reader's; of how well evidence fits it told the cosines alone; and the times of its ranking have no place any
    more.

    Raises:
        InputInvalid: nothing of it is known.
    """
    if not isinstance(stored, dict):
        raise InputInvalid(f"{type(stored).__name__} in place of dict")
    if not stored:
        return {**empty}
    if not stored.keys() & empty.keys():
        raise InputInvalid(f"{', '.join(map(str, stored))} in place of what it holds")
    value = {name: stored.get(name, nothing) for name, nothing in empty.items()}
    if value.get("status") in ("failed", "schema_changed") and value["failure"] is None:
        value["failure"] = {"kind": "other", "type": value["error_type"], "part": "source"}
    if "fits" in empty and isinstance(cosines := stored.get("cosines"), dict):
        value["fits"] = {key: {"vector": cosine} for key, cosine in cosines.items()}
    return value


def fault_inside(channel: str, value: Any) -> str:
    """What is wrong inside a value of a turn's channel that has all its keys; empty when nothing is."""
    try:
        _shape(channel).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


@cache
def _shape(channel: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(TurnState)[channel])


if TYPE_CHECKING:
    _Base = BaseChannel[Any, Any, Any]
else:
    _Base = object


_log = logging.getLogger(__name__)
begins_turn: ContextVar[bool] = ContextVar("begins_turn", default=False)
"""Whether the run that loads a state asks something new, and so goes on from nothing that lives for one turn."""


class _ChecksKind(_Base):
    """To be mixed in before a channel of LangGraph's. Whatever loads a state, for a turn, a resume or a reader, makes
    its channels by these methods."""

    __slots__ = ()
    _kind: type = object
    _of_turn = False
    value: Any
    # Whether nothing written leaves what is held as it is.
    _stays = False

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with a kept value; empty when a new turn empties it anyway and the value is damaged.

        Raises:
            StorageDamaged: the value is of another kind; the thread is not known here.
        """
        channel: Self = super().from_checkpoint(checkpoint)  # type: ignore[safe-super]
        if not (fault := channel._fault(stored=True)):
            return channel
        if not self._of_turn or not begins_turn.get():
            raise _damaged(f"the value of '{self.key}' ({fault})")
        _log.warning(
            "The value of '%s' of the turn before was damaged (%s); the new turn replaces it.", self.key, fault
        )
        return super().from_checkpoint(MISSING)  # type: ignore[safe-super]

    def update(self, values: Sequence[Any]) -> bool:
        """Takes what steps wrote just now, and on a resume what was kept of them.

        Raises:
            StorageDamaged: as for `from_checkpoint`.
        """
        if not values:
            # Most channels in most steps.
            return False if self._stays else super().update(values)  # type: ignore[safe-super]
        changed: bool = self._take(super().update, values, "what was written to")  # type: ignore[safe-super]
        return changed

    def replay_writes(self, writes: Sequence[Any]) -> None:
        """Takes what steps wrote since a snapshot, as a `DeltaChannel` does.

        Raises:
            StorageDamaged: as for `from_checkpoint`.
        """
        self._take(super().replay_writes, writes, "the value of")  # type: ignore[misc]

    def _take(self, take: Callable[[Sequence[Any]], Any], values: Sequence[Any], row: str) -> Any:
        try:
            result = take(values)
        except InvalidUpdateError:
            # A rule of the channel, such as one value a step, and none about what the value is.
            raise
        except Exception as error:
            raise _damaged(f"what was written to '{self.key}' ({type(error).__name__})") from error
        if fault := self._fault():
            raise _damaged(f"{row} '{self.key}' ({fault})")
        return result

    def _fault(self, *, stored: bool = False) -> str:
        kind, value = self._kind, self.value
        if kind is object or value is MISSING:
            return ""
        if not isinstance(value, kind):
            return f"{type(value).__name__} in place of {kind.__name__}"
        return fault_inside(self.key, value) if stored and self._of_turn and value else ""


class _HoldsWhole(_ChecksKind):
    """As `_ChecksKind`, for a value of a turn. The channel holds every key, so that no reader has to know what an
    absent one means; storage does without those that say nothing."""

    __slots__ = ()
    _empty: Mapping[str, Any] = {}
    _size = 0

    def checkpoint(self) -> Any:
        """What is stored of the value."""
        return self.value if self.value is MISSING else saying(self.value, self._empty)

    def _fault(self, *, stored: bool = False) -> str:
        # Steps write whole values: what is not is empty, from storage, or an edit.
        value = self.value
        if value is MISSING or (not stored and type(value) is dict and len(value) == self._size):
            return ""
        if fault := super()._fault():
            return fault
        try:
            self.value = self._upgraded()
        except InputInvalid as error:
            return str(error)
        return fault_inside(self.key, self.value) if value else ""

    def _upgraded(self) -> Any:
        return upgrade(self.value, self._empty)


class _HoldsMany(_HoldsWhole):
    """As `_HoldsWhole`, for such values by name."""

    __slots__ = ()

    def checkpoint(self) -> Any:
        """What is stored of the values."""
        return {name: saying(one, self._empty) for name, one in self.value.items()}

    def _fault(self, *, stored: bool = False) -> str:
        size, value = self._size, self.value
        if not stored and type(value) is dict and all(type(one) is dict and len(one) == size for one in value.values()):
            return ""
        return super()._fault(stored=True)

    def _upgraded(self) -> Any:
        return {name: upgrade(one, self._empty) for name, one in self.value.items()}


class _ChecksTasks(_ChecksKind):
    """As `_ChecksKind`, for the tasks of a fan-out, of which LangGraph passes over what is none."""

    __slots__ = ()
    values: Any

    def _fault(self, *, stored: bool = False) -> str:  # noqa: ARG002 - all are looked at
        tasks = self.values if isinstance(self.values, list) else [self.values]
        wrong = [type(one).__name__ for one in tasks if not isinstance(one, Send)]
        return f"{wrong[0]} in place of a task" if wrong else ""


def with_kept_shapes(channels: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """`channels` of a compiled graph, of which those that its state has `declared`, and its tasks, check what they
    take.

    Raises while a state is loaded: see `_ChecksKind`.
    """
    checked = {name: _checking(name, one) for name, one in channels.items() if name in declared or name == TASKS}
    return {**channels, **checked}


def _checking(name: str, channel: BaseChannel[Any, Any, Any]) -> Any:
    checked = channel.copy()
    # LangGraph names only those of the state.
    checked.key = name
    checked.__class__ = _checking_kind(name, type(channel), _kind(channel.ValueType))
    return checked


@cache
def _checking_kind(name: str, kind: type[Any], held: type) -> type[Any]:
    """The class of a channel that checks; the same for every graph, because Python asks each new class anew what it is,
    which takes longer than the rest of a graph's channels."""
    life = lifetimes().get(name)
    check: type[Any] = _ChecksTasks if name == TASKS else _ChecksKind
    if life and life.empty:
        check = _HoldsMany if issubclass(kind, BinaryOperatorAggregate) else _HoldsWhole
    parts = {
        "__slots__": (),
        "__doc__": kind.__doc__,
        "_kind": held,
        "_of_turn": life is not None and life.kind == "turn",
        "_empty": life.empty if life else {},
        "_size": len(life.empty) if life else 0,
        "_stays": issubclass(kind, LastValue | BinaryOperatorAggregate | DeltaChannel),
    }
    return type(kind.__name__, (check, kind), parts)


def check_update(channels: Mapping[str, Any], update: Any) -> None:
    """Nothing, when an edit of a state gives each channel what it can hold.

    Raises:
        InputInvalid: it does not.
    """
    for name, value in update.items() if isinstance(update, dict) else ():
        if not getattr(channels.get(name), "_of_turn", False) or isinstance(value, Overwrite):
            continue
        if not isinstance(value, dict):
            raise InputInvalid(f"'{name}' of a turn's state is a mapping, and {type(value).__name__} was given for it.")
        try:
            channels[name].from_checkpoint(value)
        except StorageDamaged as damage:
            raise InputInvalid(f"A turn's state cannot hold what was given for it: {damage.row}.") from damage


def _kind(annotation: Any) -> type:
    """The class of the values that `annotation` allows, without what is inside them."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if is_typeddict(annotation):
        return dict
    kind = get_origin(annotation) or annotation
    return kind if isinstance(kind, type) else object


def _damaged(row: str) -> StorageDamaged:
    return StorageDamaged(
        f"A conversation cannot be read: {row} is damaged. Nothing of it was run, and other conversations go on. "
        "Remove this one with: groundgraph forget THREAD",
        row=row,
    )
