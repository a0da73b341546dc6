"""Forgetting waits for the turn that is under way, and what others need stays."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from turns import QUOTING, ask, asking, build, docs, thread

from groundgraph import InMemorySource, load_settings, open_graph, prune_checkpoints
from groundgraph.core.errors import StorageUnavailable, ThreadBusy
from groundgraph.core.evidence_store import NAMESPACE
from groundgraph.graph import forget_thread as module
from groundgraph.graph.forget_thread import Forgotten, forget_thread
from groundgraph.testing import FaultySource


@pytest.mark.covers("F14", "fault 96")
async def test_forget_waits_for_the_turn_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    slow, store = FaultySource(docs(), delay=0.3), InMemoryStore()
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[slow], checkpointer=saver, store=store)
        turn = asyncio.create_task(ask(graph, on="t"))
        while not slow.calls:
            await asyncio.sleep(0.01)
        gone = await forget_thread(graph, "t")
        assert turn.done()
        assert gone.records == 1
        for table in ("checkpoints", "writes"):
            assert await saver.conn.execute_fetchall(f"SELECT count(*) FROM {table}") == [(0,)]
    assert await store.asearch(("groundgraph",), limit=100) == []
    assert (await turn)["outcome"] == "answered"


@pytest.mark.covers("F14", "fault 96")
@pytest.mark.parametrize("cancellations", [1, 3])
async def test_a_turn_that_was_cut_off_writes_nothing_behind_its_end(tmp_path: Path, cancellations: int) -> None:
    begun, go_on, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def hold(said: str) -> None:
        if said.startswith("INSERT OR REPLACE INTO checkpoints"):
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(10)

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        await saver.setup()
        await saver.conn.set_trace_callback(hold)
        items = graph.astream(asking(), thread(), stream_mode="updates")
        while "check_citations" not in await anext(items):
            pass
        end = asyncio.create_task(anext(items))
        await begun.wait()
        # Until LangGraph waits for the first checkpoint, behind which the others wait.
        await asyncio.sleep(0.1)
        for _ in range(cancellations):
            end.cancel()
            await asyncio.sleep(0)
        forgetting = asyncio.create_task(forget_thread(graph, "t"))
        await asyncio.sleep(0.05)
        assert not end.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await end
        await forgetting
        await asyncio.sleep(0.05)
        for table in ("checkpoints", "writes"):
            assert await saver.conn.execute_fetchall(f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.covers("F14", "fault 96")
@pytest.mark.parametrize("way", ["forgotten", "pruned"])
async def test_no_file_of_a_graph_that_goes_on_holds_what_was_forgotten(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_graph(load_settings({}), sources=[InMemorySource(["Pump 17 is red."])]) as graph:
        for thread in ("kept", "gone"):
            await ask(graph, f"Is pump 17 red, {thread}narwhal?", on=thread)
        if way == "forgotten":
            await forget_thread(graph, "gone")
        else:
            await prune_checkpoints(graph, older_than=timedelta(0), threads=["gone"], compact=False)
        files = [path.read_bytes() for path in (tmp_path / ".groundgraph").rglob("*") if path.is_file()]
    assert any(b"keptnarwhal" in data for data in files)
    assert not any(b"gonenarwhal" in data for data in files)


@pytest.mark.covers("F14", "fault 96")
async def test_forget_does_not_wait_longer_than_a_turn_may_take() -> None:
    held = FaultySource(docs(), delay=60, swallow_cancellation=True)
    graph = build(base=QUOTING, deadlines={"turn": 60, "source": 60}, sources=[held], checkpointer=InMemorySaver())
    saver = graph.checkpointer
    hurried = build(base=QUOTING, deadlines={"turn": 0.05}, sources=[docs()], checkpointer=saver)
    turn = asyncio.create_task(ask(graph, on="t"))
    while not held.calls:
        await asyncio.sleep(0.01)
    with pytest.raises(ThreadBusy, match=r"'t' was busy .*Nothing was written to it; try again"):
        await forget_thread(hurried, "t")
    held.release()
    await turn
    assert (await forget_thread(hurried, "t")).checkpoints


@pytest.mark.covers("F14")
async def test_writes_that_a_killed_process_left_without_a_checkpoint_go_too(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        await ask(graph, on="t")
        await saver.conn.execute("DELETE FROM checkpoints")
        await saver.conn.commit()
        assert (await forget_thread(graph, "t")).records == 1
        assert await saver.conn.execute_fetchall("SELECT count(*) FROM writes") == [(0,)]
        assert await forget_thread(graph, "t") == Forgotten()


@pytest.mark.covers("F21")
async def test_a_text_that_a_turn_saves_while_it_is_looked_for_stays(monkeypatch) -> None:
    store = InMemoryStore()
    graph = build(base=QUOTING, sources=[docs()], checkpointer=InMemorySaver(), store=store)
    await ask(graph, on="t")
    saved = {item.key: item.value for item in await store.asearch(NAMESPACE, limit=100)}
    look = module.referred

    async def referred(saver, store, thread_id, among=None):
        found = await look(saver, store, thread_id, among)
        if thread_id is None:
            # A turn on another thread finds the same text, and no checkpoint tells of it yet.
            await graph.resources.evidence.save(store, saved)
        return found

    monkeypatch.setattr(module, "referred", referred)
    assert (await forget_thread(graph, "t")).bodies == 0
    assert {item.key for item in await store.asearch(NAMESPACE, limit=100)} == set(saved)


@pytest.mark.covers("F21", "L8")
async def test_the_last_checkpoint_of_a_turn_holds_nothing_of_its_retrievals(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        output = await ask(graph, on="t")
        values = (await graph.aget_state(thread())).values
    assert output["provenance"]["sources"]["docs"]["kept"]
    assert values["retrievals"] == {}
    assert not values.get("bodies")


async def test_forgetting_by_a_closed_graph_says_so(tmp_path: Path) -> None:
    async with open_graph({"checkpointer": {"type": "sqlite", "path": str(tmp_path / "t.sqlite")}}) as graph:
        pass
    with pytest.raises(StorageUnavailable, match="is closed: open it again"):
        await forget_thread(graph, "t")
