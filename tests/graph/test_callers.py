"""The ways a turn is called: sync and async, from a parent, as a tool, with what a client sends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import MessagesState
from langgraph.store.memory import InMemoryStore
from parents import in_a_row
from turns import QUESTION, ask, asked_by, asking, build, docs, thread
from typing_extensions import TypedDict

from groundgraph import Context, load_settings, retrieval_tool, turn_graph
from groundgraph.core.errors import ConfigurationError, InputInvalid, UnknownName
from groundgraph.testing import Reply

# Who listens


class Heard(BaseCallbackHandler):
    """The names of what began, and how much ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended = 0

    def on_chain_start(self, serialized: object, inputs: object, *, name: str, **told: object) -> None:
        self.begun.append(name)

    def on_chain_end(self, outputs: object, **told: object) -> None:
        self.ended += 1


async def test_a_handler_hears_of_every_step_and_of_what_chooses_the_next() -> None:
    heard = Heard()
    output = await build().ainvoke(asking(), {"callbacks": [heard]})
    assert output["answer"] == (await build().ainvoke(asking()))["answer"]
    assert [*dict.fromkeys(heard.begun)] == [
        *("turn", "begin_turn", "needs_retrieval", "resolve_intent", "fan_out", "retrieve_source", "process_results"),
        *("choose_answer", "answer_conversational", "check_citations", "record_turn"),
    ]
    assert heard.ended == len(heard.begun)


# Loops


@pytest.mark.covers("fault 75")
async def test_sync_and_async_calls_share_one_thread_on_a_sqlite_saver(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(checkpointer=saver, store=InMemoryStore())
        await ask(graph, "pump 17", "t")
        other = await asyncio.to_thread(graph.invoke, asking(), thread())
        streamed = await asyncio.to_thread(
            lambda: list(graph.stream(asking("pump 17"), thread(), stream_mode="updates"))
        )
        state = await graph.aget_state(thread())
    assert other["outcome"] == "answered"
    assert [name for update in streamed for name in update][-1] == "record_turn"
    assert len(state.values["messages"]) == 6


@pytest.mark.covers("T8")
async def test_the_tool_answers_sync_and_async_and_keeps_the_scope_it_was_given() -> None:
    tool = retrieval_tool(build(), context=Context(sources=["notes"]))
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION}}
    for message in (await tool.ainvoke(call), await asyncio.to_thread(tool.invoke, call)):
        assert [row["source_name"] for row in message.artifact] == ["notes"]


# Parents


class Chosen(TypedDict, total=False):
    user: str
    top_k: int


@dataclass
class Tenant:
    user: str = "ada"
    top_k: str = "not ours"


@pytest.mark.covers("T8")
@pytest.mark.parametrize(("schema", "context"), [(Chosen, {"user": "ada", "top_k": 1}), (Tenant, Tenant())])
async def test_the_context_of_a_parent_is_not_taken_for_ours(schema: type, context: object) -> None:
    parent = in_a_row(MessagesState, context_schema=schema, answer=build()).compile()
    result = await ask(parent, context=context)
    assert "four grant types" in result["messages"][-1].text


# Messages


async def test_a_question_that_is_sent_again_under_its_id_is_asked_again() -> None:
    graph = build(memory=True)
    await graph.ainvoke({"messages": [HumanMessage("pump 17", id="q1")]}, thread())
    await ask(graph, on="t")
    again = await graph.ainvoke({"messages": [HumanMessage("pump 17", id="q1")]}, thread())
    assert again["provenance"]["question"] == "pump 17"
    assert again["provenance"]["results"][0]["source_id"] == "pump"


async def test_a_whole_conversation_is_accepted_though_the_question_is_not_its_last_message() -> None:
    graph = build()
    sent = [HumanMessage("hello"), HumanMessage("pump 17"), AIMessage("One moment.")]
    assert (await graph.ainvoke({"messages": sent}))["provenance"]["question"] == "pump 17"


@pytest.mark.parametrize("given", [{"messages": 7}, {"messages": [7]}])
async def test_input_that_is_no_turn_is_refused_with_a_typed_error(given: object) -> None:
    graph = build()
    with pytest.raises(InputInvalid):
        await graph.ainvoke(given)


async def test_the_labels_of_earlier_answers_are_not_shown_to_the_model() -> None:
    graph = build(["Four [1][2].", "Yes [1]."], memory=True)
    await ask(graph, on="t")
    await ask(graph, "Which grant types are there?", "t")
    answers = [message.text for message in asked_by(graph)[1].messages if message.type == "ai"]
    assert answers == ["Four."]


# Choices


async def test_an_unknown_source_in_the_context_is_an_error_that_names_the_nearest() -> None:
    graph = build()
    with pytest.raises(UnknownName, match="notes"):
        await ask(graph, context=Context(sources=["notez"]))


@pytest.mark.parametrize(("mode", "key", "value"), [("static", "template", "x"), ("extract", "text_queries", ["x"])])
def test_a_key_of_another_intent_mode_is_refused(mode: str, key: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=key):
        turn_graph(load_settings({"intent": {"mode": mode, key: value}}), sources=[docs()])


@pytest.mark.covers("T9")
async def test_a_spent_budget_of_tokens_calls_no_model_and_still_answers() -> None:
    graph = build("never", limits={"tokens": 1})
    result = await ask(graph)
    assert asked_by(graph) == []
    assert result["outcome"] == "answered"
    assert result["provenance"]["style"]["used"] == "structured"
    assert result["notes"]


@pytest.mark.covers("S4")
async def test_a_refusal_in_the_hybrid_style_says_nothing_of_evidence_but_keeps_labels() -> None:
    graph = build(Reply("I cannot help [1].", finish_reason="content_filter"), synthesis={"style": "hybrid"})
    result = await ask(graph)
    assert result["answer"] in result["messages"][-1].text
    assert "I cannot help [1]." not in result["answer"] or result["citations"]


@pytest.mark.covers("T7")
async def test_events_of_version_2_hold_no_ungated_token() -> None:
    tokens = [
        event["data"]["chunk"].text
        async for event in build("<think>hm [2]</think>Four [1] types [9].").astream_events(asking(), version="v2")
        if event["event"] == "on_chat_model_stream"
    ]
    assert "[9]" not in "".join(tokens)
    assert "think" not in "".join(tokens)


@pytest.mark.covers("T7")
async def test_events_of_version_2_hold_no_token_of_what_is_searched_for_or_judged() -> None:
    graph = build(
        ["grant types of tokens", "Four [1].", "1"],
        intent={"mode": "extract"},
        citation_check={"entailment": "annotate"},
    )
    events = [event async for event in graph.astream_events(asking(), version="v2")]
    said = [event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream"]
    assert "".join(said) == "Four [1]."
    assert len(asked_by(graph)) == 3
