"""What a channel takes out of storage is of the kind that the state declares, or is told as damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_origin

from langgraph.channels.base import BaseChannel
from typing_extensions import is_typeddict

from groundgraph.core.errors import StorageDamaged

if TYPE_CHECKING:
    _Base = BaseChannel[Any, Any, Any]
else:
    _Base = object


class _ChecksKind(_Base):
    """To be mixed in before a channel of LangGraph's. Whatever loads a state, for a turn, a resume or a reader, makes
    its channels by these two methods."""

    __slots__ = ()
    _kind: type = object

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """As LangGraph's.

        Raises:
            StorageDamaged: the value is of another kind; the thread is not known here.
        """
        return self._checked(super().from_checkpoint(checkpoint))  # type: ignore[safe-super]

    def replay_writes(self, writes: Sequence[Any]) -> None:
        """As that of a `DeltaChannel`.

        Raises:
            StorageDamaged: as for `from_checkpoint`.
        """
        try:
            super().replay_writes(writes)  # type: ignore[misc]
        except Exception as error:
            raise _damaged(f"what was written to '{self.key}' ({type(error).__name__})") from error
        self._checked(self)

    def _checked(self, channel: Self) -> Self:
        if channel.is_available() and not isinstance(value := channel.get(), self._kind):
            found, wanted = type(value).__name__, self._kind.__name__
            raise _damaged(f"the value of '{self.key}' ({found} in place of {wanted})")
        return channel


def with_kept_shapes(channels: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """`channels` of a compiled graph, of which those that its state has `declared` check what they take.

    Raises while a state is loaded: see `_ChecksKind`.
    """
    return {name: _checking(channel) if name in declared else channel for name, channel in channels.items()}


def _checking(channel: BaseChannel[Any, Any, Any]) -> Any:
    kind = type(channel)
    checked = channel.copy()
    parts = {"__slots__": (), "_kind": _kind(channel.ValueType), "__doc__": kind.__doc__}
    checked.__class__ = type(kind.__name__, (_ChecksKind, kind), parts)
    return checked


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
