"""Nothing is executed from storage, and what cannot be read is one typed error."""

from __future__ import annotations

import enum
import json
import logging
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore
from postgres_fixture import postgres  # noqa: F401 - a fixture
from turns import ask, docs, settings_in, thread

from groundgraph import load_provenance, open_graph, prune_checkpoints, resume_turn, turn_graph
from groundgraph.core.errors import StorageDamaged
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.storage.checkpoint_serializer import CheckpointSerializer

pytestmark = pytest.mark.covers("F2", "fault 88")

SUPPORT = Path(__file__).parent.parent / "support"


def crafted(folder: Path, every: int, strict: str | None, *url: str) -> dict[str, dict]:
    """What became of each crafted row in a process with this value of LANGGRAPH_STRICT_MSGPACK."""
    environment = {name: value for name, value in os.environ.items() if name != "LANGGRAPH_STRICT_MSGPACK"}
    if strict is not None:
        environment["LANGGRAPH_STRICT_MSGPACK"] = strict
    environment["PYTHONPATH"] = str(SUPPORT)
    command = [sys.executable, str(SUPPORT / "crafted_rows.py"), str(folder), str(every), *url]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, dict] = json.loads(ran.stdout)
    return found


def check(found: dict[str, dict]) -> dict[str, dict]:
    for name, became in found.items():
        assert not became["run"], f"{name}: code of the row was run"
        for way in ("turn", "state", "history"):
            kind, text = became[way]
            assert kind == "StorageDamaged", (name, way, kind, text)
            assert f"'{became['thread']}'" in text
            assert name.partition(",")[0] in text or "the value of" in text
            assert f"groundgraph forget '{became['thread']}'" in text
        for way in ("other", "forget other", "forget", "again"):
            assert became[way][0] == "fine", (name, way, became[way])
        assert became["left"] == 0
    return found


def test_no_crafted_row_of_a_sqlite_file_runs_when_the_environment_allows_it(tmp_path: Path) -> None:
    check(crafted(tmp_path, 9, "false"))


@pytest.mark.slow
@pytest.mark.parametrize(("strict", "every", "kinds"), [("true", 3, 10), ("false", 1, 26), (None, 3, 10)])
def test_no_kind_of_crafted_row_of_a_sqlite_file_runs_whatever_the_environment_says(
    tmp_path: Path, strict, every: int, kinds: int
) -> None:
    assert len(check(crafted(tmp_path, every, strict))) == kinds


@pytest.mark.live
def test_no_crafted_row_of_postgresql_runs_whatever_the_environment_says(tmp_path: Path, postgres) -> None:  # noqa: F811
    assert len(check(crafted(tmp_path, 1, "false", postgres.database("crafted")))) == 26


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as db:
        assert db.execute(statement, values).rowcount
    db.close()


class Colour(enum.Enum):
    RED = "red"


def test_a_value_whose_type_may_not_be_read_is_written_as_plain_data(caplog) -> None:
    serializer = CheckpointSerializer()
    written = serializer.dumps_typed({"colour": Colour.RED, "when": [{1, 2}]})
    assert serializer.loads_typed(written) == {"colour": "red", "when": [{1, 2}]}
    assert "Colour" in caplog.text


@pytest.mark.parametrize("options", [{"allowed_msgpack_modules": True}, {"pickle_fallback": True}, {}])
async def test_a_saver_that_a_user_brings_is_checked_and_told_about(tmp_path: Path, caplog, options) -> None:
    caplog.set_level(logging.WARNING)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        # Without options, as the suite runs it, LangGraph's own serializer is strict.
        saver.serde = JsonPlusSerializer(**options)
        turn_graph(settings_in(tmp_path), sources=[docs()], checkpointer=saver)
    assert ("can run code here" in caplog.text) is bool(options)
    assert ("serde=CheckpointSerializer()" in caplog.text) is bool(options)
    caplog.clear()
    in_memory = InMemorySaver(serde=JsonPlusSerializer(**options))
    turn_graph(settings_in(tmp_path), sources=[docs()], checkpointer=in_memory)
    assert not caplog.text


