"""Another look before a turn ends without an answer (S11)."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from turns import STATIC, ask, build

from groundgraph import InMemorySource
from groundgraph.testing import Reply, Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("S11")

# Words that are not those of the question.
TEXTS = ["Refunds are granted within 30 days of purchase.", "Penguins swim in the cold sea.", "Valves leak."]
ASKED, OTHERWISE = "How do I get my money back?", "When are refunds granted after a purchase?"
LOOK = {"retrieval": {"second_look": True}}


def model(*wording, answer="Within 30 days [1]."):
    replies = list(wording) or [OTHERWISE]
    return ScriptedChatModel(rules=[Rule("Put the question in other words", replies), Rule("", answer)])


def graph(reply=None, **given):
    source = InMemorySource(TEXTS, name="shop")
    return build(reply, base={**STATIC, **LOOK}, sources=[source], **given)


async def test_a_question_in_other_words_is_searched_for_once_and_answered():
    scripted = model()
    output = await ask(graph(scripted, synthesis={"style": "conversational"}), ASKED)
    assert (output["outcome"], output["answer"]) == ("answered", "Within 30 days [1].")
    record = output["provenance"]
    assert record["intent"]["stages"]["second_look"]["question"] == OTHERWISE
    assert record["sources"]["shop"]["queries"] == [ASKED, OTHERWISE]
    assert [call["role"] for call in record["models"]] == ["second_look", "answer"]
    assert ASKED in scripted.calls[0].prompt.evidence


async def test_without_a_model_for_the_answer_what_the_other_words_find_is_quoted():
    output = await ask(graph(model(), synthesis={"style": "structured"}), ASKED)
    assert output["outcome"] == "answered"
    assert f"> {TEXTS[0]} [1]" in output["answer"]
    assert any(OTHERWISE in note for note in output["notes"]), "a reader is told by which words it was found"


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("question", "wording"),
    [
        ("When was pump 21 retired?", "When did pump 18 retire?"),
        ("When was pump 21 retired?", "When did the pump retire?"),
        ("When was the valve R7 replaced?", "When did they put in the valve R9?"),
    ],
)
async def test_other_words_about_something_else_are_no_wording_of_the_question(question, wording):
    source = InMemorySource(["Pump 18 did retire in 2021.", "They put in the valve R9 in May."], name="plant")
    output = await ask(build(model(wording), base={**STATIC, **LOOK}, sources=[source]), question)
    assert output["outcome"] == "insufficient"


@pytest.mark.covers("S8")
async def test_a_name_that_other_words_leave_out_is_told_as_a_doubt():
    source = InMemorySource(["The canteen opens at noon."], name="house")
    asking = build(
        model("When does the canteen open?"),
        base={**STATIC, **LOOK},
        sources=[source],
        synthesis={"style": "structured"},
    )
    output = await ask(asking, "Who is the king of Spain?")
    assert "may not answer" in output["answer"]


async def test_there_is_one_second_look_and_no_third():
    scripted = model("What about locomotives?", "What about trams?")
    output = await ask(graph(scripted), ASKED)
    assert output["outcome"] == "insufficient"
    assert len(scripted.calls) == 1


async def test_a_turn_that_has_an_answer_looks_once():
    output = await ask(graph(model()), OTHERWISE)
    assert output["outcome"] == "answered"
    assert "second_look" not in output["provenance"]["intent"].get("stages", {})


@pytest.mark.parametrize(
    "failure", [Reply(status=500), Reply(""), ASKED, "I'm sorry, I can't help with that.", Reply("", refusal="No.")]
)
async def test_a_model_that_fails_leaves_the_turn_as_it_is_without_it_and_a_note(failure):
    limits = {"attempts": 1}
    output = await ask(graph(model(failure), limits=limits), ASKED)
    plain = await ask(build(model(), sources=[InMemorySource(TEXTS, name="shop")]), ASKED)
    assert (output["answer"], output["outcome"]) == (plain["answer"], "insufficient")
    assert any("second look" in note for note in output["notes"])
    assert output["provenance"]["intent"]["stages"]["second_look"]["status"] == "failed"


@pytest.mark.covers("T9")
async def test_it_is_no_call_more_than_a_turn_may_make():
    scripted = model()
    output = await ask(graph(scripted, limits={"model_calls": 2}), ASKED)
    assert scripted.calls == []
    assert output["outcome"] == "insufficient"


async def test_without_a_model_only_what_was_narrowed_is_searched_wider():
    output = await ask(graph(), ASKED)
    assert output["provenance"]["intent"]["stages"]["second_look"]["reason"] == "nothing narrowed the search"
    assert output["outcome"] == "insufficient"


@pytest.mark.covers("T3")
async def test_a_turn_that_stops_at_the_second_look_goes_on_there():
    kept = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    config = {"configurable": {"thread_id": "t"}}
    scripted = model()
    built = graph(scripted, synthesis={"style": "conversational"}, **kept)
    await built.ainvoke({"messages": [("user", ASKED)]}, config, interrupt_before=["second_look"])
    assert scripted.calls == []
    assert (await built.aget_state(config)).next == ("second_look",)
    again = graph(scripted, synthesis={"style": "conversational"}, **kept)
    output = await again.ainvoke(None, config)
    assert output["answer"] == "Within 30 days [1]."
    assert len(scripted.calls) == 2


@pytest.mark.covers("S8")
async def test_a_number_that_is_only_told_beside_the_question_need_not_stand_in_what_other_words_find():
    told = f"My ticket is BX-17. {ASKED}"
    output = await ask(graph(model(), synthesis={"style": "structured"}), told)
    assert (output["outcome"], "may not answer" in output["answer"]) == ("answered", False)
