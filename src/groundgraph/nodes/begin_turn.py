"""The first step of a turn: what is asked, and a clean slate for everything that lives for one turn."""

from __future__ import annotations

import base64
import hashlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite
from pydantic import ValidationError
from typing_extensions import TypedDict

from groundgraph.core.characters import FORBIDDEN, clean_text, is_blank
from groundgraph.core.errors import InputInvalid, TemplateInvalid
from groundgraph.core.evidence import EvidenceRecord, jsonable, preview
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import STYLES, IntentState
from groundgraph.core.registry import nearest
from groundgraph.core.turn_values import EMPTY_DRAFT, EMPTY_TURN, Check, Draft, Ranking, Retrieval, Turn
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts, fence_of
from groundgraph.settings.context import Context, chosen_fields, refuse_without_effect
from groundgraph.settings.services import LimitSettings
from groundgraph.settings.settings import Settings
from groundgraph.text.small_talk import language_of, small_talk
from groundgraph.text.templates import checked_template, render

if TYPE_CHECKING:
    from jinja2 import Template

    from groundgraph.nodes.path_choice import PathChoice


# What is done to an input before it enters a thread: its form, characters that no text may contain, its length.

MARK = "groundgraph"
_HISTORY = "retrieval_provenance_history"
RESERVED_METADATA = ("retrieval_provenance", _HISTORY, "recently_used_keys")
_REJECTED_CHARS = 200
INPUT = ("messages", "question", "metadata")
# What asks, as an example shows it.
_ASKING = {"question": '{"question": "..."}', "messages": '{"messages": [...]}'}


def take_in(given: Any, limits: LimitSettings, *, trusted: bool = False) -> Any:
    """The input of a turn with clean messages.

    A message, a list of messages or a text stands for `{"messages": ...}`, and `question` becomes a message; in its
    place stands the id of the user's last message, which is what the turn answers. In each message, forbidden
    characters become U+FFFD, and a text longer than `limits.message_chars` is cut; what was done
    stands in the message's `additional_kwargs["groundgraph"]`. Metadata and marks that only groundgraph writes are
    dropped unless the input comes from a parent graph (`trusted`). None passes unchanged: it resumes a run; and so does
    a `Command`, which may bring metadata (see `check_command`).

    Raises:
        InputInvalid: the messages or the metadata are nothing that a turn can take; the input asks nothing: it is
            empty, has keys that no turn knows, or is the state of a parent without one that asks; or it asks twice,
            which only the state of a parent may do, where a question stands for its message; or it is a command that
            does more than go on with a turn.
    """
    if isinstance(given, Command):
        update = check_command(given)
        return replace(given, update=_taken(update, limits, trusted)) if update else given
    if isinstance(given, BaseMessage | str | list | tuple):
        given = {"messages": given}
    if given is None:
        return given
    mapping = _attributes(given) if trusted and not isinstance(given, dict) else given
    if not isinstance(mapping, dict):
        told = f'{{"question": "..."}} or {{"messages": [...]}}, and this is a value of type {type(given).__name__}.'
        raise InputInvalid(f"A turn takes {told}")
    if trusted:
        _check_parents_keys(mapping)
    else:
        check_keys(mapping)
    return _taken(mapping, limits, trusted)


def _attributes(given: Any) -> dict[str, Any] | None:
    """What of the state of a parent that is a dataclass or a model of Pydantic a turn takes; None for anything else."""
    return {name: value for name in INPUT if (value := getattr(given, name, None)) is not None} or None


def check_keys(given: Mapping[str, Any], known: Sequence[str] = INPUT) -> None:
    """Refuses an input that asks nothing under a name that is `known`; LangGraph would drop what it holds.

    Raises:
        InputInvalid: see above.
    """
    if not given:
        ways = [way for name, way in _ASKING.items() if name in known]
        raise InputInvalid(f"The input is empty. Ask something: {' or '.join(ways)}.")
    unknown = [str(name) for name in given if name not in known]
    asking = given.keys() & _ASKING.keys() & set(known)
    if unknown and not any(_asks(given[name]) for name in asking):
        hint = nearest(unknown[0], list(known))
        raise InputInvalid(f"The input has no key '{unknown[0]}'.{hint} It takes: {', '.join(known)}.")


def _check_parents_keys(given: Mapping[str, Any]) -> None:
    """Refuses the state of a parent that has nothing which asks; whatever else it has is the parent's own.

    Raises:
        InputInvalid: see above.
    """
    unknown = [str(name) for name in given if name not in INPUT]
    if not given:
        check_keys(given)
    elif unknown and not given.keys() & _ASKING.keys():
        told = f"Inside this graph the turn is given '{unknown[0]}', and neither 'messages' nor 'question'"
        way = f'call the turn in a node of yours: await turn.ainvoke({{"question": state["{unknown[0]}"]}})'
        raise InputInvalid(f"{told}: it is asked nothing. Set one of the two in the state of that graph, or {way}.")


