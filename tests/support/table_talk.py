"""Conversations without a model over tables that a script makes, and what of them is quoted or computed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from plant_database import fill

from groundgraph import SqlSource, load_settings, turn_graph


@asynccontextmanager
async def over_tables(
    folder: Path, script: str, *, beside: Sequence[Any] = (), settings: Any = None, **options: Any
) -> AsyncIterator[Any]:
    """A graph over the tables and sources `beside` them; the tables are made where they are not there yet.
    `options` are those of their source."""
    path = folder / "some.db"
    options = {"name": "some", "index": ":memory:", **options}
    source = SqlSource(path if path.exists() else fill(path, script), **options)
    graph = turn_graph(settings or load_settings({}), sources=[source, *beside])
    try:
        yield graph
    finally:
        await graph.resources.close()


async def talk(graph: Any, *questions: str) -> list[dict[str, Any]]:
    """The outputs of the turns of one conversation."""
    outputs: list[dict[str, Any]] = []
    for question in questions:
        said = outputs[-1]["messages"] if outputs else []
        outputs.append(await graph.ainvoke({"messages": [*said, HumanMessage(question)]}))
    return outputs


async def talk_over(folder: Path, script: str, *questions: str, **options: Any) -> list[dict[str, Any]]:
    """As `talk`, over the tables that `script` makes; `options` as of `over_tables`."""
    async with over_tables(folder, script, **options) as graph:
        return await talk(graph, *questions)


def computed(output: dict[str, Any]) -> list[str]:
    """What was computed, from its condition on."""
    return [_from_condition(one["quote"]) for one in output["citations"] if one.get("computed")]


def told(output: dict[str, Any]) -> list[str]:
    """What was computed, from its condition on, and the ids of the other rows that are quoted, in order."""
    return sorted(
        _from_condition(one["quote"]) if one.get("computed") else one["source_id"] for one in output["citations"]
    )


def _from_condition(quote: str) -> str:
    return quote.partition(" where ")[2] or quote
