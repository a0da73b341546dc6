"""Intents that a model fills in, from the reply to the answer (I2 to I5, R2, S2, faults 17, 18, 25)."""

from __future__ import annotations

import json
from random import Random

import pytest
from incident_sources import FIELDS, QUERY, build, extraction, incidents, manuals, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from model_replies import model_reply
from plant_database import fill
from turns import ask

from groundgraph import Context, InMemorySource, SourceSchema, SqlSource, load_settings, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.filters import check_filters
from groundgraph.graph.configured_models import configured_extractor
from groundgraph.models.chat_model import without_thinking
from groundgraph.prompts import Prompts
from groundgraph.testing import Reply, Rule, ScriptedChatModel, TurnHarness, openai_stub

CRITICAL = {"incidents": {"severity": "critical", "date": {"gt": "March"}}}
MESSAGE = "critical incidents after March 2026"


def ids(output: dict) -> set[str]:
    return {row["source_id"] for row in output["provenance"]["results_by_source"].get("incidents", [])}


@pytest.mark.covers("I2", "R2")
async def test_critical_incidents_after_march_sets_a_bound_filter_on_the_source_that_has_the_fields():
    output = await turn(MESSAGE, extraction(filters=CRITICAL))
    intent = output["provenance"]["intent"]
    assert intent["mode"] == "extract"
    assert intent["text_queries"][1:] == [QUERY]
    assert intent["filters"] == {"incidents": {"severity": "critical", "date": {"gt": "2026-03-31"}}}
    assert intent["raw_data"] == json.loads(extraction(filters=CRITICAL))
    assert ids(output) == {"a"}
    assert "manuals" in output["provenance"]["results_by_source"]
    assert output["notes"] == ["No language model is configured, so this answer quotes the sources instead of "
                               "summarising them."]  # fmt: skip
    [call] = output["provenance"]["models"]
    assert (call["role"], call["estimated"]) == ("extract_intent", False)


@pytest.mark.covers("I2")
async def test_a_year_that_nobody_said_is_that_of_the_turn_and_no_prompt_holds_a_clock():
    graph, model = build(extraction(filters={"incidents": {"date": {"gte": "2019-03-01"}}}))
    output = await ask(graph, "incidents since March")
    found = output["provenance"]["intent"]["filters"]["incidents"]["date"]["gte"]
    assert found[4:] == "-03-01"
    assert int(found[:4]) > 2019
    assert found[:4] not in model.calls[0].text.replace("2026-03", "")


@pytest.mark.covers("fault 17")
async def test_an_unreadable_reply_is_repaired_once():
    graph, model = build(["I would search for incidents.", extraction(scope="broad")])
    output = await ask(graph, "an overview of incidents")
    intent = output["provenance"]["intent"]
    assert (intent["mode"], intent["text_queries"][1:], intent["scope"]) == ("extract", [QUERY], "broad")
    assert [call["role"] for call in output["provenance"]["models"]] == ["extract_intent", "repair_intent"]
    assert [message.text for message in model.calls[1].messages[-2:]] == [
        "I would search for incidents.",
        "Your reply holds no JSON object that can be read.\n"
        "Reply once more, with one JSON object that fits the schema and with nothing else.",
    ]


@pytest.mark.covers("fault 17")
async def test_a_reply_without_queries_is_told_so():
    graph, model = build(['{"scope": "broad"}', extraction()])
    await ask(graph, "incidents")
    assert 'holds no "text_queries"' in model.calls[1].messages[-1].text


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize(
    "replies",
    [["no", "no"], ["{}", "[1]"], [Reply(status=400)], [Reply("", refusal="I may not.")], ["no", Reply(status=401)]],
)
async def test_what_cannot_be_repaired_leaves_the_message_as_the_only_query(replies):
    output = await turn("database incident outage?", replies, scope="broad")
    intent = output["provenance"]["intent"]
    assert intent["mode"] == "message"
    assert intent["text_queries"] == ["database incident outage?"]
    assert (intent["filters"], intent["scope"]) == ({}, "broad")
    assert output["outcome"] == "answered"
    assert "your message was searched for as it stands" in output["notes"][0]
    assert intent["issues"] == [output["notes"][0]]
    assert len(output["provenance"]["models"]) == len(replies)


