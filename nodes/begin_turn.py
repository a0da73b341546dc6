"""The first step of a turn: what is asked, and a clean slate for everything that lives for one turn."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from groundgraph.chains.immediate_reply import ImmediateReplies
from groundgraph.core.context import Context, chosen_fields
from groundgraph.core.intent import STYLES
from groundgraph.core.message_intake import MARK
from groundgraph.core.settings import Settings
from groundgraph.core.text import detect_language
from groundgraph.core.turn_values import Draft, Turn
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts


class BeginTurnInput(TypedDict, total=False):
    """What the step reads."""

    messages: list[AnyMessage]
    metadata: dict[str, Any]
    question: str


class BeginTurnUpdate(TypedDict):
    """What the step writes: the turn, a reply when nothing needs to be looked up, and everything else empty."""

    messages: NotRequired[list[AnyMessage]]
    turn: Turn
    intent: dict[str, Any]
    retrievals: Overwrite
    bodies: Overwrite
    ranking: dict[str, Any]
    draft: Draft
    check: dict[str, Any]


def begin_turn(settings: Settings, prompts: Prompts) -> Node[BeginTurnInput, BeginTurnUpdate]:
    """The node; see `BeginTurnUpdate`.

    Raises:
        TemplateInvalid: see `ImmediateReplies`.
    """
    replies = ImmediateReplies(settings, prompts)

    async def begin_turn(state: BeginTurnInput, runtime: Runtime[Context]) -> BeginTurnUpdate:
        messages = state.get("messages", [])
        message, again = _asked(messages, state.get("question"))
        position = len(messages) + bool(again)
        turn = _turn(message, position, chosen_fields(runtime.context))
        turn["issues"] = _issues(message, state.get("metadata", {}), prompts, turn["language"], settings)
        question = turn["question"] if message is not None else None
        draft = replies.reply_to(
            question, turn["language"], state.get("metadata", {}), rejected=_marks(message).get("rejected")
        )
        update: BeginTurnUpdate = {
            "turn": turn,
            "intent": {},
            "retrievals": Overwrite({}),
            "bodies": Overwrite({}),
            "ranking": {},
            "draft": draft,
            "check": {},
        }
        if again:
            # Only then: each write, an empty one too, brings the next snapshot of the conversation nearer.
            update["messages"] = again
        return update

    return begin_turn


def _asked(messages: list[AnyMessage], message_id: str | None) -> tuple[HumanMessage | None, list[AnyMessage]]:
    """The message that the turn answers, and what has to be added to the thread for it.

    A message under an id that was answered before, as a client that tries again sends it, is asked anew under an id of
    its own: LangGraph has put it in the place of the old one.
    """
    at = next((n for n, message in enumerate(messages) if message_id and message.id == message_id), len(messages) - 1)
    found = messages[at] if messages else None
    if not isinstance(found, HumanMessage):
        return None, []
    if not any(isinstance(message, AIMessage) for message in messages[at + 1 :]):
        return found, []
    anew = found.model_copy(update={"id": f"{found.id}-{len(messages)}"})
    return anew, [anew]


def _turn(message: HumanMessage | None, position: int, options: dict[str, Any]) -> Turn:
    question = str(message.text) if message else ""
    message_id = (message.id or "") if message else ""
    return {
        "id": _turn_id(message_id, position, question),
        "question": question,
        "message_id": message_id,
        "language": options.get("language") or detect_language(question),
        "options": options,
        "issues": [],
        "started_at": round(time.time(), 3),
    }


def _turn_id(message_id: str, position: int, question: str) -> str:
    """Derived from the message and its place in the thread, so that a replay or a fork makes the same prompt."""
    text = f"{message_id}\n{position}\n{question}".encode()
    return base64.urlsafe_b64encode(hashlib.blake2b(text, digest_size=12).digest()).decode()


def _marks(message: BaseMessage | None) -> dict[str, Any]:
    found: dict[str, Any] = message.additional_kwargs.get(MARK, {}) if message else {}
    return found


def _issues(
    message: BaseMessage | None, metadata: dict[str, Any], prompts: Prompts, language: str, settings: Settings
) -> list[str]:
    marks = _marks(message)
    issues = []
    if marks.get("replaced"):
        issues.append(prompts.note("characters_replaced", language, count=marks["replaced"]))
    if marks.get("truncated"):
        issues.append(prompts.note("message_truncated", language, limit=settings.limits.message_chars))
    style = metadata.get("synthesis_style")
    if style is not None and style not in STYLES:
        issues.append(prompts.note("unknown_style", language, style=style))
    return issues
