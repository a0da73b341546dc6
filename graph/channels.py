"""How writes to a channel combine."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.pregel._messages import _messages_delta_reducer


def messages_channel() -> DeltaChannel[list[AnyMessage]]:
    """The channel of the conversation.

    A `DeltaChannel` keeps each message in the checkpoint that brought it, so a thread grows linearly; with
    LangGraph's ordinary messages channel the whole conversation is written again in every step. Once in a
    hundred messages it is written whole. It is in beta: this is its only use.
    """
    return DeltaChannel(_messages_delta_reducer, list, snapshot_frequency=100)  # type: ignore[arg-type]


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Two mappings; a value of `new` wins."""
    return {**old, **new}
