"""Asking back on a real LangGraph Server (S10): output, stream, choices, resuming."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

pytestmark = [pytest.mark.live, pytest.mark.covers("S10")]

REPLY = "none"
WARRANTY = {"question": "How long does the warranty of the pump last?"}
CONFIG = """
llm: {{provider: openai, model: test-model, base_url: "{base_url}"}}
intent: {{mode: static}}
limits: {{attempts: 1}}
synthesis: {{style: structured, ask_back: {{field: product, model: true}}}}
sources:
  - type: memory
    name: shop
    schema: {{fields: {{product: {{type: string}}}}}}
    records:
      - {{id: a, content: The warranty of the pump lasts two years., product: Orion}}
      - {{id: b, content: The warranty of the pump lasts three years., product: Vega}}
"""


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


async def test_the_graph_of_one_question_gives_the_choices_too(client) -> None:
    result = await client.runs.wait(await thread_of(client), "ask", input=WARRANTY)
    assert (result["outcome"], len(result["choices"])) == ("clarify", 2)
