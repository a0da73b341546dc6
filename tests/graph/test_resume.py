"""A turn that is killed goes on where it stopped (T3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from run_apart import told_by
from turns import QUOTING, ask, asking, docs, thread

from groundgraph import resume_turn, turn_graph
from groundgraph.core.errors import EvidenceMissing, NothingToResume

BOUNDARIES = ["input", "start", "begin_turn", "resolve_intent", "retrieve_source", "process_results",
              "answer_conversational", "check_citations", "record_turn"]  # fmt: skip


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What became of a turn that was killed at each boundary and resumed in another process."""
    return told_by("killed_turn.py", tmp_path_factory.mktemp("killed"))


@pytest.mark.covers("fault 41")
@pytest.mark.parametrize("point", [*BOUNDARIES, "inside_source", "inside_model"])
def test_killed_anywhere_the_turn_resumes_with_the_same_prompt(killed: dict[str, Any], point: str) -> None:
    whole, resumed = killed["nowhere"], killed[point]
    assert resumed["killed"] == 9
    assert set(resumed["prompts"]) == set(whole["prompts"]), "the prompt differs in some byte"
    assert resumed["result"]["answer"] == whole["result"]["answer"] == "Four types [1], clients [2]."
    assert resumed["result"]["citations"] == whole["result"]["citations"]


@pytest.mark.covers("fault 41")
@pytest.mark.parametrize("point", BOUNDARIES)
def test_completed_steps_do_not_run_again(killed: dict[str, Any], point: str) -> None:
    found = killed[point]
    after_retrieval = BOUNDARIES.index(point) >= BOUNDARIES.index("retrieve_source")
    assert found["queries_before"] == (2 if after_retrieval else 0)
    assert found["queries"] == 2
    assert len(found["prompts"]) == 1


@pytest.mark.covers("fault 42")
@pytest.mark.parametrize("point", [*BOUNDARIES, "inside_model"])
def test_killed_after_synthesis_there_is_one_record_and_one_answer(killed: dict[str, Any], point: str) -> None:
    result = killed[point]["result"]
    assert [kind for kind, _ in result["messages"]] == ["human", "ai"]
    assert result["records"] == 1
    assert result["history"] == 1
    assert result["bodies"] == 2


@pytest.mark.covers("T3")
def test_replays_and_forks_in_another_process_have_the_same_prompt(killed: dict[str, Any]) -> None:
    assert len(killed["replay"]["answers"]) >= 12
    assert set(killed["replay"]["answers"]) == {"Four types [1], clients [2]."}
    assert len(killed["replay"]["prompts"]) > 8
    assert len(set(killed["replay"]["prompts"])) == 1


def build(**options: Any):
    return turns.build(base=QUOTING, sources=[docs()], checkpointer=InMemorySaver(), **options)


async def test_resuming_a_finished_turn_gives_its_output_again() -> None:
    graph = build(store=InMemoryStore())
    result = await ask(graph, on="t")
    again = await resume_turn(graph, "t")
    assert {key: again[key] for key in ("answer", "outcome", "notes", "citations", "support")} == {
        key: result[key] for key in ("answer", "outcome", "notes", "citations", "support")
    }
    assert again["provenance"] == result["provenance"]


@pytest.mark.covers("fault 41")
@pytest.mark.parametrize("lost", range(1, 8))
async def test_a_step_whose_writes_are_kept_and_whose_checkpoint_was_lost_is_gone_on_from(
    tmp_path: Path, lost: int
) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        given = {"sources": [docs()], "checkpointer": saver, "store": InMemoryStore()}
        graph = turns.build("Four [1].", base={}, **given)
        expected = await graph.ainvoke(asking(), thread(), durability="sync")
        points = [row[0] async for row in await saver.conn.execute("SELECT checkpoint_id FROM checkpoints ORDER BY 1")]
        for last in points[-lost:]:
            await saver.conn.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (last,))
            await saver.conn.execute("DELETE FROM writes WHERE checkpoint_id = ?", (last,))
        await saver.conn.commit()
        snapshot = await graph.aget_state(thread())
        assert snapshot.tasks
        assert not snapshot.next
        resumed = await resume_turn(graph, "t")
        assert (resumed["answer"], resumed["outcome"]) == (expected["answer"], expected["outcome"])
        assert [message.type for message in (await graph.aget_state(thread())).values["messages"]] == ["human", "ai"]


async def test_there_is_nothing_to_resume_on_an_unknown_thread() -> None:
    with pytest.raises(NothingToResume, match="'nobody'"):
        await resume_turn(build(store=InMemoryStore()), "nobody")
    for keeps in (None, True, False):
        with pytest.raises(NothingToResume, match="no checkpointer"):
            await resume_turn(turns.build(checkpointer=keeps), "t")


async def test_missing_evidence_is_an_error_and_not_an_answer_without_evidence() -> None:
    graph = build(store=InMemoryStore())
    await graph.ainvoke(asking(), thread(), interrupt_after=["process_results"])
    elsewhere = turn_graph(
        graph.resources.settings, sources=[docs()], checkpointer=graph.checkpointer, store=InMemoryStore()
    )
    with pytest.raises(EvidenceMissing, match="Run the graph with the store"):
        await elsewhere.ainvoke(None, thread())
    assert (await ask(elsewhere, on="t"))["outcome"] == "answered", "the thread is usable on the next turn"


async def test_without_a_store_the_evidence_is_in_the_checkpoint() -> None:
    graph = build()
    await graph.ainvoke(asking(), thread(), interrupt_after=["process_results"])
    assert (await graph.aget_state(thread())).values["bodies"]
    elsewhere = turn_graph(graph.resources.settings, sources=[docs()], checkpointer=graph.checkpointer)
    assert (await elsewhere.ainvoke(None, thread()))["outcome"] == "answered"


async def test_a_resumed_turn_keeps_the_choices_it_began_with() -> None:
    from groundgraph import Context

    graph = build(store=InMemoryStore())
    context = Context(top_k=1, score_threshold=0.0, language="ru")
    await graph.ainvoke(asking(), thread(), context=context, interrupt_after=["begin_turn"])
    result = await graph.ainvoke(None, thread())
    assert len(result["provenance"]["results"]) == 1
    assert result["answer"].startswith("Из материалов")
