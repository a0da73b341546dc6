"""An answer by a model, or what stands in for it (S6, T9)."""

from __future__ import annotations

import pytest
from langchain_core.runnables import RunnableLambda

from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.answers.write_answer import Assignment, answer_id, write_answer
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_TURN
from groundgraph.prompts import Prompts
from groundgraph.settings.context import options_in_force
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, ScriptedChatModel

TURN = {**EMPTY_TURN, "id": "t1", "question": "When do tokens expire?", "message_id": "m1", "language": "en"}
EVIDENCE = [
    SourceResult(f"Tokens of kind {n} expire after {n} hours.", str(n), "docs", "memory", 0.9) for n in range(1, 5)
]


async def write(reply, *, evidence=EVIDENCE, calls=(), turn=TURN, prefix="", suffix="", streamed=False, **config):
    settings = load_settings({"deadlines": {"model": 30}, **config})
    model = None if reply is None else ScriptedChatModel(reply)
    options = options_in_force(settings, {}, None)
    task = Assignment(turn, options, evidence, (), {}, {}, calls, prefix=prefix, suffix=suffix)
    templates = AnswerTemplates.compile(settings.synthesis, Prompts())
    if not streamed:
        draft = await write_answer(task, model, settings, templates)
        return draft, draft.get("calls", []), model

    # What LangGraph's streaming does: a handler that wants tokens makes every model call below it stream.
    async def node(_):
        return await write_answer(task, model, settings, templates)

    events = [event async for event in RunnableLambda(node).astream_events(None, version="v2")]
    draft = events[-1]["data"]["output"]
    shown = "".join(event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream")
    assert not draft["written"] or shown == draft["text"]
    return draft, draft.get("calls", []), model


def assert_structured(draft, note: str) -> None:
    assert draft["text"].startswith("From the evidence:")
    assert "## Sources" not in draft["text"]
    assert draft["style"] == "structured"
    assert draft["written"] == 0
    assert note in draft["notes"][0]


async def test_the_models_text_is_the_draft_and_the_call_is_recorded():
    draft, [call], _ = await write(Reply("After an hour [1].", usage=(50, 5)))
    assert draft["text"] == "After an hour [1]."
    assert (draft["outcome"], draft["finish"], draft["notes"], draft["removed"]) == ("answered", "stop", [], [])
    assert draft["written"] == len(draft["text"])
    assert (call["role"], call["input_tokens"], call["output_tokens"], call["attempts"]) == ("answer", 50, 5, 1)
    assert call["estimated"] is False
    assert "error" not in call


@pytest.mark.covers("S6")
async def test_without_a_model_the_structured_answer_stands_in_with_one_notice():
    draft, calls, _ = await write(None)
    assert_structured(draft, "No language model is configured")
    assert len(draft["notes"]) == 1
    assert calls == []


@pytest.mark.covers("fault 19")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("text", ["", " \n ", "<think>hm</think>", "hm</think>", "[9]", "[1]", "[1, 2].", ".", "👍"])
async def test_an_empty_completion_gives_the_structured_answer_with_a_note(text, streamed):
    draft, calls, _ = await write(text, streamed=streamed)
    assert_structured(draft, "it wrote nothing")
    assert len(calls) == 1


@pytest.mark.covers("fault 20")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "reply", [Reply("", refusal="I cannot help."), Reply("I cannot help.", finish_reason="refusal")]
)
async def test_a_refusal_is_passed_on_and_marked(reply, streamed):
    draft, [call], _ = await write(reply, streamed=streamed)
    assert "error" not in call
    assert draft["text"] == "I cannot help."
    assert draft["finish"] == "refusal"
    assert "declined" in draft["notes"][0]


@pytest.mark.covers("fault 20")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refusal_without_a_word_is_told_as_one(streamed):
    draft, [call], _ = await write(Reply("", finish_reason="content_filter"), streamed=streamed)
    assert "error" not in call
    assert (draft["outcome"], draft["finish"], draft["text"]) == ("insufficient", "refusal", draft["notes"][0])
    assert "declined" in draft["text"]


@pytest.mark.covers("fault 19")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_that_ends_in_a_call_is_no_answer(streamed):
    reply = Reply("Let me search.", tool_calls=[{"name": "search", "args": {}, "id": "1"}])
    draft, [call], _ = await write(reply, streamed=streamed)
    assert (draft["outcome"], draft["finish"]) == ("insufficient", "error")
    assert "called a tool" in call["error"]


@pytest.mark.covers("fault 21")
async def test_what_the_length_limit_left_no_room_for_is_told():
    draft, _, _ = await write(Reply("<think>hm", finish_reason="length"))
    assert_structured(draft, "llm.max_tokens")


@pytest.mark.covers("fault 21")
async def test_a_truncated_answer_is_marked_and_ends_without_half_a_label():
    draft, _, _ = await write(Reply("After an hour [1]. Or two [2", finish_reason="length"))
    assert draft["text"] == "After an hour [1]. Or two"
    assert draft["finish"] == "length"
    assert "cut off" in draft["notes"][0]


