"""How a model is asked for an object: as its profile allows, and never again in a form that it refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI

from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.judge import Judge
from groundgraph.models.call_model import ChainModel
from groundgraph.models.replies import ask_for_object, forms_of, list_schema, listed_in, prompt_messages
from groundgraph.nodes.decompose_question import divide
from groundgraph.nodes.route_categories import choose_categories
from groundgraph.prompts import Prompts
from groundgraph.testing import Reply, ScriptedChatModel, openai_stub

ASKED = prompt_messages("Search.", "q")
SCHEMA = list_schema("queries", {"type": "string"})


def test_the_forms_are_those_of_the_profile_the_best_first():
    # Takes a second to load, which each process of the tests would do that only collects them.
    from langchain_anthropic import ChatAnthropic

    openai = ChatOpenAI(model="gpt-4o-mini", api_key="k")  # type: ignore[arg-type]
    assert forms_of(openai) == ["json_schema", "function_calling", "json_mode", "text"]
    unknown = ChatOpenAI(model="mine", api_key="k")  # type: ignore[arg-type]
    assert forms_of(unknown) == ["own", "json_mode", "text"]
    claude = ChatAnthropic(model="claude-3-haiku-20240307", api_key="k")  # type: ignore[arg-type, call-arg]
    assert forms_of(claude)[-1] == "text"
    assert "json_mode" not in forms_of(claude)
    assert forms_of(ScriptedChatModel("x", profile={"tool_calling": False})) == ["text"]


async def test_a_form_that_is_refused_is_not_tried_again_and_the_schema_is_written_only_then():
    refused = Reply(status=400, text="no response_format here")
    with openai_stub([refused, refused, '{"queries": ["a"]}', '{"queries": ["b"]}']) as stub:
        model = ChatOpenAI(model="mine", base_url=stub.base_url, api_key="k", max_retries=0)  # type: ignore[arg-type]
        for wanted in ("a", "b"):
            reply = await ask_for_object(model, ASKED, SCHEMA, Prompts())
            assert listed_in(reply, "queries") == [wanted]
    first, second, *texts = [request.body for request in stub.requests]
    assert first["response_format"]["type"] == "json_schema"
    assert "additionalProperties" not in str(first["messages"])
    assert second["response_format"] == {"type": "json_object"}
    assert len(texts) == 2
    assert all("additionalProperties" in str(one["messages"]) and "response_format" not in one for one in texts)


@given(st.text(max_size=40) | st.from_type(dict[str, list[int]]).map(json.dumps))
def test_only_a_reply_that_keeps_to_the_schema_is_read_without_a_reader(text):
    found = listed_in(AIMessage(text), "queries")
    assert found is None or json.loads(text) == {"queries": found}


async def test_a_list_in_the_form_that_was_asked_for_needs_no_reading_between_the_lines():
    """ "Not" would rule something out in words, and stands in a name here."""
    model = ScriptedChatModel('{"categories": ["not for sale", "weather"]}')
    chain = ChainModel(model, Prompts(), 5, 1)
    assert await choose_categories(chain, "q", {"not for sale": "", "faq": ""}, 3) == ["not for sale"]
    assert model.calls[0].kwargs["tools"][0]["function"]["name"] == "categories"
    parts = ["Which plan has no limit?", "Which plan has no fee?"]
    chain = ChainModel(ScriptedChatModel(json.dumps({"questions": parts})), Prompts(), 5, 1)
    assert await divide(chain, "Which plan has a limit and which a fee?", 3) == parts


@pytest.mark.covers("K6")
async def test_a_judge_grades_ten_passages_in_a_call():
    def graded(prompt):
        count = prompt.text.count("</passage>")
        return json.dumps({"grades": [{"passage": n, "grade": n % 5} for n in range(1, count + 1)]})

    model = ScriptedChatModel(default=graded)
    results = [SourceResult(f"p{n}", str(n), "s", "memory", 0.5) for n in range(25)]
    scores = await Judge(ChainModel(model, Prompts(), 5, 1), method="grades")("q", results)
    assert [call.text.count("</passage>") for call in model.calls] == [9, 9, 7]
    assert scores == [(n % 5) / 4 for n in [*range(1, 10), *range(1, 10), *range(1, 8)]]
