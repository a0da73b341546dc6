"""The graphs on a real LangGraph Server (U2), driven by its SDK."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import UnprocessableEntityError

pytestmark = [pytest.mark.live, pytest.mark.covers("U2")]
ROOT = Path(__file__).parent.parent.parent
QUESTION = {"question": "Which grant types does OAuth have?"}


async def test_the_server_loads_every_graph_of_langgraph_json(client) -> None:
    loaded = {assistant["graph_id"] for assistant in await client.assistants.search(limit=100)}
    assert loaded == set(json.loads((ROOT / "langgraph.json").read_text())["graphs"])


async def test_a_turn_on_the_server_answers_with_citations(client) -> None:
    thread = await client.threads.create()
    result = await client.runs.wait(thread["thread_id"], "turn", input=QUESTION)
    assert result["outcome"] == "answered"
    assert [citation["label"] for citation in result["citations"]] == [1, 2], "one for each quote"
    again = await client.runs.wait(thread["thread_id"], "turn", input={"question": "When is pump 17 serviced?"})
    assert len(again["messages"]) == 4
    assert "90 days" in again["answer"]
    state = await client.threads.get_state(thread["thread_id"])
    assert len(state["values"]["metadata"]["retrieval_provenance_history"]) == 2


async def test_updates_messages_and_custom_events_come_in_one_stream(client) -> None:
    thread = await client.threads.create()
    modes = ["updates", "messages-tuple", "custom"]
    events = [part async for part in client.runs.stream(thread["thread_id"], "turn", input=QUESTION, stream_mode=modes)]
    nodes = [name for part in events if part.event == "updates" for name in part.data]
    assert nodes[0] == "begin_turn"
    assert nodes[-1] == "record_turn"
    assert any(part.event == "custom" and part.data["stage"] == "merge_results" for part in events)
    assert any(part.event.startswith("messages") for part in events)


async def test_the_context_is_described_and_checked(client) -> None:
    assistant = (await client.assistants.search(graph_id="turn"))[0]["assistant_id"]
    schemas = await client.assistants.get_schemas(assistant)
    properties = schemas["context_schema"]["properties"]
    assert all(field.get("description") for field in properties.values())
    assert properties["instruction"]["langgraph_type"] == "prompt"
    assert set(schemas["input_schema"]["properties"]) == {"messages", "question", "metadata"}
    own = await client.assistants.create("turn", context={"sources": ["notes"], "top_k": 1})
    thread = await client.threads.create()
    result = await client.runs.wait(thread["thread_id"], own["assistant_id"], input=QUESTION)
    assert set(result["provenance"]["sources"]) == {"notes"}


@pytest.mark.covers("T8")
async def test_the_retrieval_graph_gives_a_context(client) -> None:
    thread = await client.threads.create()
    result = await client.runs.wait(thread["thread_id"], "retrieval", input=QUESTION)
    assert set(result) == {"context", "evidence", "outcome", "notes", "provenance"}
    assert result["context"].startswith("[1] OAuth")


async def test_an_edit_that_cannot_be_made_is_told_to_who_made_it(client) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "turn", input=QUESTION, interrupt_before=["retrieve_source"])
    intent = (await client.threads.get_state(thread))["values"]["intent"]
    edits = {
        "'intent'": {"nonsense": 1},
        "is a mapping": 7,
        "'text_queries' are empty": {**intent, "text_queries": []},
    }
    for told, edit in edits.items():
        with pytest.raises(UnprocessableEntityError, match=told):
            await client.threads.update_state(thread, {"intent": edit})
    assert (await client.runs.wait(thread, "turn", input=None))["outcome"] == "answered"


async def test_the_server_is_current_and_logs_no_error(client, server_log: Path) -> None:
    info = await client.http.get("/info")
    major, minor, *_ = (int(part) for part in info["version"].split("."))
    assert (major, minor) >= (0, 16)
    lines = server_log.read_text("utf-8", "replace").splitlines()
    assert not [line for line in lines if "error    " in line or "Traceback" in line]


@pytest.mark.covers("K1")
async def test_the_ingest_graph_fills_the_base_that_a_turn_then_searches(filling_server: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pumps.md").write_text("# Pumps\n\nPump 17 is serviced every 90 days.\n")
    async with get_client(url=filling_server) as client:
        thread = (await client.threads.create())["thread_id"]
        given = {"paths": [], "documents": [{"name": "valve", "text": "Valve 3 is red."}]}
        first = await client.runs.wait(thread, "ingest", input={})
        assert (first["report"]["written"], first["report"]["failed"]) == (1, [])
        again = await client.runs.wait(thread, "ingest", input={})
        assert (again["report"]["written"], again["report"]["unchanged"]) == (0, 1)
        assert (await client.runs.wait(thread, "ingest", input=given))["report"]["written"] == 1
        outside = await client.runs.wait(thread, "ingest", input={"paths": ["groundgraph.yaml", "/etc/hosts"]})
        assert [entry["document"] for entry in outside["report"]["failed"]] == ["groundgraph.yaml", "/etc/hosts"]
        asked = {"question": "How often is pump 17 serviced?"}
        turn = await client.runs.wait((await client.threads.create())["thread_id"], "turn", input=asked)
    assert "90 days" in turn["answer"]
    lines = (tmp_path / "log").read_text("utf-8", "replace").splitlines()
    assert not [line for line in lines if "error    " in line or "Traceback" in line]
