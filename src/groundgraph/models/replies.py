"""What a model is sent, and what its reply holds: texts in its JSON, without its thoughts; a refusal; a denial."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from groundgraph.text.follow_up import cue_phrases, says, spoken_stems
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

_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_BLOCK = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>\s*|\Z)", re.IGNORECASE | re.DOTALL)


def strip_thoughts(text: str) -> str:
    """`text` without think blocks, without one that never ends, and without one of which only the end is there.

    Some servers put the opening tag into the prompt, so that the reply begins in the middle of a thought.
    """
    first = _TAG.search(text)
    if first is None:
        return text
    return _BLOCK.sub("", text[first.end() :] if first[1] else text)


FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")
_MAX_STARTS = 20
# An item in quotes of either kind, also in a list that is no JSON because of them or of a comma too many.
_QUOTED = re.compile(r"([\"'])(?P<item>.{1,500}?)\1\s*+(?=[,\]])")
# The keys under which models put what was asked for, when each item is an object.
_TEXT_KEYS = re.compile(r"quer|question|text|categor|name|вопрос|запрос|категор", re.IGNORECASE)


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
        return lists or [one for key, one in value.items() if _TEXT_KEYS.search(key)] or value.values()
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
}


def finish_reason(reply: AIMessage) -> str:
    """`length`, `refusal` or an empty string for a reply that ended by itself."""
    metadata = reply.response_metadata
    details = metadata.get("incomplete_details")
    named = [metadata.get(key) for key in ("finish_reason", "stop_reason", "done_reason")]
    named.append(details.get("reason") if isinstance(details, dict) else None)
    return _FINISH.get(str(next(filter(None, named), "")), "")


def refusal_text(reply: AIMessage) -> str:
    """The provider's refusal, when it sends one beside the content."""
    told = reply.additional_kwargs.get("refusal")
    if told:
        return str(told)
    blocks = reply.content if isinstance(reply.content, list) else []
    return "".join(
        str(block.get("refusal", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "refusal"
    )
