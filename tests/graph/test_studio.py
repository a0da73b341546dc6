"""What LangGraph Studio reads of a graph (U3)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from turns import docs

from groundgraph import ingest_graph, load_settings, retrieval_graph, turn_graph
from groundgraph.core.errors import InputInvalid, NothingToResume
from groundgraph.graph.server_ask import ask_graph
from groundgraph.graph.studio import description_of
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("U3")

EVERYTHING = {
    "intent": {"mode": "static"},
    "result_processing": {"normalize_strategy": "min_max", "max_kb_chars": 1000, "reorder": "zigzag"},
    "reranker": {"enabled": True, "type": "identity"},
    "citation_check": {"quotes": "repair", "numbers": "refuse"},
}


def graphs(settings=None):
    loaded = load_settings(settings or {"intent": {"mode": "static"}})
    model = ScriptedChatModel("Four [1].")
    return {
        "turn": turn_graph(loaded, sources=[docs()], chat_model=model),
        "retrieval": retrieval_graph(loaded, sources=[docs()], chat_model=model),
        "ingest": ingest_graph(load_settings({})),
    }


@pytest.mark.parametrize("settings", [None, EVERYTHING], ids=["default", "everything"])
@pytest.mark.parametrize("name", ["turn", "retrieval", "ingest"])
async def test_every_step_is_described(name: str, settings) -> None:
    drawn = (await graphs(settings)[name].aget_graph()).to_json()
    steps = [node for node in drawn["nodes"] if not node["id"].startswith("__")]
    assert len(steps) >= 5
    for node in steps:
        told = node["metadata"]["description"]
        assert 20 < len(told) < 160, node
        assert not re.search(r"\([A-Z]\d", told)


async def test_a_graph_has_at_most_a_dozen_steps() -> None:
    for graph in graphs().values():
        drawn = await graph.aget_graph()
        assert len([name for name in drawn.nodes if not name.startswith("__")]) <= 12


def test_a_picture_has_no_descriptions() -> None:
    assert "description" not in graphs()["turn"].get_graph().draw_mermaid()
    assert description_of("nothing") == ""


def test_defaults_are_what_the_settings_say() -> None:
    settings = {
        "intent": {"mode": "static"},
        "synthesis": {"style": "hybrid", "instruction": "Be brief.", "allow_parametric": "bridge"},
        "retrieval": {"top_k": 7, "score_threshold": 0.2},
    }
    fields = graphs(settings)["turn"].get_context_jsonschema()["properties"]
    defaults = {name: field["default"] for name, field in fields.items() if field["default"] is not None}
    assert defaults == {
        "style": "hybrid", "top_k": 7, "score_threshold": 0.2, "instruction": "Be brief.",
        "allow_parametric": "bridge", "require_citations": True, "citation_format": "section",
    }  # fmt: skip
    assert all(field["description"] for field in fields.values())


def test_fields_are_shown_at_the_steps_that_there_are() -> None:
    built = graphs()
    turn = built["turn"].get_context_jsonschema()["properties"]
    assert turn["instruction"]["langgraph_type"] == "prompt"
    assert turn["instruction"]["langgraph_nodes"] == ["answer_conversational", "answer_hybrid"]
    assert turn["top_k"]["langgraph_nodes"] == ["retrieve_source"]
    shown = {step for field in turn.values() for step in field.get("langgraph_nodes", [])}
    assert shown <= set(built["turn"].nodes)
    assert "langgraph_nodes" not in built["retrieval"].get_context_jsonschema()["properties"]["instruction"]


def test_the_narrow_graph_shows_the_same_defaults_and_no_step_that_it_has_not() -> None:
    built = ask_graph(graphs()["turn"])
    fields = built.get_context_jsonschema()["properties"]
    assert fields["top_k"]["default"] == 5
    assert not any("langgraph_nodes" in field for field in fields.values())
    assert built.copy().get_context_jsonschema() == built.get_context_jsonschema()


async def test_the_narrow_graph_gives_its_four_fields_and_leaves_the_turn_its_own() -> None:
    built = ask_graph(graphs()["turn"])
    result = await built.ainvoke({"question": "Which grant types does OAuth have?"}, context={"style": "structured"})
    assert set(result) == {"answer", "outcome", "notes", "citations", "choices"}
    assert result["outcome"] == "answered"
    assert built.get_input_jsonschema()["required"] == ["question"]


def test_chat_mode_has_messages_in_and_out() -> None:
    turn = graphs()["turn"]
    for schema in (turn.get_input_jsonschema(), turn.get_output_jsonschema()):
        assert schema["properties"]["messages"]["type"] == "array"


def test_every_field_of_an_input_is_described_and_none_is_internal() -> None:
    for name, graph in graphs().items():
        fields = graph.get_input_jsonschema()["properties"]
        assert all(field["description"] for field in fields.values()), name
        assert "passed_in" not in fields


@pytest.mark.covers("T6")
@pytest.mark.parametrize(("given", "told"), [
    ({"qestion": "When?"}, "no key 'qestion'. Did you mean 'question'? It takes: question."),
    ({"messages": [{"role": "user", "content": "When?"}]}, "no key 'messages'. It takes: question."),
    ({}, 'The input is empty. Ask something: {"question": "..."}.'),
])  # fmt: skip
async def test_the_narrow_graph_refuses_what_asks_nothing_under_a_name_that_it_knows(given: Any, told: str) -> None:
    built = ask_graph(graphs()["turn"])
    with pytest.raises(InputInvalid) as refused:
        await built.ainvoke(given)
    assert told in str(refused.value)


@pytest.mark.covers("T6")
@pytest.mark.parametrize("name", ["ask", "ingest"])
async def test_no_input_where_nothing_is_under_way_is_told(name: str) -> None:
    with pytest.raises(NothingToResume, match="to go on with: None resumes one that was cut"):
        await {**graphs(), "ask": ask_graph(graphs()["turn"])}[name].ainvoke(None)
