"""Stream, step, edit, fork, replay and cancel: every graph of a real LangGraph Server, driven by its SDK (U2, U3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

pytestmark = [pytest.mark.live, pytest.mark.covers("U3")]

CONFIG = "intent: {mode: static}\nsynthesis: {style: structured}\nknowledge_base: {path: docs, file: kb.sqlite}\n"
QUESTION = {"question": "How often is pump 17 serviced?"}
INTENT = {"mode": "static", "text_queries": ["valve 3"], "filters": {}, "scope": "focused",
          "sources": ["knowledge_base"]}  # fmt: skip
INGEST = ["find_documents", "load_documents", "cut_chunks", "write_qualifying_texts", "write_matching_texts",
          "write_documents", "finish_ingest"]  # fmt: skip
RETRIEVAL = ["begin_turn", "resolve_intent", "retrieve_source", "process_results", "give_context"]
TURN = [*RETRIEVAL[:-1], "answer_structured", "check_citations", "record_turn"]


@dataclass(frozen=True)
class Drive:
    """A graph: its input, its steps in order, and an edit of its state.

    Attributes:
        edited: the step as which the state is edited, behind which a run goes on.
        told: from the output of a run, what an edit changes.
    """

    graph: str
    steps: list[str]
    input: dict[str, Any] = field(default_factory=dict)
    edited: str = "resolve_intent"
    edit: dict[str, Any] = field(default_factory=lambda: {"intent": INTENT})

    def told(self, output: dict[str, Any]) -> Any:
        if self.graph == "ingest":
            return output["report"]["documents"]
        return [row["source_id"].split("#")[0] for row in output["provenance"]["results"]]


DRIVES = {
    "turn": Drive("turn", TURN, QUESTION),
    "retrieval": Drive("retrieval", RETRIEVAL, QUESTION),
    "ingest": Drive("ingest", INGEST, {"dry_run": True}, "__start__", {"paths": ["docs/valve.md"], "dry_run": True}),
}


@pytest.fixture(scope="module")
def url(serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("graphs")
    (folder / "docs").mkdir()
    (folder / "docs" / "pump.md").write_text("# Pump 17\n\nPump 17 is serviced every 90 days.\n")
    (folder / "docs" / "valve.md").write_text("# Valve 3\n\nValve 3 is red and closed by hand.\n")
    with serve(folder, CONFIG, folder / "log") as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=url) as opened:
        await opened.runs.wait(None, "ingest", input={})
        yield opened


@pytest.fixture(params=DRIVES)
def drive(request: pytest.FixtureRequest) -> Drive:
    return DRIVES[request.param]


async def streamed(client: LangGraphClient, thread: str, drive: Drive, **run: Any) -> list[str]:
    """The steps of a run in the order in which they ended."""
    updates = client.runs.stream(thread, drive.graph, stream_mode="updates", **run)
    return [name async for part in updates if part.event == "updates" for name in part.data]


@pytest.mark.covers("U2")
async def test_a_stream_shows_every_step(client, drive: Drive) -> None:
    thread = (await client.threads.create())["thread_id"]
    steps = await streamed(client, thread, drive, input=drive.input)
    if drive.graph == "ingest":
        # Nothing changed since the base was filled, so there is no batch to work on.
        assert steps == ["find_documents", "load_documents", "finish_ingest"]
    else:
        assert steps == drive.steps


async def test_each_graph_is_stepped_through(client, drive: Drive, url: str) -> None:
    thread = (await client.threads.create())["thread_id"]
    given = {**drive.input, "rebuild": True, "dry_run": False} if drive.graph == "ingest" else drive.input
    await client.runs.wait(thread, drive.graph, input=given, interrupt_before="*")
    steps: list[str] = []
    while (state := await client.threads.get_state(thread))["next"] and len(steps) < 20:
        steps.append(state["next"][0])
        await client.runs.wait(thread, drive.graph, input=None, interrupt_before="*")
    # An ingest may look for another batch before it ends.
    assert steps in (drive.steps, [*drive.steps[:-1], "load_documents", drive.steps[-1]])
    assert (await client.threads.get(thread))["status"] == "idle"


async def test_an_edited_state_forks_and_the_original_can_be_replayed(client, drive: Drive) -> None:
    thread = (await client.threads.create())["thread_id"]
    first = await client.runs.wait(thread, drive.graph, input=drive.input)
    history = await client.threads.get_history(thread, limit=50)
    following = drive.steps[drive.steps.index(drive.edited)] if drive.edited in drive.steps else drive.steps[0]
    point = next(state for state in history if following in state["next"])
    forked = await client.threads.update_state(thread, drive.edit, checkpoint=point["checkpoint"], as_node=drive.edited)
    second = await client.runs.wait(thread, drive.graph, input=None, checkpoint=forked["checkpoint"])
    assert drive.told(second) != drive.told(first)
    again = await client.runs.wait(thread, drive.graph, input=None, checkpoint=point["checkpoint"])
    assert drive.told(again) == drive.told(first)
    assert len(await client.threads.get_history(thread, limit=100)) > len(history)


@pytest.mark.covers("U2")
async def test_a_run_is_cancelled_before_a_step_and_goes_on_later(client, drive: Drive) -> None:
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, drive.graph, input=drive.input, after_seconds=30)
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    output = await client.runs.wait(thread, drive.graph, input=drive.input)
    assert drive.told(output)


async def test_the_server_tells_studio_what_the_steps_do_and_what_holds_by_default(client) -> None:
    turn = (await client.assistants.search(graph_id="turn"))[0]["assistant_id"]
    drawn = await client.assistants.get_graph(turn)
    steps = {node["id"]: node.get("metadata", {}).get("description") for node in drawn["nodes"]}
    assert all(told for name, told in steps.items() if not str(name).startswith("__"))
    assert len(steps) - 2 <= 12
    branches = {edge["source"] for edge in drawn["edges"] if edge.get("conditional")}
    assert all(edge.get("data") for edge in drawn["edges"] if edge.get("conditional")), branches
    fields = (await client.assistants.get_schemas(turn))["context_schema"]["properties"]
    assert fields["style"]["default"] == "structured"
    assert fields["top_k"] | {"default": 5, "langgraph_nodes": ["retrieve_source"]} == fields["top_k"]
    assert fields["instruction"]["langgraph_nodes"] == ["answer_conversational", "answer_hybrid"]
