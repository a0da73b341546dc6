"""What an earlier version left behind is read, and gone on with, by this one.

The files of a version stand in `tests/data/written_by`, with the script that wrote them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from example_copy import module_at
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from plant_database import rows_of

from groundgraph import Context, KnowledgeBase, load_provenance, load_settings, resume_turn, turn_graph
from groundgraph.core.errors import EvidenceMissing, NothingToResume
from groundgraph.testing import ScriptedChatModel

FIXTURES = Path(__file__).parent.parent / "data" / "written_by"
VERSIONS = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "threads.sqlite").is_file())


written = module_at(FIXTURES / "write_fixtures.py", "write_fixtures")


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the files that a version wrote."""
    copy = tmp_path / "written"
    shutil.copytree(FIXTURES / request.param, copy)
    return copy


def threads(folder: Path, prefix: str) -> list[str]:
    found = rows_of(folder / "threads.sqlite", "SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")
    return [name for (name,) in found if name.startswith(prefix)]


def test_there_are_files_of_the_first_version() -> None:
    assert "0.1.0" in VERSIONS


async def test_a_thread_of_an_earlier_version_goes_on_and_its_records_keep_their_ids(folder: Path) -> None:
    ids = [json.loads(value)["turn_id"] for (value,) in rows_of(
        folder / "evidence.sqlite", "SELECT value FROM store WHERE prefix = 'groundgraph.provenance.done'"
    )]  # fmt: skip
    assert len(ids) == 3
    async with written.plain_graph(folder) as graph:
        for turn_id in ids:
            record = await load_provenance(graph, "done", turn_id)
            assert record["turn_id"] == turn_id
            assert all(result["text"] for result in record["results"])
        result = await graph.ainvoke(written.asked(written.QUESTION, 9), written.on("done"))
        assert result["answer"] == written.GOOD
        assert [message.type for message in result["messages"]] == ["human", "ai"] * 4
        history = result["metadata"]["retrieval_provenance_history"]
        assert [entry["turn_id"] for entry in history[:3]] == sorted(ids, key=[e["turn_id"] for e in history].index)
        assert (await load_provenance(graph, "done"))["turn_id"] == history[3]["turn_id"]


async def test_a_review_that_an_earlier_version_asked_for_is_decided_and_goes_on(folder: Path) -> None:
    async with written.plain_graph(folder) as graph:
        waiting = (await resume_turn(graph, "review"))["__interrupt__"][0].value
        assert (waiting["question"], waiting["answer"]) == (written.QUESTION, written.WEAK)
        decision = {"decision": "replace", "text": written.GOOD}
        result = await graph.ainvoke(Command(resume=decision), written.on("review"))
        assert result["answer"] == written.GOOD
        assert "four grant types" in result["citations"][0]["quote"]
        assert (await load_provenance(graph, "review"))["review"]["decision"] == "replace"


async def test_turns_that_an_earlier_version_began_end_from_each_step_at_which_they_stopped(folder: Path) -> None:
    stopped = threads(folder, "stopped at ")
    assert len(stopped) > 5
    async with written.plain_graph(folder) as graph:
        for thread in stopped:
            result = await resume_turn(graph, thread)
            assert (thread, result["answer"]) == (thread, written.GOOD)
            assert (await load_provenance(graph, thread))["answer"] == written.GOOD
    full = threads(folder, "full, stopped at ")
    assert len(full) > 12
    async with written.full_graph(folder) as graph:
        for thread in full:
            result = await resume_turn(graph, thread)
            assert (thread, result["answer"]) == (thread, written.GOOD)
            assert len(result["provenance"]["results"]) > 1


async def test_a_base_of_an_earlier_version_answers_and_takes_more(folder: Path) -> None:
    settings = written.base(folder)
    async with KnowledgeBase.open(settings) as base:
        known = [document.id for document in await base.adocuments()]
        assert len(known) == 4
        assert (await base.aadd_records("guests", [{"guest": "Eve", "fact": "She sings at night."}])).written == 1
    graph = turn_graph(settings)
    try:
        for question, text in [
            ("When is pump 17 serviced?", "every 90 days"),
            ("What is she allergic to?", "nuts"),
            ("Who sings at night?", "sings at night"),
        ]:
            assert text in (await graph.ainvoke({"question": question}))["answer"]
    finally:
        await graph.resources.close()


