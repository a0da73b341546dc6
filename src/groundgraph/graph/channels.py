"""How writes to a channel combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._messages import _messages_delta_reducer

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

    __slots__ = ("_least",)
    _least: int

    @property
    def snapshot_frequency(self) -> int:
        """After how many writes the next snapshot is due: a write is taken to bring one item."""
        return max(self._least, (len(self.value) + 1) // 2) if self.is_available() else self._least

    @snapshot_frequency.setter
    def snapshot_frequency(self, least: int) -> None:
        self._least = least

    # LangGraph's hand the present distance on, and one that has grown would never shrink with its list again.
    def copy(self) -> Self:
        """A copy of the channel and its list."""
        return self._bounded(super().copy())

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with the list of a checkpoint."""
        return self._bounded(super().from_checkpoint(checkpoint))

    def _bounded(self, new: Self) -> Self:
        new.snapshot_frequency = self._least
        return new


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
