"""The categories of a knowledge base in which a question is searched: by a model, or by the intent's name (C3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from groundgraph.chains.chain_model import ChainModel, Passage
from groundgraph.chains.listed_items import listed_items, said
from groundgraph.chains.negation import negates
from groundgraph.core.errors import ModelError
from groundgraph.core.text import fold

PROMPT = "route_categories"
_QUESTION_CHARS = 8_000
_DESCRIPTION_CHARS = 300
_EDGES = " \t.;!`*_\"'“”«»()[]<>"
# What divides the names in one line, and what stands between a name and a remark on it.
_DIVIDERS = (re.compile(r"[,;:]"), re.compile(r"\s(?:and|or|и|или)\s"))
_REMARK = re.compile(r"[(:–—]|\s-\s")


async def route_categories(model: ChainModel, question: str, categories: Mapping[str, str], top_k: int) -> list[str]:
    """The at most `top_k` categories that the model chooses for `question`, the most likely first; at least one.

    Args:
        model: is shown the categories as data.
        question: in words; the rewritten one, where there is one.
        categories: a description by category; it may be empty.
        top_k: at least 1.

    Raises:
        ModelError: the model failed, refused, may not be called any more, or its reply names no category of the list;
            the caller searches all of them.
    """
    lines = [f"{name}: {_on_one_line(told)}" if told.strip() else name for name, told in categories.items()]
    reply = await model.reply(
        [PROMPT],
        [Passage("categories", "\n".join(lines))],
        question[:_QUESTION_CHARS],
        variables={"top_k": top_k},
    )
    return read_categories(reply.text, categories)[:top_k]


def read_categories(reply: str, categories: Collection[str]) -> list[str]:
    """The categories that a reply lists, in order, each once. Names that are not in `categories` are passed over.

    A name within a sentence does not count, and none does in a reply that rules something out: "Not: pricing" would
    choose what it denies.

    Raises:
        ModelError: none is left, or it rules something out.
    """
    known = {fold(name): name for name in categories}
    found: dict[str, None] = {}
    for line in listed_items(reply):
        found |= dict.fromkeys(_names(line, known))
    if not found:
        raise ModelError("its reply names no category of the list")
    if negates(said(reply), categories):
        raise ModelError("its reply rules something out, where it was to list categories only")
    return list(found)


def categories_of_intent(
    intent_name: str | None, mapping: Mapping[str, Sequence[str]], fallback_categories: Sequence[str] = ()
) -> list[str]:
    """The categories that the configuration gives to the intent `intent_name`, each once.

    Args:
        intent_name: as a larger graph or a classifier names it; None when nobody does.
        mapping: categories by intent.
        fallback_categories: those of an intent that is not in `mapping`; none means that all categories are searched.
    """
    chosen = mapping.get(intent_name) if intent_name is not None else None
    return list(dict.fromkeys(fallback_categories if chosen is None else chosen))


def _names(text: str, known: Mapping[str, str], dividers: Sequence[re.Pattern[str]] = _DIVIDERS) -> list[str]:
    """The category that `text` is, else those that its parts are: "and" may stand in a name, so it divides last."""
    if name := _named(text, known):
        return [name]
    parts = dividers[0].split(text) if dividers else []
    return [name for part in parts for name in _names(part, known, dividers[1:])]


def _named(text: str, known: Mapping[str, str]) -> str | None:
    """The category that `text` is, or is with a remark behind it."""
    for part in (text, _REMARK.split(text, maxsplit=1)[0]):
        if name := known.get(fold(part.strip(_EDGES))):
            return name
    return None


def _on_one_line(text: str) -> str:
    return " ".join(text.split())[:_DESCRIPTION_CHARS]
