"""What is done to an input before it enters a thread: its form, characters that no text may contain, its length."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langgraph.types import Command

from groundgraph.core.characters import FORBIDDEN, clean_text
from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import jsonable
from groundgraph.core.registry import nearest
from groundgraph.settings.services import LimitSettings

MARK = "groundgraph"
_HISTORY = "retrieval_provenance_history"
RESERVED_METADATA = ("retrieval_provenance", _HISTORY, "recently_used_keys")
_REJECTED_CHARS = 200
INPUT = ("messages", "question", "metadata")


def take_in(given: Any, limits: LimitSettings, *, trusted: bool = False) -> Any:
    """The input of a turn with clean messages.

    A message, a list of messages or a text stands for `{"messages": ...}`, and `question` becomes a message; in its
    place stands the id of the user's last message, which is what the turn answers. In each message, forbidden
    characters become U+FFFD, and a text longer than `limits.message_chars` is cut; what was done
    stands in the message's `additional_kwargs["groundgraph"]`. The update of a `Command` is treated alike. Metadata
    and marks that only groundgraph writes are dropped unless the input comes from a parent graph (`trusted`). None
    passes unchanged: it resumes a run.

    Raises:
        InputInvalid: the messages or the metadata are nothing that a turn can take, or the input has keys that no turn
            knows and asks nothing.
    """
    if isinstance(given, Command) and isinstance(given.update, dict):
        return replace(given, update=_taken(given.update, limits, trusted))
    if isinstance(given, BaseMessage | str | list | tuple):
        given = {"messages": given}
    if not isinstance(given, dict):
        return given
    if not trusted:
        _check_keys(given)
    return _taken(given, limits, trusted)


def _check_keys(given: Mapping[str, Any]) -> None:
    """Refuses an input that asks nothing under a name that is known; LangGraph would drop what it holds."""
    unknown = [str(name) for name in given if name not in INPUT]
    if unknown and given.get("question") is None and not given.get("messages"):
        hint = nearest(unknown[0], list(INPUT))
        raise InputInvalid(f"The input has no key '{unknown[0]}'.{hint} A turn takes: {', '.join(INPUT)}.")


def _taken(given: Mapping[str, Any], limits: LimitSettings, trusted: bool) -> dict[str, Any]:
    taken = dict(given)
    said = _said(_converted(_listed(taken.get("messages"))), taken.pop("question", None))
    if said or "messages" in taken:
        messages = [clean_message(message, limits, trusted=trusted) for message in said]
        taken["messages"] = messages
        asked = next((message for message in reversed(messages) if isinstance(message, HumanMessage)), None)
        if asked is not None:
            asked.id = asked.id or str(uuid.uuid4())
            taken["question"] = asked.id
    if taken.get("metadata") is not None:
        taken["metadata"] = (_parents_metadata if trusted else _metadata)(taken["metadata"])
    return taken


def _said(messages: list[BaseMessage], question: Any) -> list[BaseMessage]:
    """The messages, and `question` as the last where none of them is it."""
    if question is None or _is_said(question, messages):
        return messages
    if not isinstance(question, str | BaseMessage):
        raise InputInvalid(f"'question' is a text, and this is a value of type {type(question).__name__}.")
    return [*messages, question if isinstance(question, BaseMessage) else HumanMessage(str(question))]


def _is_said(question: Any, messages: Sequence[BaseMessage]) -> bool:
    """Whether `question` is the id of a message, or the text of the last one, as in the state of a parent that keeps
    both."""
    last = messages[-1] if messages else None
    repeated = isinstance(last, HumanMessage) and str(last.text) == question
    return repeated or any(message.id == question for message in messages)


def _listed(messages: Any) -> list[Any]:
    """One message, also as (role, text), or several of them, as a list."""
    if messages is None:
        return []
    one = not isinstance(messages, list | tuple) or (
        isinstance(messages, tuple) and len(messages) == 2 and all(isinstance(part, str) for part in messages)
    )
    return [messages] if one else list(messages)


def _converted(messages: Sequence[Any]) -> list[BaseMessage]:
    try:
        return list(convert_to_messages(list(messages)))
    except (NotImplementedError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputInvalid(f"'messages' holds something that is no message: {str(error)[:200]}") from error


def _metadata(metadata: Any) -> dict[str, Any]:
    given = _mapping(metadata)
    return {str(name): jsonable(value) for name, value in given.items() if name not in RESERVED_METADATA}


def _parents_metadata(metadata: Any) -> dict[str, Any]:
    """The metadata of a parent graph, which holds what earlier turns wrote; clients of the parent may have replaced it
    by something that no turn could go on with."""
    given = _mapping(metadata)
    return {name: value for name, value in given.items() if name != _HISTORY or _is_history(value)}


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) and "turn_id" in entry for entry in value)


def _mapping(metadata: Any) -> Mapping[str, Any]:
    if not isinstance(metadata, Mapping):
        raise InputInvalid(f"'metadata' must be a mapping, not {type(metadata).__name__}.")
    return metadata


def clean_message(message: BaseMessage, limits: LimitSettings, *, trusted: bool = False) -> BaseMessage:
    """`message`, or a marked copy where something had to be replaced or cut; only a user's message is cut."""
    if isinstance(message, RemoveMessage) or (trusted and message.additional_kwargs.get(MARK)):
        return message
    text, marks = str(message.text), dict[str, int]()
    if replaced := len(FORBIDDEN.findall(text)):
        marks["replaced"] = replaced
    if isinstance(message, HumanMessage) and len(text) > limits.message_chars:
        rejects = limits.long_message == "reject"
        mark, shown = ("rejected", _REJECTED_CHARS) if rejects else ("truncated", limits.message_chars)
        marks[mark] = len(text)
        text = text[:shown]
    kwargs = dict(message.additional_kwargs)
    kwargs.pop(MARK, None)
    if marks:
        update = {"content": clean_text(text), "additional_kwargs": {**kwargs, MARK: marks}}
        return message.model_copy(update=update)
    forged = MARK in message.additional_kwargs
    return message.model_copy(update={"additional_kwargs": kwargs}) if forged else message