@pytest.mark.covers("T9")
async def test_no_extraction_is_asked_for_when_no_call_is_left():
    output = await turn(MESSAGE, extraction(), settings={"limits": {"model_calls": 0}})
    assert output["provenance"]["intent"]["mode"] == "message"
    assert output["provenance"]["models"] == []


@pytest.mark.covers("T9")
async def test_a_repair_counts_as_a_call():
    output = await turn(MESSAGE, ["no", extraction()], settings={"limits": {"model_calls": 1}})
    assert output["provenance"]["intent"]["mode"] == "message"
    assert len(output["provenance"]["models"]) == 1


@pytest.mark.covers("fault 18")
async def test_fences_and_prose_are_read():
    output = await turn(MESSAGE, f"Here:\n```json\n{extraction(filters=CRITICAL)}\n```\nGood luck!")
    assert ids(output) == {"a"}
    assert len(output["provenance"]["models"]) == 1


@pytest.mark.covers("fault 25")
async def test_other_keys_fields_and_values_are_dropped_and_recorded():
    filters = {
        "incidents": {"severity": "blocker", "colour": "red", "owner": "Maria"},
        "manuals": {"page": 3},
        "nowhere": {"x": 1},
    }
    output = await turn("red blocker incidents", extraction(filters=filters, topic_index={"a": 1}, mood="good"))
    intent = output["provenance"]["intent"]
    assert intent["filters"] == {}
    assert sorted((one["field"], one["kind"]) for one in intent["dropped"]) == [
        ("incidents.colour", "undeclared"),
        ("incidents.owner", "unsaid"),
        ("incidents.severity", "value"),
        ("manuals.page", "undeclared"),
        ("mood", "undeclared"),
        ("nowhere", "undeclared"),
        ("topic_index", "undeclared"),
    ]
    assert "topic_index" not in intent["raw_data"], "a model does not choose the parameters of an index"
    assert intent["raw_data"]["mood"] == "good"
    # What the user said and cannot have is told; what the model made up is only recorded.
    assert [note for note in output["notes"] if "narrowed" in note] == intent["issues"]
    assert len(intent["issues"]) == 1
    assert "'blocker' is not an allowed value" in intent["issues"][0]


@pytest.mark.covers("R2")
async def test_a_source_that_this_run_does_not_search_is_neither_offered_nor_filtered():
    graph, model = build(extraction(filters=CRITICAL))
    output = await ask(graph, MESSAGE, context=Context(sources=["manuals"]))
    assert output["provenance"]["intent"]["filters"] == {}
    assert [one["kind"] for one in output["provenance"]["intent"]["dropped"]] == ["undeclared"]
    assert '"severity"' not in model.calls[0].text


@pytest.mark.covers("R2")
async def test_a_source_with_a_required_field_is_searched_when_the_extraction_sets_it():
    schema = SourceSchema("incidents", {"severity": {"enum": ["critical"]}}, ["severity"])
    source = InMemorySource([{"content": QUERY, "severity": "critical"}], name="incidents", schema=schema)
    for message, status in (("critical incidents", "ok"), ("incidents", "skipped")):
        extractor = ScriptedChatModel(extraction(filters={"incidents": {"severity": "critical"}}))
        output = await ask(turn_graph(load_settings({}), sources=[source, manuals()], extractor=extractor), message)
        assert output["provenance"]["sources"]["incidents"]["status"] == status


