"""What a turn searches for: every key of the `intent` section changes it (I1 to I11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from incident_sources import QUERY, extraction, incidents, manuals

from groundgraph import load_settings, turn_graph
from groundgraph.settings.yaml_file import read_yaml
from groundgraph.testing import Rule, ScriptedChatModel, openai_stub

REFERENCE = Path(__file__).parents[1] / "core" / "configs" / "reference_config.yaml"
TALK = [
    ("user", "What are pump seals?"),
    ("assistant", "They keep oil inside the gearbox."),
    ("user", "How often do valves leak?"),
    ("assistant", "Every year, mostly."),
]
LONG = [("user", f"What is said about topic{number}?") for number in range(1, 6)]


async def resolved(
    message: str = "database incident outage",
    *,
    before: list[tuple[str, str]] = [],  # noqa: B006 - never changed
    query_model: Any = None,
    extractor: Any = None,
    metadata: dict[str, Any] | None = None,
    **intent: Any,
) -> dict[str, Any]:
    """The intent of one turn, as the provenance has it."""
    settings = load_settings(
        {"intent": intent, "retrieval": {"score_threshold": 0}, "synthesis": {"style": "structured"}}
    )
    models = {"query_model": query_model, "extractor": extractor}
    graph = turn_graph(settings, sources=[incidents(), manuals()], **models)
    given = {"messages": [*before, ("user", message)], "metadata": metadata or {}}
    return (await graph.ainvoke(given))["provenance"]["intent"]


def asked_for(model: ScriptedChatModel) -> str:
    """The object that the first call asked for, by its schema."""
    return str(model.calls[0].kwargs["tools"])


def scripted(reply: str = "one query\ntwo query\nthree query\nfour query") -> ScriptedChatModel:
    return ScriptedChatModel(reply)


async def test_key_mode():
    assert (await resolved())["mode"] == "message"
    assert (await resolved(query_model=scripted()))["mode"] == "extract"
    assert (await resolved(query_model=scripted(), mode="static"))["mode"] == "static"
    template = {"mode": "template", "template": "text_queries: [a]"}
    assert (await resolved(query_model=scripted(), **template))["mode"] == "template"


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_key_num_queries(number):
    model = scripted()
    assert len((await resolved(query_model=model, num_queries=number))["text_queries"]) == 1 + number
    assert f"at most {number} queries" in model.calls[0].text
    model = scripted(json.dumps({"text_queries": ["a b", "c d", "e f", "g h"]}))
    assert len((await resolved(extractor=model, num_queries=number))["text_queries"]) == 1 + number
    assert f"At most {number} search queries" in asked_for(model)


async def test_key_domain_context():
    for role, reply in (("query_model", "one query"), ("extractor", extraction())):
        model = scripted(reply)
        await resolved(domain_context="pumps and valves", **{role: model})
        assert "about pumps and valves" in model.calls[0].text


@pytest.mark.covers("I1")
async def test_the_prompts_ask_for_the_intent_behind_the_words():
    for role, reply in (("query_model", "one query"), ("extractor", extraction())):
        model = scripted(reply)
        await resolved(**{role: model})
        for words in ("underlying intent", "related topics", "key concepts"):
            assert words in model.calls[0].messages[0].text


@pytest.mark.parametrize(("role", "reply"), [("query_model", "one query"), ("extractor", extraction())])
async def test_key_use_conversation_context(role, reply):
    for used in (True, False):
        model = scripted(reply)
        await resolved(before=TALK, use_conversation_context=used, **{role: model})
        assert ("User: What are pump seals?" in model.calls[0].text) is used
        assert ("Assistant: Every year, mostly." in model.calls[0].text) is used


@pytest.mark.parametrize(("role", "reply"), [("query_model", "one query"), ("extractor", extraction())])
@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_key_max_context_turns_in_the_prompt_is_two_messages_each(role, reply, turns):
    model = scripted(reply)
    await resolved(before=TALK, max_context_turns=turns, **{role: model})
    text = model.calls[0].text
    assert sum(said in text for _, said in TALK) == 2 * turns


async def test_key_max_context_turns_is_the_window_of_keywords_too():
    for turns, found in ((1, {"topic5"}), (3, {"topic3", "topic4", "topic5"})):
        before = [pair for said in LONG for pair in (said, ("assistant", "Yes."))]
        intent = await resolved("Tell me more", before=before, max_context_turns=turns, expand_ambiguous_queries=True)
        assert {word for word in intent["text_queries"][0].split() if word.startswith("topic")} == found


async def test_key_extraction_config():
    with openai_stub(rules=[Rule("search request", extraction(scope="broad"))]) as stub:
        config = {"provider": "openai", "model": "small", "base_url": stub.base_url, "api_key": "k"}
        intent = await resolved("an overview of incidents", query_model=scripted(), extraction_config=config)
    assert (intent["text_queries"], intent["scope"]) == (["an overview of incidents", QUERY], "broad")
    assert stub.requests[0].body["model"] == "small"


async def test_key_output_style_hint():
    """I4: the hint stands in place of the built-in description of the styles."""
    for hint in (None, "Always conversational unless the user says 'raw text'."):
        model = scripted(extraction())
        await resolved(extractor=model, output_style_hint=hint)
        assert ("Strongly prefer" in asked_for(model)) is (hint is None)
        assert ("says 'raw text'" in asked_for(model)) is (hint is not None)


async def test_key_expand_ambiguous_queries():
    plain = (await resolved("Tell me more about this", before=TALK, follow_ups=False))["text_queries"]
    assert plain == ["Tell me more about this"]
    intent = await resolved("Tell me more about this", before=TALK, expand_ambiguous_queries=True, follow_ups=False)
    assert intent["text_queries"] == ["valves leak pump seals Tell me more about this"]
    assert intent["mode"] == "message"


@pytest.mark.covers("I5")
@pytest.mark.parametrize(("role", "reply"), [("query_model", "one query"), ("extractor", extraction())])
async def test_a_model_is_asked_about_the_enriched_message(role, reply):
    model = scripted(reply)
    await resolved("Show me an example", before=TALK, expand_ambiguous_queries=True, **{role: model})
    assert model.calls[0].prompt.question == "valves leak pump seals Show me an example"
    assert len(model.calls) == 1, "the keywords cost no call"


@pytest.mark.covers("I5")
async def test_keywords_of_the_conversation_support_no_value():
    """They are the user's words of another turn, or the assistant's."""
    model = scripted(extraction(filters={"incidents": {"severity": "critical"}}))
    before = [("user", "Which critical incidents were there?"), ("assistant", "One.")]
    intent = await resolved("Show me an example", before=before, expand_ambiguous_queries=True, extractor=model)
    assert "critical" in model.calls[0].messages[-1].text
    assert intent["filters"] == {}


@pytest.mark.parametrize("included", [True, False])
async def test_key_include_assistant_context(included):
    intent = await resolved(
        "Tell me more",
        before=TALK[:2],
        expand_ambiguous_queries=True,
        include_assistant_context=included,
    )
    assert ("gearbox" in intent["text_queries"][0] or "oil" in intent["text_queries"][0]) is included


@pytest.mark.covers("I5", "I11")
@pytest.mark.parametrize(
    ("message", "expand", "follow_ups", "queries"),
    [
        # Keywords, and with follow-ups the plain message beside it, because fusing both is the safe form.
        ("Tell me more", True, True, ["valves leak pump seals Tell me more", "Tell me more"]),
        ("Tell me more", True, False, ["valves leak pump seals Tell me more"]),
        ("Tell me more", False, True, ["How often do valves leak? Tell me more", "Tell me more"]),
        ("Tell me more", False, False, ["Tell me more"]),
        # The same rule says what leans, whatever is done about it.
        ("And which pumps need new seals first", True, True,
         ["valves leak And which pumps need new seals first", "And which pumps need new seals first"]),
        ("And which pumps need new seals first", False, True,
         ["How often do valves leak? And which pumps need new seals first", "And which pumps need new seals first"]),
        # It leans on nothing, though it is short.
        ("pump seals", True, True, ["pump seals"]),
        ("Which pumps need new oil seals first", True, True, ["Which pumps need new oil seals first"]),
    ],
)  # fmt: skip
async def test_messages_that_lean_on_the_conversation_cell_by_cell(message, expand, follow_ups, queries):
    intent = await resolved(message, before=TALK, expand_ambiguous_queries=expand, follow_ups=follow_ups)
    assert intent["text_queries"] == queries


@pytest.mark.covers("I5")
async def test_without_a_conversation_nothing_is_prepended():
    assert (await resolved("Tell me more", expand_ambiguous_queries=True))["text_queries"] == ["Tell me more"]


@pytest.mark.covers("I6")
async def test_key_text_queries_and_key_include_message_as_query():
    static = {"mode": "static", "text_queries": ["pump seals"]}
    assert (await resolved("valves", **static))["text_queries"] == ["pump seals", "valves"]
    assert (await resolved("valves", include_message_as_query=False, **static))["text_queries"] == ["pump seals"]


@pytest.mark.covers("I6")
async def test_key_filters():
    filters = {"incidents": {"severity": "minor"}}
    assert (await resolved(mode="static"))["filters"] == {}
    assert (await resolved(mode="static", filters=filters))["filters"] == filters


@pytest.mark.parametrize("scope", ["focused", "broad", "exact"])
async def test_key_scope_is_that_of_an_intent_which_names_none(scope):
    own = {"mode": "template", "template": "text_queries: [a]"}
    named = {"mode": "template", "template": "text_queries: [a]\nscope: exact"}
    assert (await resolved(scope=scope))["scope"] == scope
    assert (await resolved(scope=scope, mode="static"))["scope"] == scope
    assert (await resolved(scope=scope, query_model=scripted()))["scope"] == scope
    assert (await resolved(scope=scope, extractor=scripted(extraction())))["scope"] == scope
    assert (await resolved(scope=scope, **own))["scope"] == scope
    assert (await resolved(scope=scope, **named))["scope"] == "exact"
    # Cues in the message hold against the configuration; without one the configuration holds against the model.
    broad = extraction(scope="broad")
    assert (await resolved("an overview, please", scope=scope, extractor=scripted(broad)))["scope"] == "broad"
    assert (await resolved("incidents of the plant", scope=scope, extractor=scripted(broad)))["scope"] == scope


async def test_key_template():
    template = 'text_queries: ["{{ message }}", "{{ metadata.topic }}"]\nfilters: {incidents: {severity: minor}}'
    intent = await resolved("valves", mode="template", template=template, metadata={"topic": "seals"})
    assert intent["text_queries"] == ["valves", "seals"]
    assert intent["filters"] == {"incidents": {"severity": "minor"}}


@pytest.mark.parametrize("role", [None, "query_model", "extractor"])
async def test_key_default_filters(role):
    filters = {"incidents": {"severity": "critical"}}
    models = {role: scripted(extraction(filters={"incidents": {"severity": "minor"}}))} if role else {}
    assert (await resolved("minor incidents", default_filters=filters, **models))["filters"] == filters
    if role == "extractor":
        assert "severity" not in asked_for(models[role]), "a field that is held is not offered"


@pytest.mark.parametrize(("annotation", "found"), [({}, None), ({"grounding": "skip"}, "structured")])
async def test_key_x_extraction(annotation, found):
    model = scripted(extraction(output_style="structured"))
    intent = await resolved("what happened", extractor=model, x_extraction={"output_style": annotation})
    assert intent["output_style"] == found


def test_every_key_of_the_reference_has_a_test_here():
    keys = read_yaml(REFERENCE)["reasoning"]["intent"]
    source = Path(__file__).read_text("utf-8")
    assert [key for key in keys if f"key_{key}" not in source] == []


@pytest.mark.covers("I10")
async def test_an_intent_is_recorded_in_full():
    intent = await resolved("an overview of minor incidents", extractor=scripted(extraction(scope="broad")))
    assert set(intent) == {
        "mode", "text_queries", "filters", "scope", "output_style", "categories", "raw_data", "issues", "dropped",
    }  # fmt: skip


@pytest.mark.covers("F21")
@pytest.mark.parametrize(("message", "told"), [("purple database incidents", True), ("database incidents", False)])
async def test_the_reader_is_told_of_a_value_that_they_asked_for_and_not_of_one_that_the_model_made_up(message, told):
    reply = extraction(filters={"incidents": {"severity": "purple"}})
    intent = await resolved(message, extractor=scripted(reply))
    assert [(one["field"], one["kind"]) for one in intent["dropped"]] == [("incidents.severity", "value")]
    assert len(intent["issues"]) == told
