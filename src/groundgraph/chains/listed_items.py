"""The items of a list that a model wrote, whether as JSON, as lines, or fenced, numbered and thought about first."""

from __future__ import annotations

from groundgraph.chains.generate_queries import MAX_REPLY_CHARS, parse_queries
from groundgraph.chains.json_texts import FENCE, is_json, json_texts
from groundgraph.chains.thoughts import strip_thoughts
from groundgraph.core.clean_text import clean_text

# More than any list that is asked for.
MAX_ITEMS = 50


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
