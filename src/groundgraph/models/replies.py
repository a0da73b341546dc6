"""What a model is sent, the object it is asked for, and what its reply holds: texts without thoughts, a refusal."""

from __future__ import annotations

import inspect
import json
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.constants import TAG_NOSTREAM

from groundgraph.core.failure import status_code
from groundgraph.prompts import Prompts
from groundgraph.text.follow_up import cue_phrases, language_words, says, spoken_stems
from groundgraph.text.words import fold

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage


# What a model is sent: what stays the same first, marked where a provider keeps what is marked.

# The messages of a call as every chat template takes them.


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


# Telling that a reply rules something out, where it was only to name what it chooses.


def negates(reply: str, names: Iterable[str] = ()) -> bool:
    """Whether `reply` holds a word by which something is denied or left out: "not", "except", "irrelevant".

    Such a reply is not read further: what it denies, only its grammar would tell. The phrases stand in the data files
    of the languages, under `negation`.

    Args:
        reply: what a model said, without its thoughts.
        names: what it may name; one that holds such a word itself, as "No-code tools" does, denies nothing.
    """
    said = fold(reply)
    for name in sorted({fold(name) for name in names}, key=len, reverse=True):
        if name.strip() and name in said:
            said = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", said)
    return says(spoken_stems(said), cue_phrases("negation"))


# Telling a refusal in a model's own words, which no provider marks.


def is_refusal(reply: str, asked: str) -> bool:
    """Whether `reply` holds a phrase by which models refuse, one that does not stand in what they were `asked`.

    The phrases stand in the data files of the languages, under `refusal`.
    """
    told = spoken_stems(reply)
    refusing = [phrase for phrase in cue_phrases("refusal") if says(told, [phrase])]
    if not refusing:
        return False
    said = spoken_stems(asked)
    return not all(says(said, [phrase]) for phrase in refusing)


# Thinking taken out of a whole reply. What streams goes through the label gate, which knows of it too.

# How models mark where a thought begins and ends: DeepSeek and most others, Mistral, Kimi, gpt-oss. One that does not
# stop goes on as its user, and has no end: no text holds this character.
_NEVER = "\0"
THOUGHT_TAGS: Mapping[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<reasoning>": "</reasoning>",
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel|>commentary<|message|>": "<|end|>",
    **dict.fromkeys((f"<|im_end|>{line}<|im_start|>user" for line in ("", "\n", "\n\n")), _NEVER),
    "<|eot_id|><|start_header_id|>user": _NEVER,
    "<end_of_turn>\n<start_of_turn>user": _NEVER,
}
# What a chat template puts around what is said, and a server without it leaves in the text.
TEMPLATE_TAGS = (
    "<|channel|>final<|message|>",
    "<|start|>assistant",
    "<|im_end|>",
    "<end_of_turn>",
    "<|end|>",
    "<|return|>",
    "<|eot_id|>",
    "</s>",
)
THOUGHT_ENDS = frozenset(THOUGHT_TAGS.values()) - set(TEMPLATE_TAGS)
_OPENED = re.compile("|".join(map(re.escape, THOUGHT_TAGS)), re.IGNORECASE)
_ENDED = re.compile("|".join(map(re.escape, sorted(THOUGHT_ENDS))), re.IGNORECASE)
_BLOCK = re.compile(
    "|".join(rf"{re.escape(start)}.*?(?:{re.escape(end)}\s*|\Z)" for start, end in THOUGHT_TAGS.items()),
    re.IGNORECASE | re.DOTALL,
)
_TEMPLATE = re.compile("|".join(map(re.escape, TEMPLATE_TAGS)), re.IGNORECASE)


def strip_thoughts(text: str) -> str:
    """`text` without think blocks, without one that never ends, and without one of which only the end is there; nor
    what a chat template puts around it.

    Some servers put the opening tag into the prompt, so that the reply begins in the middle of a thought.
    """
    if not ("<" in text or "[" in text or "◁" in text):
        return text
    opened, ended = _OPENED.search(text), _ENDED.search(text)
    if ended and not (opened and opened.start() < ended.start()):
        text = text[ended.end() :]
    return _TEMPLATE.sub("", _BLOCK.sub("", text))


# The models that are in use of which a thought ended that had not begun.
_thinking_unasked: set[int] = set()


