"""`groundgraph forget`: a conversation is gone, others stay (U5)."""

from __future__ import annotations

import pytest
from langgraph.store.memory import InMemoryStore
from plant_database import rows_of
from postgres_fixture import postgres  # noqa: F401 - a fixture

from groundgraph.answers.provenance import messages_namespace, provenance_namespace
from groundgraph.graph.forget_thread import Forgotten, forget_thread
from groundgraph.testing import InMemorySource

pytestmark = pytest.mark.covers("U5")


@pytest.fixture
def asked(filled, tmp_path):
    # So that each question finds what answers it, and no more.
    (tmp_path / "groundgraph.yaml").write_text("retrieval: {score_threshold: 0.3}\n")
    for thread in ("a", "a1", "b"):
        assert filled("ask", "When does an access token expire?", "--thread", thread).code == 0
    return filled


def rows(tmp_path, file: str, query: str) -> list:
    return rows_of(tmp_path / ".groundgraph" / file, query)


def test_checkpoints_and_records_of_the_thread_go_and_those_of_others_stay(asked, tmp_path):
    ran = asked("forget", "a", "--json")
    assert ran.code == 0
    assert ran.json["thread_id"] == "a"
    assert ran.json["checkpoints"] > 0
    assert ran.json["records"] == 1
    threads = rows(tmp_path, "threads.sqlite", "SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")
    assert threads == [("a1",), ("b",)]
    assert rows(tmp_path, "threads.sqlite", "SELECT count(*) FROM writes WHERE thread_id = 'a'") == [(0,)]
    kept = rows(tmp_path, "evidence.sqlite", "SELECT prefix FROM store WHERE prefix LIKE '%provenance%' ORDER BY 1")
    assert kept == [("groundgraph.provenance.a1",), ("groundgraph.provenance.b",)]


def test_it_says_what_was_removed_and_the_second_time_that_there_is_nothing(asked):
    ran = asked("forget", "b")
    assert ran.code == 0
    assert ran.out.startswith("Removed of 'b': ")
    assert "1 provenance record" in ran.out
    assert "0 texts of evidence" in ran.out
    ran = asked("forget", "b")
    assert (ran.code, ran.out) == (1, "")
    assert "There is no conversation 'b'" in ran.err


def bodies(tmp_path) -> int:
    return rows(tmp_path, "evidence.sqlite", "SELECT count(*) FROM store WHERE prefix = 'groundgraph.evidence'")[0][0]


@pytest.mark.covers("K12")
def test_texts_that_no_other_thread_refers_to_go_with_the_last_thread_that_does(asked, tmp_path):
    assert asked("ask", "What does a scope limit?", "--thread", "own").code == 0
    before = bodies(tmp_path)
    assert asked("forget", "own", "--json").json["bodies"] == 1
    assert bodies(tmp_path) == before - 1
    for thread in ("a", "a1"):
        assert asked("forget", thread, "--json").json["bodies"] == 0
    ran = asked("forget", "b", "--json")
    assert ran.json["bodies"] == before - 1
    assert bodies(tmp_path) == 0


@pytest.mark.covers("K12")
async def test_without_provenance_the_checkpoints_of_others_tell_what_is_referred_to():
    from langgraph.checkpoint.memory import InMemorySaver

    from groundgraph import load_settings, turn_graph

    store = InMemoryStore()
    settings = load_settings({"intent": {"mode": "static"}, "store_provenance": False})
    sources = [InMemorySource(["Pump 17 is serviced every 90 days.", "Valve 3 is red."], name="plant")]
    graph = turn_graph(settings, sources=sources, store=store, checkpointer=InMemorySaver())
    for thread, question in (("a", "pump 17"), ("b", "pump 17"), ("b", "valve 3")):
        await graph.ainvoke({"question": question}, {"configurable": {"thread_id": thread}})
    assert (await forget_thread(graph, "a")).bodies == 0
    assert (await forget_thread(graph, "b")).bodies == 2
    again = await graph.ainvoke({"question": "pump 17"}, {"configurable": {"thread_id": "c"}})
    assert again["outcome"] == "answered"
    assert len(await store.asearch(("groundgraph", "evidence"))) == 1


def test_an_unknown_thread_in_an_empty_folder_makes_no_files(call, tmp_path):
    ran = call("forget", "x", "--json")
    assert ran.code == 1
    assert ran.json == {"thread_id": "x", "checkpoints": 0, "records": 0, "messages": 0, "bodies": 0}
    assert list(tmp_path.iterdir()) == []


class PrefixStore(InMemoryStore):
    """Finds more than was asked for, as a store that takes a prefix by its characters does."""

    async def asearch(self, namespace, **options):
        return await super().asearch(namespace[:2], **options)


async def test_messages_that_left_the_window_go_too_beyond_one_page(monkeypatch):
    from groundgraph import load_settings, turn_graph
    from groundgraph.storage import records as module

    monkeypatch.setattr(module, "_PAGE", 2)
    store = PrefixStore()
    for number in range(5):
        await store.aput(messages_namespace("t"), str(number), {"n": number})
        await store.aput(provenance_namespace("t2"), str(number), {"n": number})
    graph = turn_graph(load_settings({}), sources=[InMemorySource([])], store=store)
    assert await forget_thread(graph, "t") == Forgotten(messages=5)
    assert not await forget_thread(graph, "t")
    assert len(await store.asearch(provenance_namespace("t2"))) == 5


@pytest.mark.covers("K12")
@pytest.mark.live
def test_a_conversation_in_postgresql_is_reported_and_removed_as_one_in_a_file(filled, tmp_path, postgres):  # noqa: F811
    url = postgres.database("conversations")
    kept = f"{{type: postgres, url: '{url}'}}"
    (tmp_path / "groundgraph.yaml").write_text(f"checkpointer: {kept}\nstore: {kept}\n")
    for thread in ("a", "b"):
        assert filled("ask", "When does an access token expire?", "--thread", thread).code == 0
    assert "Latest threads: 'b', 'a'." in filled("report", "other").err
    ran = filled("forget", "a", "--json")
    assert (ran.code, ran.json["records"]) == (0, 1)
    assert ran.json["checkpoints"] > 0
    ran = filled("forget", "a")
    assert ran.code == 1
    assert "in the postgres checkpointer" in ran.err
    assert filled("report", "b").code == 0