@pytest.mark.covers("F19", "fault 94")
async def test_evidence_that_was_stored_without_a_scope_serves_only_runs_without_one(folder: Path) -> None:
    context = Context(scope={"tenant": "acme"})
    async with written.tenants_graph(folder) as graph:
        with pytest.raises(EvidenceMissing, match="ask the question again"):
            await graph.ainvoke(None, written.on("stopped, of acme"), context=context)
        # The record of a turn is its own, and stays readable; the thread goes on.
        assert "budget of acme" in (await load_provenance(graph, "of acme"))["results"][0]["text"]
        question = written.asked("What is the secret budget?", 1)
        for thread in ("of acme", "stopped, of acme"):
            result = await graph.ainvoke(question, written.on(thread), context=context)
            assert "budget of acme" in result["answer"]
    async with written.plain_graph(folder) as graph:
        assert (await resume_turn(graph, "stopped at record_turn"))["answer"] == written.GOOD


@pytest.mark.covers("F17", "fault 98")
async def test_a_table_that_an_earlier_version_indexed_answers_from_a_new_index(folder: Path) -> None:
    (folder / ".groundgraph").mkdir()
    shutil.move(folder / "index", folder / ".groundgraph" / "index")
    graph = written.sql_graph(folder)
    try:
        result = await graph.ainvoke({"question": "What happened to the seal of pump 17?"})
        assert "burst" in result["answer"]
        [index] = (folder / ".groundgraph" / "index").glob("*.sqlite")
        assert index.name != "plant.sqlite"
    finally:
        await graph.resources.close()


async def test_a_turn_that_waits_at_a_step_which_its_graph_lacks_is_named_and_never_silent(folder: Path) -> None:
    settings = written.at(folder, synthesis={"style": "conversational"})
    async with written.open_graph(settings, sources=[written.docs()]) as graph:
        for given in (None, Command(resume={"decision": "approve"})):
            with pytest.raises(NothingToResume, match=r"'review' waits at the step 'review_answer'.*Ask the question"):
                await graph.ainvoke(given, written.on("review"))
        with pytest.raises(NothingToResume, match="'full, stopped at rewrite_question'"):
            await graph.ainvoke(None, written.on("full, stopped at rewrite_question"))
        with pytest.raises(NothingToResume, match="Ask the question again"):
            await resume_turn(graph, "review")
        result = await graph.ainvoke(written.asked(written.QUESTION, 1), written.on("review"))
        assert "four grant types" in result["answer"]
        assert (await graph.ainvoke(None, written.on("review")))["messages"][-1].text == result["answer"]


async def test_what_an_earlier_version_wrote_behind_its_last_checkpoint_leads_on_as_well() -> None:
    """A process that dies between a step and the checkpoint behind it leaves the step's writes alone."""
    saver, channel = InMemorySaver(), "branch:to:process_results"
    graph = turn_graph(load_settings({}), sources=[written.docs()], checkpointer=saver, store=InMemoryStore())
    await graph.ainvoke(written.asked(written.QUESTION), written.on("t"), interrupt_before=["retrieve_source"])
    saved = await saver.aget_tuple(written.on("t"))
    [task] = (await graph.aget_state(written.on("t"))).tasks
    retrieved = (await graph.builder.nodes["retrieve_source"].runnable.afunc(
        saved.checkpoint["channel_values"]["__pregel_tasks"][0].arg, runtime=Runtime()
    ))["retrievals"]  # fmt: skip
    old = [("retrievals", retrieved), (channel.replace("process", "merge"), None)]
    await saver.aput_writes(saved.config, old, task.id)
    result = await graph.ainvoke(None, written.on("t"))
    assert "four grant types" in result["answer"]


@pytest.mark.parametrize("behind", ["the checkpoint", "its writes"])
async def test_with_any_saver_a_step_that_the_graph_lacks_is_named_also_by_what_was_written_last(behind: str) -> None:
    saver, settings = InMemorySaver(), {"synthesis": {"style": "conversational"}}
    parts = {"sources": [written.docs()], "chat_model": ScriptedChatModel(written.GOOD), "checkpointer": saver}
    enhanced = turn_graph(load_settings({**settings, "enhanced_autonomous_retrieval": True}), **parts)
    stop = "rewrite_question" if behind == "the checkpoint" else "begin_turn"
    await enhanced.ainvoke(written.asked(written.QUESTION), written.on("t"), interrupt_before=[stop])
    if behind == "its writes":
        saved = await saver.aget_tuple(written.on("t"))
        [task] = (await enhanced.aget_state(written.on("t"))).tasks
        await saver.aput_writes(saved.config, [("branch:to:rewrite_question", None)], task.id)
    graph = turn_graph(load_settings(settings), **parts)
    with pytest.raises(NothingToResume, match="'t' waits at the step 'rewrite_question'"):
        await graph.ainvoke(None, written.on("t"))
