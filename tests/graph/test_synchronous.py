"""What callers without an event loop have in place of the asynchronous forms."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import (
    InMemorySource,
    KnowledgeBase,
    load_provenance_sync,
    open_graph,
    resume_turn_sync,
    retrieve_context_sync,
    turn_graph,
)
from groundgraph.core.document import Document
from groundgraph.core.errors import InputInvalid, NeverIngested, StorageUnavailable
from groundgraph.resilience.blocking import run_in_background
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("B8")
THREAD = {"configurable": {"thread_id": "visit-1"}}
QUESTION = {"question": "How often is pump 17 serviced?"}


def talk() -> None:
    pumps = InMemorySource(["Pump 17 is serviced every 90 days."], name="pumps")
    with open_graph(sources=[pumps]) as graph:
        output = graph.invoke(QUESTION, THREAD)
        record = load_provenance_sync(graph, "visit-1")
        again = resume_turn_sync(graph, "visit-1")
        found = retrieve_context_sync(graph, QUESTION["question"])
    assert output["answer"] == record["answer"] == again["answer"]
    assert record["results"][0]["text"] == found.evidence[0]["text"] == "Pump 17 is serviced every 90 days."


def test_a_graph_is_opened_asked_resumed_and_read_without_an_event_loop(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    talk()


async def test_in_a_notebook_where_a_loop_runs_it_works_as_well(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    talk()


def test_what_is_opened_is_closed_when_the_block_fails(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyError), open_graph(sources=[InMemorySource(["x"])]):
        raise KeyError
    talk()


def test_behind_its_block_no_task_of_a_graph_is_left(tmp_path, monkeypatch) -> None:
    async def tasks() -> set[asyncio.Task[object]]:
        return asyncio.all_tasks() - {asyncio.current_task()}

    monkeypatch.chdir(tmp_path)
    before = run_in_background(tasks())
    with open_graph(sources=[InMemorySource(["x"])]) as graph:
        graph.invoke(QUESTION, THREAD)
    # One that is left may be told to be destroyed while it is pending, when the graph is collected.
    assert run_in_background(tasks()) <= before


def test_a_graph_that_is_used_behind_its_block_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_graph(sources=[InMemorySource(["x"])]) as graph:
        graph.invoke(QUESTION, THREAD)
    uses = (lambda: graph.invoke(QUESTION, THREAD), lambda: load_provenance_sync(graph, "visit-1"))
    for use in uses:
        with pytest.raises(StorageUnavailable, match="is closed"):
            use()


def test_a_graph_that_is_asked_on_another_event_loop_than_its_own_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_graph(sources=[InMemorySource(["x"])]) as graph:
        with pytest.raises(InputInvalid, match="another event loop"):
            asyncio.run(graph.ainvoke(QUESTION, THREAD))
        assert graph.invoke(QUESTION, THREAD)["outcome"] == "insufficient"


def test_an_error_of_a_saver_of_ones_own_is_not_taken_for_one_of_a_file_of_ours() -> None:
    class Saver(InMemorySaver):
        async def aget_tuple(self, config: object) -> None:
            try:
                raise sqlite3.OperationalError("database is locked")
            except sqlite3.OperationalError as error:
                raise ValueError("The saver has no rows.") from error

    graph = turn_graph(sources=[InMemorySource(["x"])], checkpointer=Saver())
    with pytest.raises(ValueError, match="no rows"):
        graph.invoke(QUESTION, THREAD)


@pytest.mark.parametrize("embeddings", [None, NgramEmbeddings()])
def test_a_knowledge_base_is_searched_by_itself(tmp_path, embeddings) -> None:
    fields = {"hall": {"type": "integer"}}
    settings = {"knowledge_base": {"file": str(tmp_path / "base.sqlite"), "fields": fields}}
    with KnowledgeBase.open(settings, embeddings=embeddings) as base:
        with pytest.raises(NeverIngested):
            base.search("pump")
        texts = {4: "Pump 17 is serviced every 90 days.", 5: "Pump 18 is serviced every year."}
        base.add_documents(Document(f"hall {hall}", text, metadata={"hall": hall}) for hall, text in texts.items())
        found = base.search("When is pump 17 serviced?", top_k=1)
        assert [result.content for result in found] == [texts[4]]
        assert [result.content for result in base.search("pump serviced", filters={"hall": 5})] == [texts[5]]
        assert asyncio.run(base.asearch("When is pump 17 serviced?", top_k=1)) == found
