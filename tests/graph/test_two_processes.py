"""Two processes on one thread of a SQLite file: turns one after the other, or a conflict that says what was kept."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import turns
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from turns import QUOTING, ask, asking, docs, settings_in, thread

from groundgraph import open_graph
from groundgraph.core.errors import ThreadBusy, ThreadConflict
from groundgraph.storage import sqlite_saver as thread_files
from groundgraph.storage.sqlite_saver import ThreadFiles
from groundgraph.testing import FaultySource

pytestmark = pytest.mark.covers("F7", "fault 92")

SUPPORT = Path(__file__).parent.parent / "support"


def build(saver: object, source: object = None, **settings: object):
    given = {"sources": [source or docs()], "checkpointer": saver, "store": InMemoryStore()}
    return turns.build(base=QUOTING, **given, **settings)


def claims(path: Path) -> ThreadFiles:
    async def named() -> str:
        return str(path)

    return ThreadFiles(named)


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a network file system that has none."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(thread_files.fcntl, "flock", refused)


async def test_a_thread_is_held_by_one_at_a_time_and_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    one, other = claims(tmp_path / "t.sqlite"), claims(tmp_path / "t.sqlite")
    async with one.hold("a", 1), other.hold("b", 1):
        # What is left of the wait is told as a person would say it.
        with pytest.raises(ThreadBusy, match=r"'a' was busy with a turn of another process for 0\.05 seconds"):
            async with other.hold("a", 0.0499996):
                pass
        assert len(list(tmp_path.iterdir())) == 2
    running: set[str] = set()

    async def hold(name: str) -> None:
        async with claims(tmp_path / "t.sqlite").hold("a", 10):
            assert not running
            running.add(name)
            await asyncio.sleep(0.001)
            running.remove(name)

    await asyncio.gather(*(hold(str(number)) for number in range(10)))
    assert list(tmp_path.iterdir()) == []


async def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    child = os.fork()
    if child == 0:
        lock = thread_files._locked(f"{path}.turn-{thread_files._mark('a')}")
        os.kill(os.getpid(), signal.SIGSTOP if lock else signal.SIGKILL)
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    with pytest.raises(ThreadBusy):
        async with claims(path).hold("a", 0.05):
            pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    async with claims(path).hold("a", 0.05):
        pass
    assert list(tmp_path.iterdir()) == []


async def test_turns_of_two_connections_on_one_thread_run_one_after_the_other(tmp_path: Path) -> None:
    path = str(tmp_path / "t.sqlite")
    # Two savers have two connections and two locks, as two processes have.
    async with AsyncSqliteSaver.from_conn_string(path) as one, AsyncSqliteSaver.from_conn_string(path) as other:
        graphs = [build(one), build(other)]
        await asyncio.gather(*(ask(graph, f"grant {n}", "t") for graph in graphs for n in range(3)))
        messages = (await graphs[0].aget_state(thread())).values["messages"]
    assert [message.type for message in messages] == ["human", "ai"] * 6


async def test_where_nothing_can_be_locked_a_conflict_tells_whether_the_turn_was_kept(tmp_path: Path, no_locks) -> None:
    path = str(tmp_path / "t.sqlite")
    async with AsyncSqliteSaver.from_conn_string(path) as one, AsyncSqliteSaver.from_conn_string(path) as other:
        await ask(build(one), "before", "t")
        held = FaultySource(docs(), delay=60, swallow_cancellation=True)
        slow = build(one, held, deadlines={"turn": 60, "source": 60})
        # Nothing of it is still to be written while the other one runs.
        first = asyncio.create_task(slow.ainvoke(asking("slow"), thread(), durability="sync"))
        try:
            while not held.calls:
                await asyncio.sleep(0.01)
            await ask(build(other), "quick", "t")
        finally:
            held.release()
        with pytest.raises(ThreadConflict) as conflict:
            await first
        asked = [message.text for message in (await slow.aget_state(thread())).values["messages"][::2]]
        assert conflict.value.kept is ("slow" in asked)
        assert ("do not ask again" in str(conflict.value)) is conflict.value.kept
        assert (await ask(build(one), "after", "t"))["outcome"] in ("answered", "insufficient")


@pytest.mark.covers("F21")
@pytest.mark.parametrize("late", [False, True])
async def test_one_single_foreign_checkpoint_is_noticed(tmp_path: Path, late: bool) -> None:
    path = str(tmp_path / "t.sqlite")
    async with AsyncSqliteSaver.from_conn_string(path) as one, AsyncSqliteSaver.from_conn_string(path) as other:
        graph, elsewhere = build(one), build(other)
        await ask(graph, "before", "t")
        head = (await elsewhere.aget_state(thread())).config
        ran = graph.astream(asking("grant types"), thread(), stream_mode="updates", durability="sync")
        with pytest.raises(ThreadConflict) as conflict:  # noqa: PT012 - the last step of all is the one that raises
            async for update in ran:
                if ("record_turn" if late else "begin_turn") in update:
                    await elsewhere.aupdate_state(head, {"metadata": {"edited": True}}, as_node="record_turn")
        messages = (await graph.aget_state(thread())).values["messages"]
    assert conflict.value.kept is (messages[-2].text == "grant types")


def started(folder: Path, name: str, turns: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(SUPPORT / "two_processes.py"), str(folder), name, str(turns)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SUPPORT)}, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
async def test_two_processes_one_of_them_stopped_for_a_while_keep_every_turn_once(tmp_path: Path) -> None:
    turns = 8
    running = [started(tmp_path, name, turns) for name in "ab"]
    for process in running:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.stdout.readline()
    running[0].send_signal(signal.SIGSTOP)
    await asyncio.sleep(1)
    running[0].send_signal(signal.SIGCONT)
    told = [line for process in running for line in process.communicate(timeout=120)[0].splitlines()]
    assert {line.split()[0] for line in told} == {"kept"}, "no conflict, where files can be locked"
    settings = settings_in(tmp_path)
    async with open_graph(settings, sources=[docs()]) as graph:
        messages = (await graph.aget_state(thread())).values["messages"]
    assert [message.type for message in messages] == ["human", "ai"] * 2 * turns
    assert sorted(message.text for message in messages[::2]) == sorted(
        f"grant types {name}{number}" for name in "ab" for number in range(turns)
    )
    assert not list((tmp_path / ".groundgraph").glob("*.turn-*"))
