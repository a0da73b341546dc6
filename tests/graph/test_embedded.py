"""A turn as a node of a larger graph (U4): state, namespaces, time travel, interrupts, context, cancellation."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core._api import LangChainBetaWarning
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import NodeTimeoutError
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from parents import ANSWER, Desk, in_a_row, streamed
from pydantic import BaseModel
from turns import QUESTION, ask, asked_by, asking, build, docs, notes, thread
from typing_extensions import TypedDict
from virtual_time import in_virtual_time

from groundgraph import Context, InMemorySource, SourceSchema, load_provenance, retrieval_tool, turn_tool
from groundgraph.core.errors import ConfigurationError, EvidenceMissing, InputInvalid, ScopeMissing
from groundgraph.testing import FaultySource, Reply

pytestmark = pytest.mark.covers("U4")

# The state of the parent


async def test_the_private_state_of_a_turn_stays_out_of_a_parent_whose_channels_are_called_alike() -> None:
    class Crowded(Desk, total=False):
        turn: int
        draft: str
        ranking: list[str]
        intent: str
        bodies: str

    parent = in_a_row(Crowded, turn_node=build(ANSWER)).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    own = {"turn": 7, "draft": "mine", "ranking": ["mine"], "intent": "mine", "bodies": "mine"}
    result = await parent.ainvoke({**asking(), **own}, thread())
    assert {name: result[name] for name in own} == own
    assert set(result) == {*own, "messages", "metadata"}
    assert result["messages"][-1].text == ANSWER


class Own(TypedDict, total=False):
    query: str
    answer: str


class Later(Own, total=False):
    question: str
    metadata: dict[str, Any]


@pytest.mark.parametrize("state", [Own, Later])
@pytest.mark.parametrize("saver", [None, InMemorySaver()])
async def test_a_parent_whose_state_asks_nothing_is_told_and_goes_on_once_it_does(state: Any, saver: Any) -> None:
    parent = in_a_row(state, turn=build(ANSWER)).compile(checkpointer=saver)
    with pytest.raises(InputInvalid, match=r"neither 'messages' nor 'question'.*state.*query"):
        await parent.ainvoke({"query": QUESTION, "metadata": {}}, thread(state.__name__))
    if state is Later and saver:
        await parent.aupdate_state(thread("Later"), {"question": QUESTION}, as_node=START)
        assert (await parent.ainvoke(None, thread("Later")))["answer"] == ANSWER


async def test_a_parent_that_begins_with_no_messages_is_greeted() -> None:
    class Counted(MessagesState):
        count: int

    parent = in_a_row(Counted, turn=build(ANSWER)).compile()
    assert "Hello" in (await parent.ainvoke({"messages": [], "count": 1}))["messages"][-1].text


async def test_a_parent_takes_the_outputs_that_its_state_names_and_no_others() -> None:
    class Wanting(MessagesState):
        outcome: str
        citations: list[dict[str, Any]]

    parent = in_a_row(Wanting, turn=build(ANSWER)).compile()
    result = await ask(parent)
    assert set(result) == {"messages", "outcome", "citations"}
    assert (result["outcome"], [one["source_name"] for one in result["citations"]]) == ("answered", ["docs", "notes"])


@dataclass
class Noted:
    messages: Annotated[list[AnyMessage], add_messages]
    metadata: dict[str, Any] | None = None
    outcome: str = ""


class Modelled(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    question: str | None = None
    metadata: dict[str, Any] | None = None
    outcome: str = ""


@pytest.mark.parametrize("state", [Noted, Modelled])
async def test_the_state_of_a_parent_may_be_a_dataclass_or_a_model_of_pydantic(state: type) -> None:
    inner = build(["Four [1].", "Clients [1]."])
    parent = in_a_row(state, turn=inner).compile(checkpointer=InMemorySaver())
    await ask(parent, on="t")
    result = await ask(parent, "And its clients?", "t")
    assert result["outcome"] == "answered"
    assert [message.text for message in asked_by(inner)[1].messages][1:3] == [QUESTION, "Four."]


async def test_a_parent_with_messages_and_metadata_has_a_conversation() -> None:
    inner = build(["Four [1].", "Clients [1]."])
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    await ask(parent, on="t")
    result = await ask(parent, "And its clients?", "t")
    assert [message.text for message in asked_by(inner)[1].messages][1:3] == [QUESTION, "Four."]
    assert len(result["metadata"]["retrieval_provenance_history"]) == 2


async def test_what_an_agent_did_behind_the_question_is_no_answer_to_it() -> None:
    inner = build(ANSWER)
    called = AIMessage("One moment.", tool_calls=[{"name": "clock", "args": {}, "id": "1", "type": "tool_call"}])
    given = [HumanMessage(QUESTION), called, ToolMessage("noon", tool_call_id="1")]
    result = await in_a_row(turn=inner).compile().ainvoke({"messages": given})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert [message.type for message in asked_by(inner)[0].messages] == ["system", "human"]


async def test_a_question_that_the_parent_keeps_beside_its_message_is_asked_once() -> None:
    class Both(MessagesState):
        question: str

    result = await ask(in_a_row(Both, turn=build(ANSWER)).compile(), question=QUESTION)
    assert [message.type for message in result["messages"]] == ["human", "ai"]


@pytest.mark.parametrize("configurable", [None, {"language": "en"}])
async def test_a_call_inside_a_node_belongs_to_the_parent_whatever_it_configures(configurable: Any) -> None:
    inner = build(ANSWER)

    async def call(state: Desk) -> Any:
        return await inner.ainvoke(state, {"configurable": configurable} if configurable else None)

    saver = InMemorySaver()
    parent = in_a_row(call=call).compile(checkpointer=saver, store=InMemoryStore())
    await ask(parent, on="t")
    result = await ask(parent, "And its clients?", "t")
    assert len(result["metadata"]["retrieval_provenance_history"]) == 2
    assert {space.split(":")[0] for space in saver.storage["t"]} == {"", "call"}


@pytest.mark.parametrize(("keys", "given"), [(["messages"], {"messages"}), (["answer", "notes"], {"answer", "notes"})])
async def test_a_call_inside_a_node_that_wants_some_outputs_gets_these(keys: list[str], given: set[str]) -> None:
    inner, seen = build(ANSWER), []

    async def call(state: Desk) -> Any:
        seen.append(await inner.ainvoke({"messages": state["messages"]}, output_keys=keys))
        return {}

    await ask(in_a_row(call=call).compile(checkpointer=InMemorySaver(), store=InMemoryStore()), on="t")
    assert set(seen[0]) == given


# Bounds


@pytest.mark.covers("T9")
@pytest.mark.parametrize("limit", [2, None])
async def test_the_steps_of_a_turn_are_bounded_by_its_own_limit_and_not_by_the_parents(limit: int | None) -> None:
    seen = []

    class Looking(FaultySource):
        async def query(self, *args: Any, **options: Any) -> Any:
            from langgraph.config import get_config

            seen.append(get_config()["recursion_limit"])
            return await super().query(*args, **options)

    parent = in_a_row(turn=build(ANSWER, sources=[Looking(docs())])).compile(checkpointer=InMemorySaver())
    bound = {"recursion_limit": limit} if limit else {}
    result = await parent.ainvoke(asking(), {**thread(), **bound})
    assert result["messages"][-1].type == "ai"
    assert seen == [50]


@pytest.mark.covers("fault 75")
async def test_a_parents_saver_without_asynchronous_methods_is_an_error_that_says_what_to_do() -> None:
    def run(**options: Any) -> Any:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            return in_a_row(turn=build(ANSWER, **options)).compile(checkpointer=saver).invoke(asking(), thread())

    with pytest.raises(ConfigurationError, match="checkpointer=False"):
        await asyncio.to_thread(run)
    assert (await asyncio.to_thread(lambda: run(checkpointer=False)))["messages"][-1].text == ANSWER


# Streams


@pytest.mark.covers("fault 71")
async def test_events_of_versions_2_and_3_have_the_tokens_of_a_parent_once() -> None:
    parent = in_a_row(turn=build(ANSWER)).compile(checkpointer=InMemorySaver())
    events = [e async for e in parent.astream_events(asking(), thread("2"), version="v2")]
    assert "".join(e["data"]["chunk"].text for e in events if e["event"] == "on_chat_model_stream") == ANSWER
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        run = await parent.astream_events(asking(), thread("3"), version="v3")
        pieces = [
            text async for inner in run.subgraphs async for message in inner.messages async for text in message.text
        ]
    assert "".join(pieces) == ANSWER


@pytest.mark.covers("fault 71")
async def test_a_parent_that_is_not_asynchronous_streams_the_tokens_once() -> None:
    parent = in_a_row(turn=build(ANSWER)).compile(checkpointer=InMemorySaver())

    def run() -> list[Any]:
        return list(parent.stream(asking(), thread(), stream_mode="messages", subgraphs=True))

    items = await asyncio.to_thread(run)
    assert "".join(chunk.text for _, (chunk, _) in items) == ANSWER
    assert {space[0].split(":")[0] for space, _ in items} == {"turn"}


async def test_the_stages_and_steps_of_a_turn_come_under_the_name_of_its_node() -> None:
    parent = in_a_row(answer=build(ANSWER)).compile(checkpointer=InMemorySaver())
    stages, steps = [], []
    async for space, mode, item in parent.astream(
        asking(), thread(), stream_mode=["custom", "updates"], subgraphs=True
    ):
        named = [part.split(":")[0] for part in space]
        if mode == "custom":
            stages.append((named, item["stage"]))
        else:
            steps += [(named, name) for name in item]
    assert stages[-1] == (["answer"], "record_turn")
    assert steps[0] == (["answer"], "begin_turn")
    assert steps[-1] == ([], "answer")


async def test_as_a_task_of_the_functional_api() -> None:
    inner = build(ANSWER)

    @task
    async def answer(question: str) -> str:
        return (await inner.ainvoke({"question": question}))["answer"]

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(question: str) -> list[str]:
        return list(await asyncio.gather(answer(question), answer("pump 17")))

    assert (await flow.ainvoke(QUESTION, thread())) == [ANSWER, "Four types [1], clients."]


# Steps that are not asynchronous, in a parent that is

Answer = Callable[[Any], str]
SYNCHRONOUS: dict[str, Answer] = {
    "invoke": lambda turn: turn.invoke({"question": QUESTION})["answer"],
    "stream": lambda turn: list(turn.stream({"question": QUESTION}, stream_mode="values"))[-1]["answer"],
    "turn_tool": lambda turn: turn_tool(turn).invoke({"question": QUESTION}),
    "retrieval_tool": lambda turn: retrieval_tool(turn).invoke({"question": QUESTION}),
}


@pytest.mark.covers("fault 75")
@pytest.mark.parametrize("way", SYNCHRONOUS)
async def test_steps_of_a_parent_that_are_not_asynchronous_share_its_saver_and_store(
    way: str, sqlite: dict[str, Any]
) -> None:
    inner = build()

    def call(_state: MessagesState) -> Any:
        return {"messages": [AIMessage(SYNCHRONOUS[way](inner))]}

    builder = StateGraph(MessagesState)
    for name in ("a", "b", "c"):
        builder.add_node(name, call)
        builder.add_edge(START, name)
    parent = builder.compile(**sqlite)
    results = await asyncio.gather(*(ask(parent, on=str(number)) for number in range(5)))
    assert all("four grant types" in message.text for one in results for message in one["messages"][1:])
    assert {len(one["messages"]) for one in results} == {4}


async def test_a_step_that_would_wait_for_its_own_event_loop_is_refused(sqlite: dict[str, Any]) -> None:
    inner = build()

    async def call(_state: MessagesState) -> Any:
        return inner.invoke({"question": QUESTION})

    with pytest.raises(RuntimeError, match="use ainvoke"):
        await ask(in_a_row(MessagesState, call=call).compile(**sqlite), on="t")


# Several turns


async def test_turns_in_parallel_branches_are_two_answers_with_a_record_each() -> None:
    store = InMemoryStore()
    builder = StateGraph(Desk)
    builder.add_node("manual", build("Manual [1].", sources=[docs()]))
    builder.add_node("memos", build("Memos [1].", sources=[notes()]))
    builder.add_edge(START, "manual")
    builder.add_edge(START, "memos")
    parent = builder.compile(checkpointer=InMemorySaver(), store=store)
    assert await streamed(parent, asking(), thread()) == {("manual",): "Manual [1].", ("memos",): "Memos [1]."}
    answers = (await parent.aget_state(thread())).values["messages"][1:]
    assert sorted(message.text for message in answers) == ["Manual [1].", "Memos [1]."]
    records = await store.asearch(("groundgraph", "provenance"))
    assert {item.key: item.value["answer"] for item in records} == {
        message.response_metadata["turn_id"]: message.text for message in answers
    }


async def test_one_turn_graph_called_twice_at_once_in_a_node_keeps_the_two_apart() -> None:
    inner, saver = build(), InMemorySaver()

    async def both(_state: Desk) -> Any:
        first, second = await asyncio.gather(*(inner.ainvoke({"question": one}) for one in (QUESTION, "pump 17")))
        return {"messages": [AIMessage(first["answer"]), AIMessage(second["answer"])]}

    result = await ask(in_a_row(both=both).compile(checkpointer=saver), on="t")
    assert "four grant types" in result["messages"][1].text
    assert "every 90 days" in result["messages"][2].text
    assert len(saver.storage["t"]) == 3


async def test_a_turn_with_a_memory_of_its_own_remembers_what_the_parent_does_not_keep() -> None:
    inner = build(["Four [1].", "Clients [1]."], checkpointer=True)

    async def call(state: MessagesState) -> Any:
        await inner.ainvoke({"question": state["messages"][-1].text})
        return {}

    parent = in_a_row(MessagesState, call=call).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    await ask(parent, on="t")
    await ask(parent, "And its clients?", "t")
    await ask(parent, "And its clients?", "other")
    shown = [[message.text for message in call.messages if message.type == "ai"] for call in asked_by(inner)]
    assert shown == [[], ["Four."], []]


async def test_a_call_that_names_a_thread_of_its_own_is_a_run_by_itself() -> None:
    own, parents = InMemorySaver(), InMemorySaver()
    inner = build(["Four [1].", "Clients [1]."], checkpointer=own, store=InMemoryStore())

    async def call(state: MessagesState) -> Any:
        result = await inner.ainvoke({"question": state["messages"][-1].text}, thread("inner"))
        return {"messages": result["messages"][-1:]}

    parent = in_a_row(MessagesState, call=call).compile(checkpointer=parents)
    assert await streamed(parent, asking(), thread()) == {(): "Four [1]."}
    await ask(parent, "And its clients?", "another")
    assert len((await inner.aget_state(thread("inner"))).values["messages"]) == 4
    assert list(parents.storage["t"]) == [""]


# Time travel


async def close_desk(_state: Desk) -> Any:
    return {"messages": [AIMessage("Anything else?")]}


async def test_a_replay_of_the_parent_runs_the_turn_again_with_the_same_prompt(saver: Any) -> None:
    inner = build(["one [1].", "two [1].", "three [1]."])
    parent = in_a_row(turn=inner, close=close_desk).compile(checkpointer=saver, store=InMemoryStore())
    await ask(parent, on="t")
    points = {point.next[0]: point async for point in parent.aget_state_history(thread()) if point.next}
    again = await parent.ainvoke(None, points["turn"].config)
    assert [message.text for message in again["messages"][1:]] == ["two [1].", "Anything else?"]
    assert asked_by(inner)[0].text == asked_by(inner)[1].text, "byte for byte"
    kept = await parent.ainvoke(None, points["close"].config)
    assert [message.text for message in kept["messages"][1:]] == ["one [1].", "Anything else?"]
    assert len(asked_by(inner)) == 2, "the turn was over at that point"


async def test_the_steps_of_a_turn_stand_in_the_history_of_the_parents_thread(saver: Any) -> None:
    parent = in_a_row(turn=build(ANSWER)).compile(checkpointer=saver, store=InMemoryStore())
    await ask(parent, on="t")
    [before] = [point async for point in parent.aget_state_history(thread()) if point.next == ("turn",)]
    inside = [point async for point in parent.aget_state_history(before.tasks[0].state)]
    assert [point.next[0] for point in inside if point.next] == [
        *("record_turn", "check_citations", "answer_conversational", "process_results", "retrieve_source"),
        *("resolve_intent", "begin_turn", "__start__"),
    ]
    assert inside[3].values["ranking"]["refs"]
    assert all(len(ref[0]) == 16 for ref in inside[3].values["ranking"]["refs"]), "evidence is referred to"


async def test_a_turn_that_stopped_inside_a_parent_is_edited_there_and_goes_on(saver: Any) -> None:
    inner = build([Reply("never", delay=30), "Clients [1]."])
    parent = in_a_row(turn=inner, close=close_desk).compile(checkpointer=saver, store=InMemoryStore())
    run = asyncio.create_task(parent.ainvoke(asking(), thread(), durability="sync"))
    while not asked_by(inner):
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    stopped = (await parent.aget_state(thread(), subgraphs=True)).tasks[0].state
    assert stopped.next == ("answer_conversational",)
    ranking = {**stopped.values["ranking"], "refs": stopped.values["ranking"]["refs"][1:]}
    await parent.aupdate_state(stopped.config, {"ranking": ranking}, as_node="process_results")
    result = await parent.ainvoke(None, thread())
    assert [message.text for message in result["messages"][1:]] == ["Clients [1].", "Anything else?"]
    assert "authorization code" in asked_by(inner)[0].text
    assert "authorization code" not in asked_by(inner)[1].text


# Interrupts


async def test_an_interrupt_of_the_parent_asks_nothing_of_the_turn_again() -> None:
    inner = build(ANSWER)

    async def review(state: Desk) -> Any:
        return {"messages": [AIMessage(interrupt(state["messages"][-1].text))]}

    parent = in_a_row(turn=inner, review=review).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    stopped = await ask(parent, on="t")
    assert [one.value for one in stopped["__interrupt__"]] == [ANSWER]
    result = await parent.ainvoke(Command(resume="Fine."), thread())
    assert [message.text for message in result["messages"][1:]] == [ANSWER, "Fine."]
    assert len(asked_by(inner)) == 1


async def test_an_interrupt_of_the_turn_is_answered_at_the_parent() -> None:
    inner = build("Bananas are yellow all year round [1].", human_review={"support_below": 0.9})
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    stopped = await ask(parent, on="t")
    assert stopped["__interrupt__"][0].value["answer"] == "Bananas are yellow all year round [1]."
    result = await parent.ainvoke(Command(resume={"decision": "refuse"}), thread())
    assert "Bananas" not in result["messages"][-1].text
    assert len(asked_by(inner)) == 1


# Context


class AgentContext(Context):
    """The choices of a turn, and something of the parent's own that no checkpoint can hold."""

    connection: Any = None


