"""The part of a graph that retrieves: intent, one task per source and query, one ranking."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from langgraph.graph import StateGraph

from groundgraph.graph.fan_out import SEARCH, fan_out_to
from groundgraph.graph.resources import Resources
from groundgraph.nodes.answer_choice import AnswerChoice
from groundgraph.nodes.begin_turn import BeginTurnUpdate
from groundgraph.nodes.merge_results import merge_results
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import RankingInput, RankingUpdate
from groundgraph.nodes.resolve_intent import resolve_intent
from groundgraph.nodes.retrieve_source import RetrieveSourceInput, retrieve_source
from groundgraph.sources.contract import GroundedSource


def add_retrieval(builder: StateGraph[Any, Any, Any, Any], resources: Resources, *, reply: str) -> str:
    """Adds `resolve_intent`, `retrieve_source`, `merge_results` and the configured steps around them, wired to each
    other and to `begin_turn`, from where a turn that has its reply goes to the step `reply`.

    The caller leads away from the step whose name is returned: the last one, which decides how the turn is answered.
    """
    settings = resources.settings
    names = list(resources.sources)
    builder.add_node(
        "resolve_intent",
        resolve_intent(settings, resources.schemas, resources.query_model, resources.prompts, resources.extractor),
    )
    builder.add_node(
        "retrieve_source",
        retrieve_source(settings, resources.sources, resources.schemas, resources.evidence),
        input_schema=RetrieveSourceInput,
    )
    choice = AnswerChoice(settings, resources.evidence, has_model=resources.chat_model is not None)
    steps = ranking_steps(resources)
    ending = None if steps else choice
    builder.add_node("merge_results", merge_results(settings, names, resources.evidence, ending=ending))
    whole_topics = frozenset(name for name, source in resources.sources.items() if source.whole_topics)
    fan_out = fan_out_to(whole_topics)
    if settings.stages or settings.category_router.routes:
        # Not loaded by those who configure none of the stages (L10).
        from groundgraph.graph.autonomous_part import add_stages

        add_stages(builder, resources, fan_out, reply=reply)
    else:
        builder.add_conditional_edges("begin_turn", needs_retrieval, {"retrieve": "resolve_intent", "reply": reply})
        builder.add_conditional_edges("resolve_intent", fan_out, SEARCH)
    builder.add_edge("retrieve_source", "merge_results")
    last = "merge_results"
    for number, (name, make) in enumerate(steps.items(), 1):
        builder.add_node(name, make(ending=choice if number == len(steps) else None))
        builder.add_edge(last, name)
        last = name
    return last


async def needs_retrieval(state: BeginTurnUpdate) -> str:
    """`reply` when the turn has its answer already, `retrieve` in every other case; no model decides.

    Asynchronous, as all branches are: LangGraph would give a plain function a thread, at a quarter of a millisecond
    each.
    """
    return "reply" if state["draft"] else "retrieve"


def ranking_steps(resources: Resources) -> dict[str, Callable[..., Node[RankingInput, RankingUpdate]]]:
    """The steps between the merge and the answer that the configuration turns on, in their order, by name (T5)."""
    settings, evidence, prompts = resources.settings, resources.evidence, resources.prompts
    ways = settings.paths.values()
    processing = settings.result_processing
    joinable = any(type(one).texts_between is not GroundedSource.texts_between for one in resources.sources.values())
    steps: dict[str, tuple[bool, tuple[Any, ...]]] = {
        "join_neighbours": (
            settings.retrieval.merge_adjacent and joinable,
            (settings, resources.sources, evidence),
        ),
        "process_results": (processing.scores, (settings, evidence, prompts)),
        "rerank_results": (
            bool(resources.rerankers),
            (settings, resources.rerankers, evidence, prompts),
        ),
        "rotate_results": (any(way.rotation for way in ways), (settings,)),
        "fit_budget": (
            # The prompt's own limit cuts from the end, where a zigzag puts the second best result.
            any(way.bounds or (way.reorder and resources.chat_model) for way in ways),
            (settings, resources.chat_model, evidence, prompts),
        ),
        "arrange_results": (
            any(way.arranges for way in ways),
            (settings, resources.clustering, resources.chat_model, evidence, prompts),
        ),
        "backfill_facts": ("backfill" in settings.stages, (settings, resources.chat_model, evidence, prompts)),
    }
    return {name: partial(_step(name), *arguments) for name, (wanted, arguments) in steps.items() if wanted}


def _step(name: str) -> Callable[..., Node[RankingInput, RankingUpdate]]:
    """The function of the file that is called like the step; a step that nobody configured is not loaded (L10)."""
    made: Callable[..., Node[RankingInput, RankingUpdate]] = getattr(import_module(f"groundgraph.nodes.{name}"), name)
    return made
