"""The categories that a question is searched in: by the dialogue's intent, or by a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.answers.generate_queries import listed_items, said
from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.models.replies import list_schema, listed_in, negates, reply_words, text_of
from groundgraph.nodes.node import (
    Node,
    Stage,
    StageInput,
    StageUpdate,
    asked,
    enforced_on,
    model_stage,
    signed_in,
    skipped,
)
from groundgraph.prompts import Prompts
from groundgraph.resilience.bounds import within
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.search import CategoryRouterSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.text.words import fold

# The categories of a knowledge base in which a question is searched: by a model, or by the intent's name.

PROMPT = "route_categories"
_QUESTION_CHARS = 8_000
_DESCRIPTION_CHARS = 300
_EDGES = " \t.;!`*_\"'“”«»()[]<>"
# What stands between a name and a remark on it.
_REMARK = re.compile(r"[(:–—]|\s-\s")


async def choose_categories(model: ChainModel, question: str, categories: Mapping[str, str], top_k: int) -> list[str]:
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
        schema=list_schema("categories", {"enum": list(categories)}),
    )
    listed = listed_in(reply, "categories")
    # A list that holds the names alone rules nothing out, whatever words are in them.
    chosen = [name for name in dict.fromkeys(map(str, listed or ())) if name in categories]
    return (chosen or read_categories(text_of(reply), categories))[:top_k]


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
        found |= dict.fromkeys(_names(line, known, _dividers()))
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


@cache
def _dividers() -> tuple[re.Pattern[str], ...]:
    """What divides the names in one line."""
    return re.compile(r"[,;:]"), re.compile(rf"\s(?:{reply_words('joins')})\s", re.IGNORECASE)


def _names(text: str, known: Mapping[str, str], dividers: Sequence[re.Pattern[str]]) -> list[str]:
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


def route_categories(
    settings: Settings, sources: Mapping[str, GroundedSource], model: BaseChatModel | None, prompts: Prompts
) -> Node[StageInput, StageUpdate]:
    """The node.

    Categories that the turn's intent names already stay, and those that the configuration gives to the dialogue's
    intent come next; only then a model is asked. When it fails, all categories are searched.
    """
    router = settings.category_router
    chain = ChainModel.of(settings, prompts, model) if model is not None and router.enabled else None

    async def work(state: StageInput, runtime: Runtime[Context]) -> Stage:
        if given := state["intent"].get("categories"):
            return Stage({"by": "intent", "categories": given})
        state_value = state["turn"].get("state")
        named = state_value["intent"] if state_value else None
        if named in router.intents:
            return _chosen("mapping", categories_of_intent(named, router.intents))
        scope = options_in_force(settings, state["turn"]["options"], runtime.context).scope
        user = signed_in(runtime)
        searched = []
        for name in state["intent"]["sources"]:
            # Set here once more, as by `retrieve_source`: whoever edits a state must not get around them.
            enforced = enforced_on(name, sources[name].get_schema(), settings, scope, user)
            searched.append((sources[name], {**state["intent"]["filters"].get(name, {}), **enforced}))
        known = await _categories(searched, settings.deadlines.source)
        if chain is None:
            return _fallen_back(named, router, known)
        if not known:
            return skipped("no source has categories")
        return _chosen("model", await choose_categories(chain, asked(state), known, router.top_k))

    return model_stage("route_categories", work, prompts, without={"categories": []}, note="routing_failed")


def _chosen(by: str, categories: list[str]) -> Stage:
    return Stage({"by": by, "categories": categories}, {"categories": categories})


def _fallen_back(named: str | None, router: CategoryRouterSettings, known: Collection[str]) -> Stage:
    """What an intent that the configuration does not know is searched in; a dialogue that names none, in all."""
    if named is None:
        return skipped("the dialogue names no intent")
    # As the sources compare names.
    folded = {fold(name) for name in known}
    wanted = categories_of_intent(named, router.intents, router.fallback_categories)
    return _chosen("fallback", [name for name in wanted if fold(name) in folded])


async def _categories(asked: Sequence[tuple[GroundedSource, Mapping[str, Any]]], limit: float) -> dict[str, str]:
    """The categories that the filters of each source leave something of; all sources are asked at once."""
    known: dict[str, str] = {}
    for own in await asyncio.gather(*(_own_categories(source, filters, limit) for source, filters in asked)):
        known.update({name: told for name, told in own.items() if not known.get(name)})
    return known


async def _own_categories(source: GroundedSource, filters: Mapping[str, Any], limit: float) -> Mapping[str, str]:
    """The categories of one source; none when it cannot tell, and its own search says why."""
    try:
        return await within(limit, source.categories(filters))
    except Exception:  # whatever a source raises: routing is a help and no condition
        return {}