@pytest.mark.covers("fault 22")
async def test_a_model_that_hangs_gives_way_to_the_structured_answer():
    draft, [call], _ = await write(Reply("late", delay=30), deadlines={"model": 0.2})
    assert_structured(draft, "no answer within 0.2 seconds")
    assert "0.2 seconds" in call["error"]


@pytest.mark.covers("fault 23")
async def test_a_busy_model_is_asked_again_and_the_tries_are_counted():
    replies = [Reply(status=429, headers={"retry-after": "0.1"}), Reply("Yes [1].")]
    draft, [call], _ = await write(replies)
    assert (draft["text"], call["attempts"]) == ("Yes [1].", 2)


@pytest.mark.covers("fault 26")
async def test_a_label_beyond_the_evidence_is_removed_and_recorded():
    draft, _, _ = await write("Yes [1]. No [9].")
    assert (draft["text"], draft["removed"]) == ("Yes [1]. No.", [9])


@pytest.mark.covers("fault 72")
async def test_a_model_that_fails_in_the_middle_leaves_what_it_streamed_marked():
    reply = Reply(chunks=["After ", "an ", "hour"], error_after=2)
    draft, [call], _ = await write(reply, streamed=True)
    assert (draft["text"], draft["finish"]) == ("After an", "error")
    assert "incomplete" in draft["notes"][0]
    assert "broke off" in call["error"]
    assert call["attempts"] == 1


@pytest.mark.covers("fault 72")
async def test_a_model_that_is_too_slow_in_the_middle_leaves_the_word_that_waited_too():
    reply = Reply(chunks=["After ", "an ", "hour", " at"], token_delay=0.3)
    draft, [call], _ = await write(reply, streamed=True, deadlines={"model": 1.05})
    assert (draft["text"], draft["finish"]) == ("After an hour", "error")
    assert "no answer within" in call["error"]


@pytest.mark.covers("T9")
async def test_a_spent_budget_gives_the_structured_answer_without_a_call():
    draft, calls, model = await write("never", calls=[{}] * 8)
    assert_structured(draft, "limits.model_calls")
    assert calls == model.calls == []
    spent, _, _ = await write("never", calls=[{"input_tokens": 90, "output_tokens": 10}], limits={"tokens": 100})
    assert_structured(spent, "limits.tokens")


@pytest.mark.covers("T9")
async def test_evidence_beyond_the_token_limit_is_cut_from_the_end_counted_and_not_citable():
    long = [SourceResult("word " * 400, str(n), "docs", "memory") for n in range(4)]
    draft, _, model = await write("First [1]. Last [4].", evidence=long, limits={"tokens": 2000})
    assert 'number="1"' in model.calls[0].text
    assert 'number="4"' not in model.calls[0].text
    cut = 4 - model.calls[0].text.count("<passage")
    assert cut
    assert "did not fit the token limit" in draft["notes"][0]
    assert str(cut) in draft["notes"][0]
    assert (draft["text"], draft["removed"]) == ("First [1]. Last.", [4])


async def test_prefix_and_suffix_are_part_of_the_draft_but_not_written_by_the_model():
    draft, _, _ = await write("Yes [1].", suffix="\n\n## Sources\n- [1]")
    assert draft["text"] == "Yes [1].\n\n## Sources\n- [1]"
    assert draft["text"][: draft["written"]] == "Yes [1]."


async def test_an_estimate_stands_in_for_usage_that_the_provider_does_not_report():
    class Silent(ScriptedChatModel):
        async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                chunk.message.usage_metadata = None
                yield chunk

        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            result = await super()._agenerate(messages, stop, run_manager, **kwargs)
            result.generations[0].message.usage_metadata = None
            return result

    settings = load_settings({})
    task = Assignment(TURN, options_in_force(settings, {}, None), EVIDENCE, (), {}, {}, ())
    templates = AnswerTemplates.compile(settings.synthesis, Prompts())
    [call] = (await write_answer(task, Silent("Some words here [1]."), settings, templates))["calls"]
    assert call["estimated"] is True
    assert call["input_tokens"] > 0
    assert call["output_tokens"] > 0


@pytest.mark.covers("fault 70")
async def test_the_answers_id_derives_from_the_turn():
    assert answer_id(TURN) == answer_id(dict(TURN)) == "answer-t1"


@pytest.mark.covers("S3", "S8")
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("General knowledge: tokens expire after a day.", "insufficient"),
        ("After an hour [1]. General knowledge: some last a day.", "answered"),
    ],
)
async def test_general_knowledge_alone_beside_evidence_is_no_answer_from_it(text, outcome):
    draft, _, _ = await write(text, synthesis={"allow_parametric": True})
    assert draft["outcome"] == outcome
    assert any("general knowledge" in note for note in draft["notes"]) is (outcome == "insufficient")
