"""Sources whose fields a model may filter by."""

from __future__ import annotations

import json
from typing import Any

from groundgraph import InMemorySource, SourceSchema, load_settings, turn_graph
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.testing import ScriptedChatModel

FIELDS: dict[str, dict[str, Any]] = {
    "severity": {"enum": ["critical", "minor", "in_progress"], "description": "how bad it is"},
    "date": {"type": "date", "description": "the day of the incident"},
    "count": {"type": "integer"},
    "share": {"type": "number"},
    "resolved": {"type": "boolean"},
    "owner": {"type": "string"},
    "tags": {"type": "array"},
    "tenant": {"type": "string"},
}
QUERY = "database incident outage"


def incidents(**annotation: Any) -> InMemorySource:
    """Three incidents of one year, of which the first is critical and after March; fields with `annotation`."""
    records = [
        {"id": "a", "content": "database incident outage", "severity": "critical", "date": "2026-04-10"},
        {"id": "b", "content": "database incident outage", "severity": "critical", "date": "2026-02-10"},
        {"id": "c", "content": "database incident outage", "severity": "minor", "date": "2026-05-10"},
    ]
    fields = {name: {**spec, "x-extraction": annotation} for name, spec in FIELDS.items()}
    schema = SourceSchema("incidents", fields, description="Incidents of the plant.")
    return InMemorySource(records, name="incidents", schema=schema)


def manuals() -> InMemorySource:
    """A source that declares no fields."""
    return InMemorySource(["A database incident is an outage of the database."], name="manuals")


def extraction(**values: Any) -> str:
    """A model's reply with one query and `values`."""
    return json.dumps({"text_queries": [QUERY], **values})


def build(replies: Any, *, settings: dict[str, Any] | None = None, **intent: Any) -> tuple[TurnRunner, Any]:
    """A turn graph with an extractor that replies so, in order when it is a list, and the extractor."""
    model = ScriptedChatModel(replies)
    merged = {"intent": intent, "retrieval": {"score_threshold": 0}, **(settings or {})}
    return turn_graph(load_settings(merged), sources=[incidents(), manuals()], extractor=model), model


async def turn(message: str, replies: Any, *, settings: dict[str, Any] | None = None, **intent: Any) -> dict[str, Any]:
    """The output of one turn of such a graph."""
    graph, _ = build(replies, settings=settings, **intent)
    output: dict[str, Any] = await graph.ainvoke({"messages": [("user", message)]})
    return output
