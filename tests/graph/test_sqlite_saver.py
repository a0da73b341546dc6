"""The SQLite saver for long threads gives what LangGraph's gives, only sooner."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random

import aiosqlite
import pytest
from held_file import held_file
from langgraph.checkpoint.base import DeltaChannelHistory, empty_checkpoint
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.pregel._checkpoint import _replay
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from turns import QUOTING, ask, build, docs, thread

from groundgraph.core.errors import StorageLocked
from groundgraph.core.evidence_store import run_batch
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.storage.sqlite_saver import LinearSqliteSaver, SqliteStore


def told(graph: TurnRunner, history: Mapping[str, DeltaChannelHistory]) -> dict[str, str]:
    """What each channel comes to; that of a history may be told by a seed or by writes."""
    return {name: repr(_replay(graph.channels[name], history[name]).get()) for name in sorted(history)}


@pytest.mark.covers("L9")
@pytest.mark.slow
async def test_the_history_is_langgraphs_own_at_every_checkpoint_and_on_forks(tmp_path: Path, monkeypatch) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        assert isinstance(graph.checkpointer, LinearSqliteSaver)
        # Snapshots as a thread four times as long has them.
        monkeypatch.setattr(graph.channels["messages"], "_least", 16)
        for n in range(18):
            await ask(graph, f"grant types {n}", "t")
        points = [point async for point in graph.aget_state_history(thread(), limit=200)]
        # Its writes hold an answer, which is no part of the fork.
        middle = next(point for point in points[len(points) // 2 :] if point.next == ("record_turn",))
        await graph.aupdate_state(middle.config, {"metadata": {"forked": True}}, as_node="record_turn")
        await ask(graph, "on the fork", "t")
        both = ["messages", "metadata"]
        plain = {}
        for point in [point async for point in saver.alist(thread(), limit=250)]:
            other = await saver.aget_delta_channel_history(config=point.config, channels=both)
            plain[point.checkpoint["id"]] = point.config, told(graph, other)
        newest, oldest = sorted(plain, reverse=True), sorted(plain)
        # What was read last is where the next reading begins: from the one before, from a later one, from anywhere.
        for order in (newest, oldest, Random(1).sample(oldest, len(oldest))):
            for point in order:
                config, expected = plain[point]
                own = await graph.checkpointer.aget_delta_channel_history(config=config, channels=both)
                assert told(graph, own) == expected
        assert len({len(expected["messages"]) for _, expected in plain.values()}) > 36
        assert len((await graph.aget_state(thread())).values["messages"]) < 34


async def test_it_reads_no_checkpoint_between_the_head_and_the_snapshot(tmp_path: Path) -> None:
    read = 0

    class Counting(LinearSqliteSaver):
        async def _snapshot(self, *args):
            nonlocal read
            read += 1
            return await super()._snapshot(*args)

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=Counting.over(saver), store=InMemoryStore())
        for n in range(8):
            await ask(graph, f"grant types {n}", "t")
        read = 0
        await ask(graph, "one more", "t")
    assert read <= 2, "at most one for each channel"


@pytest.mark.covers("F21", "L9")
@pytest.mark.parametrize("distance", [-1, 0, 1, 3, 100, "many", None, []])
async def test_a_wrong_distance_in_the_metadata_of_a_checkpoint_is_not_believed(tmp_path: Path, distance) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        for n in range(3):
            await ask(graph, f"grant types {n}", "t")
        head = (await graph.aget_state(thread())).config
        ((stored,),) = await saver.conn.execute_fetchall(
            "SELECT metadata FROM checkpoints WHERE checkpoint_id = ?", (head["configurable"]["checkpoint_id"],)
        )
        metadata = json.loads(stored)
        counters = metadata["counters_since_delta_snapshot"]
        right = counters["messages"][1]
        assert right > 3
        for channel in counters:
            counters[channel] = None if distance is None else [counters[channel][0], distance]
        await saver.conn.execute(
            "UPDATE checkpoints SET metadata = ? WHERE checkpoint_id = ?",
            (json.dumps(metadata), head["configurable"]["checkpoint_id"]),
        )
        both = ["messages", "metadata"]
        own = await graph.checkpointer.aget_delta_channel_history(config=head, channels=both)
        plain = await saver.aget_delta_channel_history(config=head, channels=both)
        assert told(graph, own) == told(graph, plain)
        assert len((await graph.aget_state(thread())).values["messages"]) == 6


@pytest.mark.parametrize("other", [None, "memory"])
def test_other_savers_are_left_alone(other: object) -> None:
    assert LinearSqliteSaver.over(other) is other


@pytest.mark.covers("fault 45")
async def test_writes_in_line_behind_one_that_a_locked_file_failed_wait_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as plain:
        saver = LinearSqliteSaver.over(plain)
        place = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

        async def write() -> None:
            await saver.aput(place, empty_checkpoint(), {}, {})

        await write()
        await saver.conn.execute("PRAGMA busy_timeout=50")
        tried: list[str] = []
        await saver.conn.set_trace_callback(lambda said: tried.append(said) if "INTO checkpoints" in said else None)
        with held_file(path, "EXCLUSIVE"):
            failed = await asyncio.gather(*(write() for _ in range(6)), return_exceptions=True)
        assert [type(error) for error in failed] == [StorageLocked] * 6
        assert len(tried) == 1, "only the first one waited for the file"
        await write()
        assert len(tried) == 2


@pytest.mark.covers("fault 45")
@pytest.mark.parametrize("method", ["aput", "aput_writes"])
async def test_a_write_that_is_cut_off_leaves_the_file_to_others(tmp_path: Path, method: str) -> None:
    path = tmp_path / "t.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as plain:
        saver = LinearSqliteSaver.over(plain)
        place = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
        await saver.setup()
        begun, go_on = await _held_at("INSERT", saver.conn)
        given = (empty_checkpoint(), {}, {}) if method == "aput" else ([("answer", "x")], "task")
        writing = asyncio.create_task(getattr(saver, method)(place, *given))
        await begun.wait()
        writing.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        with closing(sqlite3.connect(path, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
        # What was not written whole is not there, and the same is written the next time.
        assert await _rows(saver) == []
        await getattr(saver, method)(place, *given)
        assert len(await _rows(saver)) == 1


@pytest.mark.covers("fault 45")
@pytest.mark.parametrize("kind", [SqliteStore, AsyncSqliteStore, type("Derived", (AsyncSqliteStore,), {})])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
async def test_a_batch_that_is_cut_off_leaves_the_store_to_others(
    tmp_path: Path, kind: type[AsyncSqliteStore], statement: str
) -> None:
    path = str(tmp_path / "s.sqlite")
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        store = SqliteStore(connection, path) if kind is SqliteStore else kind(connection)
        await store.setup()
        begun, go_on = await _held_at(statement, connection)
        cut, behind = (asyncio.create_task(run_batch(store, [PutOp(("a",), key, {"n": 1})])) for key in "xy")
        await begun.wait()
        for _ in range(3):
            cut.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await cut
        await behind
        assert not connection.in_transaction
        assert sorted(item.key for item in await store.asearch(("a",))) == ["x", "y"]


@pytest.mark.covers("fault 45")
async def test_a_batch_that_fails_for_no_fault_of_the_file_leaves_the_store_to_others(tmp_path: Path) -> None:
    path = str(tmp_path / "s.sqlite")
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        store = SqliteStore(connection, path)
        await store.setup()
        await connection.execute("BEGIN")
        with pytest.raises(sqlite3.OperationalError, match="within a transaction"):
            await store.abatch([PutOp(("a",), "x", {"n": 1})])
        await store.abatch([PutOp(("a",), "x", {"n": 1})])


async def _held_at(statement: str, connection: aiosqlite.Connection) -> tuple[asyncio.Event, threading.Event]:
    """Holds the connection's thread at such a statement: what tells that it is there, and what lets it go on."""
    begun, go_on, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def hold(said: str) -> None:
        if said.lstrip().startswith(statement):
            loop.call_soon_threadsafe(begun.set)
            go_on.wait(10)

    await connection.set_trace_callback(hold)
    return begun, go_on