@pytest.mark.covers("I3")
async def test_scope_by_cues_style_and_filters_by_words():
    values = {"scope": "broad", "output_style": "structured", "filters": {"incidents": {"severity": "critical"}}}
    intent = (await turn("What happened?", extraction(**values)))["provenance"]["intent"]
    assert (intent["scope"], intent["output_style"], intent["filters"]) == ("focused", None, {})
    assert {one["field"] for one in intent["dropped"]} == {"scope", "output_style", "incidents.severity"}
    message = "Give me an overview of critical incidents and show me the sources"
    intent = (await turn(message, extraction(**values)))["provenance"]["intent"]
    assert (intent["scope"], intent["output_style"]) == ("broad", "structured")
    assert intent["filters"] == {"incidents": {"severity": "critical"}}


@pytest.mark.covers("I3")
async def test_russian_words_support_a_scope_and_a_style():
    reply = extraction(scope="broad", output_style="structured")
    intent = (await turn("Сделай обзор инцидентов и покажи источники", reply))["provenance"]["intent"]
    assert (intent["scope"], intent["output_style"]) == ("broad", "structured")


@pytest.mark.covers("I2")
async def test_the_messages_of_an_earlier_turn_support_no_value():
    graph, _ = build([extraction(), extraction(filters=CRITICAL)])
    earlier = [("user", "critical incidents after March"), ("assistant", "One."), ("user", "Who mended them?")]
    output = await graph.ainvoke({"messages": earlier})
    output = await graph.ainvoke({"messages": earlier})
    assert output["provenance"]["intent"]["filters"] == {}


@pytest.mark.covers("I2")
async def test_over_the_wire_the_provider_is_asked_for_structured_output():
    with openai_stub(rules=[Rule("search request", extraction(filters=CRITICAL))]) as stub:
        config = {"provider": "openai", "model": "m", "base_url": stub.base_url, "api_key": "k", "temperature": 0.25}
        settings = load_settings({"intent": {"extraction_config": config}, "retrieval": {"score_threshold": 0}})
        output = await ask(turn_graph(settings, sources=[incidents()]), MESSAGE)
    assert ids(output) == {"a"}
    [request] = stub.requests
    assert request.body["response_format"]["json_schema"]["schema"]["required"] == ["text_queries"]
    assert (request.body["model"], request.body["temperature"]) == ("m", 0.25)


@pytest.mark.covers("I9")
async def test_three_models_do_three_things():
    main, query = ScriptedChatModel("It was an outage [1]."), ScriptedChatModel("unused")
    extractor = ScriptedChatModel(extraction())
    models = {"chat_model": main, "query_model": query, "extractor": extractor}
    output = await ask(turn_graph(load_settings({}), sources=[incidents()], **models), "incidents")
    assert output["answer"] == "It was an outage [1]."
    assert [len(model.calls) for model in (main, query, extractor)] == [1, 0, 1]


@pytest.mark.covers("I9")
async def test_think_blocks_are_in_no_reply():
    main = ScriptedChatModel("<think>secret</think>It was an outage [1].")
    extractor = ScriptedChatModel(f"<think>secret</think>{extraction()}")
    graph = turn_graph(load_settings({}), sources=[incidents()], chat_model=main, extractor=extractor)
    output = await ask(graph, "incidents")
    assert "secret" not in json.dumps(output["provenance"]) + output["answer"]


@pytest.mark.covers("I9")
def test_a_model_without_a_switch_is_left_as_it_is():
    assert without_thinking(ScriptedChatModel("x")) is None
    assert without_thinking(None) is None


async def test_the_extraction_is_streamed_to_nobody():
    extractor = ScriptedChatModel(extraction())
    parts = {"chat_model": ScriptedChatModel("Yes [1]."), "extractor": extractor}
    graph = turn_graph(load_settings({}), sources=[incidents()], **parts)
    chunks = [
        chunk.text async for chunk, _ in graph.astream({"messages": [("user", "incidents")]}, stream_mode="messages")
    ]
    assert "".join(chunks) == "Yes [1]."


async def test_u_the_harness_scripts_an_extractor():
    harness = await TurnHarness.create(extractor_responses=[extraction(scope="broad")], sources=[incidents()])
    async with harness:
        result = await harness.chat("an overview of incidents")
    assert result.provenance["intent"]["scope"] == "broad"
    assert len(harness.extractor_model.calls) == 1


