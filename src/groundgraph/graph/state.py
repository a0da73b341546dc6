"""The state of a turn: which channel lives how long, and who writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import attrgetter
from typing import Annotated, Any, Literal, NotRequired, Self, get_type_hints

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import patch_config
from langgraph._internal._constants import CONF, CONFIG_KEY_READ
from langgraph._internal._runnable import RunnableCallable, RunnableSeq, set_config_context
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._algo import local_read
from langgraph.pregel._messages import _messages_delta_reducer
from pydantic import Field
from typing_extensions import TypedDict

from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.intent import EMPTY_INTENT, IntentState
from groundgraph.core.turn_record import TurnRecord
from groundgraph.core.turn_values import (
    EMPTY_CHECK,
    EMPTY_DRAFT,
    EMPTY_RANKING,
    EMPTY_RETRIEVAL,
    EMPTY_TURN,
    Check,
    Choice,
    Citation,
    Draft,
    Outcome,
    Ranking,
    Retrieval,
    RetrievalTask,
    Support,
    Turn,
)

# How writes to a channel combine.

# A `DeltaChannel` keeps each write in the checkpoint that brought it, and the whole value once in so many writes. With
# LangGraph's ordinary channels the conversation and the thread's metadata are written again in every step, nine times
# a turn. It is in beta: these are its only uses. The conversation grows, so it is written whole rarely; the metadata
# does not, so it is written whole often, and few writes have to be read to know it.
MESSAGES_BEFORE_FIRST_SNAPSHOT = 64
METADATA_BETWEEN_SNAPSHOTS = 4


class GrowingListChannel(DeltaChannel[list[Any]]):
    """A `DeltaChannel` whose list is written whole the more rarely the longer it is: each time that it has doubled.

    Written whole every so many writes, a list that grows costs the square of its length in the end. Doubling keeps all
    snapshots together below twice the list, and no more writes have to be read than it has items. LangGraph's bound on
    the steps between two snapshots holds beside it.

    Args:
        reducer, typ: as of `DeltaChannel`.
        snapshot_frequency: writes before the first snapshot, and the fewest between two.
    """

    __slots__ = ("_ids", "_least")
    _least: int
    _ids: set[str] | None
    """Those of the messages in the list, and perhaps of more; None until they are needed."""

    @property
    def snapshot_frequency(self) -> int:
        """After how many writes the next snapshot is due: a write is taken to bring one item."""
        return max(self._least, (len(self._items) + 1) // 2)

    @snapshot_frequency.setter
    def snapshot_frequency(self, least: int) -> None:
        self._least, self._ids = least, None

    def update(self, values: Sequence[Any]) -> bool:
        """As LangGraph's, which goes through the whole list for each message that is added."""
        added = self._only_added(values)
        if not added:
            self._ids = None
            return super().update(values)
        self.value = [*self._items, *added]
        return True

    @property
    def _items(self) -> list[Any]:
        """The list; an empty one before the first write."""
        return self.value if self.is_available() else []

    def _only_added(self, values: Sequence[Any]) -> list[Any]:
        """The messages that come behind the list; none where `values` are, or do, anything else."""
        added = [one for value in values for one in (value if isinstance(value, list) else [value])]
        held = self._items
        if not all(map(_is_message, [*held[:1], *added])):
            return []
        if self._ids is None:
            self._ids = set(map(attrgetter("id"), held))
        ids = {one.id for one in added}
        if len(ids) < len(added) or not ids.isdisjoint(self._ids):
            return []
        # Also those of copies, for which it is enough that none is missing.
        self._ids |= ids
        return added

    # LangGraph's hand the present distance on, and one that has grown would never shrink with its list again.
    def copy(self) -> Self:
        """A copy of the channel and its list."""
        new = self._bounded(super().copy())
        new._ids = self._ids
        return new

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with the list of a checkpoint."""
        return self._bounded(super().from_checkpoint(checkpoint))

    def _bounded(self, new: Self) -> Self:
        new.snapshot_frequency = self._least
        return new


def _is_message(one: Any) -> bool:
    """Whether it is a message with an id, and none that removes another."""
    return isinstance(one, BaseMessage) and bool(one.id) and one.type != "remove"


def messages_channel() -> DeltaChannel[list[AnyMessage]]:
    """The channel of the conversation."""
    return GrowingListChannel(_messages_delta_reducer, list, snapshot_frequency=MESSAGES_BEFORE_FIRST_SNAPSHOT)  # type: ignore[arg-type]


def metadata_channel() -> DeltaChannel[dict[str, Any]]:
    """The channel of the thread's metadata; a later value of a name wins."""
    return DeltaChannel(_all_merged, dict, snapshot_frequency=METADATA_BETWEEN_SNAPSHOTS)


