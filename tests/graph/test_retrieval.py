"""Retrieval alone (T8)."""

from __future__ import annotations

import pytest
from turns import QUESTION, ask, asking, build, docs, notes, thread

from groundgraph import Context, retrieval_graph, retrieval_tool, retrieve_context
from groundgraph.testing import FaultySource, ScriptedChatModel

pytestmark = pytest.mark.covers("T8")


async def test_retrieve_context_gives_context_evidence_provenance_and_outcome() -> None:
    model = ScriptedChatModel("never")
    graph = build(model, memory=True)
    found = await retrieve_context(graph, QUESTION)
    assert found.outcome == "answered"
    assert found.context.startswith("[1] OAuth > Grants\nOAuth has four grant types.")
    assert [row["label"] for row in found.evidence] == [1, 2]
    assert found.provenance["sources"]["docs"]["status"] == "ok"
    assert tuple(found) == (found.context, found.evidence, found.provenance, found.outcome)
    assert model.calls == []
    whole = await ask(graph, on="t")
    assert [row["text"] for row in found.evidence] == [row["text"] for row in whole["provenance"]["results"]]


async def test_outcomes_are_told_apart_without_an_answer() -> None:
    down = FaultySource(docs(), error=ConnectionError("refused"))
    graph = build(graph=retrieval_graph, sources=[down])
    assert (await retrieve_context(graph, QUESTION)).outcome == "unavailable"
    graph = build(graph=retrieval_graph, sources=[docs()])
    assert (await retrieve_context(graph, "Quantum lattice")).outcome == "insufficient"
    assert (await retrieve_context(graph, "hello")).outcome == "chat"
    assert (await retrieve_context(graph, QUESTION, context=Context(top_k=1))).evidence


async def test_the_retrieval_graph_runs_on_a_thread_too() -> None:
    graph = build(graph=retrieval_graph, sources=[docs()], memory=True)
    steps = [name async for update in graph.astream(asking(), thread(), stream_mode="updates") for name in update]
    assert steps == ["begin_turn", "resolve_intent", "retrieve_source", "process_results", "give_context"]
    assert (await ask(graph, "pump 17", "t"))["evidence"][0]["source_id"] == "pump"


async def test_as_a_tool_the_evidence_is_the_artifact() -> None:
    tool = retrieval_tool(build())
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION}}
    message = await tool.ainvoke(call)
    assert message.content.startswith("[1] OAuth > Grants")
    assert [row["source_name"] for row in message.artifact] == ["docs", "notes"]
    nothing = await tool.ainvoke({**call, "args": {"question": "Quantum lattice"}})
    assert nothing.content == "Nothing was found (insufficient)."


@pytest.mark.covers("T8", "R7")
async def test_as_a_tool_an_outage_does_not_read_like_ignorance() -> None:
    down = FaultySource(docs(), error=ConnectionError("gone"))
    for sources in ([down], [down, notes()]):
        told = await retrieval_tool(build(sources=sources)).ainvoke({"question": "Quantum lattice"})
        assert told.startswith("The sources could not be searched")
        assert "Nothing was found" not in told
