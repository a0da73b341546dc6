"""Retrieval alone (T8)."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from oauth_sources import QUESTION, ask, docs, notes, thread

from groundgraph import Context, load_settings, retrieval_graph, retrieval_tool, retrieve_context, turn_graph
from groundgraph.testing import FaultySource, ScriptedChatModel

SETTINGS = {"intent": {"mode": "static"}}


@pytest.mark.covers("T8")
async def test_retrieve_context_gives_context_evidence_provenance_and_outcome() -> None:
    model = ScriptedChatModel("never")
    graph = turn_graph(
        load_settings(SETTINGS), sources=[docs(), notes()], chat_model=model, checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )  # fmt: skip
    found = await retrieve_context(graph, QUESTION)
    assert found.outcome == "answered"
    assert found.context.startswith("[1] OAuth > Grants\nOAuth has four grant types.")
    assert [row["label"] for row in found.evidence] == [1, 2]
    assert found.provenance["sources"]["docs"]["status"] == "ok"
    context, evidence, provenance, outcome = found
    assert (context, evidence, provenance, outcome) == (
        found.context,
        found.evidence,
        found.provenance,
        found.outcome,
    )
    assert model.calls == []
    whole = await graph.ainvoke(ask(), thread())
    assert [row["text"] for row in found.evidence] == [row["text"] for row in whole["provenance"]["results"]]


@pytest.mark.covers("T8")
async def test_outcomes_are_told_apart_without_an_answer() -> None:
    down = FaultySource(docs(), error=ConnectionError("refused"))
    graph = retrieval_graph(load_settings(SETTINGS), sources=[down])
    assert (await retrieve_context(graph, QUESTION)).outcome == "unavailable"
    graph = retrieval_graph(load_settings(SETTINGS), sources=[docs()])
    assert (await retrieve_context(graph, "Quantum lattice")).outcome == "insufficient"
    assert (await retrieve_context(graph, "hello")).outcome == "chat"
    assert (await retrieve_context(graph, QUESTION, context=Context(top_k=1))).evidence


@pytest.mark.covers("T8")
async def test_the_retrieval_graph_runs_on_a_thread_too() -> None:
    graph = retrieval_graph(
        load_settings(SETTINGS), sources=[docs()], checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    steps = [name async for update in graph.astream(ask(), thread(), stream_mode="updates") for name in update]
    assert steps == ["begin_turn", "resolve_intent", "retrieve_source", "process_results", "give_context"]
    assert (await graph.ainvoke(ask("pump 17"), thread()))["evidence"][0]["source_id"] == "pump"


@pytest.mark.covers("T8")
async def test_as_a_tool_the_evidence_is_the_artifact() -> None:
    tool = retrieval_tool(turn_graph(load_settings(SETTINGS), sources=[docs(), notes()]))
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION}}
    message = await tool.ainvoke(call)
    assert message.content.startswith("[1] OAuth > Grants")
    assert [row["source_name"] for row in message.artifact] == ["docs", "notes"]
    nothing = await tool.ainvoke({**call, "args": {"question": "Quantum lattice"}})
    assert nothing.content == "Nothing was found (insufficient)."
