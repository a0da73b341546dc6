"""The messages of a prompt: what stays the same first, marked where a provider keeps what is marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# By provider, what marks a block up to which it is to keep a prompt; the others keep what begins the same unasked.
_CACHE_MARKS: dict[str, dict[str, Any]] = {"anthropic": {"cache_control": {"type": "ephemeral"}}}


def provider_of(model: object) -> str:
    """The provider of a chat model, by the package of its class: `anthropic` for `langchain_anthropic`."""
    return type(model).__module__.partition(".")[0].removeprefix("langchain_")


def prompt_messages(
    system: str,
    *parts: str,
    before: Sequence[BaseMessage] = (),
    model: BaseChatModel | None = None,
    shared: int = 0,
    name: str | None = None,
) -> list[BaseMessage]:
    """Instructions, what was said before, and the parts of what the user shows and asks; `in_turns` joins them.

    Args:
        system: the instructions, which do not change from turn to turn.
        parts: what changes most last; empty ones are left out, but for the last.
        before: the conversation, the oldest first.
        model: is asked; where its provider wants a mark on what it is to keep, instructions and shared parts have one.
        shared: how many of the parts other prompts begin with too.
        name: of the parts before the last, for those who compose messages of their own; it is not sent.
    """
    mark = _CACHE_MARKS.get(provider_of(model), {})
    told: list[BaseMessage] = [
        *(HumanMessage(part, name=name) for part in parts[:-1] if part),
        HumanMessage(parts[-1]),
    ]
    if mark and 0 < shared < len(told):
        told[shared - 1] = HumanMessage([_block(f"{told[shared - 1].text}\n\n", mark)])
    opening = SystemMessage([_block(system, mark)]) if mark else SystemMessage(system)
    return [opening, *before, *told]


def _block(text: str, mark: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, **mark}
