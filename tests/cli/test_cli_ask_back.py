"""Asking back and another look on the command line (S10, S11): `ask`, and `chat` over several messages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from groundgraph import load_settings, open_graph
from groundgraph.testing import Rule, openai_stub

pytestmark = pytest.mark.covers("S10", "U5")

QUESTION = "How long does the warranty of the pump last?"
PUMPS = """
synthesis: {style: structured, ask_back: {field: product}}
sources:
  - type: memory
    name: shop
    schema: {fields: {product: {type: string}}}
    records:
      - {id: a, content: The warranty of the pump lasts two years., product: Orion}
      - {id: b, content: The warranty of the pump lasts three years., product: Vega}
"""
REFUNDS = """
llm: {{provider: openai, model: test-model, base_url: "{url}"}}
intent: {{mode: static}}
limits: {{attempts: 1}}
retrieval: {{second_look: true}}
sources:
  - type: memory
    name: shop
    records: [Refunds are granted within 30 days of purchase., Penguins swim in the cold sea., Valves leak.]
"""
MONEY, OTHERWISE = "How do I get my money back?", "When are refunds granted after a purchase?"


def test_ask_asks_back_and_its_thread_goes_on_with_the_choice(call, tmp_path: Path) -> None:
    (tmp_path / "groundgraph.yaml").write_text(PUMPS)
    asked = call("ask", QUESTION, "--thread", "t1", "--json")
    assert (asked.code, asked.json["outcome"]) == (0, "clarify")
    assert [choice["label"] for choice in asked.json["choices"]] == ["Orion", "Vega"]
    answered = call("ask", "Vega", "--thread", "t1")
    assert answered.code == 0
    assert ("three years" in answered.out, "two years" in answered.out) == (True, False)
    plain = call("ask", QUESTION)
    assert "1. Orion [1]\n2. Vega [2]" in plain.out


def chat(call: Any, *lines: str) -> list[Any]:
    """The turns of a conversation of these messages."""
    ran = call("chat", "--json", said="\n".join((*lines, "")), OPENAI_API_KEY="test")
    assert ran.code == 0, ran.err
    turns: list[Any] = ran.json["turns"]
    return turns


def test_in_a_chat_a_number_chooses(call, tmp_path: Path) -> None:
    (tmp_path / "groundgraph.yaml").write_text(PUMPS)
    asked, answered = chat(call, QUESTION, "1")
    assert (asked["outcome"], len(asked["choices"])) == ("clarify", 2)
    assert "1. Orion [1]" in asked["answer"]
    assert (answered["outcome"], answered["choices"]) == ("answered", [])
    assert "two years" in answered["answer"]


WARRANTIES = """
llm: {{provider: openai, model: test-model, base_url: "{url}"}}
intent: {{mode: static}}
limits: {{attempts: 1}}
synthesis: {{style: structured, ask_back: true}}
sources:
  - type: memory
    name: shop
    records: [In Norway the warranty of the pump lasts two years., In Spain the warranty of the pump lasts three years.]
"""
COUNTRIES = "Norway: 1\nSpain: 2"


async def stopped_at(step: str, question: str, config: Path) -> None:
    """A turn of the thread `t` that has stopped before `step`."""
    async with open_graph(load_settings(config)) as graph:
        thread: Any = {"configurable": {"thread_id": "t"}}
        await graph.ainvoke({"messages": [("user", question)]}, thread, interrupt_before=[step])
        assert (await graph.aget_state(thread)).next == (step,)


@pytest.mark.covers("S11", "T3")
@pytest.mark.parametrize(
    ("step", "config", "question", "outcome"),
    [("ask_back", WARRANTIES, QUESTION, "clarify"), ("second_look", REFUNDS, MONEY, "answered")],
)
def test_a_chat_goes_on_where_a_turn_stopped(
    call, tmp_path: Path, monkeypatch, step: str, config: str, question: str, outcome: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    rules = [
        Rule("Put the question in other words", OTHERWISE),
        Rule("leaves something open", COUNTRIES),
        Rule("", "Within 30 days [1]."),
    ]
    with openai_stub(rules=rules) as stub:
        (tmp_path / "groundgraph.yaml").write_text(config.format(url=stub.base_url))
        (tmp_path / ".groundgraph").mkdir()
        asyncio.run(stopped_at(step, question, tmp_path / "groundgraph.yaml"))
        assert not stub.requests
        ran = call("chat", "--json", "--thread", "t")
    assert "Going on with it" in ran.err
    assert [turn["outcome"] for turn in ran.json["turns"]] == [outcome]
