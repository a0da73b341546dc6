"""A disk that is full, a file or a folder that is read-only: told as what it is, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from forks import run_command as command
from forks import with_small_files, without_rights, without_room
from psycopg_pool import AsyncConnectionPool
from turns import ask, docs, settings_in, thread

from groundgraph import load_provenance, open_graph, turn_graph
from groundgraph.core.errors import StorageUnavailable
from groundgraph.storage.postgres_storage import PooledPostgresSaver

pytestmark = pytest.mark.covers("F4", "fault 90")


@pytest.mark.parametrize("file", ["threads.sqlite", "evidence.sqlite"])
async def test_a_full_disk_is_told_with_the_file_and_old_turns_are_readable(tmp_path: Path, file: str) -> None:
    settings = settings_in(tmp_path)
    async with open_graph(settings, sources=[docs()]) as graph:
        first = await ask(graph, on="t")
        connection = (graph.checkpointer if file == "threads.sqlite" else graph.store).conn
        # From here on SQLite finds no room, as on a full disk.
        ((pages,),) = await connection.execute_fetchall("PRAGMA page_count")
        await connection.execute(f"PRAGMA max_page_count = {pages}")
        turns = (ask(graph, "pump 17 " + "again " * 900, str(number)) for number in range(10))
        ends = await asyncio.gather(*turns, return_exceptions=True)
        told = [end for end in ends if isinstance(end, BaseException)]
        assert told
        assert all(isinstance(end, StorageUnavailable) for end in told)
        assert all(file in str(end) and "the disk is full" in str(end) for end in told)
        assert not connection.in_transaction
        assert await load_provenance(graph, "t") == first["provenance"]
        await connection.execute("PRAGMA max_page_count = 1000000")
        again = await ask(graph, "pump 17", "t")
        assert len(again["messages"]) == 4
        assert await connection.execute_fetchall("PRAGMA integrity_check") == [("ok",)]


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    (folder / "pump.md").write_text("# Pump 17\n\nPump 17 is serviced every 90 days.\n")
    assert command(folder, "ingest", "pump.md").returncode == 0
    assert command(folder, "ask", "How often is pump 17 serviced?", "--thread", "t").returncode == 0
    return folder


@pytest.fixture
def asked(asked_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(asked_once, tmp_path / "asked")


def files_and_folder(folder: Path, file: int, inside: int) -> None:
    for path in (folder / ".groundgraph").glob("*.sqlite"):
        path.chmod(file)
    (folder / ".groundgraph").chmod(inside)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "file", "inside", "cause"),
    [
        (with_small_files, 0o644, 0o755, "the disk is full"),
        (without_rights, 0o444, 0o755, "read-only"),
        (without_rights, 0o644, 0o555, "read-only"),
    ],
    ids=["full", "file", "folder"],
)
def test_the_command_ends_with_3_and_a_sentence_and_goes_on_later(asked: Path, before, file, inside, cause) -> None:
    question = ("ask", "Is pump 17 serviced? " + "And how often? " * 300, "--thread", "t")
    files_and_folder(asked, file, inside)
    try:
        ran = command(asked, *question, before=before)
        read = command(asked, "report", "t", before=before)
    finally:
        files_and_folder(asked, 0o644, 0o755)
    assert ran.returncode == 3, ran.stderr
    assert "Traceback" not in ran.stderr
    assert cause in ran.stderr
    assert ".sqlite" in ran.stderr
    assert os.linesep not in ran.stderr.strip()
    assert read.returncode == 0, read.stderr
    assert "90 days" in read.stdout
    assert command(asked, *question).returncode == 0


@pytest.mark.covers("R5")
@pytest.mark.parametrize("file", [0o444, 0o644], ids=["file", "folder alone"])
def test_old_turns_are_read_where_nothing_may_be_written(asked: Path, file) -> None:
    files_and_folder(asked, file, 0o555)
    try:
        listed, shown, told = (
            command(asked, *line, before=without_rights)
            for line in (("threads", "list"), ("threads", "show", "t"), ("report", "t"))
        )
        removed = command(asked, "documents", "remove", "pump.md", before=without_rights)
    finally:
        files_and_folder(asked, 0o644, 0o755)
    assert [one.returncode for one in (listed, shown, told)] == [0, 0, 0], told.stderr
    assert "1 turn" in listed.stdout
    assert "90 days" in shown.stdout
    assert "90 days" in told.stdout
    # Beside a base that can be written its log stands already, so the folder's rights do not matter.
    assert removed.returncode == (3 if file == 0o444 else 0)
    if removed.returncode:
        assert "knowledge_base.sqlite' cannot be written" in removed.stderr
        assert "Allow writing" in removed.stderr


@pytest.mark.covers("R5")
def test_old_turns_are_read_where_nothing_has_room(asked: Path) -> None:
    lines = (("threads", "list"), ("threads", "show", "t"), ("report", "t"))
    ran = [command(asked, *line, before=without_room) for line in lines]
    assert [one.returncode for one in ran] == [0, 0, 0], [one.stderr for one in ran]
    assert ["1 turn" in ran[0].stdout, *("90 days" in one.stdout for one in ran[1:])] == [True, True, True]
    assert command(asked, "ask", "Is pump 17 serviced?", before=without_room).returncode == 3


def test_a_file_that_is_no_database_is_named_by_an_ingest(tmp_path: Path) -> None:
    (tmp_path / ".groundgraph").mkdir()
    (tmp_path / ".groundgraph" / "knowledge_base.sqlite").write_bytes(b"no database at all " * 100)
    (tmp_path / "pump.md").write_text("# Pump 17\n\nPump 17 is serviced every 90 days.\n")
    ran = command(tmp_path, "ingest", "pump.md")
    assert ran.returncode == 3
    assert "knowledge_base.sqlite' cannot be written: file is not a database" in ran.stderr
    assert "moved away" in ran.stderr


class FullServer(AsyncConnectionPool):
    """In place of a pool: every statement fails as on a server without room."""

    def __init__(self, error: psycopg.Error) -> None:
        self.error = error

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[Any]:
        raise self.error
        yield


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (psycopg.errors.DiskFull("could not extend file: No space left on device"), "the disk is full"),
        (psycopg.errors.OutOfMemory("out of memory"), "memory, connections or another limit are used up"),
    ],
)
async def test_a_postgresql_without_room_is_told_as_that_and_not_as_an_outage(tmp_path: Path, error, told) -> None:
    settings = settings_in(tmp_path)
    saver = PooledPostgresSaver(FullServer(error), claims=None)
    graph = turn_graph(settings, sources=[docs()], checkpointer=saver)
    with pytest.raises(StorageUnavailable, match=rf"^PostgreSQL.* has no room left: {told} \({error}\).* make room"):
        await ask(graph, on="t")
    with pytest.raises(StorageUnavailable, match=told):
        await saver.aget_tuple(thread())
