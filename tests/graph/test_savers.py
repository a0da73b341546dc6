"""Checkpoints and stores: conformance, strict serialisation, locks, growth."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from held_file import held_file
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from plant_database import rows_of
from turns import QUOTING, ask, build, docs, settings_in, thread

from groundgraph import InMemorySource, load_settings, open_graph, turn_graph
from groundgraph.core.errors import ConfigurationError, StorageLocked, StorageUnavailable
from groundgraph.storage.sqlite_saver import LinearSqliteSaver
from groundgraph.testing import ScriptedChatModel


@checkpointer_test(name="memory")
async def memory_saver() -> AsyncIterator[InMemorySaver]:
    yield InMemorySaver()


@checkpointer_test(name="sqlite")
async def sqlite_saver() -> AsyncIterator[AsyncSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


@checkpointer_test(name="linear")
async def linear_saver() -> AsyncIterator[LinearSqliteSaver]:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        yield LinearSqliteSaver.over(saver)


@pytest.mark.covers("fault 47")
@pytest.mark.parametrize("saver", [memory_saver, sqlite_saver, linear_saver], ids=lambda saver: saver.name)
async def test_each_saver_in_use_passes_the_conformance_suite(saver) -> None:
    report = await validate(saver)
    assert report.passed_all_base(), report.to_dict()


@pytest.mark.covers("fault 44")
async def test_nothing_in_the_state_is_an_unregistered_type(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = ScriptedChatModel("Four [1].")
    for _ in range(2):
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
            graph = build(model, base={}, sources=[docs()], checkpointer=saver)
            await ask(graph, on="t")
            values = (await graph.aget_state(thread())).values
            assert values["messages"][-1].text == "Four [1]."
    assert not [record for record in caplog.records if "unregistered" in record.getMessage().lower()]
    assert not [record for record in caplog.records if "blocked deserialization" in record.getMessage().lower()]


@pytest.mark.covers("fault 45")
async def test_a_locked_checkpoint_database_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=saver, store=InMemoryStore())
        await ask(graph, on="t")
        # Five seconds in production; the test does not wait that long.
        await saver.conn.execute("PRAGMA busy_timeout=100")
        with held_file(path, "EXCLUSIVE"), pytest.raises(StorageLocked, match="locked by another process"):
            await ask(graph, "again", "t")
        result = await ask(graph, "grant types once more", "t")
        assert result["outcome"] == "answered"
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.covers("L8")
async def test_evidence_is_written_once_per_hash_and_checkpoints_stay_small(tmp_path: Path) -> None:
    records = [{"id": str(n), "content": f"grant type {n} " + "x" * 2000} for n in range(20)]
    settings = load_settings(
        {**QUOTING, "retrieval": {"top_k": 20}, "synthesis": {"style": "structured", "template": "a" * 800}}
    )
    store = InMemoryStore()
    path = tmp_path / "t.sqlite"
    sizes = []
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        graph = turn_graph(settings, sources=[InMemorySource(records, name="a")], checkpointer=saver, store=store)
        for n in range(5):
            result = await ask(graph, f"grant type {n}", "t")
            assert len(result["provenance"]["results"]) == 20
            sizes.append(await _bytes(saver))
    assert sizes[0] <= 50_000
    assert sizes[4] - sizes[3] <= 80_000
    assert len(await store.asearch(("groundgraph", "evidence"), limit=100)) == 20


async def _bytes(saver: AsyncSqliteSaver) -> int:
    total = 0
    for query in (
        "SELECT coalesce(sum(length(checkpoint) + length(metadata)), 0) FROM checkpoints",
        "SELECT coalesce(sum(length(value)), 0) FROM writes",
    ):
        async with saver.conn.execute(query) as cursor:
            row = await cursor.fetchone()
            total += row[0]
    return total


@pytest.mark.covers("fault 46", "L9")
@pytest.mark.slow
async def test_a_thread_of_200_turns_grows_linearly(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    sizes = []
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        graph = build(base=QUOTING, checkpointer=saver, store=InMemoryStore())
        for n in range(200):
            await ask(graph, f"Which grant types does OAuth have, number {n}?", "t")
            sizes.append(await _bytes(saver))
        values = (await graph.aget_state(thread())).values
    assert len(values["messages"]) == 400
    assert len(values["metadata"]["retrieval_provenance_history"]) == 10
    early, late = (sizes[59] - sizes[39]) / 20, (sizes[199] - sizes[179]) / 20
    assert late <= 85_000
    assert late <= early * 1.2, "a turn costs the same late in a thread as early in it"


async def test_open_graph_keeps_threads_evidence_and_records_over_restarts(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with open_graph(settings, sources=[docs()]) as graph:
        first = await ask(graph, on="t")
    async with open_graph(settings, sources=[docs()]) as graph:
        second = await ask(graph, "pump 17", "t")
        from groundgraph import load_provenance

        record = await load_provenance(graph, "t", first["provenance"]["turn_id"])
    assert len(second["messages"]) == 4
    assert record == first["provenance"]
    assert {path.name for path in (tmp_path / ".groundgraph").glob("*.sqlite")} == {
        "threads.sqlite", "evidence.sqlite"
    }  # fmt: skip


def test_a_saver_without_asynchronous_methods_is_refused_at_build(tmp_path: Path) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(tmp_path / "t.sqlite")
    with pytest.raises(ConfigurationError, match="use AsyncSqliteSaver"):
        build(base=QUOTING, sources=[docs()], checkpointer=SqliteSaver(connection))
    connection.close()


@pytest.mark.covers("fault 45")
async def test_many_open_one_new_file_at_once(tmp_path: Path) -> None:
    file = {"type": "sqlite", "path": str(tmp_path / "threads" / "t.sqlite")}
    settings = load_settings({**QUOTING, "checkpointer": file, "store": file})

    async def turn(number: int) -> str:
        async with open_graph(settings, sources=[docs()]) as graph:
            values = await ask(graph, on=str(number))
        return str(values["outcome"])

    assert await asyncio.gather(*(turn(number) for number in range(6))) == ["answered"] * 6


@pytest.mark.covers("fault 45")
@pytest.mark.parametrize("section", ["checkpointer", "store"])
async def test_a_file_that_is_no_database_is_named(tmp_path: Path, section: str) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(b"no database" * 1000)
    settings = load_settings({**QUOTING, section: {"type": "sqlite", "path": str(path)}})
    with pytest.raises(StorageUnavailable, match=r"t\.sqlite.*not a database"):
        async with open_graph(settings, sources=[docs()]):
            pass
