"""What a conversation may be called: anything that every checkpointer and store can keep, refused early otherwise."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from parents import in_a_row
from turns import ask, asking, build, docs, notes, thread

from groundgraph import load_provenance, prune_checkpoints, resume_turn
from groundgraph.core.errors import EvidenceMissing, InputInvalid
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.testing import FaultySource

pytestmark = pytest.mark.covers("fault 5")

IMPOSSIBLE = ["a\x00b", "a\ud800", "\udcff", ""]


@pytest.mark.parametrize("name", IMPOSSIBLE)
async def test_a_turn_on_a_thread_that_no_database_can_name_is_refused_before_anything_is_done(
    name: str, saver: Any
) -> None:
    source = FaultySource(docs())
    graph = build(sources=[source, notes()], checkpointer=saver, store=InMemoryStore())
    for run in (graph, graph.with_config(thread(name))):
        with pytest.raises(InputInvalid, match="thread id"):
            await run.ainvoke(asking(), thread(name) if run is graph else None)
    with pytest.raises(InputInvalid, match="thread id"):
        graph.invoke(asking(), thread(name)) if isinstance(saver, InMemorySaver) else await ask(graph, on=name)
    assert source.calls == 0
    assert (await ask(graph, on="t"))["outcome"] == "answered"


@pytest.mark.parametrize("config", [None, {}, {"configurable": {"user": "u"}}, thread(None)])  # type: ignore[arg-type]
async def test_a_graph_that_keeps_its_threads_runs_no_turn_without_one(config: Any, saver: Any) -> None:
    source = FaultySource(docs())
    graph = build(sources=[source, notes()], checkpointer=saver, store=InMemoryStore())
    with pytest.raises(InputInvalid, match="thread_id"):
        await graph.ainvoke(asking(), config)
    assert source.calls == 0
    assert (await build().ainvoke(asking(), config))["outcome"] == "answered"


@pytest.mark.parametrize("name", IMPOSSIBLE)
async def test_inside_a_parent_too(name: str) -> None:
    source = FaultySource(docs())
    parent = in_a_row(turn=build(sources=[source])).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    with pytest.raises(InputInvalid, match="thread id"):
        await ask(parent, on=name)
    assert source.calls == 0


@pytest.mark.parametrize("name", IMPOSSIBLE)
async def test_whatever_takes_the_id_of_a_thread_refuses_it(name: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        graph = build(checkpointer=saver, store=InMemoryStore())
        for work in (
            load_provenance(graph, name),
            load_provenance(graph, name, "a turn"),
            resume_turn(graph, name),
            forget_thread(graph, name),
            prune_checkpoints(graph, keep_turns=1, threads=["t", name]),
        ):
            with pytest.raises(InputInvalid, match="thread id"):
                await work


async def test_no_turn_is_called_what_no_database_can_write(saver: Any) -> None:
    graph = build(checkpointer=saver, store=InMemoryStore())
    await ask(graph, on="t")
    with pytest.raises(EvidenceMissing, match="no record of the turn") as caught:
        await load_provenance(graph, "t", "a\x00b\ud800")
    str(caught.value).encode()


@pytest.mark.covers("T3")
@pytest.mark.parametrize("name", [7, uuid.UUID(int=7)])
async def test_a_number_or_a_uuid_names_a_thread_as_it_does_for_langgraph(name: Any, saver: Any) -> None:
    graph = build(checkpointer=saver, store=InMemoryStore(), history={"keep_messages": 2})
    await ask(graph, on=name)
    result = await ask(graph, "How often is pump 17 serviced?", name)
    assert len(result["metadata"]["retrieval_provenance_history"]) == 2
    record = await load_provenance(graph, name)
    assert (record["thread_id"], record["question"]) == (str(name), "How often is pump 17 serviced?")


@pytest.mark.covers("U4")
@pytest.mark.parametrize("name", [7, uuid.UUID(int=7)])
async def test_a_parent_may_number_its_threads(name: Any) -> None:
    store = InMemoryStore()
    inner = build(store=store)
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=store)
    answer = (await ask(parent, on=name))["messages"][-1]
    assert (await load_provenance(inner, name, answer.response_metadata["turn_id"]))["thread_id"] == str(name)
