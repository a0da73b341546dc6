"""The items of a list that a model wrote, whether as JSON, as lines, or fenced, numbered and thought about first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from groundgraph.chains.generate_queries import MAX_REPLY_CHARS, parse_queries
from groundgraph.chains.thoughts import strip_thoughts
from groundgraph.core.clean_text import clean_text

# More than any list that is asked for.
MAX_ITEMS = 50
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")
_MAX_STARTS = 20
# An item in quotes of either kind, also in a list that is no JSON because of them or of a comma too many.
_QUOTED = re.compile(r"([\"'])(?P<item>.{1,500}?)\1\s*(?=[,\]])")
# The keys under which models put what was asked for, when each item is an object.
_TEXT_KEYS = re.compile(r"quer|question|text|categor|name|вопрос|запрос|категор", re.IGNORECASE)


def listed_items(reply: str) -> list[str]:
    """The texts that `reply` lists, in order, each once, without thinking, numbers, bullets and quotation marks.

    A list in JSON is taken before anything that stands around it. Without one every line is an item.
    """
    said = strip_thoughts(clean_text(reply))[:MAX_REPLY_CHARS]
    for part in (*_FENCE.findall(said), said):
        if items := _lines("\n".join(_json_texts(part))):
            return items
    return _lines(said)


def _lines(text: str) -> list[str]:
    items = parse_queries(text, MAX_ITEMS, min_chars=1, max_chars=MAX_REPLY_CHARS)
    return list(dict.fromkeys(" ".join(item.split()) for item in items))


def _json_texts(text: str) -> list[str]:
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
