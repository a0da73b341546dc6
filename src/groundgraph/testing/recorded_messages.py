"""The messages of a recorded run, as JSON and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages

from groundgraph.core.evidence import jsonable
from groundgraph.testing.prompt import role_name


def as_input(message: BaseMessage) -> dict[str, Any]:
    """`message` as a recording has it: role, text and id, and what makes it the call or the result of a tool."""
    recorded: dict[str, Any] = {"role": role_name(message.type), "text": str(message.text), "id": str(message.id)}
    if isinstance(message, AIMessage) and message.tool_calls:
        recorded["tool_calls"] = jsonable([dict(call) for call in message.tool_calls])
    if isinstance(message, ToolMessage):
        recorded["tool_call_id"] = message.tool_call_id
    return recorded


def from_input(recorded: Sequence[dict[str, Any]]) -> list[BaseMessage]:
    """The messages that were recorded."""
    return convert_to_messages([{"content" if key == "text" else key: one[key] for key in one} for one in recorded])
