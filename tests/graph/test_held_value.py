"""A run that stops between two steps goes on with what the graph holds for it (U3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from filled_base import folder_of
from langgraph.checkpoint.memory import InMemorySaver
from turns import thread

from groundgraph import ingest_graph, load_settings
from groundgraph.graph.ingest import HELD_VALUES, HeldValue

pytestmark = pytest.mark.covers("U3")

STEPS = ["find_documents", "load_documents", "cut_chunks", "write_qualifying_texts", "write_matching_texts",
         "write_documents", "finish_ingest"]  # fmt: skip


def written(spec: HeldValue[Any], value: Any) -> HeldValue[Any]:
    channel = spec.copy()
    channel.update([value])
    return channel


def test_a_checkpoint_holds_a_name_and_the_graph_the_value() -> None:
    spec: HeldValue[Any] = HeldValue(list)
    value = ["a text"]
    name = written(spec, value).checkpoint()
    assert isinstance(name, str)
    restored = spec.from_checkpoint(name)
    assert restored.get() is value
    assert restored.checkpoint() == name
    assert not HeldValue(list).from_checkpoint(name).is_available()
    assert not spec.from_checkpoint(value).is_available()


def test_only_the_latest_values_are_held() -> None:
    spec: HeldValue[Any] = HeldValue(list)
    names = [written(spec, [n]).checkpoint() for n in range(HELD_VALUES + 3)]
    held = [spec.from_checkpoint(name).is_available() for name in names]
    assert held == [False] * 3 + [True] * HELD_VALUES


def test_a_value_that_is_written_anew_gets_a_new_name() -> None:
    channel = written(HeldValue(list), [1])
    first = channel.checkpoint()
    assert channel.copy().checkpoint() == first
    channel.update([[2]])
    assert channel.checkpoint() != first


def settings_in(folder: Path, count: int) -> Any:
    docs = folder_of(folder, **{str(n): f"# Pump {n}\n\nPump {n} is serviced every {n} days.\n" for n in range(count)})
    return load_settings({"knowledge_base": {"path": docs, "file": folder / "kb.sqlite"}})


async def test_an_ingest_is_stepped_through_and_ends(tmp_path: Path) -> None:
    graph = ingest_graph(settings_in(tmp_path, 3), checkpointer=InMemorySaver())
    await graph.ainvoke({}, thread(), interrupt_before="*")
    steps = []
    while (state := await graph.aget_state(thread())).next and len(steps) < 20:
        steps.append(state.next[0])
        await graph.ainvoke(None, thread(), interrupt_before="*")
    assert steps == STEPS
    assert (await graph.aget_state(thread())).values["report"]["written"] == 3


@pytest.mark.parametrize("step", STEPS[1:])
async def test_an_ingest_that_stopped_before_a_step_does_no_step_twice(tmp_path: Path, step: str) -> None:
    graph = ingest_graph(settings_in(tmp_path, 2), checkpointer=InMemorySaver())
    first = [name async for update in graph.astream({}, thread(), interrupt_before=[step], stream_mode="updates")
             for name in update]  # fmt: skip
    rest = [name async for update in graph.astream(None, thread(), stream_mode="updates") for name in update]
    assert [name for name in (*first, *rest) if name != "__interrupt__"] == STEPS
