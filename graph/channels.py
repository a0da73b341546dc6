"""How writes to a channel combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._messages import _messages_delta_reducer

# A `DeltaChannel` keeps each write in the checkpoint that brought it, and the whole value once in so many writes. With
# LangGraph's ordinary channels the conversation and the thread's metadata are written again in every step, nine times
# a turn. It is in beta: these are its only uses. The conversation grows, so it is written whole rarely; the metadata
# does not, so it is written whole often, and few writes have to be read to know it.
MESSAGES_BETWEEN_SNAPSHOTS = 100
METADATA_BETWEEN_SNAPSHOTS = 4


def messages_channel() -> DeltaChannel[list[AnyMessage]]:
    """The channel of the conversation."""
    return DeltaChannel(_messages_delta_reducer, list, snapshot_frequency=MESSAGES_BETWEEN_SNAPSHOTS)  # type: ignore[arg-type]


def metadata_channel() -> DeltaChannel[dict[str, Any]]:
    """The channel of the thread's metadata; a later value of a name wins."""
    return DeltaChannel(_all_merged, dict, snapshot_frequency=METADATA_BETWEEN_SNAPSHOTS)


def _all_merged(state: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for mapping in (state, *writes) for name, value in (mapping or {}).items()}


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Two mappings; a value of `new` wins."""
    return {**old, **new}
