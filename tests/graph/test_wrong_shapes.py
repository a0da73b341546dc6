"""A stored value that is decoded but is not what its channel holds is told, and not run into."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from oauth_sources import ask, docs, thread

from groundgraph import load_provenance, load_settings, open_graph
from groundgraph.core.errors import StorageDamaged
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.resume import resume_turn
from groundgraph.graph.state import lifetimes

KEPT = [name for name, life in lifetimes().items() if life.kind != "run"]


def files(folder: Path) -> Any:
    settings = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}}
    return load_settings(settings).model_copy(update={"base_dir": folder})


def put(folder: Path, channel: str, value: Any) -> None:
    """Put `value` into `channel` of the newest checkpoint of the thread "t"."""
    with closing(sqlite3.connect(folder / ".groundgraph" / "threads.sqlite")) as db, db:
        query = "SELECT checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = 't' ORDER BY 1 DESC"
        point, blob = db.execute(query).fetchone()
        whole = ormsgpack.unpackb(blob, ext_hook=ormsgpack.Ext)
        assert channel in whole["channel_versions"]
        whole["channel_values"][channel] = value
        update = "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?"
        db.execute(update, (ormsgpack.packb(whole, option=ormsgpack.OPT_NON_STR_KEYS), point))


def fits(channel: str, value: Any) -> bool:
    return isinstance(value, list if channel == "messages" else dict)


WRONG = [(channel, value) for channel in KEPT for value in ("text", 7, [1], {"a": 1}) if not fits(channel, value)]


async def check_every_reader(folder: Path, row: str) -> None:
    """Every way of reading the thread "t" tells of `row`; another thread goes on, and "t" can be forgotten."""
    told = rf"'t' cannot be read: {row}.*groundgraph forget t$"
    async with open_graph(files(folder), sources=[docs()]) as graph:
        for read in (
            lambda: graph.ainvoke(ask("pump 17"), thread()),
            lambda: resume_turn(graph, "t"),
            lambda: load_provenance(graph, "t"),
            lambda: anext(graph.aget_state_history(thread())),
        ):
            with pytest.raises(StorageDamaged, match=told) as found:
                await read()
            assert found.value.thread_id == "t"
        assert (await graph.ainvoke(ask(), thread("other")))["outcome"] == "answered"
        assert await forget_thread(graph, "t")
        assert (await graph.ainvoke(ask(), thread()))["outcome"] == "answered"


@pytest.mark.covers("F2", "fault 88")
@pytest.mark.parametrize(("channel", "value"), WRONG, ids=str)
async def test_a_value_of_another_kind_than_its_channel_is_damage(tmp_path: Path, channel: str, value: Any) -> None:
    async with open_graph(files(tmp_path), sources=[docs()]) as graph:
        # Here every channel that lives for a turn is full.
        await graph.ainvoke(ask() | {"metadata": {"a": 1}}, thread(), interrupt_before=["record_turn"])
    put(tmp_path, channel, value)
    await check_every_reader(tmp_path, rf"the value of '{channel}' \({type(value).__name__} in place of ")


@pytest.mark.covers("F2", "fault 88")
@pytest.mark.parametrize("value", ["text", 7])
async def test_a_change_of_another_kind_than_its_channel_is_damage(tmp_path: Path, value: Any) -> None:
    async with open_graph(files(tmp_path), sources=[docs()]) as graph:
        await graph.ainvoke(ask() | {"metadata": {"a": 1}}, thread())
    with closing(sqlite3.connect(tmp_path / ".groundgraph" / "threads.sqlite")) as db, db:
        changed = db.execute("UPDATE writes SET value = ? WHERE channel = 'metadata'", (ormsgpack.packb(value),))
        assert changed.rowcount
    await check_every_reader(tmp_path, "what was written to 'metadata' ")
