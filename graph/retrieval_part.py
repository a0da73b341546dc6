"""The part of a graph that retrieves: intent, one task per source and query, one ranking."""

from __future__ import annotations

from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import RetrievalTask, Turn
from groundgraph.graph.resources import Resources
from groundgraph.nodes.merge_results import merge_results
from groundgraph.nodes.resolve_intent import resolve_intent
from groundgraph.nodes.retrieve_source import RetrieveSourceInput, retrieve_source


class FanOutInput(TypedDict, total=False):
    """What decides who is asked what."""

    turn: Turn
    intent: IntentState


def add_retrieval(builder: StateGraph[Any, Any, Any, Any], resources: Resources) -> None:
    """Adds `resolve_intent`, `retrieve_source` and `merge_results`, wired to each other.

    The caller leads to `resolve_intent` and away from `merge_results`.
    """
    settings = resources.settings
    names = list(resources.sources)
    builder.add_node(
        "resolve_intent", resolve_intent(settings, resources.schemas, resources.query_model, resources.prompts)
    )
    builder.add_node(
        "retrieve_source",
        retrieve_source(settings, resources.sources, resources.evidence),
        input_schema=RetrieveSourceInput,
    )
    builder.add_node(
        "merge_results", merge_results(settings, names, resources.evidence, has_model=resources.chat_model is not None)
    )
    builder.add_conditional_edges("resolve_intent", fan_out, ["retrieve_source", "merge_results"])
    builder.add_edge("retrieve_source", "merge_results")


async def fan_out(state: FanOutInput) -> list[Send] | str:
    """One task per source and query that the intent names; none when every source is skipped."""
    sends = [
        Send("retrieve_source", _task(state, name, number, query))
        for name in state["intent"]["sources"]
        for number, query in enumerate(state["intent"]["text_queries"])
    ]
    return sends or "merge_results"


def _task(state: FanOutInput, source: str, number: int, query: str) -> RetrieveSourceInput:
    intent = state["intent"]
    task: RetrievalTask = {
        "name": f"{source}/{number}",
        "source": source,
        "query": query,
        "filters": intent["filters"].get(source, {}),
        "scope": intent["scope"],
        "categories": intent.get("categories", []),
        "raw_data": intent.get("raw_data", {}),
        "options": state["turn"]["options"],
    }
    return {"task": task}