def _all_merged(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for mapping in (state, *writes) for name, value in (mapping or {}).items()}


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Two mappings; a value of `new` wins."""
    return {**old, **new}


@dataclass(frozen=True)
class Lifetime:
    """How long a channel lives; the type that a step returns says which channels it writes.

    `thread`: kept from turn to turn. `turn`: emptied by `begin_turn` (the large ones by `record_turn` too), kept in
    checkpoints, so that a turn resumes and forks with it. `run`: never in a checkpoint; only what the last step
    writes for the caller, because such a channel is empty after a resume. `task`
    is never written at all: it is what each task of the fan-out is sent.

    `empty` is the value, or the entry of a channel of many, in which no key says anything.
    """

    kind: Literal["thread", "turn", "run"]
    empty: Mapping[str, Any] = field(default_factory=dict)


class TurnInput(TypedDict):
    """What a caller gives: messages, or a question in their place."""

    messages: NotRequired[
        Annotated[
            list[AnyMessage], Field(description="The conversation; the last message is answered."), messages_channel()
        ]
    ]
    question: NotRequired[Annotated[str, Field(description="What is asked, in place of a message."), EphemeralValue]]
    metadata: NotRequired[
        Annotated[
            dict[str, Any],
            Field(description="Session metadata, merged into the thread's, for example synthesis_style."),
            metadata_channel(),
        ]
    ]


class TurnOutput(TypedDict):
    """What a caller gets of a turn.

    `answer` has labels `[1]`, `[2]` where it cites, and `citations` what they refer to; `notes` are sentences for the
    reader. While a turn waits for a person there is `__interrupt__` in place of everything but `messages` and
    `metadata`.
    """

    messages: Annotated[list[AnyMessage], messages_channel()]
    metadata: Annotated[dict[str, Any], metadata_channel()]
    answer: Annotated[str, UntrackedValue]
    outcome: Annotated[Outcome, UntrackedValue]
    notes: Annotated[list[str], UntrackedValue]
    citations: Annotated[list[Citation], UntrackedValue]
    choices: Annotated[list[Choice], UntrackedValue]
    support: Annotated[Support, UntrackedValue]
    provenance: Annotated[TurnRecord, UntrackedValue]


class TurnState(TypedDict, total=False):
    """Every channel of the turn graph."""

    messages: Annotated[list[AnyMessage], Lifetime("thread"), messages_channel()]
    metadata: Annotated[dict[str, Any], Lifetime("thread"), metadata_channel()]

    question: Annotated[str, Lifetime("run"), EphemeralValue]
    task: Annotated[RetrievalTask, Lifetime("run"), EphemeralValue]

    turn: Annotated[Turn, Lifetime("turn", EMPTY_TURN)]
    intent: Annotated[IntentState, Lifetime("turn", EMPTY_INTENT)]
    retrievals: Annotated[dict[str, Retrieval], Lifetime("turn", EMPTY_RETRIEVAL), merged]
    bodies: Annotated[dict[str, EvidenceRecord], Lifetime("turn"), merged]
    ranking: Annotated[Ranking, Lifetime("turn", EMPTY_RANKING)]
    draft: Annotated[Draft, Lifetime("turn", EMPTY_DRAFT)]
    check: Annotated[Check, Lifetime("turn", EMPTY_CHECK)]

    answer: Annotated[str, Lifetime("run"), UntrackedValue]
    outcome: Annotated[Outcome, Lifetime("run"), UntrackedValue]
    notes: Annotated[list[str], Lifetime("run"), UntrackedValue]
    citations: Annotated[list[Citation], Lifetime("run"), UntrackedValue]
    choices: Annotated[list[Choice], Lifetime("run"), UntrackedValue]
    support: Annotated[Support, Lifetime("run"), UntrackedValue]
    provenance: Annotated[TurnRecord, Lifetime("run"), UntrackedValue]


@cache
def lifetimes() -> Mapping[str, Lifetime]:
    """The lifetime of every channel of `TurnState`."""
    hints = get_type_hints(TurnState, include_extras=True)
    return {
        name: next(item for item in hint.__metadata__ if isinstance(item, Lifetime)) for name, hint in hints.items()
    }


# How steps and branches run.


def run_lightly(compiled: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Let the steps and branches of `compiled` leave out what nobody would notice, a tenth of a turn's time: managers
    of callbacks where nothing listens, and copies of channels that a branch does not read."""
    for node in compiled.nodes.values():
        if type(node.node) is RunnableSeq:
            node.node.__class__ = _QuietStep
        for writer in node.writers:
            own = getattr(writer, "kwargs", {})
            if (reader := own.get("reader")) is not None:
                own["reader"] = partial(_read, reader)
                writer.afunc.__self__.path.__class__ = _QuietBranch  # type: ignore[attr-defined]


def _is_heard(config: RunnableConfig | None) -> bool:
    """Whether a handler is told what is run with `config`, a tracer or a stream of tokens among them."""
    manager = config.get("callbacks") if config else None
    return not isinstance(manager, BaseCallbackManager) or bool(manager.handlers)


class _QuietStep(RunnableSeq):
    """A step and what writes its update."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if config is None or _is_heard(config):
            return await super().ainvoke(input, config, **kwargs)
        # The name is that of this step, not of the models that it calls.
        config = patch_config(config, callbacks=config.get("callbacks"))
        step, *writers = self.steps
        with set_config_context(config) as context:
            update = await asyncio.create_task(step.ainvoke(input, config, **kwargs), context=context)
        for writer in writers:
            update = await writer.ainvoke(update, config)
        return update


class _QuietBranch(RunnableCallable):
    """What chooses where a turn goes."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if self.afunc is None or self.func_accepts or _is_heard(config):
            return await super().ainvoke(input, config, **kwargs)
        return await self.afunc(input)


def _read(reader: partial[Any], config: RunnableConfig) -> Any:
    read = config[CONF][CONFIG_KEY_READ]
    scratchpad, channels, managed, task = read.args
    wanted = {name: channels[name] for name in reader.keywords["select"] if name in channels}
    narrow = partial(local_read, scratchpad, wanted, managed, task)
    return reader({**config, CONF: {**config[CONF], CONFIG_KEY_READ: narrow}})
