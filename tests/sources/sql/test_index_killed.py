"""Processes that index at once, and that are killed in the middle of it, beside readers that look."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from asking import ask, ask_ids, opened
from kept_index import check_index, index_files
from killed_indexers import GUESTS, ROWS, TABLE, note, source_over
from plant_database import change, fill, rows_of

SCRIPT = Path(__file__).parents[2] / "support" / "killed_indexers.py"
KILLS, READERS = 40, 3

pytestmark = [pytest.mark.slow, pytest.mark.covers("R3", "fault 48", "fault 49")]


def table_of(folder: Path, rows: int) -> Path:
    # With a write-ahead log, so that its owner and those who read wait for nobody.
    script = f"PRAGMA journal_mode = WAL; {TABLE}"
    return fill(folder / "notes.db", script, notes=[(name, note(name, 1)) for name in range(rows)])


async def test_readers_find_every_row_while_forty_who_index_are_killed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = table_of(tmp_path, ROWS)
    killing = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), "kill", str(path), str(KILLS), "7", stdout=asyncio.subprocess.PIPE
    )
    try:
        looks = await asyncio.gather(*(look(path, killing) for _ in range(READERS)))
    finally:
        # Where a reader failed, it goes on for a minute at most.
        output, _ = await killing.communicate()
    assert output.split() == [str(KILLS).encode()]
    assert sum(looks) > KILLS
    last = opened(source_over(path))
    await last.refresh()
    [file] = index_files(tmp_path)
    assert check_index(file, "common") == list(range(ROWS))
    for name, body in held(path).items():
        assert await ask_ids(last, body.split()[-1]) == [f"notes/{name}"]


async def look(path: Path, until: asyncio.subprocess.Process) -> int:
    """How often a reader looked: each row is there, once, and says what it said at some time meanwhile."""
    source = opened(source_over(path))
    looks = 0
    while until.returncode is None:
        for name in range(ROWS):
            before = held(path)[name]
            [found] = await ask(source, f"name{name}", top_k=5)
            assert found.source_id == f"notes/{name}"
            assert version_in(before) <= version_in(found.metadata["body"]) <= version_in(held(path)[name])
            looks += 1
        [(mark,)] = rows_of(path, "SELECT count(*) FROM gone")
        there = set(held(path))
        guests = {int(one.source_id.partition("/")[2]) for one in await ask(source, "guest", top_k=50)}
        # Before what is gone: a row that goes between the two would else be in neither.
        there |= set(held(path))
        gone = {guest for (guest,) in rows_of(path, f"SELECT id FROM gone WHERE place > {mark}")}
        assert guests <= there | gone
        assert all(guest >= GUESTS for guest in guests)
    return looks


def held(path: Path) -> dict[int, str]:
    return dict(rows_of(path, "SELECT id, body FROM notes"))


def version_in(body: str) -> int:
    return int(body.rpartition("version")[2])


def test_two_processes_that_index_at_once_make_one_index(tmp_path):
    path = table_of(tmp_path, 3000)
    command = [sys.executable, str(SCRIPT), "ask", str(path)]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        assert [one.stdout.readline() for one in both] == ["ready\n"] * 2
        assert asked(both, "name7") == ["notes/7\n"] * 2
        change(path, "UPDATE notes SET body = body || ' okapi'", "DELETE FROM notes WHERE id >= 2500")
        # A question is answered from the rows as they were while an update takes longer.
        ends_at = time.monotonic() + 60
        while "\n" in asked(both, "okapi"):
            assert time.monotonic() < ends_at
        assert asked(both, "name2600") == ["\n"] * 2
    finally:
        ends = [one.communicate(timeout=60) for one in both]
    assert [one.returncode for one in both] == [0, 0], ends
    [file] = index_files(tmp_path)
    assert check_index(file, "okapi") == list(range(2500))


def asked(both: list[subprocess.Popen[str]], question: str) -> list[str]:
    for one in both:
        one.stdin.write(f"{question}\n")
        one.stdin.flush()
    return [one.stdout.readline() for one in both]