# What may come with a decision: the session is the caller's, a turn is what its steps made of it.
_BESIDE_DECISION = ("metadata",)


def check_command(command: Command[Any]) -> dict[str, Any]:
    """What a command changes beside going on with a turn: metadata of the session, or nothing.

    What else LangGraph lets a command do would reach the step that waits behind every step which looks at it: other
    words of an answer behind the gate and the check, another question behind the answer.

    Raises:
        InputInvalid: it changes the turn, sends it to a step, or says nothing.
    """
    if command.goto:
        told = "A turn goes from step to step, and no command sends it elsewhere (goto)"
        raise InputInvalid(f"{told}: {_DECIDE} To begin elsewhere, edit the state as the step before (update_state).")
    update = dict(command._update_as_tuples()) if command.update else {}
    others = [str(name) for name in update if name not in _BESIDE_DECISION]
    if others:
        told = f"A command that goes on with a turn changes nothing in it, and this one changes '{others[0]}'"
        raise InputInvalid(f"{told}. {_DECIDE} To ask something else, send a question. {_EDIT}")
    if command.resume is None and not update:
        raise InputInvalid(f"The command says nothing. {_DECIDE} To go on with a turn that was cut, send None.")
    return update


_DECIDE = (
    'Answer what waits by resume: {"decision": "approve"}, {"decision": "refuse"}, or other words in its place, '
    '{"decision": "replace", "text": "..."}.'
)
_EDIT = "To edit what the turn holds, edit its state (update_state): what is edited there is checked."


def _asks(value: Any) -> bool:
    """Whether a question, which may be empty, or messages are there."""
    return value is not None and value != []


def _taken(given: Mapping[str, Any], limits: LimitSettings, trusted: bool) -> dict[str, Any]:
    taken = dict(given)
    said = _said(_converted(_listed(taken.get("messages"))), taken.pop("question", None), alone=not trusted)
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


def _said(messages: list[BaseMessage], question: Any, *, alone: bool) -> list[BaseMessage]:
    """The messages, and `question` as the last where none of them is it."""
    if question is None or _is_said(question, messages):
        return messages
    if not isinstance(question, str | BaseMessage):
        raise InputInvalid(f"'question' is a text, and this is a value of type {type(question).__name__}.")
    if alone and isinstance(question, str) and messages and isinstance(messages[-1], HumanMessage):
        both = f"'question' ({preview(question)}) and the last of 'messages' ({preview(str(messages[-1].text))})"
        raise InputInvalid(f"The input asks twice, and a turn answers one message: {both}. Give one of them.")
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
    return [_message(number, given) for number, given in enumerate(messages, 1)]


def _message(number: int, given: Any) -> BaseMessage:
    try:
        [message] = convert_to_messages([given])
    except (NotImplementedError, ValueError, TypeError, KeyError, AttributeError) as error:
        # Pydantic's words are about its classes.
        why = "" if isinstance(error, ValidationError) else f" ({str(error).partition(chr(10))[0][:200]})"
        raise InputInvalid(f"Message {number} of 'messages' cannot be read{why}. {_MESSAGE}") from error
    return message


_MESSAGE = (
    'Send a text, or {"role": "user", "content": ...} with a text or a list of parts: of these {"type": "text", '
    '"text": "..."} is read, and no picture, sound or file.'
)


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


# Replies to what needs no retrieval: nothing at all, an empty or overlong message, small talk.


def greeting_of(settings: Settings) -> Template | None:
    """The user's own greeting, compiled.

    Raises:
        TemplateInvalid: see `checked_template`.
    """
    template = settings.greeting_template
    sample = {"domain_context": settings.intent.domain_context, "metadata": {}}
    return checked_template(template, "greeting_template", sample) if template else None


