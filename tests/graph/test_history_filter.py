"""The history of a thread is looked for by known names only, on every saver (fault 67)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from turns import QUOTING, ask, asking, build, docs, thread

from groundgraph import load_settings, open_graph
from groundgraph.core.errors import FilterInvalid

pytestmark = pytest.mark.covers("fault 67")


@asynccontextmanager
async def sqlite_graph(folder: Path):
    storage = {"type": "sqlite", "path": folder / "t.sqlite"}
    settings = load_settings({**QUOTING, "checkpointer": storage, "store": {"type": "memory"}})
    async with open_graph(settings, sources=[docs()]) as graph:
        yield graph


@asynccontextmanager
async def memory_graph(folder: Path):
    yield build(base=QUOTING, sources=[docs()], checkpointer=InMemorySaver())


async def steps(graph: Any, metadata: dict[str, Any] | None) -> list[str]:
    return [state.metadata["source"] async for state in graph.aget_state_history(thread(), filter=metadata)]


@pytest.mark.parametrize("opened", [sqlite_graph, memory_graph])
async def test_a_history_is_filtered_by_known_names_only(opened, tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, on="t")
        everything = await steps(graph, None)
        assert await steps(graph, {"source": "loop"}) == [source for source in everything if source == "loop"]
        for name in ("x') OR 1=1 --", "title", "source.x", ""):
            with pytest.raises(FilterInvalid):
                await steps(graph, {name: "loop"})


def test_a_history_that_is_read_without_a_loop_is_filtered_too() -> None:
    graph = build(base=QUOTING, sources=[docs()], checkpointer=InMemorySaver())
    graph.invoke(asking(), thread())
    assert list(graph.get_state_history(thread(), filter={"source": "loop"}))
    with pytest.raises(FilterInvalid):
        graph.get_state_history(thread(), filter={"title": "x"})
