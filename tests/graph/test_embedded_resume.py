"""A larger graph that is killed goes on where it stopped, inside its turn too (U4, T3)."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.store.memory import InMemoryStore
from parents import ANSWER, in_a_row
from run_apart import told_by
from turns import QUESTION, ask, asked_by, asking, build, thread

from groundgraph import retrieval_graph

pytestmark = pytest.mark.covers("U4", "fault 42")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What became of a parent that was killed after each of its checkpoints and resumed in another process."""
    return told_by("embedded_killed.py", tmp_path_factory.mktemp("killed"))


@pytest.mark.covers("fault 41")
def test_the_parents_checkpoints_hold_the_steps_of_the_turn(told: dict[str, Any]) -> None:
    assert told["whole"]["spaces"] == ["", "", "", *["turn"] * 9, "", ""]
    assert [one["space"] for one in told["killed"]] == told["whole"]["spaces"]
    assert {one["signal"] for one in told["killed"]} == {9}


@pytest.mark.covers("fault 41")
def test_killed_anywhere_the_parent_ends_as_if_it_had_not_been(told: dict[str, Any]) -> None:
    whole = told["whole"]["result"]
    assert [text for _, text in whole["messages"]] == [QUESTION, ANSWER, "Anything else?"]
    assert (whole["outcome"], len(whole["citations"])) == ("answered", 2)
    assert [one["result"] for one in told["killed"]] == [whole] * 14


def test_what_was_done_before_the_kill_is_not_done_again(told: dict[str, Any]) -> None:
    for killed in told["killed"]:
        assert killed["steps"] == ["prepare", "close"]
        assert killed["queries"] == ["docs", "notes"]
        assert killed["prompts"] == told["whole"]["prompts"], "one prompt, the same byte for byte"


class Breaking(InMemorySaver):
    """Loses its connection once, right after the last checkpoint of a run inside a parent."""

    last_step = ""

    async def aput(self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        put = await super().aput(config, checkpoint, metadata, new_versions)
        inside = bool(config["configurable"].get("checkpoint_ns"))
        if inside and self.last_step in checkpoint["versions_seen"] and self.connected:
            self.connected.clear()
            raise ConnectionError("lost")
        return put

    def breaking_after(self, step: str) -> Breaking:
        self.last_step = step
        # A list, because LangGraph gives the graph inside a copy of the saver.
        self.connected = [True]
        return self


@pytest.mark.parametrize(("stored", "by_events"), [(True, False), (False, False), (True, True)])
async def test_a_turn_that_was_over_gives_its_parent_the_outputs_of_this_question(
    stored: bool, by_events: bool
) -> None:
    class Wanting(MessagesState):
        outcome: str
        answer: str
        citations: list[dict[str, Any]]

    inner, saver = build(ANSWER), InMemorySaver()
    store = InMemoryStore() if stored else None
    await ask(in_a_row(Wanting, turn=inner).compile(checkpointer=saver, store=store), "zzz unknown", "t")
    breaking = Breaking().breaking_after("record_turn")
    breaking.storage, breaking.writes, breaking.blobs = saver.storage, saver.writes, saver.blobs
    parent = in_a_row(Wanting, turn=inner).compile(checkpointer=breaking, store=store)
    assert (await parent.aget_state(thread())).values["outcome"] == "insufficient"
    with pytest.raises(ConnectionError):
        await parent.ainvoke(asking(), thread(), durability="sync")
    asked = len(asked_by(inner))
    if by_events:
        _ = [event async for event in parent.astream_events(None, thread(), version="v2")]
    else:
        await parent.ainvoke(None, thread())
    result = (await parent.aget_state(thread())).values
    assert len(asked_by(inner)) == asked, "the turn was over"
    assert (result["outcome"], result["answer"]) == ("answered", result["messages"][-1].text)
    assert len(result["citations"]) == (2 if stored else 0)


async def test_a_retrieval_that_was_over_is_run_again_for_its_parent() -> None:
    class Wanting(MessagesState):
        context: str
        outcome: str

    inner = build(graph=retrieval_graph)
    saver = Breaking().breaking_after("give_context")
    parent = in_a_row(Wanting, search=inner).compile(checkpointer=saver, store=InMemoryStore())
    with pytest.raises(ConnectionError):
        await parent.ainvoke(asking(), thread(), durability="sync")
    result = await parent.ainvoke(None, thread())
    assert result["context"].startswith("[1] OAuth > Grants\n")
    assert result["outcome"] == "answered"
