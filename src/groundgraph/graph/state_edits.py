"""What an edit of a turn's state leads to, where the answer would not fit it otherwise; and what is told of it.

A message that asks something else begins the turn again, other words of an answer pass the gate and the check, and
other evidence leads to another answer. What was edited stands in the turn, from where its record has it. Nobody edits
what the check found, or takes by an edit the place of a person who is to decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._typing import MISSING
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite, StateSnapshot, StateUpdate

from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import jsonable
from groundgraph.core.turn_values import EMPTY_CHECK, EMPTY_DRAFT
from groundgraph.graph.state import lifetimes
from groundgraph.graph.stopped_turns import REVIEW
from groundgraph.nodes.begin_turn import INPUT, take_in
from groundgraph.settings.services import LimitSettings

# What an answer goes through; before, a draft is written anew whatever it holds.
_BEHIND_ANSWER = frozenset(("check_citations", "repair_answer", "refuse_answer", "review_answer", "record_turn"))
# What has been checked; and what follows a review, where only its decision leads.
_BEHIND_CHECK = _BEHIND_ANSWER - {"check_citations"}
_BEHIND_REVIEW = frozenset((REVIEW, "refuse_answer", "record_turn"))
# What of a draft tells neither what it says nor what its labels refer to.
_BESIDE_WORDS = frozenset(("notes", "calls", "style", "asked_style", "elapsed_ms"))
# What tells nothing to a reader of an edit: texts of evidence have a place of their own, and the mark is ours.
_BY_NAME_ONLY = ("bodies",)
_MARK = "edited"


async def led_on(
    graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig, edit: StateUpdate, limits: LimitSettings
) -> StateUpdate:
    """The edit of a state as it is made: from the step on which what it changes has to go through, and told.

    Args:
        graph: with the state.
        config: of which state.
        edit: what is changed in it.
        limits: of a message.

    Raises:
        InputInvalid: its messages are none that a turn can take, or leave a turn under way without its question; or it
            would stand in place of the citation check, or of the decision that an answer waits for.
    """
    values = edit.values
    if edit.as_node not in {None, *graph.nodes}:
        return edit
    before = await graph.aget_state(config)
    _refuse_deciding(edit.as_node, before)
    if not isinstance(values, dict):
        return edit
    asked = _asked_anew(values, before, limits)
    if asked is not None:
        return StateUpdate(asked, START)
    if edit.as_node == START:
        return edit
    _refuse_losing_question(graph, values, before)
    return _through_its_steps(edit._replace(values=_told(graph, values, before)), values, before)


def _through_its_steps(edit: StateUpdate, values: dict[str, Any], before: StateSnapshot) -> StateUpdate:
    """The `edit`, which tells what it changes, from the step on which that has to go through.

    Raises:
        InputInvalid: see `led_on`.
    """
    edited: dict[str, Any] = {**(edit.values or {})}
    step = edit.as_node
    if _has_other_evidence(values.get("ranking"), before):
        edited["ranking"] = _with_its_style(values["ranking"])
        step = step if _BEHIND_ANSWER.isdisjoint(before.next) else "process_results"
    if _rewords(values.get("draft"), before):
        edited["draft"], step = _edited(values["draft"], before), "answer_structured"
    if step == edit.as_node:
        _refuse_finding(values.get("check"), before, step)
    return edit._replace(values=edited, as_node=step)


_WAITS = "The answer of this turn waits for a person's decision, and"
_DECIDE = 'Decide by Command(resume={"decision": ...}): approve, refuse, or replace with a text.'
_CHECKED = (
    "'check' holds what the citation check found in the answer, which no edit changes. Edit 'draft', whose words are "
    "checked anew; where the answer waits for a person's decision, decide."
)


def _refuse_deciding(step: str | None, before: StateSnapshot) -> None:
    """
    Raises:
        InputInvalid: an answer waits for a person's decision, and an edit as `step` would go on without it.
    """
    if REVIEW in before.next and step in _BEHIND_REVIEW:
        raise InputInvalid(f"{_WAITS} an edit as the step '{step}' would go on without it. {_DECIDE}")


def _refuse_finding(check: Any, before: StateSnapshot, step: str | None) -> None:
    """
    Raises:
        InputInvalid: an edited `check` holds other findings, which no check would replace any more.
    """
    if not isinstance(check, dict) or (_BEHIND_CHECK.isdisjoint(before.next) and step != "check_citations"):
        return
    if {**EMPTY_CHECK, **check} != {**EMPTY_CHECK, **(before.values.get("check") or {})}:
        raise InputInvalid(_CHECKED)


def _refuse_losing_question(
    graph: CompiledStateGraph[Any, Any, Any, Any], values: Mapping[str, Any], before: StateSnapshot
) -> None:
    """
    Raises:
        InputInvalid: the message that the turn under way answers would be gone, or say something else.
    """
    asked = _asked_id(before) if _is_under_way(before) and "messages" in values else None
    if asked is None:
        return
    was, now = (
        {message.id: message.text for message in messages}
        for messages in (before.values.get("messages", []), _applied(graph, "messages", values, before))
    )
    if was.get(asked) != now.get(asked):
        raise InputInvalid(
            f"The turn under way answers the message '{asked}', which this edit takes out of the conversation or "
            "replaces with all of it. Edit that message alone, which begins the turn again, or ask a new question."
        )


def _asked_anew(values: Mapping[str, Any], before: StateSnapshot, limits: LimitSettings) -> dict[str, Any] | None:
    """The input by which the turn begins again; None where it asks what it asked before."""
    held: dict[str | None, BaseMessage] = {message.id: message for message in before.values.get("messages", [])}
    asked, messages = _asked_id(before), values.get("messages")
    question = _other_question(values, before)
    if isinstance(messages, Overwrite) or (messages is None and question is None):
        return None
    if said := isinstance(question, str) and question not in held:
        question = HumanMessage(question, id=asked)
    given = {name: values[name] for name in INPUT if name in values}
    taken: dict[str, Any] = take_in({**given, "messages": messages, "question": question}, limits)
    # What was said in earlier turns may be edited; a turn that has ended is asked again by a question alone.
    new = taken["messages"] if before.next else taken["messages"][-1:] * said
    return taken if any(_asks(message, held.get(message.id), asked) for message in new) else None


def _other_question(values: Mapping[str, Any], before: StateSnapshot) -> Any:
    """What an edit asks beside its messages: a question, or that of the turn under way in other words."""
    turn, was = values.get("turn"), before.values.get("turn")
    if values.get("question") is not None or not (isinstance(turn, dict) and was and _is_under_way(before)):
        return values.get("question")
    return turn["question"] if turn.get("question", was["question"]) != was["question"] else None


def _asks(message: BaseMessage, was: BaseMessage | None, asked: str | None) -> bool:
    """Whether `message`, which was `was`, is a new question, or the one `asked` with another text."""
    if not isinstance(message, HumanMessage):
        return False
    return was is None or (message.id == asked and message.text != was.text)


def _is_under_way(before: StateSnapshot) -> bool:
    """Whether the turn in a state has begun and not ended."""
    return bool(before.next) and {START, "begin_turn"}.isdisjoint(before.next)


def _asked_id(before: StateSnapshot) -> str | None:
    """The id of the message that the turn under way answers; None where there is none yet, or none any more."""
    if _is_under_way(before):
        return (before.values.get("turn") or {}).get("message_id") or None
    if "begin_turn" not in before.next:
        return None
    messages = before.values.get("messages", [])
    return next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def _rewords(draft: Any, before: StateSnapshot) -> bool:
    """Whether an edited `draft` says something else, or lets what it says refer or pass otherwise, and nothing would
    write it anew; one without a text is no answer, which the check tells."""
    if not isinstance(draft, dict) or (before.next and _BEHIND_ANSWER.isdisjoint(before.next)):
        return False
    was, now = {**EMPTY_DRAFT, **(before.values.get("draft") or {})}, {**EMPTY_DRAFT, **draft}
    return any(was[name] != now[name] for name in EMPTY_DRAFT.keys() - _BESIDE_WORDS)


def _edited(draft: Mapping[str, Any], before: StateSnapshot) -> dict[str, Any]:
    """The draft for the check, all of its words but a listing of evidence that was left as it was below them; what was
    noted about the words before is not said of these."""
    was = before.values.get("draft") or {"text": "", "written": 0, "notes": []}
    listing = was["text"][was["written"] :] if was["written"] else ""
    notes = [note for note in draft.get("notes", ()) if note not in was["notes"]]
    text = draft.get("text", "")
    return {**draft, "edited": True, "written": len(text.removesuffix(listing)), "notes": notes}


def _has_other_evidence(ranking: Any, before: StateSnapshot) -> bool:
    """Whether an edited `ranking` holds other evidence; an answer behind it was made of what it held before."""
    was = before.values.get("ranking") or {"refs": []}
    return isinstance(ranking, dict) and ranking.get("refs", []) != was["refs"]


def _with_its_style(ranking: Mapping[str, Any]) -> dict[str, Any]:
    """The ranking as its step would leave it: without evidence it has no style that could write an answer."""
    return {**ranking, "style": ranking.get("style") if ranking.get("refs") else None}


# What was edited, for the record.


def _told(
    graph: CompiledStateGraph[Any, Any, Any, Any], values: dict[str, Any], before: StateSnapshot
) -> dict[str, Any]:
    """The `values` of an edit, whose turn says what they change; where there is a turn."""
    turn = values.get("turn", before.values.get("turn"))
    if not (isinstance(turn, dict) and before.values.get("turn")):
        return {**values}
    edited = dict(before.values["turn"][_MARK])
    for channel, changed in _changes(graph, values, before):
        earlier = edited.get(channel, {})
        edited[channel] = {**earlier, **{name: {**one, **_was(earlier.get(name))} for name, one in changed.items()}}
    return {**values, "turn": {**turn, _MARK: edited}} if edited or "turn" in values else {**values}


def _was(earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a value was before it was edited for the first time."""
    return {"was": earlier["was"]} if earlier else {}


