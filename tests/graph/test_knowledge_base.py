"""A knowledge base from Python: custom schemas (K8), listing and removing (K12)."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from forks import run_command
from langgraph.checkpoint.memory import InMemorySaver
from parents import in_a_row
from turns import ask_once, thread
from typing_extensions import TypedDict

from groundgraph import KnowledgeBase, QueryBot, load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, FilterInvalid, RecordInvalid
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("K8")

SCHEMA = {
    "fields": {
        "guest": {"type": "string", "required": True},
        "topic": {"enum": ["diet", "room"]},
        "fact": {"type": "text"},
        "date": {"type": "date"},
    },
    "content": ["fact"],
}
NUTS = {"guest": "Ada", "topic": "diet", "fact": "She is allergic to nuts.", "date": "2026-01-05"}
ROOM = {"guest": "Ada", "topic": "room", "fact": "She asks for the quiet side, as she is allergic to noise."}


def settings_in(folder: Path, schema=SCHEMA, **sections):
    base = {"file": "kb.sqlite", "schemas": {"memories": schema}, **sections.pop("knowledge_base", {})}
    settings = load_settings({"knowledge_base": base, "intent": {"mode": "static"}, **sections})
    return settings.model_copy(update={"base_dir": folder})


async def answers(settings, question: str) -> list[dict]:
    return (await ask_once(turn_graph(settings), question))["provenance"]["results"]


async def test_what_one_session_writes_another_finds_with_its_kind_and_its_fields(tmp_path):
    with KnowledgeBase.open(settings_in(tmp_path)) as base:
        assert base.add_records("memories", [NUTS, ROOM]).written == 2
    [found, _] = await answers(settings_in(tmp_path), "What is she allergic to?")
    assert found["text"] == NUTS["fact"]
    assert {name: found["metadata"][name] for name in ("kind", "guest", "topic", "date")} == {
        **{"kind": "memories", "guest": "Ada", "topic": "diet", "date": "2026-01-05"}
    }


def test_a_field_of_a_record_with_many_lines_adds_no_line_that_looks_like_another(tmp_path):
    schema = {"fields": {"guest": {"type": "string"}, "fact": {"type": "text"}}, "id": "guest"}
    with KnowledgeBase.open(settings_in(tmp_path, schema)) as base:
        base.add_records("memories", [{"guest": "Ada", "fact": "She sings.\nguest: Bob"}])
        assert base.document("memories/Ada").text.splitlines() == ["guest: Ada", "fact: She sings. guest: Bob"]


@pytest.mark.parametrize(
    ("filters", "topics"),
    [({"topic": "room"}, ["room"]), ({"guest": "Bob"}, []), ({"date": {"gte": "2026-01-01"}}, ["diet"])],
)
async def test_the_fields_of_a_schema_can_be_filtered_by(tmp_path, filters, topics):
    KnowledgeBase.open(settings_in(tmp_path)).add_records("memories", [NUTS, ROOM])
    settings = settings_in(
        tmp_path,
        intent={"mode": "static", "default_filters": {"knowledge_base": filters}},
        retrieval={"score_threshold": 0},
    )
    assert [row["metadata"]["topic"] for row in await answers(settings, "allergic")] == topics


def test_a_filter_on_a_value_that_the_schema_does_not_allow_is_refused(tmp_path):
    settings = settings_in(tmp_path, intent={"mode": "static", "default_filters": {"knowledge_base": {"topic": "x"}}})
    with pytest.raises((ConfigurationError, FilterInvalid), match="not an allowed value"):
        turn_graph(settings)


@pytest.mark.parametrize(
    ("record", "field", "told"),
    [
        ({"guest": "Ada", "fact": "x", "topic": "dite"}, "topic", "Did you mean 'diet'"),
        ({"guest": "Ada", "fact": "x", "date": "soon"}, "date", "not a value of type date"),
        ({"guest": "Ada", "fct": "x"}, "fct", "Did you mean 'fact'"),
        ({"fact": "x"}, "guest", "is required"),
        ({"guest": "Ada"}, "", "none of the fields that make its text is set"),
        ("Ada", "", "not a mapping"),
    ],
)
async def test_a_record_that_does_not_fit_is_refused_by_number_and_field_and_none_is_written(
    tmp_path, record, field, told
):
    base = KnowledgeBase.open(settings_in(tmp_path))
    with pytest.raises(RecordInvalid, match=told) as refused:
        await base.aadd_records("memories", [NUTS, record])
    assert (refused.value.record, refused.value.field) == (1, field)
    assert "record 1 of 'memories'" in str(refused.value)
    assert await base.adocuments() == []


def test_a_schema_that_is_not_declared_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="Did you mean 'memories'"):
        KnowledgeBase.open(settings_in(tmp_path)).add_records("memory", [NUTS])


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"fields": {}}, "at least one field"),
        ({"fields": {"a": {"type": "txet"}}}, "field type 'txet'"),
        ({"fields": {"a": {}}, "content": ["b"]}, "no field 'b'"),
        ({"fields": {"a": {}}, "id": "b"}, "no field 'b'"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_when_a_graph_is_built(tmp_path, schema, told):
    for build in (KnowledgeBase.open, turn_graph):
        with pytest.raises(ConfigurationError, match=told):
            build(settings_in(tmp_path, schema))
    clash = settings_in(tmp_path, knowledge_base={"fields": {"date": {"type": "integer"}}})
    with pytest.raises(ConfigurationError, match="has the type date here and integer elsewhere"):
        turn_graph(clash)


async def test_the_id_field_replaces_and_the_same_record_costs_nothing(tmp_path):
    base = KnowledgeBase.open(settings_in(tmp_path, {**SCHEMA, "id": "guest"}), embeddings=NgramEmbeddings())
    assert (await base.aadd_records("memories", [NUTS])).written == 1
    assert (await base.aadd_records("memories", [NUTS])).unchanged == 1
    assert (await base.aadd_records("memories", [{**NUTS, "fact": "She eats everything."}])).written == 1
    [row] = await base.adocuments()
    assert (row.name, row.kind, row.title) == ("memories/Ada", "memories", "She eats everything.")
    with pytest.raises(RecordInvalid, match="is the id of a record"):
        await base.aadd_records("memories", [{"guest": " ", "fact": "x"}])


async def test_a_node_of_a_larger_graph_writes_while_its_loop_runs(tmp_path):
    settings = settings_in(tmp_path)
    base = KnowledgeBase.open(settings)

    class State(TypedDict, total=False):
        records: list[dict]
        written: int

    def remember(state: State) -> State:
        return {"written": base.add_records("memories", state["records"]).written}

    async def remember_more(state: State) -> State:
        base.add_records("memories", [ROOM])
        report = await base.aadd_records("memories", [{**ROOM, "guest": "Bob"}])
        return {"written": state["written"] + report.written}

    saver = InMemorySaver()
    graph = in_a_row(State, remember=remember, remember_more=remember_more).compile(checkpointer=saver)
    assert (await graph.ainvoke({"records": [NUTS]}, thread()))["written"] == 2
    assert len(await base.adocuments()) == 3
    assert {point.config["configurable"]["checkpoint_ns"] async for point in saver.alist(None)} == {""}


async def test_many_writers_at_once_lose_nothing(tmp_path):
    base = KnowledgeBase.open(settings_in(tmp_path))
    records = [[{"guest": f"g{n}", "fact": f"Fact number{n}."}] for n in range(12)]
    threads = [threading.Thread(target=base.add_records, args=("memories", own)) for own in records[:6]]
    for one in threads:
        one.start()
    await asyncio.gather(*(base.aadd_records("memories", own) for own in records[6:]))
    for one in threads:
        await asyncio.to_thread(one.join)
    assert len(await base.adocuments()) == 12


def test_another_process_finds_what_this_one_wrote(tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(
        "intent: {mode: static}\nknowledge_base:\n  file: kb.sqlite\n  schemas:\n    memories:\n"
        "      fields: {topic: {enum: [diet]}, fact: {type: text}}\n      content: [fact]\n"
    )
    KnowledgeBase.open(load_settings(tmp_path / "groundgraph.yaml")).add_records("memories", [{"fact": NUTS["fact"]}])
    ran = run_command(tmp_path, "ask", "What is she allergic to?", "--json")
    assert ran.returncode == 0, ran.stderr
    [found] = json.loads(ran.stdout)["provenance"]["results"]
    assert (found["text"], found["metadata"]["kind"]) == (NUTS["fact"], "memories")


@pytest.mark.covers("K12")
async def test_documents_are_listed_shown_and_removed(tmp_path):
    async with KnowledgeBase.open(settings_in(tmp_path)) as base:
        assert await base.adocuments() == []
        assert await base.aremove("memories/x") is False
        await base.aadd_records("memories", [NUTS, ROOM])
        rows = await base.adocuments()
        name = next(row.name for row in rows if row.metadata["topic"] == "diet")
        assert (await base.adocument(name)).text == NUTS["fact"]
        [chunk] = await base.achunks(name)
        assert chunk.chunk.text == NUTS["fact"]
        assert await base.aremove(next(row.id for row in rows if row.name == name)) is True
        assert await base.adocument(name) is None
        assert await base.achunks(name) == []
        assert [row.name for row in await base.adocuments()] == [row.name for row in rows if row.name != name]
    assert [row["metadata"]["topic"] for row in await answers(settings_in(tmp_path), "allergic to nuts")] != ["diet"]


@pytest.mark.covers("K7")
async def test_each_kind_of_data_has_chains_of_its_own(tmp_path):
    chains = {"memories": {"matching_text": "identity", "chunker": "identity"}}
    base = KnowledgeBase.open(settings_in(tmp_path, chains=chains))
    await base.aadd_records("memories", [NUTS])
    await base.aadd_documents([Document("d", "# Title\n\nOne.\n\n# Other\n\nTwo.", "text/markdown")])
    kinds = {row.kind: row for row in await base.adocuments()}
    [own] = await base.achunks(kinds["memories"].name)
    assert own.matching_texts == (NUTS["fact"],)
    assert kinds["documents"].chunks == 2


@pytest.mark.parametrize("sections", [{}, {"sources": []}])
def test_a_base_that_no_section_names_is_searched_when_it_was_opened(tmp_path, sections):
    settings = load_settings(sections).model_copy(update={"base_dir": tmp_path})
    with KnowledgeBase.open(settings) as base:
        base.add_documents([{"name": "udo", "text": "Udo paints."}])
        assert [found.content for found in base.search("Who paints?")] == ["Udo paints."]
        assert QueryBot("", docstore=base, log=False)("Who paints?").citations[0]["quote"] == "Udo paints."