# A thousand replies


@pytest.mark.covers("I2")
@pytest.mark.slow
async def test_a_thousand_generated_replies_never_break_a_turn_nor_set_a_filter_that_no_source_declares():
    random = Random(7)
    extractor = ScriptedChatModel(default=lambda prompt: model_reply(random))
    settings = {
        "intent": {"default_filters": {"incidents": {"tenant": "acme"}}},
        "limits": {"attempts": 1},
        "synthesis": {"style": "structured"},
    }
    saved = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    # Where grounding is skipped, declared fields and valid values are all that stands in the way.
    graphs = [
        turn_graph(load_settings(settings), sources=[source, manuals()], extractor=extractor, **saved)
        for source in (incidents(), incidents(grounding="skip"))
    ]
    schema = SourceSchema("incidents", FIELDS)
    seen = {"extract": 0, "message": 0, "filtered": 0, "dropped": 0}
    for number in range(1000):
        message = random.choice([MESSAGE, "5 minor outages, an overview", "Что случилось вчера?", "blocker"])
        given = {"messages": [("user", message)]}
        # What is saved at the end holds all that the checkpoints in between hold.
        config = {"configurable": {"thread_id": str(number)}}
        output = await graphs[number % 2].ainvoke(given, config, durability="exit")
        intent = output["provenance"]["intent"]
        json.dumps(output["provenance"], allow_nan=False).encode()
        assert intent["text_queries"]
        assert set(intent["filters"]) == {"incidents"}
        assert intent["filters"]["incidents"]["tenant"] == "acme"
        assert check_filters(schema, intent["filters"]["incidents"], source="incidents")
        assert intent["scope"] in ("focused", "broad", "exact")
        seen[intent["mode"]] += 1
        seen["filtered"] += len(intent["filters"]["incidents"]) > 1
        seen["dropped"] += bool(intent.get("dropped"))
    assert min(seen.values()) > 40, seen


# Precedence, cell by cell


@pytest.mark.covers("I8", "fault 59")
@pytest.mark.parametrize("mode", ["static", "template", "extract"])
@pytest.mark.parametrize("held", [None, "default", "scope"])
@pytest.mark.parametrize("proposed", [None, "critical", "minor"])
async def test_the_filter_table_cell_by_cell(mode, held, proposed):
    """A default or scope filter wins in every mode; without one the proposed filter holds."""
    filters = {"incidents": {"severity": proposed}} if proposed else {}
    intent = {
        "static": {"mode": "static", "filters": filters},
        "template": {"mode": "template", "template": json.dumps({"text_queries": [QUERY], "filters": filters})},
        "extract": {},
    }[mode]
    if held == "default":
        intent["default_filters"] = {"incidents": {"severity": "critical"}}
    scoped = {"incidents": {"severity": "context.level"}} if held == "scope" else {}
    settings = {"retrieval": {"score_threshold": 0, "scope_filters": scoped}}
    extractor = ScriptedChatModel(extraction(filters=filters)) if mode == "extract" else None
    graph = turn_graph(load_settings({"intent": intent, **settings}), sources=[incidents()], extractor=extractor)
    message = f"database incident outage {proposed or ''}"
    context = Context(scope={"level": "critical"}) if held == "scope" else None
    output = await ask(graph, message, context=context)
    expected = "critical" if held else proposed
    found = output["provenance"]["intent"]["filters"]
    assert found == ({"incidents": {"severity": expected}} if expected else {})
    assert ids(output) == {None: {"a", "b", "c"}, "critical": {"a", "b"}, "minor": {"c"}}[expected]


# What is refused