async def _rows(saver: AsyncSqliteSaver) -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for table in ("checkpoints", "writes")
        for row in await saver.conn.execute_fetchall(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 6")
    ]


@pytest.mark.covers("L2")
async def test_it_writes_what_langgraphs_writes(tmp_path: Path) -> None:
    written = []
    for name in ("own", "plain"):
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / name)) as plain:
            saver = LinearSqliteSaver.over(plain) if name == "own" else plain
            place = {"configurable": {"thread_id": 7, "checkpoint_ns": "", "user": "anna"}, "metadata": {"run": "1"}}
            first, second = {**empty_checkpoint(), "id": "1", "ts": ""}, {**empty_checkpoint(), "id": "2", "ts": ""}
            at = await saver.aput(place, first, {"source": "input", "step": -1, "word": "\ud800ü"}, {})
            at = await saver.aput({**place, **at}, second, {"source": "loop", "step": 0}, {})
            await saver.aput(at, {**second, "channel_values": {"a": 1}}, {"source": "loop", "step": 1}, {})
            await saver.aput_writes(at, [("a", 1), ("b", [2]), (ERROR, "no")], "task", "path")
            await saver.aput_writes(at, [("a", "not again"), ("c", None)], "task", "path")
            await saver.aput_writes(at, [(ERROR, "once more"), (INTERRUPT, ())], "task")
            written.append((at, await _rows(saver)))
    assert written[0] == written[1]
    assert len(written[0][1]) == 2 + 4


@pytest.mark.covers("L8")
async def test_its_versions_and_langgraphs_stand_in_one_order(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as plain:
        own = LinearSqliteSaver.over(plain)
        versions = [None]
        for saver in (own, own, plain, plain, own, plain, *[own] * 12):
            versions.append(saver.get_next_version(versions[-1], None))
        assert versions[1:] == sorted(versions[1:])
        assert len(set(versions)) == len(versions)
        assert own.get_next_version(9, None) > plain.get_next_version(8, None)
        assert len(versions[-1]) < len(plain.get_next_version(None, None))


@pytest.mark.covers("L2")
async def test_a_write_that_is_cancelled_is_whole_and_blocks_no_other(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as plain:
        saver = LinearSqliteSaver.over(plain)
        place = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        await saver.setup()
        for number in range(40):
            write = asyncio.create_task(
                saver.aput(place, {**empty_checkpoint(), "id": f"{number:02}"}, {"step": 0}, {})
            )
            await asyncio.sleep(number / 40_000)
            write.cancel()
            await asyncio.gather(write, return_exceptions=True)
        async with AsyncSqliteSaver.from_conn_string(str(path)) as other:
            await other.conn.execute("PRAGMA busy_timeout=500")
            await other.aput(place, {**empty_checkpoint(), "id": "99"}, {"step": 0}, {})
        assert not saver.conn.in_transaction
        assert await saver.aget_tuple({"configurable": {**place["configurable"], "checkpoint_id": "99"}}) is not None
