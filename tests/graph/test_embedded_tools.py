"""A turn, and a retrieval, as a tool of an agent (U4, T8)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolNode
from langgraph.store.memory import InMemoryStore
from parents import ANSWER, calls_of, in_a_row, streamed
from turns import QUESTION, ask, asked_by, asking, build, docs, notes, thread
from virtual_time import in_virtual_time

from groundgraph import (
    Context,
    load_provenance,
    load_settings,
    retrieval_graph,
    retrieval_tool,
    retrieve_context,
    turn_graph,
    turn_tool,
)
from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import FaultySource, Reply, ScriptedChatModel

pytestmark = pytest.mark.covers("U4")


def calling(*questions: str, name: str = "ask_knowledge") -> Reply:
    """What a model replies that calls a tool for each question."""
    return Reply(tool_calls=[{"name": name, "args": {"question": question}} for question in questions])


def agent(replies: list[Any], *tools: Any, **options: Any) -> Any:
    """An agent with a scripted model and these tools, whose thread and store are in memory."""
    options = {"checkpointer": InMemorySaver(), "store": InMemoryStore(), **options}
    return create_agent(ScriptedChatModel(replies), list(tools), **options)


def tool_messages(result: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


@pytest.mark.covers("fault 71")
async def test_an_agent_streams_the_tokens_of_its_tools_turn_and_its_own_once() -> None:
    larger = agent([calling(QUESTION), "As the manual says."], turn_tool(build(ANSWER)))
    text = await streamed(larger, asking(), thread())
    # The message of a tool is a part of the stream too.
    assert text == {("tools",): ANSWER, (): ANSWER + "As the manual says."}


@pytest.mark.covers("T8")
async def test_the_queries_that_a_model_writes_for_a_retrieval_are_not_in_the_agents_stream() -> None:
    query_model = ScriptedChatModel('{"text_queries": ["grant types"]}')
    inner = turn_graph(load_settings({}), sources=[docs()], query_model=query_model)
    larger = agent([calling(QUESTION, name="search_knowledge"), "Done."], retrieval_tool(inner))
    text = await streamed(larger, asking(), thread())
    assert len(query_model.calls) == 1
    assert set(text) == {()}
    assert "text_queries" not in text[()]


async def test_the_model_of_an_agent_gets_the_checked_answer_and_the_program_its_citations() -> None:
    inner = build("Four types [1]. Pumps too [7].")
    larger = agent([calling(QUESTION), "Done."], turn_tool(inner))
    [message] = tool_messages(await ask(larger, on="t"))
    assert message.text.startswith("Four types [1]. Pumps too.\n\n")
    assert "[7]" in message.text, "the note tells what was taken out"
    assert set(message.artifact) == {"turn_id", "outcome", "notes", "citations", "choices", "support"}
    assert (message.artifact["outcome"], message.artifact["citations"][0]["source_id"]) == ("answered", "oauth")


@pytest.mark.covers("V2")
async def test_the_record_of_a_turn_that_ran_as_a_tool_is_in_the_store_under_the_id_that_it_gave() -> None:
    store = InMemoryStore()
    inner = build(ANSWER, store=store)
    [message] = tool_messages(await ask(agent([calling(QUESTION), "Done."], turn_tool(inner), store=store), on="t"))
    assert (await load_provenance(inner, "t", message.artifact["turn_id"]))["answer"] == ANSWER


async def test_tools_that_a_model_calls_at_once_do_not_mix_their_evidence() -> None:
    inner = build()
    replies = [calling(QUESTION, "How often is pump 17 serviced?"), "Done."]
    messages = tool_messages(await ask(agent(replies, turn_tool(inner)), on="t"))
    assert ["four grant types" in message.text for message in messages] == [True, False]
    assert ["every 90 days" in message.text for message in messages] == [False, True]
    # In one node as well, where both are children of the same task.
    node = in_a_row(MessagesState, tools=ToolNode([turn_tool(inner)])).compile(checkpointer=InMemorySaver())
    given = calls_of(*[("ask_knowledge", {"question": question}) for question in (QUESTION, "pump 17")])
    messages = tool_messages(await node.ainvoke(given, thread()))
    assert ["every 90 days" in message.text for message in messages] == [False, True]


@pytest.mark.parametrize(("checkpointer", "spaces", "remembers"), [(None, 2, 0), (False, 0, 0), (True, 1, 1)])
async def test_what_a_tools_turn_keeps_is_decided_by_its_checkpointer(
    checkpointer: Any, spaces: int, remembers: int
) -> None:
    inner, saver = build(["Four [1].", "Clients [1]."], checkpointer=checkpointer), InMemorySaver()
    replies = [calling(QUESTION), "Done.", calling("And its clients?"), "Done."]
    larger = agent(replies, turn_tool(inner), checkpointer=saver)
    await ask(larger, on="t")
    await ask(larger, "And the clients?", "t")
    assert len([space for space in saver.storage["t"] if space.startswith("tools")]) == spaces
    assert [message.type for message in asked_by(inner)[1].messages].count("ai") == remembers


@pytest.mark.parametrize("tool", [retrieval_tool, turn_tool])
async def test_a_tool_that_keeps_nothing_runs_where_the_agent_waits_for_every_checkpoint(tool: Any) -> None:
    used = tool(build(checkpointer=False), name="ask_knowledge")
    larger = agent([calling(QUESTION), "Done."], used, checkpointer=InMemorySaver())
    result = await larger.ainvoke(asking(), thread(), durability="sync")
    assert ["grant" in message.text for message in tool_messages(result)] == [True]
    assert (await build().ainvoke(asking(), durability="sync"))["outcome"] == "answered"


async def test_sync_agents_and_calls_without_an_agent_work_too() -> None:
    larger = agent([calling(QUESTION), "Done."], turn_tool(build(ANSWER)))
    result = await asyncio.to_thread(larger.invoke, asking(), thread())
    assert [message.text for message in tool_messages(result)] == [ANSWER]
    assert await turn_tool(build(ANSWER)).ainvoke({"question": QUESTION}) == ANSWER


@pytest.mark.covers("T8")
async def test_the_model_cannot_change_what_a_tool_may_see() -> None:
    tool = turn_tool(build(), context=Context(sources=["notes"]))
    assert set(tool.args) == {"question"}
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": QUESTION, "sources": ["docs"]}}
    message = await tool.ainvoke(call)
    assert {one["source_name"] for one in message.artifact["citations"]} == {"notes"}


@pytest.mark.covers("T8")
async def test_a_run_of_the_agent_hands_its_choices_to_its_tools() -> None:
    inner = build()
    tools = ToolNode([turn_tool(inner), retrieval_tool(inner)])
    larger = in_a_row(MessagesState, context_schema=Context, tools=tools).compile()
    given = calls_of(("ask_knowledge", {"question": QUESTION}), ("search_knowledge", {"question": QUESTION}))
    answered, found = tool_messages(await larger.ainvoke(given, context=Context(sources=["notes"])))
    assert {one["source_name"] for one in answered.artifact["citations"]} == {"notes"}
    assert {row["source_name"] for row in found.artifact} == {"notes"}


def test_a_tool_can_be_made_of_settings() -> None:
    settings = load_settings({"sources": [{"type": "memory", "name": "pumps", "records": ["Pump 17 leaks."]}]})
    assert "Pump 17 leaks." in turn_tool(settings, name="pumps").invoke({"question": "Which pump leaks?"})


def test_a_graph_that_a_tool_cannot_run_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="retrieval_tool"):
        turn_tool(retrieval_graph(load_settings({}), sources=[docs()]))
    with pytest.raises(ConfigurationError, match="without one"):
        turn_tool(build(ANSWER, checkpointer=InMemorySaver()))


async def test_a_context_is_retrieved_inside_a_node_and_touches_no_thread() -> None:
    inner, saver = build(ANSWER), InMemorySaver()

    async def ground(state: MessagesState) -> Any:
        found = await retrieve_context(inner, state["messages"][-1].text)
        return {"messages": [("user", found.context)]}

    parent = in_a_row(MessagesState, ground=ground).compile(checkpointer=saver)
    result = await ask(parent, on="t")
    assert result["messages"][-1].text.startswith("[1] OAuth > Grants\n")
    assert list(saver.storage["t"]) == [""]
    assert asked_by(inner) == []


@pytest.mark.covers("fault 69")
@pytest.mark.parametrize("make", [turn_tool, retrieval_tool])
def test_cancelling_an_agent_reaches_the_sources_of_its_tool(make: Any) -> None:
    slow = FaultySource(docs(), delay=30)
    tool = make(build(ANSWER, sources=[slow, notes()]))
    asker = agent([calling(QUESTION, name=tool.name)], tool)

    async def use() -> None:
        run = asyncio.create_task(ask(asker, on="t"))
        while not slow.calls:
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(run, 1)
        assert slow.cancellations == 1

    in_virtual_time(use())
