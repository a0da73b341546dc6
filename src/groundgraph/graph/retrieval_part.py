"""The part of a graph that retrieves: intent, one task per source and query, one ranking."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph

from groundgraph.graph.fan_out import SEARCH, fan_out_to
from groundgraph.graph.resources import Resources
from groundgraph.graph.works import WORKS, works_of
from groundgraph.nodes.begin_turn import BeginTurnUpdate
from groundgraph.nodes.process_results import process_results
from groundgraph.nodes.resolve_intent import resolve_intent
from groundgraph.nodes.retrieve_source import RetrieveSourceInput, retrieve_source


def add_retrieval(builder: StateGraph[Any, Any, Any, Any], resources: Resources, *, reply: str) -> None:
    """Adds `resolve_intent`, `retrieve_source`, `process_results` and the configured stages before them, wired to each
    other and to `begin_turn`, from where a turn that has its reply goes to the step `reply`.

    The caller leads away from `process_results`, which decides how the turn is answered.
    """
    settings = resources.settings
    builder.add_node(
        "resolve_intent",
        resolve_intent(settings, resources.schemas, resources.query_model, resources.prompts, resources.extractor),
    )
    builder.add_node(
        "retrieve_source",
        retrieve_source(settings, resources.sources, resources.schemas, resources.evidence),
        input_schema=RetrieveSourceInput,
    )
    parts, works = works_of(resources)
    names = [name for name in WORKS if any(name in own for own in works.values())]
    told = {"works": ", ".join(names)}
    builder.add_node("process_results", process_results(parts, works), metadata=told)
    whole_topics = frozenset(name for name, source in resources.sources.items() if source.whole_topics)
    fan_out = fan_out_to(whole_topics)
    if settings.stages or settings.category_router.routes:
        # Not loaded by those who configure none of the stages.
        from groundgraph.graph.autonomous_part import add_stages

        add_stages(builder, resources, fan_out, reply=reply)
    else:
        builder.add_conditional_edges("begin_turn", needs_retrieval, {"retrieve": "resolve_intent", "reply": reply})
        builder.add_conditional_edges("resolve_intent", fan_out, SEARCH)
    builder.add_edge("retrieve_source", "process_results")


async def needs_retrieval(state: BeginTurnUpdate) -> str:
    """`reply` when the turn has its answer already, `retrieve` in every other case; no model decides.

    Asynchronous, as all branches are: LangGraph would give a plain function a thread, at a quarter of a millisecond
    each.
    """
    return "reply" if state["draft"]["text"] else "retrieve"
