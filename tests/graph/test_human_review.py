"""A person decides about answers with little support (U3); off by default."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import turns
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Overwrite, Send
from parents import in_a_row
from turns import STATIC, ask, asking, docs, thread

from groundgraph import Context, Settings, load_provenance, load_settings, open_graph, resume_turn, turn_graph
from groundgraph.core.errors import ConfigurationError, InputInvalid, NothingToResume, ReviewImpossible, ScopeMissing
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("U3")

WEAK = "The moon orbits a cheese [1]."
GOOD = "OAuth has four grant types [1]."


def settings(**sections: Any) -> Settings:
    return load_settings({"intent": {"mode": "static"}, "human_review": {"support_below": 0.6}, **sections})


def build(answer: str = WEAK, *, saver: Any = None, store: Any = None, **sections: Any) -> TurnRunner:
    base = {**STATIC, "human_review": {"support_below": 0.6}}
    return turns.build(answer, base=base, checkpointer=saver or InMemorySaver(), store=store, **sections)


async def waiting() -> TurnRunner:
    """With a turn that waits for a decision."""
    graph = build()
    await ask(graph, on="t")
    return graph


async def decide(graph: TurnRunner, **decision: Any) -> dict[str, Any]:
    result: dict[str, Any] = await graph.ainvoke(Command(resume=decision), thread())
    return result


async def test_without_the_setting_nobody_is_asked() -> None:
    graph = build(human_review={})
    assert "review_answer" not in graph.nodes
    assert (await ask(graph, on="t"))["answer"] == WEAK


async def test_an_answer_with_enough_support_goes_out() -> None:
    result = await ask(build(GOOD), on="t")
    assert result["answer"] == GOOD
    assert "__interrupt__" not in result
    assert "review" not in result["provenance"]


async def test_an_answer_with_little_support_waits_and_nobody_reads_it() -> None:
    graph = build()
    pieces, custom = "", []
    async for mode, item in graph.astream(asking(), thread(), stream_mode=["messages", "custom"]):
        if mode == "messages":
            pieces += item[0].text
        else:
            custom.append(item["stage"])
    assert pieces == ""
    assert "answer_released" not in custom
    state = await graph.aget_state(thread())
    assert state.next == ("review_answer",)
    [interrupt] = state.interrupts
    assert interrupt.value["answer"] == WEAK
    assert interrupt.value["support"] < interrupt.value["support_below"] == 0.6
    assert {flag["kind"] for flag in interrupt.value["flags"]} == {"low_support"}
    assert [one["label"] for one in interrupt.value["evidence"]] == list(range(1, len(interrupt.value["evidence"]) + 1))
    assert "four grant types" in interrupt.value["evidence"][0]["text"]
    schema = interrupt.response_schema
    assert schema["properties"]["decision"]["enum"] == ["approve", "refuse", "replace"]
    assert schema["required"] == ["decision"]
    assert schema["additionalProperties"] is False


async def test_an_approved_answer_goes_out_as_it_was_written() -> None:
    graph = await waiting()
    result = await decide(graph, decision="approve", comment="It is a joke.")
    assert (result["answer"], result["outcome"]) == (WEAK, "answered")
    assert [one["label"] for one in result["citations"]] == [1]
    review = result["provenance"]["review"]
    assert (review["decision"], review["comment"], review["asked"]) == ("approve", "It is a joke.", 1)
    assert review["score"] < 0.6
    assert result["messages"][-1].text == WEAK
    assert len(result["messages"]) == 2


async def test_a_refused_answer_is_withheld() -> None:
    graph = await waiting()
    result = await decide(graph, decision="refuse")
    assert result["outcome"] == "insufficient"
    assert result["answer"].startswith("An answer was written but withheld: a person decided so.")
    assert result["citations"] == []
    assert result["provenance"]["review"]["decision"] == "refuse"
    assert result["provenance"]["finish"] == "withheld"


async def test_a_persons_words_pass_the_gate_and_the_check_of_a_models() -> None:
    graph = await waiting()
    written = "OAuth has 17 grant types [2]. ![x](https://evil.example/x.png)"
    result = await decide(graph, decision="replace", text=written)
    assert result["answer"].startswith("OAuth has 17 grant types [1].")
    assert "evil.example" not in result["answer"]
    assert [one["label"] for one in result["citations"]] == [1]
    cited = result["provenance"]["citation_check"]["order"]
    assert len(cited) == 1
    assert cited != [1]
    assert "number_unsupported" in {flag["kind"] for flag in result["support"]["flags"]}
    assert any("A person wrote this answer" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("invalid", "problem"),
    [
        ("yes", "review"),
        ({"comment": "Hm."}, "decision"),
        ({"decision": "maybe"}, "decision"),
        ({"decision": "replace"}, "text belongs to"),
        ({"decision": "replace", "text": "  "}, "text belongs to"),
        ({"decision": "approve", "text": "Other."}, "text belongs to"),
        ({"decision": "approve", "sudo": True}, "sudo"),
        ({"decision": "replace", "text": "See [99]."}, r"\[99\] refers to no evidence"),
    ],
)
async def test_an_invalid_decision_keeps_the_turn_open_and_asks_again(invalid: Any, problem: str) -> None:
    graph = build()
    first = (await ask(graph, on="t"))["__interrupt__"][0]
    again = (await graph.ainvoke(Command(resume=invalid), thread()))["__interrupt__"][0]
    assert again.id != first.id
    assert pytest.approx(first.value["support"]) == again.value["support"]
    assert again.value["answer"] == WEAK
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(again.value["problem"])
    result = await decide(graph, decision="approve")
    assert result["answer"] == WEAK
    assert result["provenance"]["review"]["asked"] == 2


async def test_nothing_at_all_is_no_decision() -> None:
    graph = build()
    first = (await ask(graph, on="t"))["__interrupt__"][0]
    assert (await graph.ainvoke(Command(resume={}), thread()))["__interrupt__"][0].id == first.id
    assert (await graph.ainvoke(None, thread()))["__interrupt__"][0].id == first.id
    assert (await decide(graph, decision="approve"))["answer"] == WEAK


async def test_a_decision_in_another_process_finds_the_same_evidence(tmp_path: Path) -> None:
    stored = settings(
        checkpointer={"type": "sqlite", "path": tmp_path / "t.sqlite"},
        store={"type": "sqlite", "path": tmp_path / "e.sqlite"},
    )
    async with open_graph(stored, sources=[docs()], chat_model=ScriptedChatModel(WEAK)) as graph:
        await ask(graph, on="t")
    silent = ScriptedChatModel([])
    async with open_graph(stored, sources=[docs()], chat_model=silent) as graph:
        result = await decide(graph, decision="replace", text=GOOD)
        record = await load_provenance(graph, thread()["configurable"]["thread_id"])
    assert result["answer"] == GOOD
    assert "four grant types" in result["citations"][0]["quote"]
    assert record["review"]["decision"] == "replace"
    assert silent.calls == []


async def test_the_next_turn_of_the_thread_is_not_reviewed_by_the_last_decision() -> None:
    graph = build(store=InMemoryStore())
    for _ in range(2):
        assert "__interrupt__" in await ask(graph, on="t")
        await decide(graph, decision="approve")


@pytest.mark.covers("R13")
async def test_nobody_decides_from_another_scope() -> None:
    graph = build()
    await ask(graph, on="t", context=Context(scope={"tenant": "a"}))
    with pytest.raises(ScopeMissing, match="another scope"):
        await graph.ainvoke(Command(resume={"decision": "approve"}), thread(), context=Context(scope={"tenant": "b"}))
    # The turn stays open for those whom it belongs to; who decides without a context does so in the turn's own.
    assert (await decide(graph, decision="approve"))["answer"] == WEAK


async def test_a_question_in_place_of_a_decision_begins_a_new_turn() -> None:
    graph = await waiting()
    second = await ask(graph, "Who uses the authorization code grant of OAuth?", "t")
    assert second["__interrupt__"][0].value["question"] == "Who uses the authorization code grant of OAuth?"
    assert (await decide(graph, decision="approve"))["answer"] == WEAK


async def test_who_resumes_a_turn_that_waits_is_asked_again_and_given_no_answer() -> None:
    graph = build()
    asked = (await ask(graph, on="t"))["__interrupt__"][0]
    result = await resume_turn(graph, "t")
    assert "answer" not in result
    assert result["__interrupt__"][0].id == asked.id


@pytest.mark.parametrize("thread_id", [None, "t"])
async def test_an_answer_that_cannot_wait_is_an_error_that_says_so(thread_id: str | None) -> None:
    graph = turn_graph(settings(), sources=[docs()], chat_model=ScriptedChatModel(WEAK))
    for asked in (graph, in_a_row(turn=graph).compile(store=InMemoryStore())):
        with pytest.raises(ReviewImpossible, match="checkpointer and a thread_id"):
            await ask(asked, on=thread_id)


def test_nobody_decides_about_an_answer_that_is_written_anew_when_the_decision_comes() -> None:
    with pytest.raises(ConfigurationError, match="checkpointer=False keeps none"):
        turn_graph(settings(), sources=[docs()], chat_model=ScriptedChatModel(WEAK), checkpointer=False)


async def test_a_policy_of_the_citation_check_comes_first() -> None:
    result = await ask(build(citation_check={"support": "refuse"}), on="t")
    assert "__interrupt__" not in result
    assert result["outcome"] == "insufficient"


async def test_what_quotes_its_evidence_or_finds_none_does_not_wait() -> None:
    quoting = build(synthesis={"style": "structured"})
    assert (await ask(quoting, on="t"))["outcome"] == "answered"
    nothing = build()
    assert (await ask(nothing, "Where do penguins breed?", "t"))["outcome"] == "insufficient"


@pytest.mark.parametrize("value", [0, 1.2, "low"])
def test_a_threshold_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="support_below"):
        load_settings({"human_review": {"support_below": value}})


@pytest.mark.covers("F20", "fault 105")
async def test_a_question_in_place_of_a_decision_ends_the_review_and_both_turns_say_so() -> None:
    graph = build(store=InMemoryStore())
    waiting = (await ask(graph, on="t"))["__interrupt__"][0].value
    graph = build(GOOD, saver=graph.checkpointer, store=graph.store)
    result = await ask(graph, "Which grant types does OAuth have, please?", "t")
    assert result["answer"] == GOOD
    [told] = [note for note in result["notes"] if "ended without one" in note]
    assert f'"{waiting["question"]}"' in told
    ended = await load_provenance(graph, "t", waiting["turn_id"])
    assert ended["review"]["decision"] == "none"
    assert (ended["outcome"], ended["answer"], ended["citations"]) == ("insufficient", "", [])
    assert any("it was not given out" in note for note in ended["notes"])
    assert ended["results"][0]["text"]
    assert ended["turn_id"] != result["provenance"]["turn_id"]
    # The turn after that has nothing to say about it.
    assert not [note for note in (await ask(graph, on="t"))["notes"] if "ended" in note]


@pytest.mark.covers("F20", "fault 105")
async def test_who_decides_after_all_goes_on_from_where_the_turn_waited() -> None:
    graph = build(store=InMemoryStore())
    waiting = (await ask(graph, on="t"))["__interrupt__"][0].value
    point = await graph.aget_state(thread())
    await ask(graph, "Hello", "t")
    assert "__interrupt__" in await graph.ainvoke(None, point.config)
    result = await decide(graph, decision="approve")
    assert result["answer"] == WEAK
    assert (await load_provenance(graph, "t", waiting["turn_id"]))["review"]["decision"] == "none"
    assert (await load_provenance(graph, "t"))["review"]["decision"] == "approve"


@pytest.mark.covers("F20", "fault 105")
@pytest.mark.parametrize("decision", ["approve", "refuse"])
async def test_a_review_that_was_decided_is_not_said_to_have_ended(decision: str) -> None:
    graph = build(store=InMemoryStore())
    await ask(graph, on="t")
    await decide(graph, decision=decision)
    again = await graph.ainvoke(asking("Who uses OAuth?"), thread(), interrupt_before=["review_answer"])
    assert again is not None
    issues = (await graph.aget_state(thread())).values["turn"]["issues"]
    assert issues == []


@pytest.mark.covers("F20")
async def test_a_graph_that_nothing_keeps_is_refused_before_it_asks_anybody() -> None:
    model = ScriptedChatModel(GOOD)
    graph = turn_graph(settings(), sources=[docs()], chat_model=model)
    with pytest.raises(ReviewImpossible, match="checkpointer and a thread_id, or switch human_review off"):
        await ask(graph, on="t")
    assert model.calls == []
    # Inside a parent, the parent's checkpointer keeps it.
    parent = in_a_row(turn=graph).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    assert (await ask(parent, on="t"))["messages"][-1].text == GOOD


# What is changed while an answer waits.

EVIL = "See https://evil.example/x [7] [1]"
UNCHECKED: list[tuple[str, Any]] = [
    ("draft", {"text": EVIL}),
    ("check", {"score": 1.0, "flags": []}),
    ("ranking", {"refs": []}),
    ("messages", [("user", "How often is pump 17 serviced?")]),
    ("question", "How often is pump 17 serviced?"),
    ("turn", {"question": "How often is pump 17 serviced?"}),
    ("answer", EVIL),
]


@pytest.mark.parametrize("decision", [{"decision": "approve"}, {"decision": "refuse"}, None])
@pytest.mark.parametrize(("channel", "value"), UNCHECKED)
async def test_nothing_comes_with_a_decision_that_no_step_looks_at(channel: str, value: Any, decision: Any) -> None:
    graph = await waiting()
    for update in ({channel: value}, [(channel, value)]):
        with pytest.raises(InputInvalid, match=rf"changes '{channel}'.*\"replace\".*update_state"):
            await graph.ainvoke(Command(resume=decision, update=update), thread())
    # The turn waits as before.
    result = await decide(graph, decision="approve")
    assert result["answer"] == WEAK
    assert [message.text for message in result["messages"]] == [turns.QUESTION, WEAK]
    assert [flag["kind"] for flag in result["support"]["flags"]] == ["low_support"]


async def test_metadata_of_the_session_may_come_with_a_decision() -> None:
    graph = await waiting()
    metadata = {"queue": "legal", "retrieval_provenance": {"turn_id": "forged"}}
    result = await graph.ainvoke(Command(resume={"decision": "approve"}, update={"metadata": metadata}), thread())
    assert result["answer"] == WEAK
    assert result["metadata"]["queue"] == "legal"
    assert result["metadata"]["retrieval_provenance"]["turn_id"] == result["provenance"]["turn_id"]


@pytest.mark.parametrize("goto", ["record_turn", ["refuse_answer", "record_turn"], Send("record_turn", {})])
async def test_no_command_sends_a_turn_past_a_review(goto: Any) -> None:
    graph = await waiting()
    for resume in (None, {"decision": "approve"}):
        with pytest.raises(InputInvalid, match=r"no command sends it elsewhere \(goto\).*\"approve\""):
            await graph.ainvoke(Command(resume=resume, goto=goto), thread())
    assert (await decide(graph, decision="approve"))["answer"] == WEAK


async def test_a_command_that_says_nothing_is_told() -> None:
    graph = await waiting()
    with pytest.raises(InputInvalid, match=r"says nothing.*send None"):
        await graph.ainvoke(Command(resume=None), thread())
    assert (await decide(graph, decision="approve"))["answer"] == WEAK


@pytest.mark.covers("V1", "fault 57")
@pytest.mark.parametrize("step", [None, "check_citations", "review_answer", "answer_conversational"])
async def test_words_that_were_edited_while_they_waited_are_checked_and_wait_for_a_decision_about_them(
    step: str | None,
) -> None:
    graph = await waiting()
    draft = (await graph.aget_state(thread())).values["draft"]
    edit = {"draft": {**draft, "text": EVIL, "review": {"decision": "approve"}}}
    if step == "review_answer":
        with pytest.raises(InputInvalid, match="waits for a person's decision"):
            await graph.aupdate_state(thread(), edit, as_node=step)
        return
    await graph.aupdate_state(thread(), edit, as_node=step)
    # A decision from before is none about these words: who sends it is told to look at them first.
    with pytest.raises(NothingToResume, match=r"stopped at the step 'check_citations'.*decide when it asks"):
        await decide(graph, decision="refuse")
    asked = (await graph.ainvoke(None, thread()))["__interrupt__"][0].value
    assert asked["answer"] == "See https[://]evil[.]example/x [1]"
    assert {"unresolved_label", "link_removed"} <= {flag["kind"] for flag in asked["flags"]}
    result = await decide(graph, decision="approve")
    assert result["answer"] == asked["answer"]
    assert any("A person changed this answer" in note for note in result["notes"])
    assert result["provenance"]["edited"]["draft"]["text"] == {"was": WEAK, "is": EVIL}
    assert "unresolved_label" in {flag["kind"] for flag in result["support"]["flags"]}


@pytest.mark.covers("V1")
@pytest.mark.parametrize("edit", [{"order": [2]}, {"written": 0}, {"quotes": []}, {"review": {"decision": "approve"}}])
async def test_what_words_refer_to_and_whose_they_are_is_an_edit_of_them(edit: dict[str, Any]) -> None:
    graph = await waiting()
    draft = (await graph.aget_state(thread())).values["draft"]
    await graph.aupdate_state(thread(), {"draft": {**draft, **edit}}, as_node="answer_conversational")
    [asked] = (await graph.ainvoke(None, thread()))["__interrupt__"]
    assert "low_support" in {flag["kind"] for flag in asked.value["flags"]}
    result = await decide(graph, decision="approve")
    assert any("A person changed this answer" in note for note in result["notes"])
    assert list(result["provenance"]["edited"]["draft"]) == list(edit)
    cited = edit.get("order", draft["order"])
    assert result["provenance"]["citation_check"]["order"] == cited


@pytest.mark.covers("V1")
async def test_nobody_edits_what_the_check_found_or_decides_by_an_edit() -> None:
    graph = await waiting()
    values = (await graph.aget_state(thread())).values
    for step in (None, "check_citations"):
        for check in ({"score": 1.0, "flags": []}, {**values["check"], "verdict": "pass"}):
            with pytest.raises(InputInvalid, match=r"which no edit changes.*'draft'"):
                await graph.aupdate_state(thread(), {"check": check}, as_node=step)
    for step in ("review_answer", "refuse_answer", "record_turn"):
        for edit in ({}, None, {"metadata": {"mine": 1}}):
            with pytest.raises(InputInvalid, match=f"as the step '{step}' would go on without it.*Decide"):
                await graph.aupdate_state(thread(), edit, as_node=step)
    # What Studio sends back unchanged beside an edit hurts nobody.
    await graph.aupdate_state(thread(), {**values, "metadata": {"mine": 1}})
    assert (await decide(graph, decision="approve"))["metadata"]["mine"] == 1


@pytest.mark.covers("V1")
async def test_an_answer_that_waits_never_stands_behind_another_question() -> None:
    graph = await waiting()
    [asked] = (await graph.aget_state(thread())).values["messages"]
    other = HumanMessage("How often is pump 17 serviced?")
    for messages in (Overwrite([other]), Overwrite([]), [RemoveMessage(id=asked.id)]):
        with pytest.raises(InputInvalid, match="answers the message"):
            await graph.aupdate_state(thread(), {"messages": messages})
    await graph.aupdate_state(thread(), {"messages": Overwrite([HumanMessage("Before."), asked])})
    result = await decide(graph, decision="approve")
    assert [message.text for message in result["messages"]] == ["Before.", turns.QUESTION, WEAK]
    await graph.aupdate_state(thread(), {"messages": [other]})
    assert (await graph.ainvoke(None, thread())) is not None


# Decisions that nobody waits for.


async def test_a_decision_that_comes_too_late_or_that_nobody_asked_for_is_told() -> None:
    graph = build(store=InMemoryStore())
    await ask(graph, on="t")
    with pytest.raises(NothingToResume, match="'never': this graph has no turn there that waits"):
        await graph.ainvoke(Command(resume={"decision": "approve"}), thread("never"))
    both = [decide(graph, decision="approve"), decide(graph, decision="refuse")]
    first, second = await asyncio.gather(*both, return_exceptions=True)
    assert isinstance(first, dict)
    assert first["answer"] == WEAK
    assert isinstance(second, NothingToResume)
    assert "somebody has decided" in str(second)
    assert (await load_provenance(graph, "t"))["review"]["decision"] == "approve"
    assert len((await graph.aget_state(thread())).values["messages"]) == 2


async def test_another_decision_at_a_checkpoint_that_was_decided_is_refused_and_how_to_make_it_is_told() -> None:
    graph = await waiting()
    waited = (await graph.aget_state(thread())).config
    await decide(graph, decision="approve")
    with pytest.raises(NothingToResume, match=r"somebody has decided at this checkpoint.*update_state\(config, None\)"):
        await graph.ainvoke(Command(resume={"decision": "refuse"}), waited)
    fork = await graph.aupdate_state(waited, None)
    assert "__interrupt__" in await graph.ainvoke(None, fork)
    assert (await decide(graph, decision="refuse"))["outcome"] == "insufficient"


async def test_nobody_decides_about_an_answer_before_it_is_shown() -> None:
    graph = build()
    await graph.ainvoke(asking(), thread(), interrupt_before=["check_citations"])
    with pytest.raises(NothingToResume, match=r"stopped at the step 'check_citations'\. Go on with it by None"):
        await decide(graph, decision="approve")
    assert "__interrupt__" in await graph.ainvoke(None, thread())
    # A server that runs again what was cut brings the same decision for the same run.
    run = {**thread(), "metadata": {"run_id": "r1"}}
    decided = Command(resume={"decision": "approve"})
    await graph.ainvoke(decided, run, interrupt_before=["record_turn"])
    with pytest.raises(NothingToResume, match="'record_turn'"):
        await decide(graph, decision="refuse")
    assert (await graph.ainvoke(decided, run))["answer"] == WEAK


async def test_a_stop_of_a_graph_without_reviews_is_gone_on_from_in_any_way() -> None:
    graph = build(GOOD, human_review={})
    await graph.ainvoke(asking(), thread(), interrupt_before=["check_citations"])
    assert (await graph.ainvoke(Command(resume=True), thread()))["answer"] == GOOD


# What a person writes.

REFUSED = 'It says "OAuth was invented by Napoleon in 1812" [1].'
STRICT = {"quotes": "refuse", "numbers": "refuse", "names": "refuse"}


@pytest.mark.covers("F20")
async def test_what_a_policy_refuses_in_a_persons_words_is_asked_for_again() -> None:
    graph = build(citation_check=STRICT)
    await ask(graph, on="t")
    [asked] = (await decide(graph, decision="replace", text=REFUSED, comment="First."))["__interrupt__"]
    assert asked.value["answer"] == REFUSED
    assert "citation_check refuses it (quote_not_found" in asked.value["problem"]
    assert {"quote_not_found", "number_unsupported"} <= {flag["kind"] for flag in asked.value["flags"]}
    # Nor do they go out by being approved; another invalid reply changes nothing of that.
    for decision in ({"decision": "approve"}, {"decision": "perhaps"}, {"decision": "approve"}):
        [asked] = (await decide(graph, **decision))["__interrupt__"]
    assert "citation_check refuses it" in asked.value["problem"]
    result = await decide(graph, decision="replace", text=GOOD)
    assert (result["answer"], result["outcome"], result["support"]["flags"]) == (GOOD, "answered", [])
    assert [note for note in result["notes"] if "A person wrote this answer" in note] == result["notes"]
    review = result["provenance"]["review"]
    assert (review["decision"], review["asked"], review["score"]) == ("replace", 5, 0.0)
    assert "comment" not in review


@pytest.mark.covers("F20")
async def test_words_that_a_policy_refused_may_be_withheld_or_left_to_wait() -> None:
    graph = build(citation_check=STRICT, store=InMemoryStore())
    for name in ("t", "u"):
        waits = (await ask(graph, on=name))["__interrupt__"][0].value
        await graph.ainvoke(Command(resume={"decision": "replace", "text": REFUSED}), thread(name))
    result = await decide(graph, decision="refuse")
    assert (result["outcome"], result["citations"], result["notes"]) == ("insufficient", [], [])
    assert "Napoleon" not in result["answer"]
    await ask(graph, "Hello", "u")
    ended = await load_provenance(graph, "u", waits["turn_id"])
    assert (ended["review"]["decision"], ended["answer"], ended["outcome"]) == ("none", "", "insufficient")
    assert not [note for note in ended["notes"] if "A person wrote" in note]


@pytest.mark.covers("fault 19")
@pytest.mark.parametrize("text", ["<think>x</think>", "\u200b\u202e", "[1].", "<think>x</think> [1]"])
@pytest.mark.parametrize("style", ["conversational", "hybrid"])
async def test_a_text_of_which_the_gate_leaves_nothing_replaces_no_answer(text: str, style: str) -> None:
    graph = build(synthesis={"style": style})
    await ask(graph, on="t")
    [asked] = (await decide(graph, decision="replace", text=text))["__interrupt__"]
    assert asked.value["answer"].startswith(WEAK)
    assert "text: it says nothing" in asked.value["problem"]
    assert (await decide(graph, decision="approve"))["answer"].startswith(WEAK)


# What is told while an answer waits.


@pytest.mark.covers("F20")
@pytest.mark.parametrize("policies", [{}, {"support": "repair"}, {"support": "refuse"}])
async def test_events_tell_no_words_of_an_answer_that_nobody_may_read(policies: Any) -> None:
    quoted = 'The moon orbits a cheese [1]. "OAuth has four grant types" [1].'
    graph = build(quoted, citation_check={**policies})
    events = [item async for item in graph.astream(asking(), thread(), stream_mode="custom")]
    [told, *_] = [event for event in events if event["stage"] == "check_citations"]
    assert "low_support" in {flag["kind"] for flag in told["flags"]}
    assert told["score"] < 0.6
    assert "cheese" not in str(events)
    assert told["quotes"] == []
    if not policies:
        asked = (await graph.aget_state(thread())).interrupts[0].value
        assert "cheese" in asked["flags"][0]["sentence"]


async def test_events_tell_the_findings_of_an_answer_that_is_given_out() -> None:
    graph = build(human_review={})
    events = [item async for item in graph.astream(asking(), thread(), stream_mode="custom")]
    assert "cheese" in str([event for event in events if event["stage"] == "check_citations"])
