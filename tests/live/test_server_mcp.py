"""The graphs as tools of the Model Context Protocol, at `/mcp` of a real LangGraph Server (U2)."""

from __future__ import annotations

import ast
from typing import Any

import httpx
import pytest

pytestmark = [pytest.mark.live, pytest.mark.covers("U2")]


async def call(url: str, method: str, **params: Any) -> dict[str, Any]:
    headers = {"accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        answer = await client.post("/mcp", json=body, headers=headers, follow_redirects=True)
    answer.raise_for_status()
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_every_graph_is_a_tool_with_a_narrow_and_described_input(server: str) -> None:
    tools = {tool["name"]: tool for tool in (await call(server, "tools/list"))["tools"]}
    fields = {name: set(tool["inputSchema"]["properties"]) for name, tool in tools.items()}
    question = {"messages", "question", "metadata"}
    assert fields["ask"] == {"question"}
    assert fields["turn"] == fields["retrieval"] == question
    assert fields["ingest"] == {"paths", "documents", "dry_run", "rebuild", "follow_links"}
    assert tools["ask"]["inputSchema"]["required"] == ["question"]
    for name in ("ask", "turn", "retrieval", "ingest"):
        assert "$defs" not in tools[name]["inputSchema"]
        assert all(field.get("description") for field in tools[name]["inputSchema"]["properties"].values())
        assert "assistant" not in tools[name]["description"]


async def test_a_tool_answers_with_citations_and_nothing_of_the_inside(server: str) -> None:
    result = await call(server, "tools/call", name="ask", arguments={"question": "Which grant types does OAuth have?"})
    assert not result.get("isError")
    [content] = result["content"]
    answer = ast.literal_eval(content["text"])
    assert set(answer) == {"answer", "outcome", "notes", "citations", "choices"}
    assert answer["outcome"] == "answered"
    assert answer["citations"][0]["source_id"] == "oauth"
    assert len(content["text"]) < 3000


async def test_a_tool_takes_the_choices_of_a_run(server: str) -> None:
    result = await call(
        server, "tools/call", name="retrieval", arguments={"question": "When is pump 17 serviced?"},
        context={"sources": ["docs"], "top_k": 1},
    )  # fmt: skip
    found = ast.literal_eval(result["content"][0]["text"])
    assert [one["source_id"] for one in found["evidence"]] == ["pump"]


async def test_a_tool_that_fails_names_the_error_and_shows_no_trace(server: str) -> None:
    result = await call(server, "tools/call", name="turn", arguments={"messages": [{"role": "tool", "content": "x"}]})
    assert result["isError"]
    # The route gives the name of an error only.
    assert result["content"][0]["text"] == "InputInvalid"
