"""ScriptedChatModel: replies by rule, streaming, structured output, faults, and how LangGraph streams it."""

from __future__ import annotations

import asyncio
import copy
import time
from functools import reduce
from operator import add
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict
from virtual_time import in_virtual_time

from groundgraph.testing import Reply, Rule, ScriptedChatModel, ScriptedStatusError, UnscriptedPrompt
from groundgraph.testing.models import tokens


class Queries(BaseModel):
    """Search queries."""

    text_queries: list[str]


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def chat_graph(model):
    async def answer(state: Chat) -> Chat:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(Chat).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()


async def collected(stream):
    """What a stream yields, and the error that ends it."""
    seen = []
    try:
        async for item in stream:
            seen.append(item)
    except Exception as error:
        return seen, error
    return seen, None


QUESTION = {"messages": [HumanMessage("How long may I return it?")]}
ANSWER = "Within 30 days [1], if unused [12]. Ответ: да 🙂"


async def test_one_text_answers_every_prompt():
    model = ScriptedChatModel("yes")
    assert [model.invoke("a").content, (await model.ainvoke("b")).content] == ["yes", "yes"]


def test_a_list_is_taken_in_order_and_ends_with_a_clear_error():
    model = ScriptedChatModel(["one", "two"])
    assert [model.invoke("x").content, model.invoke("x").content] == ["one", "two"]
    with pytest.raises(UnscriptedPrompt, match="no replies are left"):
        model.invoke("x")


async def test_rules_do_not_depend_on_the_order_of_parallel_calls():
    rules = [Rule(f"question {n}$", Reply(f"answer {n}", delay=0.01 * (5 - n))) for n in range(5)]
    model = ScriptedChatModel(rules=rules)
    replies = await asyncio.gather(*(model.ainvoke(f"question {n}") for n in reversed(range(5))))
    assert [reply.content for reply in replies] == [f"answer {n}" for n in reversed(range(5))]


def test_a_rule_can_ask_for_a_role_or_a_message_name():
    rules = [
        Rule("secret", "system said it", role="system"),
        Rule("secret", "evidence said it", role="evidence"),
    ]
    model = ScriptedChatModel(rules=rules, default="nobody said it")
    assert model.invoke([SystemMessage("a secret"), HumanMessage("hi")]).content == "system said it"
    assert model.invoke([HumanMessage("a secret", name="evidence")]).content == "evidence said it"
    assert model.invoke([HumanMessage("a secret")]).content == "nobody said it"
    assert ScriptedChatModel(rules=[Rule("a.b", "ok", role="human")]).invoke("a\nb").content == "ok"


def test_without_a_default_an_unmatched_prompt_is_an_error_that_shows_it():
    model = ScriptedChatModel(rules=[Rule("capital", "Paris")])
    with pytest.raises(UnscriptedPrompt, match=r"(?s)'capital'.*the weather"):
        model.invoke("Tell me the weather")
    assert [call.text for call in model.calls] == ["Tell me the weather"]


def test_a_rule_can_hold_a_list_or_a_function():
    listed = ScriptedChatModel(rules=[Rule("", ["bad json", "{}"])])
    assert [listed.invoke("x").content for _ in range(3)] == ["bad json", "{}", "{}"]
    made = ScriptedChatModel(rules=[Rule("", lambda prompt: prompt.text.upper())])
    assert made.invoke("loud").content == "LOUD"


def test_every_call_is_recorded():
    model = ScriptedChatModel("ok")
    model.invoke([SystemMessage("be brief"), HumanMessage("hello")], stop=["\n"])
    list(model.stream("again"))
    first, second = model.calls
    assert first.text == "be brief\nhello"
    assert first.roles == ["system", "user"]
    assert first.kwargs == {"stop": ["\n"]}
    assert [first.streamed, second.streamed] == [False, True]


@given(st.text())
def test_tokens_join_to_the_exact_text(text):
    assert "".join(tokens(text)) == text


def test_tokens_split_labels_and_long_words():
    assert tokens("refundable [12].") == ["refund", "able", " [", "12", "]", "."]