@pytest.mark.parametrize("value", ["{", "[1]", "{}", '{"content": 7}'])
async def test_a_damaged_row_of_the_store_is_told_and_can_be_forgotten(tmp_path: Path, value: str) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await ask(graph, on="hurt")
        await ask(graph, "pump 17", "other")
    store = tmp_path / ".groundgraph" / "evidence.sqlite"
    change(store, "UPDATE store SET value = ? WHERE prefix = 'groundgraph.provenance.hurt'", value)
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        with pytest.raises(
            StorageDamaged, match=r"'hurt' cannot be read: the record of the turn '.*groundgraph forget"
        ):
            await load_provenance(graph, "hurt")
        assert (await load_provenance(graph, "other"))["outcome"]
    change(store, "UPDATE store SET value = ? WHERE prefix = 'groundgraph.evidence'", value)
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        with pytest.raises(StorageDamaged, match=r"'other' cannot be read: the evidence .*groundgraph forget other"):
            await load_provenance(graph, "other")
        for name in ("hurt", "other"):
            assert (await forget_thread(graph, name)).records == 1
        assert (await ask(graph, on="hurt"))["outcome"] == "answered"
    left = sqlite3.connect(store).execute("SELECT prefix FROM store WHERE prefix LIKE '%.provenance.other'").fetchall()
    assert left == []


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
@pytest.mark.parametrize("date", ["nonsense", "", 7, None, b"\xff"])
async def test_a_row_of_the_store_without_a_date_is_told_and_can_be_forgotten(
    tmp_path: Path, column: str, date
) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        for name in ("hurt", "other", "whole"):
            await ask(graph, on=name)
        await ask(graph, "pump 17", "whole")
    store = tmp_path / ".groundgraph" / "evidence.sqlite"
    for name in ("hurt", "other"):
        change(store, f"UPDATE store SET {column} = ? WHERE prefix = ?", date, f"groundgraph.provenance.{name}")
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        for read in (load_provenance, resume_turn):
            with pytest.raises(StorageDamaged, match=r"'hurt' cannot be read: the record .*groundgraph forget hurt"):
                await read(graph, "hurt")
        assert (await load_provenance(graph, "whole"))["outcome"]
        for name in ("hurt", "other"):
            assert (await forget_thread(graph, name)).records == 1
    change(store, f"UPDATE store SET {column} = ? WHERE prefix = 'groundgraph.evidence'", date)
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        with pytest.raises(StorageDamaged, match=r"'whole' cannot be read: the evidence .*groundgraph forget whole"):
            await load_provenance(graph, "whole")
        assert (await ask(graph, on="whole"))["outcome"] == "answered"
        assert (await forget_thread(graph, "whole")).bodies
    left = sqlite3.connect(store).execute("SELECT prefix FROM store").fetchall()
    assert left == []


@pytest.mark.parametrize(("column", "value"), [("updated_at", "nonsense"), ("created_at", "x"), ("value", "{")])
async def test_a_damaged_row_of_a_store_that_was_passed_in_is_told(tmp_path: Path, column: str, value) -> None:
    file = tmp_path / "own.sqlite"
    async with AsyncSqliteStore.from_conn_string(str(file)) as store:
        await store.setup()
        graph = turn_graph(sources=[docs()], checkpointer=InMemorySaver(), store=store)
        for name in ("hurt", "whole"):
            await ask(graph, on=name)
        change(file, f"UPDATE store SET {column} = ? WHERE prefix = 'groundgraph.provenance.hurt'", value)
        for work in (load_provenance, resume_turn, forget_thread):
            with pytest.raises(StorageDamaged, match=r"below 'groundgraph\.provenance.*take the row out"):
                await work(graph, "hurt")
        assert (await load_provenance(graph, "whole"))["outcome"]
        change(file, f"UPDATE store SET {column} = ? WHERE prefix = 'groundgraph.evidence'", value)
        fresh = turn_graph(sources=[docs()], checkpointer=graph.checkpointer, store=store)
        with pytest.raises(StorageDamaged, match="whole"):
            await load_provenance(fresh, "whole")


