"""Asking back and another look on a real LangGraph Server (S10, S11): output, stream, choices, resuming, failing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

from groundgraph.testing import OpenAIStub, Reply, Rule, openai_stub

pytestmark = [pytest.mark.live, pytest.mark.covers("S10")]

WARRANTY = {"question": "How long does the warranty of the pump last?"}
REFUND, OTHERWISE = {"question": "How do I get my money back?"}, "When are refunds granted after a purchase?"
BROKEN = {"question": "How do I cure my sorrow back?"}
CONFIG = """
llm: {{provider: openai, model: test-model, base_url: "{base_url}"}}
intent: {{mode: static}}
limits: {{attempts: 1}}
retrieval: {{second_look: true}}
synthesis: {{style: structured, ask_back: {{field: product, model: true}}}}
sources:
  - type: memory
    name: shop
    schema: {{fields: {{product: {{type: string}}}}}}
    records:
      - {{id: a, content: The warranty of the pump lasts two years., product: Orion}}
      - {{id: b, content: The warranty of the pump lasts three years., product: Vega}}
      - {{id: c, content: Refunds are granted within 30 days of purchase.}}
      - {{id: d, content: Penguins swim in the cold sea.}}
"""


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIStub]:
    rules = [
        Rule("sorrow", Reply(status=500)),
        Rule("penguins", Reply(status=500)),
        Rule("Put the question in other words", OTHERWISE),
        Rule("leaves something open", "none"),
    ]
    with openai_stub(rules=rules) as stub:
        yield stub


async def thread_of(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


@pytest.mark.covers("U2")
async def test_a_turn_asks_back_in_output_and_stream_and_the_next_message_chooses(client) -> None:
    thread = await thread_of(client)
    streamed: list[Any] = [
        part async for part in client.runs.stream(thread, "turn", input=WARRANTY, stream_mode="values")
    ]
    choices = streamed[-1].data["choices"]
    assert [choice["label"] for choice in choices] == ["Orion", "Vega"]
    assert streamed[-1].data["outcome"] == "clarify"
    result = await client.runs.wait(thread, "turn", input={"question": choices[1]["label"]})
    assert (result["outcome"], result["choices"]) == ("answered", [])
    assert "three years" in result["answer"]


@pytest.mark.covers("T3")
async def test_a_turn_that_stops_at_asking_back_goes_on_there_and_forks(client) -> None:
    thread = await thread_of(client)
    await client.runs.wait(thread, "turn", input=WARRANTY, interrupt_before=["ask_back"])
    assert (await client.threads.get_state(thread))["next"] == ["ask_back"]
    result = await client.runs.wait(thread, "turn", input=None)
    assert result["outcome"] == "clarify"
    point = (await client.threads.get_state(thread))["checkpoint"]
    first = await client.runs.wait(thread, "turn", input={"question": "1"})
    other = await client.runs.wait(thread, "turn", input={"question": "2"}, checkpoint=point)
    assert ("two years" in first["answer"], "three years" in other["answer"]) == (True, True)


async def test_a_model_that_fails_to_see_what_is_open_is_a_note(client) -> None:
    result = await client.runs.wait(await thread_of(client), "turn", input={"question": "Where do penguins swim?"})
    assert result["outcome"] == "answered"
    assert any("leaves something open" in note for note in result["notes"])


async def test_the_graph_of_one_question_gives_the_choices_too(client) -> None:
    result = await client.runs.wait(await thread_of(client), "ask", input=WARRANTY)
    assert (result["outcome"], len(result["choices"])) == ("clarify", 2)


@pytest.mark.covers("S11", "T3")
async def test_a_turn_that_stops_at_a_second_look_goes_on_there(client) -> None:
    thread = await thread_of(client)
    await client.runs.wait(thread, "turn", input=REFUND, interrupt_before=["second_look"])
    assert (await client.threads.get_state(thread))["next"] == ["second_look"]
    result = await client.runs.wait(thread, "turn", input=None)
    assert result["outcome"] == "answered"
    assert "30 days" in result["answer"]
    assert result["provenance"]["intent"]["stages"]["second_look"]["question"] == OTHERWISE


@pytest.mark.covers("S11")
async def test_a_second_look_that_fails_leaves_the_turn_as_without_it_and_a_note(client) -> None:
    result = await client.runs.wait(await thread_of(client), "turn", input=BROKEN)
    assert result["outcome"] == "insufficient"
    assert any("second look" in note for note in result["notes"])


@pytest.mark.covers("S11")
async def test_both_steps_are_in_the_picture(client) -> None:
    turn = (await client.assistants.search(graph_id="turn"))[0]["assistant_id"]
    drawn = await client.assistants.get_graph(turn)
    ways = {(edge["source"], edge["target"]) for edge in drawn["edges"]}
    assert {
        ("process_results", "ask_back"),
        ("ask_back", "check_citations"),
        ("second_look", "retrieve_source"),
    } <= ways
