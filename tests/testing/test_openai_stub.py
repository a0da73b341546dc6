"""The wire stub, driven by LangChain's real OpenAI client."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from functools import reduce
from operator import add
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from langchain.chat_models import init_chat_model
from langchain.embeddings import init_embeddings
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from groundgraph.testing import NgramEmbeddings, Reply, Rule, ScriptedChatModel, openai_stub, wire_stub

ANSWER = "Within 30 days [1], if unused [12]. Ответ: да 🙂"


class Queries(BaseModel):
    """Search queries."""

    text_queries: list[str]


def model_for(stub, **options):
    return init_chat_model("openai:test-model", base_url=stub.base_url, api_key="test", max_retries=0, **options)


async def test_the_wire_gives_the_same_text_and_usage_as_the_scripted_model():
    rules = [
        Rule("returns", ANSWER, role="user"),
        Rule("shipping", Reply("cut off", finish_reason="length"), role="evidence"),
        Rule("", lambda prompt: f"{prompt.roles} {prompt.text}"),
    ]
    prompts = [
        [SystemMessage("Be brief."), HumanMessage("About returns?")],
        [HumanMessage("about shipping", name="evidence"), HumanMessage("When?")],
        [SystemMessage("a"), HumanMessage("b"), AIMessage("c"), HumanMessage("d")],
    ]
    scripted = ScriptedChatModel(rules=rules)
    with openai_stub(rules=rules) as stub:
        wired = model_for(stub, stream_usage=True)
        for prompt in prompts:
            expected = scripted.invoke(prompt)
            whole = await wired.ainvoke(prompt)
            streamed = reduce(add, [chunk async for chunk in wired.astream(prompt)])
            for found in (whole, streamed):
                assert found.content == expected.content
                assert found.response_metadata["finish_reason"] == expected.response_metadata["finish_reason"]
                for count in ("input_tokens", "output_tokens", "total_tokens"):
                    assert found.usage_metadata[count] == expected.usage_metadata[count]


def test_the_sync_client_streams_token_by_token():
    with openai_stub(Reply(chunks=["See [", "1", "]."])) as stub:
        seen = [chunk.content for chunk in model_for(stub).stream("x")]
    assert [text for text in seen if text] == ["See [", "1", "]."]


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
async def test_structured_output_by_every_method(method):
    with openai_stub(Reply.json({"text_queries": ["refunds"]})) as stub:
        structured = model_for(stub).with_structured_output(Queries, method=method, include_raw=True)
        found = await structured.ainvoke("x")
    assert found["parsed"] == Queries(text_queries=["refunds"])
    assert found["parsing_error"] is None


async def test_bad_json_over_the_wire_is_a_parsing_error():
    with openai_stub("no JSON at all") as stub:
        structured = model_for(stub).with_structured_output(Queries, method="json_mode", include_raw=True)
        found = await structured.ainvoke("x")
    assert found["parsed"] is None
    assert found["raw"].content == "no JSON at all"


def test_tool_calls_whole_and_streamed():
    calls = [{"name": "Queries", "args": {"text_queries": ["a"]}}, {"name": "Other", "args": {}}]
    with openai_stub(Reply(tool_calls=calls)) as stub:
        model = model_for(stub).bind_tools([Queries])
        whole, streamed = model.invoke("x"), reduce(add, model.stream("x"))
    expected = ScriptedChatModel(Reply(tool_calls=calls)).invoke("x").tool_calls
    assert whole.tool_calls == streamed.tool_calls == expected


def test_a_refusal_and_a_content_filter():
    with openai_stub([Reply(refusal="No."), Reply("", finish_reason="content_filter")]) as stub:
        model = model_for(stub)
        assert model.invoke("x").additional_kwargs["refusal"] == "No."
        assert model.invoke("x").response_metadata["finish_reason"] == "content_filter"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
async def test_statuses_become_the_errors_of_the_sdk(status, error):
    with openai_stub(Reply("why it failed", status=status, headers={"Retry-After": "2"})) as stub:
        with pytest.raises(error, match="why it failed") as caught:
            await model_for(stub).ainvoke("x")
        assert caught.value.response.headers["retry-after"] == "2"
        with pytest.raises(error):
            list(model_for(stub).stream("x"))


def test_a_client_that_retries_waits_once_and_gets_its_answer():
    replies = [Reply(status=429, headers={"Retry-After": "0.2"}), "done"]
    with openai_stub(replies) as stub:
        model = init_chat_model("openai:test-model", base_url=stub.base_url, api_key="test", max_retries=1)
        started = time.monotonic()
        assert model.invoke("x").content == "done"
        assert time.monotonic() - started >= 0.19
        assert len(stub.requests) == 2


def test_a_wrong_key_is_refused():
    with openai_stub("x", api_key="right") as stub:
        with pytest.raises(openai.AuthenticationError):
            model_for(stub).invoke("x")
        right = init_chat_model("openai:test-model", base_url=stub.base_url, api_key="right")
        assert right.invoke("x").content == "x"


def test_an_unscripted_prompt_is_a_bad_request_that_shows_it():
    with openai_stub(rules=[Rule("a", "b")]) as stub, pytest.raises(openai.BadRequestError, match="Tell me"):
        model_for(stub).invoke("Tell me")


async def test_a_connection_that_breaks_in_the_middle():
    with openai_stub(Reply(chunks=["a", "b", "c"], error_after=2)) as stub:
        seen = []

        async def read():
            async for chunk in model_for(stub).astream("x"):
                seen.append(chunk.content)

        # The SDK lets the transport's error through while it reads a stream, and wraps it otherwise.
        with pytest.raises((httpx.RemoteProtocolError, openai.APIConnectionError)):
            await read()
        assert [text for text in seen if text] == ["a", "b"]
        with pytest.raises(openai.APIConnectionError):
            await model_for(stub).ainvoke("x")


async def test_a_late_reply_meets_the_clients_timeout():
    with openai_stub(Reply("late", delay=600)) as stub:
        started = time.monotonic()
        with pytest.raises(openai.APITimeoutError):
            await model_for(stub, timeout=0.2).ainvoke("x")
    # Closing did not wait for the reply either.
    assert time.monotonic() - started < 60


async def test_a_cancelled_stream_is_seen_by_the_server():
    with openai_stub(Reply("word " * 500, token_delay=0.01)) as stub:
        began = asyncio.Event()

        async def read():
            async for _ in model_for(stub).astream("x"):
                began.set()

        task = asyncio.create_task(read())
        # Cancelled just as the head arrives, the client leaves its connection open (measured).
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ends = time.monotonic() + 60
        while not stub.aborted and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        assert stub.aborted == 1


@pytest.mark.parametrize(("options", "encoding"), [({}, "base64"), ({"encoding_format": "float"}, "float")])
async def test_embeddings_are_those_of_ngram_embeddings(options, encoding):
    with openai_stub("x") as stub:
        client = init_embeddings(
            "openai:test-model",
            base_url=stub.base_url,
            api_key="test",
            check_embedding_ctx_length=False,
            model_kwargs=options,
        )
        vectors = await client.aembed_documents(["refund policy", "возврат"])
        assert stub.requests[-1].body["encoding_format"] == encoding
    expected = NgramEmbeddings().embed_documents(["refund policy", "возврат"])
    for vector, wanted in zip(vectors, expected, strict=True):
        assert vector == pytest.approx(wanted, abs=1e-6)


def test_embeddings_take_dimensions_and_can_fail():
    rules = [Rule("broken", Reply(status=500), role="embedding"), Rule("", "for chats only")]
    with openai_stub(rules=rules) as stub:
        client = init_embeddings(
            "openai:test-model",
            base_url=stub.base_url,
            api_key="test",
            check_embedding_ctx_length=False,
            dimensions=32,
            max_retries=0,
        )
        assert len(client.embed_query("fine")) == 32
        with pytest.raises(openai.InternalServerError):
            client.embed_query("broken")


def test_token_numbers_in_place_of_text_are_refused_with_the_way_out():
    with openai_stub("x") as stub, openai.OpenAI(base_url=stub.base_url, api_key="k") as client:
        embed = client.embeddings.create
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length"):
            embed(model="m", input=[[1, 2, 3]])


def test_models_and_unknown_paths():
    with openai_stub("x", models=["a", "b"]) as stub, httpx.Client(base_url=stub.base_url, timeout=60) as client:
        assert [model["id"] for model in client.get("/models").json()["data"]] == ["a", "b"]
        assert client.get("/nothing").status_code == client.post("/nothing", json={}).status_code == 404


def test_base64_and_floats_are_sent_as_asked_for():
    body = {"model": "m", "input": "refund"}
    with openai_stub("x") as stub, httpx.Client(base_url=stub.base_url, timeout=60) as client:
        packed = client.post("/embeddings", json={**body, "encoding_format": "base64"}).json()
        plain = client.post("/embeddings", json=body).json()
    assert isinstance(packed["data"][0]["embedding"], str)
    assert plain["data"][0]["embedding"] == NgramEmbeddings().embed_query("refund")


def test_requests_are_recorded():
    with openai_stub("x") as stub:
        model_for(stub, temperature=0.5).invoke("hello")
        request = stub.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.body["messages"] == [{"content": "hello", "role": "user"}]
    assert request.body["temperature"] == 0.5
    assert request.headers["authorization"] == "Bearer test"


async def test_parallel_calls_are_served_at_once():
    together = threading.Barrier(10)

    def meet(_):
        together.wait(60)  # nobody is answered before all ten have asked
        return Reply("x")

    with openai_stub(default=meet) as stub:
        model = model_for(stub)
        await asyncio.gather(*(model.ainvoke("x") for _ in range(10)))
        assert len(stub.requests) == 10


def new_threads(before):
    """Those that an earlier test left behind may end at any time."""
    return set(threading.enumerate()) - before


def test_closing_leaves_no_thread_and_is_quick():
    before = set(threading.enumerate())
    with openai_stub("x") as stub:
        model_for(stub).invoke("x")
        started = time.monotonic()
    # It did not wait for a thread as long as it may.
    assert time.monotonic() - started < wire_stub._JOIN_LIMIT
    assert not new_threads(before)


def test_closing_does_not_wait_for_a_client_that_sends_nothing():
    before = set(threading.enumerate())
    with openai_stub("x") as stub, socket.create_connection(("127.0.0.1", urlsplit(stub.base_url).port)):
        while len(new_threads(before)) < 2:
            time.sleep(0.01)
        started = time.monotonic()
        stub.close()
        assert time.monotonic() - started < wire_stub._JOIN_LIMIT
        assert not new_threads(before)