def begins_in_thought(model: object) -> bool:
    """Whether a reply of `model` has begun in the middle of a thought."""
    return id(model) in _thinking_unasked


def note_that_it_begins_in_thought(model: object) -> None:
    """Remember it of `model` for as long as it lives."""
    if not begins_in_thought(model):
        weakref.finalize(model, _thinking_unasked.discard, id(model)).atexit = False
        _thinking_unasked.add(id(model))


FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")
_MAX_STARTS = 20
# An item in quotes of either kind, also in a list that is no JSON because of them or of a comma too many.
_QUOTED = re.compile(r"([\"'])(?P<item>.{1,500}?)\1\s*+(?=[,\]])")


@cache
def reply_words(kind: str) -> str:
    """What matches one of the words that stand in the data files of the languages under `replies` and `kind`, the
    longest first."""
    found = language_words("replies", kind)
    return "|".join(map(re.escape, sorted(found, key=len, reverse=True)))


def is_json(text: str) -> bool:
    """Whether all of `text` is one object or list."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def json_texts(text: str) -> list[str]:
    """The texts of the first object or list within `text` that holds any, each on one line."""
    for start in [found.start() for found in _BRACKET.finditer(text)][:_MAX_STARTS]:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if texts := [" ".join(one.split()) for one in _texts(value)]:
            return texts
    body = text.strip()
    return [found["item"] for found in _QUOTED.finditer(body)] if body.startswith("[") else []


def _texts(value: Any, depth: int = 4) -> Iterator[str]:
    """The texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif depth:
        for one in _telling(value):
            yield from _texts(one, depth - 1)


def _telling(value: Any) -> Iterable[Any]:
    """The items of a list; of an object its lists, else what stands under a telling key, else all."""
    if isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, list)]
        # The keys under which models put what was asked for, when each item is an object.
        told = [one for key, one in value.items() if re.search(reply_words("keys"), key, re.IGNORECASE)]
        return lists or told or value.values()
    return value if isinstance(value, list) else ()


# What providers say about a reply, in one vocabulary.

_FINISH = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "MAX_TOKENS": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    **dict.fromkeys(
        ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"), "refusal"
    ),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "calls"),
}


# Whose streams always say how they ended.
_SAY_HOW_THEY_END = frozenset({"openai", "anthropic"})


def finish_reason(reply: AIMessage) -> str:
    """`length`, `refusal`, `calls` where a tool was called, or an empty string for a reply that ended by itself."""
    return _FINISH.get(_end_named(reply), "")


def says_how_it_ended(reply: AIMessage, model: object) -> bool:
    """Whether `reply`, or a piece of one, tells that it is at its end, or `model` is one that need not tell."""
    return provider_of(model) not in _SAY_HOW_THEY_END or bool(_end_named(reply))


def _end_named(reply: AIMessage) -> str:
    metadata = reply.response_metadata
    details = metadata.get("incomplete_details")
    named = [metadata.get(key) for key in ("finish_reason", "stop_reason", "done_reason")]
    named += [details.get("reason") if isinstance(details, dict) else None, metadata.get("status")]
    return str(next(filter(None, named), ""))