def _changes(
    graph: CompiledStateGraph[Any, Any, Any, Any], values: Mapping[str, Any], before: StateSnapshot
) -> Iterator[tuple[str, dict[str, Any]]]:
    """By channel that lives on, what an edit changes in it."""
    for name in values:
        life = lifetimes().get(name)
        if life is None or life.kind == "run" or name not in graph.channels:
            continue
        was, now = before.values.get(name), _applied(graph, name, values, before)
        if _comparable(was) != _comparable(now):
            yield name, _changed(name, was or {}, now)


def _applied(
    graph: CompiledStateGraph[Any, Any, Any, Any], name: str, values: Mapping[str, Any], before: StateSnapshot
) -> Any:
    """What an edit makes of a channel."""
    was = before.values.get(name)
    kept: Any = graph.channels[name]
    # A copy, since what combines two values may change the first.
    channel = kept.from_checkpoint(MISSING if was is None else type(was)(was))
    channel.update([values[name]])
    return channel.get()


def _comparable(value: Any) -> Any:
    """A value as it is compared: without our marks, and of messages, which clients send in another form, what they
    say."""
    if isinstance(value, list):
        return [(message.id, message.text) for message in value]
    return {name: one for name, one in (value or {}).items() if name != _MARK}


def _changed(channel: str, was: Any, now: Any) -> dict[str, Any]:
    if not isinstance(now, Mapping) or channel in _BY_NAME_ONLY:
        return {}
    return {
        str(name): {"was": jsonable(was.get(name)), "is": jsonable(now.get(name))}
        for name in {**was, **now}
        if name != _MARK and was.get(name) != now.get(name)
    }