def tenants() -> InMemorySource:
    schema = SourceSchema("docs", {"tenant": {"type": "string"}})
    rows = [
        {"id": name, "content": f"OAuth at {name} has {number} grant types.", "tenant": name}
        for name, number in (("acme", "four"), ("globex", "two"))
    ]
    return InMemorySource(rows, name="docs", schema=schema)


async def test_a_parent_hands_scope_and_choices_down_in_a_context_that_has_more() -> None:
    scoped = {"retrieval": {"scope_filters": {"docs": {"tenant": "context.tenant"}}}}
    inner = build(sources=[tenants()], **scoped)
    parent = in_a_row(turn=inner, context_schema=AgentContext).compile(checkpointer=InMemorySaver())
    for name, number in (("acme", "four"), ("globex", "two")):
        context = AgentContext(scope={"tenant": name}, top_k=1, connection=object())
        result = await ask(parent, on=name, context=context)
        assert f"OAuth at {name} has {number} grant types." in result["messages"][-1].text
    with pytest.raises(ScopeMissing):
        await ask(parent, on="none", context=AgentContext())


async def test_session_metadata_of_the_parent_reaches_the_template_and_the_style_of_a_turn() -> None:
    template = "text_queries: ['{{ message }}']\nfilters: {docs: {tenant: '{{ metadata.customer }}'}}"
    settings = {"intent": {"mode": "template", "template": template}}
    parent = in_a_row(turn=build("never", sources=[tenants()], **settings)).compile()
    result = await ask(parent, metadata={"customer": "globex", "synthesis_style": "structured"})
    assert "OAuth at globex has two grant types." in result["messages"][-1].text
    assert "acme" not in result["messages"][-1].text


