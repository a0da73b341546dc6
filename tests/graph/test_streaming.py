"""Streaming (T7): what was streamed is the answer, however it was streamed."""

from __future__ import annotations

import asyncio
import time
import warnings
from typing import Any

import pytest
import turns
from langchain_core._api import LangChainBetaWarning
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from parents import in_a_row
from turns import ask, asking, docs, notes, thread
from virtual_time import in_virtual_time

from groundgraph.core.evidence import SourceResult
from groundgraph.testing import FaultySource, Reply, ScriptedChatModel

TEXT = "<think>hm [2]</think>OAuth has four types [1]. Clients [9] too [2, 7]. All of it: [1-3]. And `a[9]`."
CHECKED = "OAuth has four types [1]. Clients too [2]. All of it: [1, 2]. And `a[9]`."
STYLES = ["conversational", "hybrid", "structured"]


def build(style: str = "conversational", reply: object = TEXT, sources: list | None = None, **options: object):
    return turns.build(reply=reply, sources=sources or [docs(), notes()], synthesis={"style": style}, **options)


async def streamed(graph, **options: object) -> list[str]:
    return [chunk.text async for chunk, _ in graph.astream(asking(), thread(), stream_mode="messages", **options)]


@pytest.mark.covers("fault 70")
@pytest.mark.parametrize("style", STYLES)
async def test_stream_and_invoke_give_the_same_answer_and_provenance(style: str) -> None:
    graph = build(style, memory=True)
    pieces = await streamed(graph)
    kept = (await graph.aget_state(thread())).values
    invoked = await build(style).ainvoke({"messages": [kept["messages"][0]]})
    assert "".join(pieces) == kept["messages"][-1].text == invoked["answer"]
    volatile = {"retrieval_time_ms", "intent_resolution_time_ms"}
    own = kept["metadata"]["retrieval_provenance"]
    other = invoked["metadata"]["retrieval_provenance"]
    assert {k: v for k, v in own.items() if k not in volatile} == {k: v for k, v in other.items() if k not in volatile}
    if style == "conversational":
        assert "".join(pieces) == CHECKED


class Asking(FaultySource):
    """A source that has a model of its own write what it searches for, as those for many wordings of a question do."""

    async def query(self, *given: Any, **more: Any) -> list[SourceResult]:
        await MUSING.ainvoke("How else could this be asked?")
        return await super().query(*given, **more)


MUSING = ScriptedChatModel(default="Perhaps about tokens?")


@pytest.mark.covers("T7")
async def test_what_models_inside_a_source_or_a_reranker_write_is_not_streamed() -> None:
    async def reranker(question: str, texts: list[str]) -> list[float]:
        await MUSING.ainvoke(question)
        return [0.9 for _ in texts]

    graph = build(sources=[Asking(docs()), notes()], reranker=reranker)
    before = len(MUSING.calls)
    assert "".join([chunk.text async for chunk, _ in graph.astream(asking(), stream_mode="messages")]) == CHECKED
    assert len(MUSING.calls) == before + 2


@pytest.mark.covers("T7")
@pytest.mark.parametrize("style", STYLES)
async def test_version_2_streams_the_answer_once(style: str) -> None:
    graph = build(style)
    parts = [p async for p in graph.astream(asking(), stream_mode=["messages", "custom", "values"], version="v2")]
    text = "".join(p["data"][0].text for p in parts if p["type"] == "messages")
    assert text == [p["data"] for p in parts if p["type"] == "values"][-1]["answer"]
    stages = [p["data"]["stage"] for p in parts if p["type"] == "custom"]
    assert [s for s in stages if s != "retrieve_source"] == [
        "resolve_intent", "merge_results", "judge_evidence", f"answer_{style}", "check_citations", "record_turn"
    ]  # fmt: skip