@pytest.mark.parametrize("text", [ANSWER, "", "\n\n  padded  \n"])
async def test_both_streams_give_the_text_and_the_usage_of_invoke(text):
    model = ScriptedChatModel(text)
    whole = model.invoke("two words")
    streamed = list(model.stream("two words"))
    astreamed = [chunk async for chunk in model.astream("two words")]
    for chunks in (streamed, astreamed):
        total = reduce(add, chunks)
        assert total.content == whole.content == text
        assert total.usage_metadata == whole.usage_metadata
        assert total.response_metadata["finish_reason"] == whole.response_metadata["finish_reason"] == "stop"
        assert chunks[-1].chunk_position == "last"
        assert len(chunks) == len(tokens(text)) + 1


async def test_chunks_set_the_exact_boundaries():
    model = ScriptedChatModel(Reply(chunks=["See [", "1", "] there"]))
    seen = [chunk.content for chunk in model.stream("x")]
    assert [text for text in seen if text] == ["See [", "1", "] there"]
    with pytest.raises(ValueError, match="chunks join to"):
        Reply("abc", chunks=["a", "b"])


def test_usage_counts_words_and_can_be_given():
    usage = ScriptedChatModel("three little words").invoke([SystemMessage("a b"), HumanMessage("c")]).usage_metadata
    assert usage == {"input_tokens": 3, "output_tokens": 3, "total_tokens": 6}
    given_usage = ScriptedChatModel(Reply("x", usage=(100, 7))).invoke("x").usage_metadata
    assert given_usage == {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
    assert ScriptedChatModel("x").get_num_tokens("how long is this") == 4
    assert ScriptedChatModel("x").get_num_tokens_from_messages([HumanMessage("how long")]) == 2


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_finish_reasons_and_refusals(reason):
    reply = ScriptedChatModel(Reply("cut", finish_reason=reason)).invoke("x")
    assert reply.response_metadata["finish_reason"] == reason
    refused = ScriptedChatModel(Reply(refusal="I cannot help with that.")).invoke("x")
    assert (refused.content, refused.additional_kwargs) == ("", {"refusal": "I cannot help with that."})


async def test_errors_are_raised_in_every_way_of_calling():
    model = ScriptedChatModel(rules=[Rule("", [TimeoutError, ValueError("bad"), Reply(error=OSError("x")), "ok"])])
    with pytest.raises(TimeoutError):
        model.invoke("x")
    with pytest.raises(ValueError, match="bad"):
        await model.ainvoke("x")
    with pytest.raises(OSError, match="x"):
        [chunk async for chunk in model.astream("x")]
    assert model.invoke("x").content == "ok"


def test_a_status_is_an_error_with_its_headers():
    with pytest.raises(ScriptedStatusError, match="429") as caught:
        ScriptedChatModel(Reply(status=429, headers={"Retry-After": "2"})).invoke("x")
    assert caught.value.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "2"


async def test_a_stream_can_break_in_the_middle():
    model = ScriptedChatModel(Reply(chunks=["a", "b", "c"], error_after=2))
    seen, error = await collected(chunk.content async for chunk in model.astream("x"))
    assert seen == ["a", "b"]
    assert "after 2 tokens" in str(error)
    with pytest.raises(ConnectionError):
        model.invoke("x")
    with pytest.raises(RuntimeError, match="own"):
        list(ScriptedChatModel(Reply("one", error_after=99, error=RuntimeError("own"))).stream("x"))


def test_delays_leave_the_event_loop_free():
    model = ScriptedChatModel(Reply(chunks=["a", "b"], delay=0.1, token_delay=0.05))

    async def use():
        started = time.monotonic()
        arrived = []
        ticks = asyncio.create_task(asyncio.sleep(0.01, "ran"))
        async for _ in model.astream("x"):
            arrived.append(time.monotonic() - started)
        assert ticks.done()
        assert arrived[:2] == pytest.approx([0.15, 0.2])
        started = time.monotonic()
        await model.ainvoke("x")
        assert time.monotonic() - started == pytest.approx(0.2)

    # A sleep that blocked the loop would not move this clock.
    in_virtual_time(use())
    started = time.monotonic()
    model.invoke("x")
    assert time.monotonic() - started >= 0.19


@pytest.mark.parametrize("schema", [Queries, Queries.model_json_schema()])
async def test_structured_output_from_a_json_text(schema):
    model = ScriptedChatModel('{"text_queries": ["refunds", "возврат"]}')
    parsed = await model.with_structured_output(schema).ainvoke("x")
    assert (parsed.text_queries if isinstance(parsed, Queries) else parsed["text_queries"]) == [
        "refunds",
        "возврат",
    ]
    assert model.calls[0].kwargs["tools"][0]["function"]["name"] == "Queries"


def test_structured_output_keeps_what_is_not_json():
    fenced = '```json\n{"text_queries": ["a"]}\n```'
    found = ScriptedChatModel(fenced).with_structured_output(Queries, include_raw=True).invoke("x")
    assert found["parsed"] is None
    assert found["raw"].content == fenced
    wrong = ScriptedChatModel(Reply.json({"text_queries": 5})).with_structured_output(Queries, include_raw=True)
    assert isinstance(wrong.invoke("x")["parsing_error"], ValidationError)


def test_tool_calls_good_and_bad():
    model = ScriptedChatModel(Reply(tool_calls=[{"name": "Queries", "args": {"text_queries": ["a"]}}]))
    whole = model.bind_tools([Queries]).invoke("x")
    assert whole.tool_calls[0]["args"] == {"text_queries": ["a"]}
    assert whole.response_metadata["finish_reason"] == "tool_calls"
    assert reduce(add, model.stream("x")).tool_calls == whole.tool_calls
    bad = ScriptedChatModel(Reply(tool_calls=[{"name": "Queries", "args": '{"text_queries": ['}])).invoke("x")
    assert bad.tool_calls == []
    assert bad.invalid_tool_calls[0]["args"] == '{"text_queries": ['


def test_a_message_can_be_the_reply():
    blocks = [{"type": "text", "text": "with "}, {"type": "text", "text": "blocks"}]
    message = AIMessage(blocks, additional_kwargs={"reasoning_content": "hm"})
    reply = ScriptedChatModel(message).invoke("x")
    assert reply.content == blocks
    assert reply.text == "with blocks"
    assert reply.additional_kwargs == {"reasoning_content": "hm"}
    assert reduce(add, ScriptedChatModel(message).stream("x")).text == "with blocks"


def test_copies_and_bindings_work():
    model = copy.deepcopy(ScriptedChatModel(["one", "two"]))
    assert model.bind(stop=["x"]).invoke("x").content == "one"
    assert model.model_copy().invoke("x").content == "two"


async def test_langgraph_streams_its_tokens_in_v1_and_v2():
    graph = chat_graph(ScriptedChatModel(ANSWER))
    v1 = [chunk.content async for chunk, _ in graph.astream(QUESTION, stream_mode="messages")]
    assert "".join(v1) == ANSWER
    assert len(v1) > 10
    v2 = [part async for part in graph.astream(QUESTION, stream_mode="messages", version="v2")]
    assert "".join(part["data"][0].text for part in v2 if part["type"] == "messages") == ANSWER


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
async def test_langgraph_streams_its_tokens_in_v3():
    graph = chat_graph(ScriptedChatModel(ANSWER))
    run = await graph.astream_events(QUESTION, version="v3")
    streamed = [token async for message in run.messages async for token in message.text]
    assert "".join(streamed) == ANSWER
    assert len(streamed) > 10
    assert (await run.output())["messages"][-1].text == ANSWER


async def test_a_break_in_the_middle_reaches_the_caller_of_a_graph():
    graph = chat_graph(ScriptedChatModel(Reply(ANSWER, error_after=3)))
    stream = graph.astream(QUESTION, stream_mode="messages")
    seen, error = await collected(chunk.content async for chunk, _ in stream)
    assert isinstance(error, ConnectionError)
    assert "".join(seen) == "".join(tokens(ANSWER)[:3])


def test_evidence_is_what_a_user_message_shows_and_never_the_instructions_that_name_its_tags():
    model = ScriptedChatModel(rules=[Rule("", "shown", role="evidence")], default="nothing shown")
    told = SystemMessage("It stands between <evidence-…> and </evidence-…>.")
    assert model.invoke([told, HumanMessage("When?")]).content == "nothing shown"
    asked = [told, HumanMessage("<evidence-1>\nNow.\n</evidence-1>\n\nWhen?")]
    assert model.invoke(asked).content == "shown"
    assert model.calls[-1].prompt.evidence == "<evidence-1>\nNow.\n</evidence-1>"
    assert model.calls[-1].prompt.question == "When?"
