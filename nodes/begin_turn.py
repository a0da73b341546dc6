"""The first step of a turn: what is asked, and a clean slate for everything that lives for one turn."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
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


class BeginTurnUpdate(TypedDict):
    """What the step writes: the turn, a reply when nothing needs to be looked up, and everything else empty."""

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
        turn = _turn(state.get("messages", []), chosen_fields(runtime.context))
        message = state["messages"][-1] if turn["message_id"] else None
        turn["issues"] = _issues(message, state.get("metadata", {}), prompts, turn["language"], settings)
        question = turn["question"] if message is not None else None
        draft = replies.reply_to(
            question, turn["language"], state.get("metadata", {}), rejected=_marks(message).get("rejected")
        )
        return {
            "turn": turn,
            "intent": {},
            "retrievals": Overwrite({}),
            "bodies": Overwrite({}),
            "ranking": {},
            "draft": draft,
            "check": {},
        }

    return begin_turn


def _turn(messages: list[AnyMessage], options: dict[str, Any]) -> Turn:
    last = messages[-1] if messages and isinstance(messages[-1], HumanMessage) else None
    question = last.text if last else ""
    message_id = (last.id or "") if last else ""
    return {
        "id": _turn_id(message_id, len(messages), question),
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