@pytest.mark.covers("T7")
@pytest.mark.parametrize("style", STYLES)
async def test_version_3_streams_the_answer_once(style: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        run = await build(style).astream_events(asking(), version="v3")
        pieces = [text async for message in run.messages async for text in message.text]
        output = await run.output()
    assert "".join(pieces) == output["answer"]


@pytest.mark.covers("T7")
async def test_retrieval_is_complete_before_the_first_token() -> None:
    order: list[str] = []
    async for mode, item in build().astream(asking(), stream_mode=["messages", "updates"]):
        order += ["token"] if mode == "messages" else list(item)
    assert order.index("process_results") < order.index("token")


async def test_a_template_style_yields_one_chunk() -> None:
    assert len(await streamed(build("structured"))) == 1


@pytest.mark.covers("fault 71", "U4")
@pytest.mark.parametrize("as_node", [True, False])
@pytest.mark.parametrize("style", STYLES)
async def test_as_a_subgraph_tokens_come_once(style: str, as_node: bool) -> None:
    turn = build(style)

    async def call(state: MessagesState) -> MessagesState:
        return {"messages": (await turn.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    parent = in_a_row(MessagesState, turn=turn if as_node else call).compile(checkpointer=InMemorySaver())
    pieces, spaces = "", set()
    async for space, (chunk, _) in parent.astream(asking(), thread(), stream_mode="messages", subgraphs=True):
        pieces += chunk.text
        spaces.add(space)
    final = (await parent.aget_state(thread())).values["messages"][-1].text
    assert pieces == final
    assert all(space[0].startswith("turn:") for space in spaces if space)


@pytest.mark.covers("T7")
def test_the_synchronous_methods_work_too() -> None:
    graph = build(checkpointer=InMemorySaver())
    pieces = [chunk.text for chunk, _ in graph.stream(asking(), thread(), stream_mode="messages")]
    assert "".join(pieces) == CHECKED
    assert graph.invoke(asking(), thread("other"))["answer"] == CHECKED


@pytest.mark.covers("fault 72")
async def test_an_error_in_mid_stream_ends_the_stream_with_a_marked_part() -> None:
    reply = Reply("OAuth has four grant types and more besides [1].", error_after=6)
    graph = build(reply=reply, checkpointer=InMemorySaver())
    pieces, events, result = "", [], {}
    async for mode, item in graph.astream(asking(), thread(), stream_mode=["messages", "custom", "values"]):
        if mode == "messages":
            pieces += item[0].text
        elif mode == "custom":
            events.append(item)
        else:
            result = item
    assert result["answer"] == pieces
    assert pieces
    assert "besides" not in pieces
    assert [flag["kind"] for flag in result["support"]["flags"]] == ["incomplete"]
    assert any("incomplete" in note for note in result["notes"])
    assert any(event["stage"] == "answer_conversational" and event["finish"] == "error" for event in events)


@pytest.mark.covers("fault 73")
async def test_a_label_split_across_chunks_is_resolved_once_complete() -> None:
    reply = Reply(chunks=["Four ", "[", "1", "]. Other [", "1", "7]", ", end [2", "]."])
    pieces = await streamed(build(reply=reply, checkpointer=InMemorySaver()))
    assert "".join(pieces) == "Four [1]. Other, end [2]."
    assert not any(piece.endswith("[") for piece in pieces)


@pytest.mark.covers("fault 69")
def test_a_client_that_leaves_cancels_source_and_model() -> None:
    slow = FaultySource(docs(), delay=30)
    source_graph = build(sources=[slow, notes()])
    model_graph = build(reply=Reply("one two three " * 50, token_delay=0.05))

    async def leave_the_source() -> None:
        task = asyncio.create_task(ask(source_graph))
        while not slow.calls:
            await asyncio.sleep(0.01)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not slow.cancellations and time.monotonic() - started < 1:
            await asyncio.sleep(0.01)
        assert slow.cancellations == 1

    async def leave_the_model() -> None:
        stream = model_graph.astream(asking(), stream_mode="messages")
        await anext(stream)
        started = time.monotonic()
        await stream.aclose()
        assert time.monotonic() - started < 1
        await asyncio.sleep(0.2)
        assert not [t for t in asyncio.all_tasks() if "answer_conversational" in repr(t)]

    in_virtual_time(leave_the_source())
    in_virtual_time(leave_the_model())


@pytest.mark.covers("fault 74")
async def test_a_slow_reader_bounds_what_waits_for_it() -> None:
    emitted = 0

    class Counting(ScriptedChatModel):
        async def _astream(self, *args: object, **kwargs: object):
            nonlocal emitted
            async for chunk in super()._astream(*args, **kwargs):
                emitted += 1
                yield chunk

    stream = build(reply=Counting(Reply(chunks=["x "] * 3000)), sources=[docs()]).astream(
        asking(), stream_mode="messages"
    )
    await anext(stream)
    await asyncio.sleep(0.5)
    assert emitted < 1200
    rest = [chunk async for chunk, _ in stream]
    assert len(rest) == 2999 or "".join(chunk.text for chunk in rest).count("x") == 2999
