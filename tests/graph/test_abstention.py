"""A model that finds no answer in its evidence says so, and the turn is honest about it."""

from __future__ import annotations

import pytest
from turns import QUESTION, STATIC, ask, build

from groundgraph.testing import Reply

pytestmark = pytest.mark.covers("S9")

COST = "How much does a service of pump 17 cost?"


def conversational(reply, **settings):
    return build(reply, base=STATIC, synthesis={"style": "conversational"}, **settings)


@pytest.mark.parametrize("style", ["conversational", "hybrid"])
async def test_an_abstention_is_insufficient_says_what_is_missing_and_shows_what_comes_closest(style):
    graph = build("NO_ANSWER: the price of a service", base=STATIC, synthesis={"style": style})
    output = await ask(graph, COST)
    assert output["outcome"] == output["provenance"]["outcome"] == "insufficient"
    assert "NO_ANSWER" not in str({**output, "provenance": ""})
    assert "the price of a service" in output["notes"][0]
    assert "Pump 17 is serviced every 90 days." in output["answer"]
    assert output["answer"].startswith("The evidence may not answer this question.")
    assert output["support"]["flags"] == [], "the 17 of the question is no number of the answer's"


@pytest.mark.covers("fault 70")
async def test_nobody_reads_the_line_while_it_streams_and_the_whole_is_the_answer():
    graph = conversational(Reply(chunks=["NO", "_ANS", "WER", ": the", " price"]))
    pieces = [piece.text async for piece, _ in graph.astream({"messages": [("user", COST)]}, stream_mode="messages")]
    assert pieces
    assert "NO" not in "".join(pieces)
    assert "".join(pieces).startswith("The evidence may not answer")


async def test_words_beside_the_line_stay_and_the_turn_is_insufficient_all_the_same():
    output = await ask(conversational("Pump 17 is serviced every 90 days [1].\nNO_ANSWER: its price."), COST)
    assert output["outcome"] == "insufficient"
    assert output["answer"].strip() == "Pump 17 is serviced every 90 days [1]."
    assert "its price." in output["notes"][0]


async def test_a_template_of_the_users_does_not_take_the_evidence_for_an_answer():
    graph = build("NO_ANSWER", base=STATIC, synthesis={"style": "conversational", "template": "ANSWER: {{ context }}"})
    output = await ask(graph, QUESTION)
    assert output["outcome"] == "insufficient"
    assert "ANSWER:" not in output["answer"]


async def test_the_line_is_asked_for_unless_general_knowledge_may_fill_the_gap():
    for allowed, asked in ((False, True), ("bridge", True), (True, False)):
        graph = build("Four [1].", base=STATIC, synthesis={"style": "conversational", "allow_parametric": allowed})
        await ask(graph, QUESTION)
        assert ("NO_ANSWER:" in graph.resources.chat_model.calls[0].text) is asked