@pytest.mark.covers("U6")
@pytest.mark.parametrize(
    ("intent", "message"),
    [
        ({"output_style_hint": "h"}, "intent.output_style_hint: has no effect without intent.extraction_config"),
        ({"x_extraction": {"scope": {}}}, "intent.x_extraction: has no effect without"),
        ({"include_assistant_context": True}, "has no effect without intent.expand_ambiguous_queries"),
        ({"mode": "static", "expand_ambiguous_queries": True}, "belongs to mode 'extract', but the mode is 'static'"),
        ({"mode": "static", "extraction_config": {"model": "m"}}, "intent.extraction_config: belongs to mode"),
        ({"extraction_config": {"provider": "opnai", "model": "m"}}, "Did you mean 'openai'"),
    ],
)
def test_a_key_that_would_have_no_effect_is_refused_at_build(intent, message):
    with pytest.raises(ConfigurationError, match=message):
        turn_graph(load_settings({"intent": intent}), sources=[incidents()])


@pytest.mark.covers("U6")
def test_an_extractor_that_cannot_be_called_is_refused_at_build():
    with pytest.raises(ConfigurationError, match="extractor: takes a chat model, a Runnable or a function"):
        configured_extractor(load_settings({}), {}, Prompts(), 7)  # type: ignore[arg-type]


@pytest.mark.covers("I3")
def test_a_wrong_annotation_of_a_source_is_refused_at_build():
    schemas = {"s": SourceSchema("s", {"f": {"x-extraction": {"grounding": "no"}}})}
    with pytest.raises(ConfigurationError, match=r"s\.f\.x-extraction\.grounding"):
        configured_extractor(load_settings({}), schemas, Prompts())


@pytest.mark.covers("I1")
@pytest.mark.parametrize("role", ["query_model", "extractor"])
async def test_the_message_finds_what_the_queries_of_a_model_miss(role):
    replies = {"query_model": "turbines of the north", "extractor": extraction(text_queries=["turbines of the north"])}
    settings = load_settings({"intent": {"mode": "extract"}, "synthesis": {"style": "structured"}})
    graph = turn_graph(settings, sources=[incidents()], **{role: ScriptedChatModel(replies[role])})
    output = await ask(graph, "database outage")
    assert output["provenance"]["results"], "the queries alone find nothing"
    assert output["provenance"]["intent"]["text_queries"] == ["database outage", "turbines of the north"]


@pytest.mark.covers("S8", "I1")
async def test_a_query_about_another_number_makes_no_answer():
    source = InMemorySource(["Pump 18 was retired in 2021."], name="plant")
    model = ScriptedChatModel(rules=[Rule("", "pump 18 retirement date")])
    graph = turn_graph(load_settings({"intent": {"mode": "extract"}}), sources=[source], query_model=model)
    assert (await ask(graph, "When was pump 21 retired?"))["outcome"] == "insufficient"
    assert (await ask(graph, "When was pump 18 retired?"))["outcome"] == "answered"


@pytest.mark.covers("I2", "S8")
async def test_what_a_filter_compares_need_not_be_compared_again(tmp_path):
    path = tmp_path / "plant.sqlite"
    rows = [(1, "critical", "2026-04-02", "Pump 17 leaked oil."), (2, "critical", "2026-01-05", "Pump 3 overheated.")]
    script = "CREATE TABLE incidents (id INTEGER PRIMARY KEY, severity TEXT, opened DATE, summary TEXT)"
    fill(path, script, incidents=rows)
    filters = {"incidents": {"severity": "critical", "opened": {"gt": "2026-03-31"}}}
    reply = json.dumps({"text_queries": ["critical incidents"], "filters": filters})
    settings = load_settings({"intent": {"mode": "extract", "extraction_config": {"provider": "openai", "model": "m"}}})
    source = SqlSource(path, table="incidents", name="incidents")
    graph = turn_graph(settings, sources=[source], extractor=ScriptedChatModel(reply))
    output = await ask(graph, "Which critical incidents were opened after March 2026?")
    assert output["outcome"] == "answered"
    assert "Pump 17 leaked oil." in output["answer"]
    assert "Pump 3" not in output["answer"]
