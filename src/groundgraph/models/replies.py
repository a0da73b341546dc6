"""What a model's reply holds: texts in its JSON, without its thoughts; whether it refuses, or rules something out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from groundgraph.text.cues import cue_phrases, says, spoken_stems
from groundgraph.text.words import fold

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
