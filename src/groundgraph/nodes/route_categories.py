"""The categories that a question is searched in: by the dialogue's intent, or by a model (C3)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.route_categories import categories_of_intent
from groundgraph.chains.route_categories import route_categories as routed
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.deadline import within
from groundgraph.core.enhanced_settings import CategoryRouterSettings
from groundgraph.core.settings import Settings
from groundgraph.core.text import fold
from groundgraph.nodes.enforced import enforced_filters, signed_in
from groundgraph.nodes.model_stage import Stage, StageInput, StageUpdate, asked, model_stage, skipped
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts
from groundgraph.sources.contract import GroundedSource


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
        enforced = enforced_filters(settings, scope, signed_in(runtime))
        searched = [
            # Set here once more, as by `retrieve_source`: whoever edits a state must not get around them.
            (sources[name], {**state["intent"]["filters"].get(name, {}), **enforced.get(name, {})})
            for name in state["intent"]["sources"]
        ]
        known = await _categories(searched, settings.deadlines.source)
        if chain is None:
            return _fallen_back(named, router, known)
        if not known:
            return skipped("no source has categories")
        return _chosen("model", await routed(chain, asked(state), known, router.top_k))

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