class ImmediateReplies:
    """Recognises what needs no retrieval, without a model.

    Args:
        settings: the fast path and its greeting.
        prompts: the prompt files.
        sources: what can be searched, for a message that asks what the bot can do.

    Raises:
        TemplateInvalid: see `greeting_of`.
    """

    def __init__(self, settings: Settings, prompts: Prompts, sources: Sequence[str]) -> None:
        self._settings = settings
        self._sources = list(sources)
        self._prompts = prompts
        self._template = greeting_of(settings)

    def reply_to(
        self, question: str | None, turn: Turn, metadata: Mapping[str, Any], *, rejected: int | None = None
    ) -> Draft:
        """The finished reply, or an empty draft for everything that has to be looked up.

        Args:
            question: the message; None when the run brought none.
            turn: tells the language of the reply, and which sources are searched.
            metadata: of the session, for the greeting.
            rejected: how long the message was, when it was too long to be read.
        """
        text = self._text(question, turn, metadata, rejected)
        return {**EMPTY_DRAFT, "text": text.strip(), "outcome": "chat", "finish": "stop", "style": "fixed"}

    def _text(self, question: str | None, turn: Turn, metadata: Mapping[str, Any], rejected: int | None) -> str:
        language = turn["language"]
        if rejected:
            limit = self._settings.limits.message_chars
            return self._prompts.render("message_too_long", language=language, length=rejected, limit=limit)
        if question is None:
            return self._greeting(language, metadata)
        if is_blank(question):
            return self._prompts.render("empty_message", language=language)
        kind = small_talk(question, self._settings.fast_path.recognised)
        if kind == "greeting":
            return self._greeting(language, metadata)
        if kind == "about":
            domain = self._settings.intent.domain_context
            chosen = turn["options"].get("sources")
            searched = [name for name in self._sources if chosen is None or name in chosen]
            return self._prompts.render(kind, language=language, sources=searched, domain_context=domain)
        return self._prompts.render(kind, language=language) if kind else ""

    def _greeting(self, language: str, metadata: Mapping[str, Any]) -> str:
        domain = self._settings.intent.domain_context
        if self._template is None:
            return self._prompts.render("greeting", language=language, domain_context=domain)
        try:
            return render(self._template, {"domain_context": domain, "metadata": metadata}, key="greeting_template")
        except TemplateInvalid:
            # A name that this session's metadata lacks must not cost the turn.
            return self._prompts.render("greeting", language=language, domain_context=domain)


class BeginTurnInput(TypedDict, total=False):
    """What the step reads: the conversation, and what the turn before this one left."""

    messages: list[AnyMessage]
    metadata: dict[str, Any]
    question: str
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    ranking: Ranking
    draft: Draft
    check: Check


class BeginTurnUpdate(TypedDict):
    """What the step writes: the turn, a reply when nothing needs to be looked up, and everything else empty, which
    takes no room."""

    messages: NotRequired[list[AnyMessage]]
    turn: Turn
    intent: dict[str, Any]
    retrievals: Overwrite
    bodies: Overwrite
    ranking: dict[str, Any]
    draft: Draft | dict[str, Any]
    check: dict[str, Any]


def begin_turn(
    settings: Settings, prompts: Prompts, evidence: EvidenceStore | None = None, sources: Sequence[str] = ()
) -> Node[BeginTurnInput, BeginTurnUpdate]:
    """The node; see `BeginTurnUpdate`.

    Args:
        settings: what is answered at once, and which paths of retrieval there are.
        prompts: the prompt files.
        evidence: where the facts of a dialogue's state are kept.
        sources: the names of what can be searched.

    Raises:
        TemplateInvalid: see `ImmediateReplies`.
    """
    replies = ImmediateReplies(settings, prompts, sources)
    choose_path = _path_choice(settings, prompts, evidence)
    with_choice = _choosing(settings)

    async def _ended_review(state: BeginTurnInput, language: str, runtime: Runtime[Context]) -> list[str]:
        if "check" not in state or state["check"]["verdict"] != "review":
            return []
        from groundgraph.nodes.turn_lineage import end_review, waits_for_review

        kept = evidence or EvidenceStore()
        return [await end_review(state, language, settings, prompts, kept, runtime)] if waits_for_review(state) else []

    async def begin_turn(state: BeginTurnInput, runtime: Runtime[Context]) -> BeginTurnUpdate:
        messages = state.get("messages", [])
        message, again, before = _asked(messages, state.get("question"))
        position = len(messages) + bool(again)
        turn = _turn(message, position, chosen_fields(runtime.context), _place(runtime), before)
        left = state.get("turn", EMPTY_TURN)
        if message is not None and left["message_id"] == turn["message_id"] and left["id"] != turn["id"]:
            was, turn["instead_of"] = left["question"], left["id"]
            turn["edited"] = {"messages": {turn["message_id"]: {"was": was, "is": turn["question"]}}}
        if with_choice is not None:
            turn = with_choice(turn, before)
        refuse_without_effect(settings, turn["options"])
        turn["issues"] = _issues(message, state.get("metadata", {}), prompts, turn["language"], settings)
        turn["issues"] += await _ended_review(state, turn["language"], runtime)
        question = turn["question"] if message is not None else None
        draft = replies.reply_to(question, turn, state.get("metadata", {}), rejected=_marks(message).get("rejected"))
        bodies: dict[str, EvidenceRecord] = {}
        if choose_path is not None:
            draft, bodies = await choose_path(turn, draft, state.get("metadata", {}), runtime)
        update: BeginTurnUpdate = {
            "turn": turn,
            "intent": {},
            "retrievals": Overwrite({}),
            "bodies": Overwrite(bodies),
            "ranking": {},
            "draft": draft if draft["text"] else {},
            "check": {},
        }
        if again:
            # Only then: each write, an empty one too, brings the next snapshot of the conversation nearer.
            update["messages"] = again
        return update

    return begin_turn


