"""The state of a turn: which channel lives how long, who writes it, and what storage holds of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from operator import attrgetter, ne
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Self, get_args, get_origin, get_type_hints

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph._internal._constants import TASKS
from langgraph._internal._typing import MISSING
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.channels.base import BaseChannel
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.last_value import LastValue
from langgraph.errors import InvalidUpdateError
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.pregel._messages import _messages_delta_reducer
from langgraph.types import Overwrite, Send
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict, is_typeddict

from groundgraph.core.errors import InputInvalid, StorageDamaged
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
            return super().update(list(map(_begun_anew, values)))
        self.value = [*self._items, *added]
        return True

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """As LangGraph's, and as `update`."""
        super().replay_writes([(task, name, _begun_anew(value)) for task, name, value in writes])

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


def _begun_anew(value: Any) -> Any:
    """`value`, or the list that is to stand in place of the whole one where it removes all messages, which LangGraph's
    reducer of these channels passes over."""
    said = value if isinstance(value, list) else [value]
    # A message that was not read yet is found by its class and id alone.
    ends = [n for n, one in enumerate(said, 1) if isinstance(one, RemoveMessage) and one.id == REMOVE_ALL_MESSAGES]
    return Overwrite(said[ends[-1] :]) if ends else value


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
