"""The part of a graph that retrieves: intent, one task per source and query, one ranking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from groundgraph.core.context import Context, options_in_force
from groundgraph.core.intent import IntentState
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Retrieval, RetrievalTask, Turn
from groundgraph.graph.resources import Resources
from groundgraph.nodes.merge_results import merge_results
from groundgraph.nodes.resolve_intent import resolve_intent
from groundgraph.nodes.retrieve_source import RetrieveSourceInput, retrieve_source


class FanOutInput(TypedDict, total=False):
    """What decides who is asked what."""

    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]


Branch = Callable[[FanOutInput, Runtime[Context]], Awaitable[list[Send] | str]]


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
    builder.add_node("merge_results", merge_results(settings, names, resources.evidence))
    builder.add_conditional_edges("resolve_intent", fan_out(settings, names), ["retrieve_source", "merge_results"])
    builder.add_edge("retrieve_source", "merge_results")


def fan_out(settings: Settings, source_names: list[str]) -> Branch:
    """The function that gives one task per source and query; none when every source is skipped."""

    async def fan_out(state: FanOutInput, runtime: Runtime[Context]) -> list[Send] | str:
        chosen = options_in_force(settings, state["turn"]["options"], runtime.context).sources
        asked = [
            name for name in source_names if name not in state["retrievals"] and (chosen is None or name in chosen)
        ]
        sends = [
            Send("retrieve_source", _task(state, name, number, query))
            for name in asked
            for number, query in enumerate(state["intent"]["text_queries"])
        ]
        return sends or "merge_results"

    return fan_out


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
