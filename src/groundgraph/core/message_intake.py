"""What is done to a message before it enters a thread: characters that no text may contain, and its length."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages

from groundgraph.core.settings import LimitSettings

MARK = "groundgraph"
RESERVED_METADATA = ("retrieval_provenance", "retrieval_provenance_history")
_REJECTED_CHARS = 200
# A lone surrogate cannot be encoded, so no checkpoint could hold it; NUL ends a text in PostgreSQL.
_FORBIDDEN = re.compile("[\ud800-\udfff\x00]")


def take_in(given: Any, limits: LimitSettings, *, trusted: bool = False) -> Any:
    """The input of a turn with clean messages.

    `question` becomes a message. In each message, forbidden characters become U+FFFD, and a text longer than
    `limits.message_chars` is cut; what was done stands in the message's `additional_kwargs["groundgraph"]`. Metadata
    that only groundgraph writes is dropped unless the input comes from a parent graph (`trusted`). Anything that is
    not a mapping passes unchanged: it resumes a run.
    """
    if not isinstance(given, dict):
        return given
    taken = dict(given)
    question = taken.pop("question", None)
    messages = taken.get("messages", [])
    listed = messages if isinstance(messages, list) else [messages]
    if question is not None:
        listed = [*listed, HumanMessage(str(question))]
    if listed or "messages" in taken:
        taken["messages"] = [clean_message(message, limits) for message in convert_to_messages(listed)]
    if not trusted and isinstance(taken.get("metadata"), dict):
        taken["metadata"] = {k: v for k, v in taken["metadata"].items() if k not in RESERVED_METADATA}
    return taken


def clean_message(message: BaseMessage, limits: LimitSettings) -> BaseMessage:
    """`message`, or a marked copy where something had to be replaced or cut."""
    if not isinstance(message, HumanMessage) or message.additional_kwargs.get(MARK):
        return message
    text = str(message.text)
    replaced = len(_FORBIDDEN.findall(text))
    if not replaced and len(text) <= limits.message_chars:
        return message
    marks: dict[str, Any] = {"replaced": replaced} if replaced else {}
    if len(text) > limits.message_chars:
        rejects = limits.long_message == "reject"
        marks |= {"rejected": len(text)} if rejects else {"truncated": len(text)}
        text = text[: _REJECTED_CHARS if rejects else limits.message_chars]
    cleaned = _FORBIDDEN.sub("\ufffd", text)
    return message.model_copy(
        update={"content": cleaned, "additional_kwargs": {**message.additional_kwargs, MARK: marks}}
    )
