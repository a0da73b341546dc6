"""The texts in the JSON of a model's reply, however it laid them out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

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
    """The texts in a value of JSON. Of an object its lists are taken, else what stands under a telling key."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for one in value:
            yield from _texts(one, depth - 1)
    elif depth and isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, list)]
        telling = [one for key, one in value.items() if _TEXT_KEYS.search(key)]
        for one in lists or telling or value.values():
            yield from _texts(one, depth - 1)