@pytest.mark.parametrize(
    "forged",
    [
        {"retrieval_provenance_history": "x"},
        {"retrieval_provenance_history": [1]},
        {"recently_used_keys": 5},
        {"recently_used_keys": [["a"], "b"]},
        {"retrieval_provenance": None},
    ],
)
async def test_what_a_client_of_the_parent_puts_in_place_of_a_turns_metadata_breaks_no_thread(forged: Any) -> None:
    inner = build(result_processing={"rotation": "demote"})
    parent = in_a_row(turn=inner).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    for given in (asking(), {**asking("pump 17"), "metadata": {**forged, "customer": "a"}}, asking("and clients?")):
        result = await parent.ainvoke(given, thread())
    assert result["metadata"]["customer"] == "a"
    assert result["metadata"]["retrieval_provenance_history"][-1]["question"] == "and clients?"
    assert len(result["messages"]) == 6


async def test_metadata_of_the_parent_that_is_no_mapping_is_a_typed_error() -> None:
    class Odd(MessagesState):
        metadata: Any

    with pytest.raises(InputInvalid, match="mapping"):
        await ask(in_a_row(Odd, turn=build()).compile(), metadata="x")


# Records


@pytest.mark.covers("V2")
async def test_the_record_of_a_turn_inside_a_parent_is_found_by_its_id() -> None:
    store = InMemoryStore()
    inner = build(ANSWER, store=store)
    parent = in_a_row(MessagesState, turn=inner).compile(checkpointer=InMemorySaver(), store=store)
    answer = (await ask(parent, on="t"))["messages"][-1]
    record = await load_provenance(inner, "t", answer.response_metadata["turn_id"])
    assert (record["answer"], record["results"][0]["source_name"]) == (ANSWER, "docs")
    with pytest.raises(EvidenceMissing, match="turn_id"):
        await load_provenance(inner, "t")


