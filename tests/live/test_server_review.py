"""A turn that waits for a person, on a real LangGraph Server: interrupt and resume (U2, U3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient

pytestmark = [pytest.mark.live, pytest.mark.covers("U3")]

REPLY = WEAK = "The moon orbits a cheese [1]."
QUESTION = {"question": "Which grant types does OAuth have?"}
CONFIG = """
intent: {{mode: static}}
llm: {{provider: openai, model: test-model, base_url: "{base_url}"}}
human_review: {{support_below: 0.6}}
citation_check: {{numbers: refuse}}
sources:
  - type: memory
    name: docs
    records: [{{id: oauth, content: "OAuth has four grant types. The implicit grant is one of them.", title: OAuth}}]
"""


async def waiting(client: LangGraphClient, graph: str) -> tuple[str, dict[str, Any]]:
    """A thread whose turn waits, and what the person is asked."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, graph, input=QUESTION)
    found = await client.threads.get(thread)
    assert found["status"] == "interrupted"
    [[asked]] = found["interrupts"].values()
    return thread, dict(asked)


async def test_a_person_is_asked_by_a_form_and_an_invalid_reply_keeps_the_turn_open(client, model) -> None:
    thread, asked = await waiting(client, "turn")
    assert asked["value"]["answer"] == WEAK
    assert asked["value"]["evidence"][0]["source_id"] == "oauth"
    assert asked["response_schema"]["properties"]["decision"]["enum"] == ["approve", "refuse", "replace"]
    calls = len(model.requests)
    await client.runs.wait(thread, "turn", command={"resume": {"decision": "perhaps"}})
    state = await client.threads.get_state(thread)
    assert state["next"] == ["review_answer"]
    [again] = state["interrupts"]
    assert "decision" in again["value"]["problem"]
    text = "OAuth has four grant types [1]."
    result = await client.runs.wait(thread, "turn", command={"resume": {"decision": "replace", "text": text}})
    assert result["answer"] == text
    assert result["citations"][0]["source_id"] == "oauth"
    review = result["provenance"]["review"]
    assert (review["decision"], review["asked"]) == ("replace", 2)
    assert len(model.requests) == calls
    assert (await client.threads.get(thread))["status"] == "idle"


async def test_nothing_is_streamed_before_the_decision_and_the_answer_after_it(client) -> None:
    thread = (await client.threads.create())["thread_id"]
    pieces: dict[str, str] = {"before": "", "after": ""}
    for when, given in (("before", {"input": QUESTION}), ("after", {"command": {"resume": {"decision": "approve"}}})):
        async for part in client.runs.stream(thread, "turn", stream_mode="messages-tuple", **given):
            if part.event.startswith("messages") and part.data[0]["type"].startswith(("AI", "ai")):
                pieces[when] += part.data[0]["content"]
    assert pieces == {"before": "", "after": WEAK}


async def test_a_refusal_over_the_narrow_graph_withholds_the_answer(client) -> None:
    thread, _ = await waiting(client, "ask")
    result = await client.runs.wait(thread, "ask", command={"resume": {"decision": "refuse"}})
    assert set(result) == {"answer", "outcome", "notes", "citations", "choices"}
    assert result["outcome"] == "insufficient"
    assert "cheese" not in result["answer"]


EVIL = "See https://evil.example/x [7] [1]"
APPROVE = {"decision": "approve"}


async def told(client: LangGraphClient, thread: str, graph: str, command: Any) -> dict[str, Any]:
    """How a run by a command fails."""
    result: Any = await client.runs.wait(thread, graph, command=command, raise_error=False)
    return dict(result["__error__"])


@pytest.mark.parametrize("graph", ["turn", "ask"])
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"update": {"draft": {"text": EVIL}}}, "changes 'draft'"),
        ({"update": [["draft", {"text": EVIL}]]}, "changes 'draft'"),
        ({"update": {"check": {"score": 1.0, "flags": []}}}, "changes 'check'"),
        ({"update": {"ranking": {"refs": []}}}, "changes 'ranking'"),
        ({"update": {"messages": [{"role": "user", "content": "Other question?"}]}}, "changes 'messages'"),
        ({"goto": "record_turn"}, "(goto)"),
        ({"goto": {"node": "record_turn", "input": {"draft": {"text": EVIL}}}}, "(goto)"),
    ],
)
async def test_nothing_comes_with_a_decision_past_the_check(client, graph: str, more: Any, problem: str) -> None:
    thread, _ = await waiting(client, graph)
    error = await told(client, thread, graph, {"resume": APPROVE, **more})
    assert (error["error"], problem in error["message"]) == ("InputInvalid", True)
    result = await client.runs.wait(thread, graph, command={"resume": APPROVE})
    assert (result["answer"], result["outcome"]) == (WEAK, "answered")


@pytest.mark.parametrize("graph", ["turn", "ask"])
async def test_a_second_decision_and_one_that_nobody_asked_for_are_told(client, graph: str) -> None:
    thread, _ = await waiting(client, graph)
    runs = [
        client.runs.wait(thread, graph, command={"resume": one}, multitask_strategy="enqueue", raise_error=False)
        for one in (APPROVE, {"decision": "refuse"})
    ]
    results: Any = await asyncio.gather(*runs)
    [late] = [one["__error__"] for one in results if "__error__" in one]
    assert late["error"] == "NothingToResume"
    assert [one["outcome"] for one in results if "outcome" in one] in (["answered"], ["insufficient"])
    fresh = (await client.threads.create())["thread_id"]
    error = await told(client, fresh, graph, {"resume": APPROVE})
    assert "Nobody is asked for a decision" in error["message"]
