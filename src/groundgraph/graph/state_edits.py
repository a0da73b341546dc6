"""What an edit of a turn's state leads to, where the answer would not fit it otherwise.

A message that asks something else begins the turn again; other words of an answer pass the gate and the check.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, StateSnapshot, StateUpdate

from groundgraph.nodes.begin_turn import INPUT, take_in
from groundgraph.settings.services import LimitSettings

_READ = frozenset(("messages", "question", "draft"))
# What an answer goes through; before, a draft is written anew whatever it holds.
_BEHIND_ANSWER = frozenset(("check_citations", "repair_answer", "refuse_answer", "review_answer", "record_turn"))


async def led_on(
    graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig, edit: StateUpdate, limits: LimitSettings
) -> StateUpdate:
    """The edit of a state as it is made: from the step on which what it changes has to go through.

    Args:
        graph: with the state.
        config: of which state.
        edit: what is changed in it.
        limits: of a message.

    Raises:
        InputInvalid: its messages are none that a turn can take.
    """
    values = edit.values
    if not isinstance(values, dict) or values.keys().isdisjoint(_READ) or edit.as_node not in {None, *graph.nodes}:
        return edit
    before = await graph.aget_state(config)
    asked = _asked_anew(values, before, limits)
    if asked is not None:
        return StateUpdate(asked, START)
    if _rewords(values.get("draft"), before):
        return StateUpdate({**values, "draft": _edited(values["draft"], before)}, "answer_structured")
    return edit


def _asked_anew(values: Mapping[str, Any], before: StateSnapshot, limits: LimitSettings) -> dict[str, Any] | None:
    """The input by which the turn begins again; None where it asks what it asked before."""
    held: dict[str | None, BaseMessage] = {message.id: message for message in before.values.get("messages", [])}
    asked, messages, question = _asked_id(before), values.get("messages"), values.get("question")
    if isinstance(messages, Overwrite) or (messages is None and question is None):
        return None
    if said := isinstance(question, str) and question not in held:
        question = HumanMessage(question, id=asked)
    given = {name: values[name] for name in INPUT if name in values}
    taken: dict[str, Any] = take_in({**given, "messages": messages, "question": question}, limits)
    # What was said in earlier turns may be edited; a turn that has ended is asked again by a question alone.
    new = taken["messages"] if before.next else taken["messages"][-1:] * said
    return taken if any(_asks(message, held.get(message.id), asked) for message in new) else None


def _asks(message: BaseMessage, was: BaseMessage | None, asked: str | None) -> bool:
    """Whether `message`, which was `was`, is a new question, or the one `asked` with another text."""
    if not isinstance(message, HumanMessage):
        return False
    return was is None or (message.id == asked and message.text != was.text)


def _asked_id(before: StateSnapshot) -> str | None:
    """The id of the message that the turn under way answers; None where there is none yet, or none any more."""
    if not before.next or START in before.next:
        return None
    if "begin_turn" not in before.next:
        return (before.values.get("turn") or {}).get("message_id") or None
    messages = before.values.get("messages", [])
    return next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def _rewords(draft: Any, before: StateSnapshot) -> bool:
    """Whether an edited `draft` holds another text, which nothing would write anew."""
    if not isinstance(draft, dict) or (before.next and _BEHIND_ANSWER.isdisjoint(before.next)):
        return False
    return bool(draft.get("text")) and draft["text"] != (before.values.get("draft") or {}).get("text")


def _edited(draft: Mapping[str, Any], before: StateSnapshot) -> dict[str, Any]:
    """The draft for the check, all of its words but a listing of evidence that was left as it was below them."""
    was = before.values.get("draft") or {"text": "", "written": 0}
    listing = was["text"][was["written"] :] if was["written"] else ""
    return {**draft, "edited": True, "written": len(draft["text"].removesuffix(listing))}