# Cancellation


async def cancelled_after(slow: FaultySource, leave: Any) -> float:
    """Seconds from leaving until the source was cancelled; 1 when it was not."""
    while not slow.calls:
        await asyncio.sleep(0.01)
    started = time.perf_counter()
    await leave()
    while not slow.cancellations and time.perf_counter() - started < 1:
        await asyncio.sleep(0.01)
    return time.perf_counter() - started


async def all_ended() -> None:
    """Returns when no step goes on by itself: every task but that of the caller has ended."""
    async with asyncio.timeout(5):
        while asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.sleep(0.01)


@pytest.mark.covers("fault 69")
@pytest.mark.parametrize(("inside", "deaf", "times"), [(True, False, 1), (True, True, 1), (False, False, 2)])
def test_cancelling_a_run_reaches_the_sources_within_a_second(inside: bool, deaf: bool, times: int) -> None:
    slow = FaultySource(docs(), delay=30, swallow_cancellation=deaf)
    graph = build(ANSWER, sources=[slow, notes()])
    asked = in_a_row(turn=graph).compile(checkpointer=InMemorySaver()) if inside else graph

    async def use() -> float:
        run = asyncio.create_task(ask(asked, on="t" if inside else None))

        async def leave() -> None:
            for _ in range(times):
                run.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await run

        seconds = await cancelled_after(slow, leave)
        slow.release()
        await all_ended()
        return seconds

    assert in_virtual_time(use())[0] < 1


