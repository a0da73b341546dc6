"""The items of a list that a model wrote, whether as JSON, as lines, or fenced, numbered and thought about first."""

from __future__ import annotations

import re
from functools import cache

from groundgraph.answers.label_gate import LabelGate
from groundgraph.core.characters import clean_text
from groundgraph.models.replies import FENCE, is_json, json_texts, reply_words, strip_thoughts

MAX_QUERY_CHARS = 500
MAX_REPLY_CHARS = 10_000
# More than any list that is asked for.
MAX_ITEMS = 50
_QUOTES = "\"'“”«»`"


def parse_queries(text: str, limit: int, *, min_chars: int = 3, max_chars: int = MAX_QUERY_CHARS) -> list[str]:
    """The queries in a model's reply: one a line, without thinking, numbers, bullets and quotation marks.

    A line that ends in a colon introduces the others and is left out, as is one of fewer than `min_chars` characters;
    one of more than `max_chars` is cut. A reply in JSON, fenced or not, gives the texts that it holds.
    """
    gate = LabelGate(allowed=())
    said = gate.feed(_unwrapped(strip_thoughts(clean_text(text))[:MAX_REPLY_CHARS])) + gate.flush()
    lines = [_bare(line)[:max_chars] for line in said.splitlines()]
    kept = (line for line in lines if len(line) >= min_chars and not line.endswith(":"))
    queries = [line for line in kept if not line.startswith("```")]
    return list(dict.fromkeys(queries))[:limit]


def _unwrapped(said: str) -> str:
    for part in (said, *FENCE.findall(said)):
        if is_json(part):
            return "\n".join(json_texts(part))
    return said


def _bare(line: str) -> str:
    return _decoration().sub("", line).strip().strip(_QUOTES).strip()


@cache
def _decoration() -> re.Pattern[str]:
    announced = rf"(?:{reply_words('query')})\s*+(?:\d++\s*+)?:"
    return re.compile(rf"^\s*(?:[-*•]|\(?\d{{1,2}}[.):](?!\d)|{announced})\s*", re.IGNORECASE)


def listed_items(reply: str) -> list[str]:
    """The texts that `reply` lists, in order, each once, without thinking, numbers, bullets and quotation marks.

    A list in JSON is taken before anything that stands around it. Without one every line is an item, but JSON that
    holds no text, such as scores by name, lists nothing.
    """
    told = said(reply)
    for part in (*FENCE.findall(told), told):
        if items := _lines("\n".join(json_texts(part))):
            return items
        if is_json(part):
            return []
    return _lines(told)


def said(reply: str) -> str:
    """What is read of a reply: without thinking, and no more than any list is long."""
    return strip_thoughts(clean_text(reply))[:MAX_REPLY_CHARS]


def _lines(text: str) -> list[str]:
    items = parse_queries(text, MAX_ITEMS, min_chars=1, max_chars=MAX_REPLY_CHARS)
    return list(dict.fromkeys(" ".join(item.split()) for item in items))
