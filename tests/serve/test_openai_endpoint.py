"""Chat clients talk to the turn graph by OpenAI's protocol: their own libraries hold the conversation."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_openai import ChatOpenAI
from served import PUMPS, filled, serving

from groundgraph import InMemorySource, load_settings
from groundgraph.serve.openai_api import MODEL
from groundgraph.testing import ScriptedChatModel


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = filled(tmp_path_factory.mktemp("served"), {"pumps.md": PUMPS})
    with serving(settings) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
        yield client


def user(text: str) -> Any:
    return {"role": "user", "content": text}


@pytest.mark.covers("U9")
def test_a_conversation_has_a_citation_a_follow_up_and_an_abstention(client: openai.OpenAI, address: str):
    said: list[Any] = [user("How often is pump 17 serviced?")]
    first = client.chat.completions.create(model=MODEL, messages=said)
    message = first.choices[0].message
    assert "every **90 days**" in (message.content or "")
    (cited,) = message.annotations or []
    where = cited.url_citation
    assert (message.content or "")[where.start_index : where.end_index] == "[1]"
    assert where.title == "docs/pumps.md:5"
    page, _, place = where.url.partition("#")
    thread, turn, label = place.split("/")[1:]
    assert page == f"{address}/"
    passage = httpx.get(f"{address}/api/threads/{thread}/turns/{turn}/citations/{label}").json()
    assert "<mark>Pump 17 is serviced every </mark><strong><mark>90 days</mark></strong>" in passage["html"]

    said += [{"role": "assistant", "content": message.content}, user("And pump 18?")]
    second = client.chat.completions.create(model=MODEL, messages=said)
    assert "Pump 18 is retired" in (second.choices[0].message.content or "")
    # Both stand in one thread, which the page shows.
    turns = httpx.get(f"{address}/api/threads/{thread}").json()["turns"]
    assert [turn["question"] for turn in turns] == ["How often is pump 17 serviced?", "And pump 18?"]
    assert turns[1]["parent"] == turn

    third = client.chat.completions.create(model=MODEL, messages=[user("Who wrote the opera Parsifal?")])
    assert third.model_extra["groundgraph"]["outcome"] == "insufficient"
    assert not third.choices[0].message.annotations


@pytest.mark.covers("U9")
@pytest.mark.parametrize(
    ("told", "prefix"),
    [
        ("/manuals", "/manuals"),
        ("/a/b-1/", "/a/b-1"),
        ("", ""),
        ("//evil.example", ""),
        ("@evil.example", ""),
        ("/#", ""),
    ],
)
def test_a_citation_leads_below_the_path_that_a_proxy_took_off(address: str, told: str, prefix: str):
    asked = {"model": MODEL, "messages": [user("How often is pump 17 serviced?")]}
    reply = httpx.post(f"{address}/v1/chat/completions", json=asked, headers={"x-forwarded-prefix": told}).json()
    (cited,) = reply["choices"][0]["message"]["annotations"]
    assert cited["url_citation"]["url"].startswith(f"{address}{prefix}/#t/")


def test_going_back_in_a_client_is_a_branch_of_the_same_thread(client: openai.OpenAI, address: str):
    start: list[Any] = [user("Where does pump 18 stand?")]
    first = client.chat.completions.create(model=MODEL, messages=start)
    start.append({"role": "assistant", "content": f"{first.choices[0].message.content}\n"})
    for question in ("How often is pump 17 serviced?", "When is the filter of pump 17 changed?"):
        client.chat.completions.create(model=MODEL, messages=[*start, user(question)])
    kept = first.model_extra["groundgraph"]
    turns = httpx.get(f"{address}/api/threads/{kept['thread']}").json()["turns"]
    assert [turn["parent"] for turn in turns] == ["", kept["turn"], kept["turn"]]


def test_what_was_said_elsewhere_is_the_beginning_of_a_thread(client: openai.OpenAI):
    said: list[Any] = [user("Tell me of pump 18."), {"role": "assistant", "content": "Pump 18 is in hall 3."}]
    found = client.chat.completions.create(model=MODEL, messages=[*said, user("Is it retired?")])
    assert "Pump 18 is retired" in (found.choices[0].message.content or "")


def test_the_models_are_listed(client: openai.OpenAI):
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "groundgraph"


@pytest.mark.covers("U9")
def test_an_answer_streams_with_annotations_and_usage(tmp_path: Path):
    model = ScriptedChatModel(default="Pump 17 is serviced every 90 days [1].")
    settings = filled(tmp_path, {"pumps.md": PUMPS}, synthesis={"style": "conversational"})
    with serving(settings, chat_model=model) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="any") as client:
        options: Any = {"include_usage": True}
        asked = [user("How often is pump 17 serviced?")]
        chunks = list(client.chat.completions.create(model=MODEL, messages=asked, stream=True, stream_options=options))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    pieces = [delta.content for delta in deltas if delta.content]
    assert len(pieces) > 2
    assert "".join(pieces) == "Pump 17 is serviced every 90 days [1]."
    (cited,) = next(delta.model_extra["annotations"] for delta in deltas if "annotations" in (delta.model_extra or {}))
    where = cited["url_citation"]
    assert "".join(pieces)[where["start_index"] : where["end_index"]] == "[1]"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens > 0


@pytest.mark.covers("U9")
@pytest.mark.parametrize("streams", [True, False])
def test_what_the_citation_check_found_stands_below_the_answer(tmp_path: Path, streams: bool):
    said = "Pump 17 is serviced every 60 days [1]."
    settings = filled(tmp_path, {"pumps.md": PUMPS}, synthesis={"style": "conversational"})
    with (
        serving(settings, chat_model=ScriptedChatModel(default=said)) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="any") as client,
    ):
        conversation = [user("How often is pump 17 serviced?")]
        if streams:
            chunks = client.chat.completions.create(model=MODEL, messages=conversation, stream=True)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        else:
            text = client.chat.completions.create(model=MODEL, messages=conversation).choices[0].message.content or ""
        assert text.startswith(f"{said}\n\n> ⚠ Number not supported: 60 days does not stand in the evidence")
        # What goes back is known as what was said, so the conversation stays in its thread.
        conversation += [{"role": "assistant", "content": text}, user("And pump 18?")]
        kept = client.chat.completions.create(model=MODEL, messages=conversation).model_extra["groundgraph"]
        assert len(httpx.get(f"{url}/api/threads/{kept['thread']}").json()["turns"]) == 2


@pytest.mark.covers("U9")
def test_langchains_client_holds_a_conversation(address: str):
    bodies: list[Any] = []

    def kept(answer: httpx.Response) -> None:
        bodies.append(json.loads(answer.read()) if "json" in answer.headers["content-type"] else {})

    with httpx.Client(event_hooks={"response": [kept]}) as wire:
        model = ChatOpenAI(model=MODEL, base_url=f"{address}/v1", api_key="any", max_retries=0, http_client=wire)
        said: list[Any] = [("human", "How often is pump 17 serviced?")]
        first = model.invoke(said)
        assert "90 days" in first.text
        # LangChain's message has the label; the annotations stand in what it was sent.
        (cited,) = bodies[-1]["choices"][0]["message"]["annotations"]
        where = cited["url_citation"]
        assert (cited["type"], first.text[where["start_index"] : where["end_index"]]) == ("url_citation", "[1]")
        assert where["url"].startswith(f"{address}/#")
        second = "".join(piece.text for piece in model.stream([*said, first, ("human", "And pump 18?")]))
        assert "Pump 18 is retired" in second
        third = model.invoke("Who wrote the opera Parsifal?")
        assert "[1]" not in third.text
        assert bodies[-1]["groundgraph"]["outcome"] == "insufficient"
        assert bodies[-1]["choices"][0]["message"]["annotations"] == []


@pytest.mark.covers("U9")
def test_langchains_client_tells_what_is_refused(address: str):
    model = ChatOpenAI(model=MODEL, base_url=f"{address}/v1", api_key="any", max_retries=0)
    with pytest.raises(openai.BadRequestError):
        model.invoke("x", n=2)
    with pytest.raises(openai.APIStatusError) as told:
        model.invoke("x" * 2_000_000)
    assert told.value.status_code == 413


REFUSED: list[tuple[Any, int, str | None]] = [
    ({"model": MODEL}, 400, "messages"),
    ({"model": MODEL, "messages": []}, 400, "messages"),
    ({"model": MODEL, "messages": "x"}, 400, "messages"),
    ({"model": MODEL, "messages": [user("")]}, 400, "messages"),
    ({"model": MODEL, "messages": [user("x")], "n": 2}, 400, "n"),
    ({"model": MODEL, "messages": [{"role": "assistant", "content": "x"}]}, 400, "messages"),
    ({"model": MODEL, "messages": [user([{"type": "image_url"}])]}, 400, None),  # type: ignore[arg-type]
    ({"model": "other", "messages": [user("x")]}, 404, "model"),
    ({"model": MODEL, "messages": [{"role": "system", "content": "x" * 20_001}, user("x")]}, 400, "messages"),
    ([], 400, None),
]


@pytest.mark.parametrize(("body", "status", "param"), REFUSED)
def test_a_request_that_cannot_work_is_refused_in_the_protocols_form(address: str, body, status, param):
    answer = httpx.post(f"{address}/v1/chat/completions", json=body)
    told = answer.json()["error"]
    assert (answer.status_code, set(told)) == (status, {"message", "type", "param", "code"})
    assert param is None or told["param"].startswith(param)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'"' + b"x" * 2_000_000 + b'"'])
def test_malformed_and_huge_bodies_are_refused_in_the_protocols_form(address: str, body: bytes):
    for sent in (body, iter([body])):
        answer = httpx.post(
            f"{address}/v1/chat/completions", content=sent, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == (413 if len(body) > 1_000_000 else 400)
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_routes_that_are_not_there_are_told_in_the_protocols_form(client: openai.OpenAI):
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-5")
    with pytest.raises(openai.NotFoundError) as told:
        client.embeddings.create(model=MODEL, input="x")
    assert told.value.body is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {}, optional={"model": json_values, "messages": json_values, "stream": json_values, "n": json_values}
    )
)
def test_no_body_makes_the_server_fail(address: str, body: Any):
    answer = httpx.post(f"{address}/v1/chat/completions", json=body)
    assert answer.status_code in (400, 404)


class Endless(InMemorySource):
    """Answers in two minutes, and knows when it was asked and when that was called off."""

    begun, cancelled = threading.Event(), threading.Event()

    async def query(self, *arguments: Any, **options: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.sleep(120)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


@pytest.mark.covers("U9", "fault 69")
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_the_search(stream: bool):
    settings = load_settings(
        {"checkpointer": {"type": "memory"}, "store": {"type": "memory"}, "intent": {"mode": "static"}}
    )
    source = Endless(["Pump 17 is red."], name="pumps")
    source.begun, source.cancelled = threading.Event(), threading.Event()
    with serving(settings, sources=[source]) as url:
        asked = {"model": MODEL, "stream": stream, "messages": [user("Which pump is red?")]}
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"content-type": "application/json"})
        assert source.begun.wait(30)
        connection.close()
        # A second, and what a busy machine adds; its deadline of 10 seconds would end it later.
        assert source.cancelled.wait(5)