@pytest.mark.covers("fault 69")
def test_a_client_that_leaves_the_stream_of_a_parent_cancels_the_sources() -> None:
    slow = FaultySource(docs(), delay=30)
    parent = in_a_row(turn=build(ANSWER, sources=[slow])).compile()

    async def use() -> float:
        stream = parent.astream(asking(), stream_mode="updates", subgraphs=True)
        async for space, update in stream:
            assert space
            if "resolve_intent" in update:
                break
        return await cancelled_after(slow, stream.aclose)

    assert in_virtual_time(use())[0] < 1


@pytest.mark.covers("fault 69")
def test_a_timeout_of_the_parents_node_cancels_the_sources() -> None:
    slow = FaultySource(docs(), delay=30)
    builder = StateGraph(Desk)
    builder.add_node("turn", build(ANSWER, sources=[slow]), timeout=0.3)
    builder.add_edge(START, "turn")
    parent = builder.compile()

    async def nothing() -> None:
        """It is over already."""

    async def use() -> float:
        with pytest.raises(NodeTimeoutError):
            await ask(parent)
        return await cancelled_after(slow, nothing)

    seconds, took = in_virtual_time(use())
    assert seconds < 1
    assert 0.299 <= took < 1.3


@pytest.mark.covers("fault 69")
def test_a_branch_of_the_parent_that_fails_ends_the_sources_of_the_turn_beside_it() -> None:
    slow, broken = FaultySource(docs(), delay=30), [True]

    async def fail(_state: Desk) -> Any:
        while broken and not slow.calls:
            await asyncio.sleep(0.01)
        if broken:
            raise ConnectionError("the other branch")
        return {}

    builder = StateGraph(Desk)
    builder.add_node("turn", build(ANSWER, sources=[slow, notes()]))
    builder.add_node("fail", fail)
    builder.add_edge(START, "turn")
    builder.add_edge(START, "fail")
    parent = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())

    async def use() -> tuple[float, Any]:
        run = asyncio.create_task(ask(parent, on="t"))

        async def leave() -> None:
            with pytest.raises(ConnectionError):
                await run

        seconds = await cancelled_after(slow, leave)
        await all_ended()
        # What was cut short is no failure of the source: it is asked again.
        broken.clear()
        slow.delay = 0
        return seconds, await parent.ainvoke(None, thread())

    seconds, result = in_virtual_time(use())[0]
    assert seconds < 1
    assert [message.text for message in result["messages"][1:]] == [ANSWER]
    assert result["metadata"]["retrieval_provenance"]["sources"] == {"docs": "ok", "notes": "ok"}