async def test_the_texts_stay_while_another_conversation_cannot_be_read(tmp_path: Path) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        for name in ("hurt", "other"):
            await ask(graph, on=name)
        await graph.store.adelete(("groundgraph", "provenance", "hurt"), "no such turn")
    change(tmp_path / ".groundgraph" / "threads.sqlite", "UPDATE writes SET value = X'c1' WHERE thread_id = 'hurt'")
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        assert (await forget_thread(graph, "other")).bodies == 0
        assert (await forget_thread(graph, "hurt")).checkpoints


NO_METADATA = ["", "null", "[1]", "{}", '{"step": "three"}', None]
CHECKPOINT = {
    **{"v": 4, "ts": "2026-11-28T10:00:00+00:00", "id": "1f1eb114-044b-67b8-bfff-6014f0d2eed0"},
    **{"channel_values": {}, "channel_versions": {}, "versions_seen": {}},
}
NO_CHECKPOINT = [
    {"id": "x"},
    {"v": "z"},
    {"channel_versions": {"turn": 5, "messages": "2"}},
    {"versions_seen": {"begin_turn": 5}},
    {"updated_channels": 5},
]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("metadata", value) for value in NO_METADATA),
        *(("checkpoint", ormsgpack.packb(CHECKPOINT | wrong)) for wrong in NO_CHECKPOINT),
    ],
)
async def test_a_checkpoint_from_which_no_run_can_go_on_is_told_and_can_be_forgotten(
    tmp_path: Path, column: str, value: str | bytes | None
) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await ask(graph, on="hurt")
    change(tmp_path / ".groundgraph" / "threads.sqlite", f"UPDATE checkpoints SET {column} = ?", value)
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await ask(graph, on="other")
        for read in (graph.aget_state(thread("hurt")), load_provenance(graph, "hurt"), ask(graph, on="hurt")):
            with pytest.raises(
                StorageDamaged, match=r"'hurt' cannot be read: the checkpoint .*groundgraph forget hurt"
            ):
                await read
        assert (await forget_thread(graph, "hurt")).records == 1
        assert (await ask(graph, on="hurt"))["outcome"] == "answered"


async def test_a_search_among_the_records_of_a_thread_meets_one_that_is_no_json(tmp_path: Path) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await ask(graph, on="hurt")
    store = tmp_path / ".groundgraph" / "evidence.sqlite"
    change(store, "UPDATE store SET value = '{' WHERE prefix = 'groundgraph.provenance.hurt'")
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await ask(graph, "pump 17", "hurt")
        with pytest.raises(StorageDamaged, match=r"'hurt' cannot be read: a record in .*groundgraph forget hurt"):
            await load_provenance(graph, "hurt")
        assert (await forget_thread(graph, "hurt")).records == 2


@pytest.mark.parametrize("file", ["threads.sqlite", "evidence.sqlite"])
async def test_damaged_pages_of_a_file_are_told_with_its_name(tmp_path: Path, file: str) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        first = await ask(graph, on="t")
    path = tmp_path / ".groundgraph" / file
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StorageDamaged, match=f"{file}.*damaged"):
        async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
            await load_provenance(graph, "t", first["provenance"]["turn_id"])


@pytest.mark.parametrize("when", ["yesterday", "", "2024-13-01T00:00:00+00:00", 7, None], ids=str)
async def test_a_checkpoint_without_a_date_is_told_and_the_other_conversations_are_pruned(tmp_path: Path, when) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        for name in ("hurt", "other"):
            for _ in range(2):
                await ask(graph, on=name)
    path = tmp_path / ".groundgraph" / "threads.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        query = "SELECT rowid, checkpoint FROM checkpoints WHERE thread_id = 'hurt' ORDER BY checkpoint_id LIMIT 1"
        row, blob = db.execute(query).fetchone()
        whole = {**ormsgpack.unpackb(blob, ext_hook=ormsgpack.Ext), "ts": when}
        packed = ormsgpack.packb(whole, option=ormsgpack.OPT_NON_STR_KEYS)
        db.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (packed, row))
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        done = await prune_checkpoints(graph, keep_turns=1)
        assert done.records == done.threads == 1
        [(name, told)] = done.damaged.items()
        assert name == "hurt"
        assert "'hurt' cannot be read: the checkpoint " in told
        assert told.endswith("groundgraph forget hurt")
        assert (await forget_thread(graph, "hurt")).checkpoints
