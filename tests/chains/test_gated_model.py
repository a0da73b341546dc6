"""The model wrapper that streams checked text only (T7, T9)."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler

from groundgraph.answers.answer_gate import AnswerGate
from groundgraph.answers.gated_model import GatedChatModel
from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.resilience.bounds import Backpressure, current_backpressure
from groundgraph.testing import Reply, ScriptedChatModel

PIECES = ["word ", "[1]", " [9]", "<think>", "</think>", "`x", "`", "\n", " ", "[", "2]", "漢", "👩\u200d💻"]

EVIDENCE = [SourceResult("Text.", str(number), "docs", "memory") for number in range(4)]


def gated(reply, **options) -> GatedChatModel:
    inner = ScriptedChatModel(reply)
    return GatedChatModel(inner=inner, gate=AnswerGate(EVIDENCE, 4), message_id="answer-1", **options)


async def streamed(model: GatedChatModel) -> list:
    return [chunk async for chunk in model.astream("question")]


@pytest.mark.covers("T7")
@pytest.mark.guard
@given(st.lists(st.sampled_from(PIECES)), st.sampled_from(["", "Before. "]), st.sampled_from(["", " After."]))
async def test_what_is_streamed_equals_what_is_returned_and_recorded(pieces, prefix, suffix):
    first, second = (gated(Reply(chunks=pieces), prefix=prefix, suffix=suffix) for _ in range(2))
    text = reply = ""
    with suppress(ModelError):
        text = "".join(chunk.text for chunk in await streamed(first))
    if first.gate.restarted:
        # What was a thought had been streamed before its end told so.
        text = text[-len(first.written.text) :] if first.written.text else ""
    with suppress(ModelError):
        reply = (await second.ainvoke("question")).text
    assert text == reply == first.written.text == second.written.text
    assert first.written.removed == second.written.removed
    assert text.startswith(prefix) or not text
    assert text.endswith(suffix) or not text


@pytest.mark.covers("T7")
async def test_every_piece_and_the_reply_have_the_id_of_the_answer():
    assert {chunk.id for chunk in await streamed(gated("One two three [1]."))} == {"answer-1"}
    assert (await gated("One [1].").ainvoke("q")).id == "answer-1"


@pytest.mark.covers("T9")
async def test_usage_is_recorded_but_not_forwarded_so_that_it_counts_once():
    model = gated(Reply("One [1].", usage=(7, 3)))
    chunks = await streamed(model)
    assert all(chunk.usage_metadata is None for chunk in chunks)
    assert (model.written.input_tokens, model.written.output_tokens) == (7, 3)
    whole = gated(Reply("One [1].", usage=(7, 3)))
    assert (await whole.ainvoke("q")).usage_metadata is None
    assert (whole.written.input_tokens, whole.written.output_tokens) == (7, 3)


@pytest.mark.covers("fault 26", "fault 29")
async def test_labels_and_thoughts_are_gone_from_the_stream():
    model = gated(Reply(chunks=["<thi", "nk>no</think>", " Yes [", "1] and [", "9", "]."]))
    assert "".join(chunk.text for chunk in await streamed(model)) == "Yes [1] and."
    assert model.written.removed == [9]


async def test_prefix_and_suffix_stand_around_text_only():
    model = gated(Reply(chunks=["\n", "Text."]), prefix="General: ", suffix="\n\nSources")
    assert "".join(chunk.text for chunk in await streamed(model)) == "General: Text.\n\nSources"
    empty = gated(Reply(""), prefix="General: ", suffix="\n\nSources")
    with pytest.raises(ModelError, match="wrote nothing"):
        await streamed(empty)
    assert empty.written.text == ""


@pytest.mark.covers("fault 19")
@pytest.mark.parametrize("text", ["", " \n", "<think>hm</think>", "[9]"])
async def test_an_empty_completion_fails_alike_streamed_or_not(text):
    for call in (streamed, lambda model: model.ainvoke("q")):
        with pytest.raises(ModelError, match="wrote nothing"):
            await call(gated(text))


@pytest.mark.covers("T9")
@pytest.mark.parametrize("chunks", [["Text. " + "[9]" * 200_000], ["Text. ", *["[9] "] * 1000]])
async def test_what_the_gate_takes_out_counts_too_and_one_piece_is_cut_as_well(chunks):
    model = gated(Reply(chunks=chunks), max_output_tokens=100)
    await streamed(model)
    assert model.written.finish == "length"
    assert model._read <= 400 + len(chunks[0])
    whole = gated(Reply("word " * 200_000), max_output_tokens=100)
    assert len((await whole.ainvoke("q")).text) <= 400
    assert whole.written.finish == "length"


@pytest.mark.covers("fault 77")
@pytest.mark.parametrize(("length", "beside"), [(100, False), (100_000, True)])
async def test_a_long_piece_passes_the_gate_beside_the_event_loop(length, beside):
    threads = []

    class Watched(AnswerGate):
        def feed(self, text: str, *, final: bool = False) -> str:
            threads.extend([threading.current_thread()] if text else [])
            return super().feed(text, final=final)

    model = GatedChatModel(
        inner=ScriptedChatModel(Reply(chunks=["a" + "<" * length])), gate=Watched(EVIDENCE, 4), message_id="answer-1"
    )
    await streamed(model)
    assert [thread is not threading.main_thread() for thread in threads] == [beside]


@pytest.mark.covers("T9")
async def test_max_output_tokens_stops_a_model_that_does_not():
    model = gated(Reply(chunks=["word "] * 1000), max_output_tokens=10)
    text = "".join(chunk.text for chunk in await streamed(model))
    assert 40 <= len(text) <= 50
    assert model.written.finish == "length"


@pytest.mark.covers("fault 20", "fault 21")
@pytest.mark.parametrize(("reason", "finish"), [("stop", "stop"), ("length", "length"), ("content_filter", "refusal")])
async def test_the_reason_for_the_end_is_recorded(reason, finish):
    model = gated(Reply("Half a sent", finish_reason=reason))
    await streamed(model)
    assert model.written.finish == finish


@pytest.mark.covers("fault 20")
async def test_a_refusal_beside_the_text_is_recorded():
    model = gated(Reply("", refusal="I cannot help with that."))
    with pytest.raises(ModelError):
        await streamed(model)
    assert model.written.refusal == "I cannot help with that."


@pytest.mark.covers("fault 72")
async def test_what_waits_in_the_gate_when_the_model_fails_is_streamed_and_kept():
    model = gated(Reply(chunks=["One ", "two www.evil", ".com/S", "three"], error_after=3))
    pieces = []

    async def read():
        async for chunk in model.astream("question"):
            pieces.append(chunk.text)

    with pytest.raises(ConnectionError):
        await read()
    assert "".join(pieces) == model.written.text == "One two www[.]evil[.]com/S"
    assert model.written.removed_links == ["www[.]evil[.]com/S"]


@pytest.mark.covers("fault 72")
async def test_a_call_that_fails_before_anybody_saw_a_word_has_written_nothing():
    model = gated(Reply(chunks=["One", " "], error_after=1))
    with pytest.raises(ConnectionError):
        await streamed(model)
    assert model.written.text == ""


async def test_the_model_runs_asynchronously_only():
    with pytest.raises(TypeError, match="ainvoke"):
        gated("x").invoke("question")


async def test_the_inner_call_is_tagged_so_that_it_is_not_streamed_twice():
    seen = []

    class Recorder(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, *, tags=None, **kwargs):
            seen.append(tags)

    inner = ScriptedChatModel("x", callbacks=[Recorder()])
    await streamed(GatedChatModel(inner=inner, gate=AnswerGate(EVIDENCE, 1), message_id="a"))
    await GatedChatModel(inner=inner, gate=AnswerGate(EVIDENCE, 1), message_id="a").ainvoke("q")
    assert seen == [["nostream"]] * 2


@pytest.mark.covers("fault 74")
async def test_a_slow_reader_holds_the_stream_back():
    backpressure = Backpressure(limit=2)
    token = current_backpressure.set(backpressure)
    got = []
    try:
        stream = gated(Reply(chunks=["a ", "b ", "c ", "d "])).astream("question")
        got = [(await anext(stream)).text, (await anext(stream)).text]
        third = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.02)
        assert not third.done()
        backpressure.waiting()
        got += [(await third).text, *[chunk.text async for chunk in stream]]
    finally:
        current_backpressure.reset(token)
    assert "".join(got).split() == list("abcd")


@pytest.mark.covers("fault 29")
async def test_a_model_that_begins_in_thought_is_streamed_behind_its_thought_from_the_second_time_on():
    inner = ScriptedChatModel([Reply(chunks=["It is ", "[2].", "</think>", "Yes ", "[1]."]) for _ in range(3)])
    told = []
    for _ in range(3):
        model = GatedChatModel(inner=inner, gate=AnswerGate(EVIDENCE, 4), message_id="answer-1")
        told.append("".join(chunk.text for chunk in await streamed(model)))
        assert (model.written.text, model.written.order) == ("Yes [1].", [1])
    assert told[0].startswith("It is")
    assert told[1:] == ["Yes [1]."] * 2


@pytest.mark.covers("fault 29")
async def test_what_waits_for_the_end_of_a_thought_is_streamed_where_none_comes():
    inner = ScriptedChatModel(["Hm.</think>Yes [1].", "No thought [1]."])
    replies = []
    for _ in range(2):
        model = GatedChatModel(inner=inner, gate=AnswerGate(EVIDENCE, 4), message_id="answer-1")
        replies.append("".join(chunk.text for chunk in await streamed(model)))
    assert replies[1] == "No thought [1]."
