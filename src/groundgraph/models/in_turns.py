"""The messages of a call as every chat template takes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage


def in_turns(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages` with nobody twice in a row, the user first, and no names.

    Strict chat templates (Mistral, Gemma) refuse anything else, and names are OpenAI's alone. What one role says in a
    row is one message, its parts a blank line apart; what an assistant said before any user is left out.
    """
    system = [message for message in messages[:1] if message.type == "system"]
    said = dropwhile(lambda message: isinstance(message, AIMessage), messages[len(system) :])
    sent: list[BaseMessage] = []
    for message in (*system, *said):
        if sent and sent[-1].type == message.type:
            joined = _joined(sent[-1].content, message.content)
            sent[-1] = sent[-1].model_copy(update={"content": joined})
        else:
            sent.append(message.model_copy(update={"name": None}) if message.name else message)
    return sent


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
