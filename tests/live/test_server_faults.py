"""Streams that break, on a real LangGraph Server with a model and a slow source (faults 69 to 72 over the server)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slow_retriever import notes_of

from groundgraph.testing import OpenAIStub, Reply
from groundgraph.testing.models import Prompt

pytestmark = pytest.mark.live

ANSWER = "OAuth has four grant types and the implicit grant is one of them [1]."
QUESTION = "Which grant types does OAuth have?"
CONFIG = """
intent: {{mode: static}}
llm: {{provider: openai, model: test-model, base_url: "{base_url}"}}
deadlines: {{turn: 200, source: 150, model: 150}}
sources:
  - type: memory
    name: docs
    records: [{{id: oauth, content: "OAuth has four grant types. The implicit grant is one of them.", title: OAuth}}]
  - type: langchain
    name: slow
    class: slow_retriever:SlowRetriever
    options: {{seconds: 120, notes: "{notes}"}}
"""


def reply(prompt: Prompt) -> Reply:
    """By what is asked: a long answer, one that breaks off, or a short one."""
    asked = prompt.text
    if "break off" in asked:
        return Reply(ANSWER, error_after=8)
    if "take long" in asked:
        return Reply("Word after word " * 1200, token_delay=0.05)
    return Reply(ANSWER)


REPLY = reply


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notes") / "slow"


@pytest.fixture(scope="module")
def url(serve, tmp_path_factory: pytest.TempPathFactory, model: OpenAIStub, notes: Path) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("faults")
    support = str(Path(__file__).parent.parent / "support")
    config = CONFIG.format(base_url=model.base_url, notes=notes)
    with serve(folder, config, folder / "log", PYTHONPATH=support, OPENAI_API_KEY="test") as address:
        yield address


DOCS = {"sources": ["docs"], "style": "conversational"}


async def until(happened: Callable[[], Any], seconds: float = 120) -> float:
    """Wait for something, and say how many seconds it took."""
    began = time.time()
    while not happened():
        assert time.time() - began < seconds, "it did not happen"
        await asyncio.sleep(0.02)
    return time.time() - began


async def streamed(client: Any, graph: str, question: str, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The last values of a streamed run, and what came of the answer, by the name of the event."""
    values: dict[str, Any] = {}
    pieces: dict[str, str] = {}
    async for part in client.runs.stream(None, graph, input={"question": question}, context=DOCS, **options):
        if part.event == "values":
            values = part.data
        elif part.event.startswith("messages") and part.data[0]["type"] == "AIMessageChunk":
            pieces[part.event] = pieces.get(part.event, "") + part.data[0]["content"]
    return values, pieces


@pytest.mark.covers("fault 69")
@pytest.mark.parametrize("way", ["leaves", "cancels"])
async def test_a_client_that_leaves_or_cancels_ends_the_sources_task(client, notes: Path, way: str) -> None:
    thread = (await client.threads.create())["thread_id"]
    begun, cancelled = len(notes_of(notes, "begun")), len(notes_of(notes, "cancelled"))
    stream = client.runs.stream(
        thread, "turn", input={"question": QUESTION}, stream_mode="custom", on_disconnect="cancel"
    )
    first = await anext(aiter(stream))
    await until(lambda: len(notes_of(notes, "begun")) > begun)
    left = time.time()
    if way == "leaves":
        await stream.aclose()
    else:
        await client.runs.cancel(thread, first.data["run_id"])
    await until(lambda: len(notes_of(notes, "cancelled")) > cancelled)
    # A second, and what a busy machine adds; the source itself would go on for two minutes.
    taken = notes_of(notes, "cancelled")[-1] - left
    print(f"the source was cancelled {taken:.2f} s after the client {way}")
    assert taken < 30
    run = (await client.runs.list(thread))[0]
    assert run["status"] in ("interrupted", "running", "error")
    again = await client.runs.wait(thread, "turn", input={"question": QUESTION}, context=DOCS)
    assert again["outcome"] == "answered"


@pytest.mark.covers("fault 69")
async def test_a_client_that_leaves_ends_the_models_call(client, model: OpenAIStub) -> None:
    thread = (await client.threads.create())["thread_id"]
    aborted = model.aborted
    stream = client.runs.stream(
        thread, "turn", input={"question": f"{QUESTION} Please take long."}, context=DOCS,
        stream_mode="messages-tuple", on_disconnect="cancel",
    )  # fmt: skip
    async for part in stream:
        if part.event.startswith("messages") and part.data[0]["content"]:
            break
    await stream.aclose()
    taken = await until(lambda: model.aborted > aborted)
    print(f"the model's call ended {taken:.2f} s after the client left")
    assert taken < 30


@pytest.mark.covers("fault 70")
async def test_a_stream_and_a_wait_give_the_same_answer_and_record(client) -> None:
    waited = await client.runs.wait(None, "turn", input={"question": QUESTION}, context=DOCS)
    last, pieces = await streamed(client, "turn", QUESTION, stream_mode=["values", "messages-tuple"])
    assert last["answer"] == waited["answer"] == ANSWER
    assert list(pieces.values()) == [ANSWER]
    for key in ("outcome", "notes", "citations", "support"):
        assert last[key] == waited[key]
    assert lasting(last["provenance"]) == lasting(waited["provenance"])


def lasting(record: Any) -> Any:
    """A record without its times, the identities of its thread, and the tokens, which no stream of OpenAI's reports."""
    if isinstance(record, dict):
        changing = ("thread_id", "turn_id", "started_at", "timings", "input_tokens", "output_tokens", "estimated")
        return {
            key: lasting(value)
            for key, value in record.items()
            if key not in changing and not key.endswith("_ms") and key != "id"
        }
    return [lasting(one) for one in record] if isinstance(record, list) else record


@pytest.mark.covers("fault 71")
async def test_as_a_subgraph_tokens_come_once(client) -> None:
    modes = ["messages-tuple", "updates"]
    _, pieces = await streamed(client, "ask", QUESTION, stream_mode=modes, stream_subgraphs=True)
    assert list(pieces.values()) == [ANSWER]
    assert next(iter(pieces)).startswith("messages|turn:")


@pytest.mark.covers("fault 72")
async def test_a_model_that_breaks_off_leaves_a_marked_part(client) -> None:
    modes = ["values", "messages-tuple"]
    last, pieces = await streamed(client, "turn", f"{QUESTION} Then break off.", stream_mode=modes)
    [piece] = pieces.values()
    assert piece
    assert last["answer"].startswith(piece)
    assert "one of them" not in last["answer"]
    assert [flag["kind"] for flag in last["support"]["flags"]] == ["incomplete"]
    assert any("incomplete" in note for note in last["notes"])


@pytest.mark.covers("fault 72")
async def test_a_run_that_fails_ends_its_stream_with_an_error_event(client) -> None:
    thread = (await client.threads.create())["thread_id"]
    events = [
        part
        async for part in client.runs.stream(
            thread, "turn", input={"messages": [{"role": "tool", "content": "x"}]}, stream_mode="values"
        )
    ]
    assert events[-1].event == "error"
    assert events[-1].data["error"] == "InputInvalid"
    assert "message" in events[-1].data["message"]
    assert "Traceback" not in str(events[-1].data)
    again = await client.runs.wait(thread, "turn", input={"question": QUESTION}, context=DOCS)
    assert again["outcome"] == "answered"
