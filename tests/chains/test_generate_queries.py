"""Search queries from a model, read leniently (I1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from groundgraph.answers.generate_queries import MAX_QUERY_CHARS, generate_queries, parse_queries
from groundgraph.core.errors import ModelBudgetSpent, ModelError
from groundgraph.core.turn_values import EMPTY_TURN
from groundgraph.prompts import Prompts
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, ScriptedChatModel

pytestmark = pytest.mark.covers("I1")

TURN = {**EMPTY_TURN, "id": "t", "question": "When do they expire?", "message_id": "m9", "language": "en"}
DECORATIONS = ["{}", "1. {}", "2) {}", "(3) {}", "- {}", "* {}", "• {}", '"{}"', "«{}»", "`{}`", "Query 1: {}"]
DECORATIONS += ["1. “{}”", "Запрос 2: {}", "  - {}  ", "- 'a' {}", "1: {}", "Suchanfrage 1: {}"]


@pytest.mark.parametrize("decoration", DECORATIONS)
def test_numbers_bullets_and_quotes_are_taken_off(decoration):
    [query] = parse_queries(decoration.format("token lifetime"), 3)
    assert query.removeprefix("a' ") == "token lifetime"


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ("<think>1. no\n2. no</think>\nyes one\nyes two", ["yes one", "yes two"]),
        ("let me think\nabout it</think>\none query", ["one query"]),
        ("Here are the queries:\n1. one\n2. two", ["one", "two"]),
        ("one\n\n\none\ntwo\nthree\nfour", ["one", "two", "three"]),
        ("2024 budget\n3.5 inch disks\n10 ways", ["2024 budget", "3.5 inch disks", "10 ways"]),
        ("oauth [1] tokens", ["oauth tokens"]),
        ("* one two\n**three** four", ["one two", "**three** four"]),
        ('["one", "two"]', ["one", "two"]),
        ('{"queries": ["one", "two"]}', ["one", "two"]),
        ('Sure:\n```json\n["one", "two", "three", "four"]\n```', ["one", "two", "three"]),
        ('{"scores": {"a": 1}}', []),
        ('tokens ["scope"] in JSON\ntwo', ['tokens ["scope"] in JSON', "two"]),
        ("", []),
        ("ok", []),
        ("срок действия токена\r\nвремя жизни", ["срок действия токена", "время жизни"]),
    ],
)
def test_a_reply_is_read_line_by_line(reply, queries):
    assert parse_queries(reply, 3) == queries


@given(st.text(), st.integers(1, 10))
def test_any_reply_gives_clean_distinct_queries_within_the_limits(reply, limit):
    queries = parse_queries(reply, limit)
    assert len(queries) <= limit
    assert len(set(queries)) == len(queries)
    for query in queries:
        assert 2 < len(query) <= MAX_QUERY_CHARS
        assert query.splitlines() == [query]


def ask(model, *, calls=None, messages=(), **intent):
    settings = load_settings({"intent": intent, "limits": {"attempts": 1}})
    return generate_queries(settings, model, Prompts(), TURN, messages, [] if calls is None else calls)


async def test_the_model_is_asked_for_so_many_queries_about_the_domain():
    model, calls = ScriptedChatModel("one query\ntwo query\nthree query"), []
    assert await ask(model, calls=calls, num_queries=2, domain_context="OAuth 2.0") == ["one query", "two query"]
    [sent] = model.calls
    assert sent.roles == ["system", "user"]
    assert "OAuth 2.0" in sent.text
    assert "at most 2 queries" in sent.text
    assert sent.messages[-1].text == TURN["question"]
    assert calls[0]["role"] == "queries"
    assert calls[0]["attempts"] == 1
    assert calls[0]["estimated"] is False


@pytest.mark.parametrize(("options", "seen"), [({}, True), ({"use_conversation_context": False}, False)])
async def test_the_conversation_is_shown_when_it_is_to_be_used(options, seen):
    model = ScriptedChatModel("one query")
    thread = [HumanMessage("About refresh tokens {{ 7*7 }}"), AIMessage("Yes."), HumanMessage("x", id="m9")]
    await ask(model, messages=thread, **options)
    assert ("User: About refresh tokens {{ 7*7 }}" in model.calls[0].text) is seen
    assert ("Assistant: Yes." in model.calls[0].text) is seen


@pytest.mark.covers("A4", "I1")
async def test_a_refusal_is_no_query():
    assert await ask(ScriptedChatModel("I'm sorry, I can't help with all.\ntoken lifetime")) == ["token lifetime"]
    with pytest.raises(ModelError):
        await ask(ScriptedChatModel("Lo siento, no puedo responder a eso."), calls=[])
    # What keeps to the schema is believed.
    listed = Reply.json({"queries": ["what if I cannot answer"]})
    assert await ask(ScriptedChatModel(listed)) == ["what if I cannot answer"]


@pytest.mark.parametrize("reply", [Reply(""), Reply("<think>hm"), Reply(status=400)])
async def test_no_query_is_a_model_error_and_the_call_is_recorded(reply):
    calls = []
    with pytest.raises(ModelError):
        await ask(ScriptedChatModel(reply), calls=calls)
    assert len(calls) == 1


@pytest.mark.covers("T9")
async def test_no_call_is_made_when_none_is_left():
    model = ScriptedChatModel("one query")
    with pytest.raises(ModelBudgetSpent):
        await ask(model, calls=[{}] * 8)
    assert model.calls == []
