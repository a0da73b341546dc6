"""What LangGraph Studio reads of a graph from the server: what its steps do, and which values hold by default."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.runnables.graph import Graph

from groundgraph.settings.settings import Settings

_HOMES = ("groundgraph.nodes", "groundgraph.nodes.ingest")
# The files that hold several steps.
_SEVERAL = ("groundgraph.nodes.answer_styles", "groundgraph.nodes.ingest.write_texts")


def with_descriptions(graph: Graph) -> Graph:
    """`graph` with a description in the metadata of each of its steps: see `description_of`."""
    for name, node in graph.nodes.items():
        if told := description_of(name):
            graph.nodes[name] = node._replace(metadata={**(node.metadata or {}), "description": told})
    return graph


def description_of(step: str) -> str:
    """What the step called `step` does, in a sentence; empty for what is no step of ours.

    It is the first line of the step's own file, or of its function where a file holds several.
    """
    places = [sys.modules.get(f"{home}.{step}") for home in _HOMES]
    places += [getattr(sys.modules.get(file), step, None) for file in _SEVERAL]
    text = next((place.__doc__ for place in places if place is not None and place.__doc__), "")
    return text.strip().partition("\n\n")[0].replace("\n", " ")


def with_defaults(
    schema: dict[str, Any], settings: Settings, steps: Collection[str], sources: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema of a run's context with the values of the settings as defaults, and with what there is to choose from.

    Args:
        schema: of `Context`, whose fields are None by default: the settings decide.
        settings: those of the graph.
        steps: the names of the graph's steps; a field is shown at those of its steps that the graph has.
        sources: the names of its sources; any text where nobody knows them yet.
    """
    defaults = {
        "style": settings.configured_style,
        "top_k": settings.retrieval.top_k,
        "score_threshold": settings.retrieval.score_threshold,
        "instruction": settings.synthesis.instruction,
        "allow_parametric": settings.synthesis.allow_parametric,
        "require_citations": settings.synthesis.require_citations,
        "citation_format": settings.synthesis.citation_format,
    }
    fields = {
        name: _at_its_steps({**field, "default": defaults.get(name, field.get("default"))}, steps)
        for name, field in schema["properties"].items()
    }
    fields["retrieval_path"] = _of_choice(fields["retrieval_path"], {"enum": list(settings.paths)})
    if sources:
        fields["sources"] = _of_choice(fields["sources"], {"items": {"type": "string", "enum": list(sources)}})
    return {**schema, "properties": fields}


def _of_choice(field: dict[str, Any], allowed: dict[str, Any]) -> dict[str, Any]:
    """`field`, which may also be null, with what its value may be."""
    given, null = field["anyOf"]
    return {**field, "anyOf": [{**given, **allowed}, null]}


def _at_its_steps(field: dict[str, Any], steps: Collection[str]) -> dict[str, Any]:
    if "langgraph_nodes" not in field:
        return field
    shown = [step for step in field["langgraph_nodes"] if step in steps]
    if shown:
        return {**field, "langgraph_nodes": shown}
    return {key: value for key, value in field.items() if not key.startswith("langgraph_")}
