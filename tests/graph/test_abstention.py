"""A model that finds no answer in its evidence says so, and the turn is honest about it."""

from __future__ import annotations

import pytest
from turns import QUESTION, STATIC, ask, build, docs

from groundgraph import InMemorySource
from groundgraph.testing import Reply
from groundgraph.testing.faulty_source import FaultySource

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


@pytest.mark.parametrize("between", ["\n", " "])
async def test_words_beside_the_line_stay_and_the_turn_is_insufficient_all_the_same(between):
    output = await ask(conversational(f"Pump 17 is serviced every 90 days [1].{between}NO_ANSWER: its price."), COST)
    assert output["outcome"] == "insufficient"
    assert output["answer"].strip() == "Pump 17 is serviced every 90 days [1]."
    assert "its price." in output["notes"][0]


@pytest.mark.parametrize("reply", ["I do not know.", "I don't know. Unclear."])
async def test_words_that_only_say_that_nothing_is_known_are_no_answer(reply):
    assert (await ask(conversational(reply), COST))["outcome"] == "insufficient"


@pytest.mark.covers("S8", "R7")
@pytest.mark.parametrize(
    ("reply", "more"),
    [("NO_ANSWER: x", {}), ("Every 60 days [1].", {"citation_check": {"numbers": "refuse"}})],
)
async def test_what_a_model_does_not_find_beside_a_source_that_is_down_is_no_ignorance(reply, more):
    sources = [docs(), FaultySource(InMemorySource([], name="down"), error=ConnectionError("x"))]
    output = await ask(build(reply, base=STATIC, sources=sources, synthesis={"style": "conversational"}, **more), COST)
    assert output["outcome"] == output["provenance"]["outcome"] == "unavailable"
    assert any("down" in note for note in output["notes"])


@pytest.mark.covers("S8")
@pytest.mark.parametrize("style", ["conversational", "hybrid"])
@pytest.mark.parametrize(
    "reply",
    [
        "Which service do you mean, the yearly or the quarterly one?",
        "I need to know more. Which service do you mean?\n- the yearly one\n- the quarterly one",
        "**Do you mean the service of pump 17 [1] or its filter?**",
        "NO_ANSWER: Which service do you mean?",
    ],
)
async def test_a_question_in_place_of_an_answer_is_shown_as_one(reply, style):
    output = await ask(build(reply, base=STATIC, synthesis={"style": style}), COST, on="t")
    assert output["outcome"] == output["provenance"]["outcome"] == "clarify"
    assert output["answer"].startswith(reply.removeprefix("NO_ANSWER: ")[:15])
    assert output["choices"] == []


async def test_the_question_said_again_is_no_question_back():
    output = await ask(conversational(f"**{COST}**"), COST)
    assert (output["outcome"], output["notes"]) == (
        "insufficient",
        ["The language model found no answer in the passages."],
    )


@pytest.mark.parametrize(
    "reply",
    [
        "It costs 90 euros [1]. Would you like to know more?",
        "What does it cost?\nIt costs 90 euros [1].",
        "# What does it cost?\n- 90 euros [1]",
        "It costs 90 euros. The price includes parts.",
    ],
)
async def test_an_answer_that_asks_too_is_an_answer(reply):
    assert (await ask(conversational(reply), COST))["outcome"] == "answered"


async def test_where_no_citation_is_asked_for_only_a_text_that_does_nothing_but_ask_is_a_question():
    reply = "It costs 90 euros. Would you like to know more?"
    for synthesis in ({"require_citations": False}, {"allow_parametric": True}):
        graph = build(reply, base=STATIC, synthesis={"style": "conversational", **synthesis})
        assert (await ask(graph, COST))["outcome"] == "answered"


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


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("I'm sorry, but the provided evidence does not contain any information about this.", "insufficient"),
        ("The documents do not say what a service costs. Its price is not mentioned in any source.", "insufficient"),
        ("None of the passages mentions what it costs. This is not given in the excerpts.", "insufficient"),
        ("Die Passagen enthalten keine Angaben zu den Kosten.", "insufficient"),
        ("In den Auszügen steht nichts über die Kosten. Ich weiß es nicht.", "insufficient"),
        ("Cette information n'est pas disponible dans les extraits.", "insufficient"),
        ("Ningún pasaje menciona el precio. Lo siento, pero no puedo responder.", "insufficient"),
        ("В отрывках не указана стоимость. Ответить по ним невозможно.", "insufficient"),
        ("Die Pumpe enthält keine Dichtung.", "answered"),
        ("The documents do not say what a service costs. Pump 17 is serviced every 90 days.", "answered"),
        ("The documents do not say what a service costs [1].", "insufficient"),
        ("There is no information about this in the passages [1].", "insufficient"),
        ("The documents do not say what a service costs [1]. It is done every 90 days [1].", "answered"),
        ("I cannot provide more than that it is done every 90 days [1].", "answered"),
    ],
)
async def test_a_text_that_says_only_what_the_evidence_lacks_is_no_answer(reply, outcome):
    output = await ask(conversational(reply), COST)
    assert (output["outcome"], output["answer"]) == (outcome, reply)
    assert ("The language model found no answer in the passages." in output["notes"]) is (outcome == "insufficient")
    # Where it need not cite, it may tell about the evidence.
    free = build(reply, base=STATIC, synthesis={"style": "conversational", "require_citations": False})
    assert (await ask(free, COST))["outcome"] == "answered"


CALL = '{"name": "search", "arguments": {"query": "pump 17", "ids": [1, 9]}}'


@pytest.mark.covers("S6")
@pytest.mark.parametrize(
    "call", [CALL, f"<tool_call>\n{CALL}\n</tool_call>", f"<think>So.</think>```json\n{CALL}\n```"]
)
@pytest.mark.parametrize("size", [1, 7, 500])
async def test_a_tool_call_that_is_written_as_text_is_no_text(call, size):
    graph = conversational(Reply(chunks=[call[at : at + size] for at in range(0, len(call), size)]))
    pieces = [
        piece.text async for piece, _ in graph.astream({"messages": [("user", QUESTION)]}, stream_mode="messages")
    ]
    assert "search" not in "".join(pieces)
    output = await ask(conversational(call), QUESTION)
    assert "it wrote nothing" in output["notes"][0]
    assert "OAuth has four grant types." in output["answer"]


@pytest.mark.parametrize(
    "reply",
    [
        f"A call looks so [1]: {CALL}",
        f"{CALL}\n\nPump 17 is serviced every 90 days [1].",
        '{"name": "pump 17", "serviced": "every 90 days [1]"}',
        "`serve(17)` is called every 90 days [1].",
    ],
)
async def test_what_is_no_tool_call_as_a_whole_is_an_answer(reply):
    output = await ask(conversational(Reply(chunks=list(reply))), QUESTION)
    assert output["answer"].replace("\\", "")[:8] == reply[:8]
    assert output["provenance"]["written"]
