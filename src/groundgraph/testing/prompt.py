"""What a scripted model was asked, the same for messages in Python and for messages on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ChatMessage

_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}


@dataclass(frozen=True)
class PromptMessage:
    """One message of a prompt.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`; `embedding` for the text of an embedding request.
        text: its text; images and other parts are left out.
        name: the name that the message carries, for example `evidence`.
    """

    role: str
    text: str
    name: str = ""


@dataclass(frozen=True)
class Prompt:
    """All messages of one call, in order."""

    messages: tuple[PromptMessage, ...]

    @property
    def text(self) -> str:
        """The texts of all messages, one below the other."""
        return "\n".join(message.text for message in self.messages)

    @property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message.role for message in self.messages]

    def words(self) -> int:
        """The number of words in all messages: the input tokens that a scripted model counts."""
        return sum(len(message.text.split()) for message in self.messages)


def role_name(role: str) -> str:
    """`role` in the words of the wire: `human` is `user`, `ai` is `assistant`."""
    return _ROLES.get(role, role)


def prompt_from_messages(messages: Sequence[BaseMessage]) -> Prompt:
    """The prompt that LangChain messages make."""
    return Prompt(
        tuple(PromptMessage(_role_of(message), str(message.text), message.name or "") for message in messages)
    )


def _role_of(message: BaseMessage) -> str:
    return role_name(message.role if isinstance(message, ChatMessage) else message.type)


def prompt_from_wire(messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """The prompt in the `messages` of an OpenAI chat completion request."""
    return Prompt(
        tuple(
            PromptMessage(
                role_name(str(message.get("role"))),
                _text_of(message.get("content")),
                message.get("name") or "",
            )
            for message in messages
        )
    )


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return str(content or "")