def refusal_text(reply: AIMessage) -> str:
    """The provider's refusal, when it sends one beside the content."""
    told = reply.additional_kwargs.get("refusal")
    if told:
        return str(told)
    blocks = reply.content if isinstance(reply.content, list) else []
    return "".join(
        str(block.get("refusal", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "refusal"
    )


def unstreamed() -> RunnableConfig:
    """How a model is called whose tokens nobody may see: under the callbacks of the node, but for those that stream.

    LangGraph's stream and that of `astream_events` are fed by the gated model alone; what other models write, the one
    within it too, has not been checked, or is no answer.
    """
    callbacks = ensure_config().get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.handlers = [one for one in callbacks.handlers if not isinstance(one, _StreamingCallbackHandler)]
        callbacks.inheritable_handlers = [
            one for one in callbacks.inheritable_handlers if not isinstance(one, _StreamingCallbackHandler)
        ]
    return {"tags": [TAG_NOSTREAM], "callbacks": callbacks}


# One object that a model is asked for: by its structured output where it has that, elsewhere in its text.

TEXT = "text"
# What a package takes for the best form, where nothing is known of the model.
OWN = "own"
_BY_PROFILE = (("structured_output", "json_schema"), ("tool_calling", "function_calling"))
# A model, or a server, that does not have a form says so by one of these.
_NOT_THAT_WAY = (400, 404, 405, 415, 422, 501)
# Of each model that is in use, how many of its forms it has refused.
_refused: dict[int, int] = {}


def forms_of(model: BaseChatModel) -> list[str]:
    """The ways to ask `model` for an object, the best first: a native schema, a call of a tool, JSON mode, its text.

    They are those of its profile; where LangChain has none, the way that its package holds to be best comes first.
    """
    taken = inspect.signature(type(model).with_structured_output).parameters.get("method")
    methods = str(taken.annotation) if taken else ""
    profile = getattr(model, "profile", None) or {}
    own = [name if name in methods else OWN for key, name in _BY_PROFILE if profile.get(key)]
    first = list(dict.fromkeys(own)) if profile else [OWN]
    return [*first, *(["json_mode"] if "json_mode" in methods else []), TEXT]


async def ask_for_object(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    schema: dict[str, Any],
    prompts: Prompts | None,
    **options: Any,
) -> AIMessage:
    """The reply of `model` to `messages`, as it came.

    What a form is refused with is remembered for as long as the model lives; what only this prompt is refused with,
    whatever is asked for, is an error of its own.

    Args:
        model: is asked.
        messages: begin with the instructions, which say nothing of the form.
        schema: JSON schema of the object, with a title; it is written into the prompt only where no other way is left.
        prompts: the prompt files; None where the instructions say themselves how to put it in a text.
        options: of the call.
    """
    forms, messages = forms_of(model), in_turns(messages)
    first = _refused.get(id(model), 0)
    for number, form in enumerate(forms[first:-1], first):
        bound = _structured(model, schema, form)
        if bound is None or (form == "json_mode" and prompts is None):
            continue
        try:
            asked = with_schema(messages, schema, prompts) if form == "json_mode" and prompts else list(messages)
            reply: AIMessage = (await bound.ainvoke(asked, unstreamed(), **options))["raw"]
        except Exception as error:
            if status_code(error) not in _NOT_THAT_WAY:
                raise
        else:
            _remember(model, number)
            return reply
    said = await model.ainvoke(with_schema(messages, schema, prompts) if prompts else messages, unstreamed(), **options)
    _remember(model, len(forms) - 1)
    return said


def list_schema(key: str, items: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that is a list under `key` and nothing else."""
    own = {
        "type": "object",
        "properties": {key: {"type": "array", "items": dict(items)}},
        "additionalProperties": False,
    }
    return {"title": key, "description": f"The {key} that were asked for.", **own, "required": [key]}


def listed_in(reply: AIMessage, key: str) -> list[Any] | None:
    """The list in a reply that keeps to `list_schema`; None for every other, which is read as a text."""
    try:
        given = reply.tool_calls[0]["args"] if reply.tool_calls else json.loads(reply.text)
    except (ValueError, RecursionError):
        return None
    found = given.get(key) if isinstance(given, dict) and set(given) == {key} else None
    return found if isinstance(found, list) else None


def text_of(reply: AIMessage) -> str:
    """What a reply says: its text, else what it calls a tool with."""
    said = str(reply.text)
    return said if said.strip() or not reply.tool_calls else json.dumps(reply.tool_calls[0]["args"], ensure_ascii=False)


def _structured(model: BaseChatModel, schema: dict[str, Any], form: str) -> Any:
    """The model bound to `schema`, None when it cannot be."""
    method = {} if form == OWN else {"method": form}
    try:
        return model.with_structured_output(schema, include_raw=True, **method)
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return None


def with_schema(messages: Sequence[BaseMessage], schema: dict[str, Any], prompts: Prompts) -> list[BaseMessage]:
    """`messages`, which begin with the instructions, with the schema at the end of the instructions."""
    shown = json.dumps(schema, ensure_ascii=False, default=str)
    said = prompts.render("reply_in_json", schema=shown).strip()
    return [SystemMessage(f"{messages[0].text}\n\n{said}"), *messages[1:]]


def _remember(model: BaseChatModel, number: int) -> None:
    if number and id(model) not in _refused:
        weakref.finalize(model, _refused.pop, id(model), None).atexit = False
    if number:
        _refused[id(model)] = number