def _choosing(settings: Settings) -> Callable[[Turn, Sequence[BaseMessage]], Turn] | None:
    """What reads a message as a choice, where turns ask back."""
    if settings.synthesis.ask_back is None:
        return None
    from groundgraph.answers.choices import with_choice

    return with_choice


def _path_choice(settings: Settings, prompts: Prompts, evidence: EvidenceStore | None) -> PathChoice | None:
    if len(settings.paths) == 1 and not settings.category_router.routes:
        # There is nothing to choose, and nothing of it is loaded.
        return None
    from groundgraph.nodes.path_choice import PathChoice

    return PathChoice(settings, prompts, evidence or EvidenceStore())


def _asked(
    messages: list[AnyMessage], message_id: str | None
) -> tuple[HumanMessage | None, list[AnyMessage], list[AnyMessage]]:
    """The message that the turn answers, what has to be added to the thread for it, and what was said before it.

    A message under an id that was answered before, as a client that tries again sends it, is asked anew under an id of
    its own: LangGraph has put it in the place of the old one.
    """
    last = len(messages) - 1
    at = next((n for n in range(last, -1, -1) if message_id and messages[n].id == message_id), last)
    found = messages[at] if messages else None
    if not isinstance(found, HumanMessage):
        return None, [], []
    if not any(isinstance(message, AIMessage) and not message.tool_calls for message in messages[at + 1 :]):
        # A call of a tool, as an agent leaves it behind its user's question, answers nothing.
        return found, [], messages[:at]
    anew = found.model_copy(update={"id": f"{found.id}-{len(messages)}"})
    return anew, [anew], messages[:at]


def _turn(
    message: HumanMessage | None, position: int, options: dict[str, Any], place: str, before: Sequence[BaseMessage]
) -> Turn:
    question = str(message.text) if message else ""
    message_id = (message.id or "") if message else ""
    turn_id = _turn_id(message_id, position, question, place)
    return {
        **EMPTY_TURN,
        "id": turn_id,
        "fence": fence_of(turn_id),
        "question": question,
        "message_id": message_id,
        "language": options.get("language") or language_of(question, _language_before(before)),
        "options": options,
        "started_at": round(time.time(), 3),
    }


# So many messages of the user, and characters of each, tell the language of one that tells none.
_TOLD_BY, _TOLD_CHARS = 4, 1_000


def _language_before(messages: Sequence[BaseMessage]) -> str | None:
    """The language in which the user spoke last; None at the beginning."""
    said = [message for message in messages if isinstance(message, HumanMessage)][-_TOLD_BY:]
    language = None
    for message in said:
        language = language_of(str(message.text)[:_TOLD_CHARS], language)
    return language


def _place(runtime: Runtime[Context]) -> str:
    """The nodes of the parent graphs that this turn stands in, the outermost first; nothing for a graph by itself.

    Two turns that a parent asks the same thing are two turns. The ids of the parent's tasks are left out, because a
    replay has others.
    """
    space = runtime.execution_info.checkpoint_ns if runtime.execution_info else ""
    return "/".join(segment.split(":")[0] for segment in space.split("|")[:-1])


def _turn_id(message_id: str, position: int, question: str, place: str) -> str:
    """Derived from the message and its place in the thread and in a parent, so that a replay or a fork makes the same
    prompt."""
    text = "\n".join([*([place] if place else []), message_id, str(position), question]).encode()
    return base64.urlsafe_b64encode(hashlib.blake2b(text, digest_size=12).digest()).decode()


def _marks(message: BaseMessage | None) -> dict[str, Any]:
    found: dict[str, Any] = message.additional_kwargs.get(MARK, {}) if message else {}
    return found


def _parts_unread(message: BaseMessage | None) -> int:
    """How many pictures, files and the like `message` holds."""
    parts = message.content if message and isinstance(message.content, list) else []
    return sum(isinstance(part, dict) and part.get("type") != "text" for part in parts)


def _issues(
    message: BaseMessage | None, metadata: dict[str, Any], prompts: Prompts, language: str, settings: Settings
) -> list[str]:
    marks = _marks(message)
    issues = []
    if marks.get("replaced"):
        issues.append(prompts.note("characters_replaced", language, count=marks["replaced"]))
    if marks.get("truncated"):
        issues.append(prompts.note("message_truncated", language, limit=settings.limits.message_chars))
    if unread := _parts_unread(message):
        issues.append(prompts.note("parts_unread", language, count=unread))
    style = metadata.get("synthesis_style")
    if style is not None and style not in STYLES:
        issues.append(prompts.note("unknown_style", language, style=style))
    return issues
