"""A stored value that is decoded but is not what its channel holds is told, and not run into."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from turns import ask, asking, docs, notes, settings_in, thread

from groundgraph import load_provenance, open_graph
from groundgraph.core.errors import InputInvalid, StorageDamaged
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.resume import resume_turn
from groundgraph.graph.state import lifetimes, upgrade
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("F2", "fault 88")

Turns = Callable[[Path], Coroutine[Any, Any, None]]
Made = Callable[[Path, Turns], Coroutine[Any, Any, None]]
KEPT = [name for name, life in lifetimes().items() if life.kind != "run"]
OF_A_TURN = [name for name, life in lifetimes().items() if life.kind == "turn"]


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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Lets threads stand in a folder, as `turns` makes them; they are made once, and copied from then on."""
    kept: dict[str, Path] = {}

    async def made(folder: Path, turns: Turns) -> None:
        if turns.__name__ not in kept:
            kept[turns.__name__] = tmp_path_factory.mktemp("made")
            await turns(kept[turns.__name__])
        shutil.copytree(kept[turns.__name__], folder, dirs_exist_ok=True)

    return made


async def stopped(folder: Path) -> None:
    """A turn of the thread "t" before its last step: every channel that lives for a turn is full."""
    async with open_graph(settings_in(folder), sources=[docs()]) as graph:
        await graph.ainvoke(asking() | {"metadata": {"a": 1}}, thread(), interrupt_before=["record_turn"])


async def two_turns(folder: Path) -> None:
    """The thread "t" behind its second turn, with all that its steps wrote."""
    async with open_graph(settings_in(folder), sources=[docs(), notes()]) as graph:
        await graph.ainvoke(asking(), thread(), durability="sync")
        second = await graph.ainvoke(asking() | {"metadata": {"a": 1}}, thread(), durability="sync")
    assert second["outcome"] == "answered"


WRONG = [(channel, value) for channel in KEPT for value in ("text", [1], {"a": 1}) if not fits(channel, value)]


async def check_readers(folder: Path, row: str, *unhurt: str) -> None:
    """Every way of reading the thread "t", but for those `unhurt`, tells of `row`; another thread goes on, and "t" can
    be forgotten."""
    told = rf"'t' cannot be read: {row}.*groundgraph forget t$"
    async with open_graph(settings_in(folder), sources=[docs()]) as graph:
        readers = {
            "resume": lambda: resume_turn(graph, "t"),
            "go on": lambda: graph.ainvoke(None, thread()),
            "record": lambda: load_provenance(graph, "t"),
            "history": lambda: anext(graph.aget_state_history(thread())),
            "ask": lambda: ask(graph, "pump 17", "t"),
        }
        for read in (read for way, read in readers.items() if way not in unhurt):
            with pytest.raises(StorageDamaged, match=told) as found:
                await read()
            assert found.value.thread_id == "t"
        assert (await ask(graph, on="other"))["outcome"] == "answered"
        assert await forget_thread(graph, "t")
        assert (await ask(graph, on="t"))["outcome"] == "answered"


@pytest.mark.parametrize(("channel", "value"), WRONG, ids=str)
async def test_a_value_of_another_kind_than_its_channel_is_damage(
    tmp_path: Path, made: Made, channel: str, value: Any
) -> None:
    await made(tmp_path, stopped)
    put(tmp_path, channel, value)
    unhurt = ["ask"] if channel in OF_A_TURN else []
    await check_readers(tmp_path, rf"the value of '{channel}' \({type(value).__name__} in place of ", *unhurt)


@pytest.mark.parametrize(
    ("channel", "way"), [*((name, "invoke") for name in OF_A_TURN), ("ranking", "values"), ("bodies", "debug")]
)
async def test_a_new_turn_goes_on_from_nothing_that_a_turn_leaves_behind_and_so_heals_it(
    tmp_path: Path, made: Made, channel: str, way: str
) -> None:
    await made(tmp_path, stopped)
    put(tmp_path, channel, "text")
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        if way == "invoke":
            assert (await ask(graph, "pump 17", "t"))["outcome"] == "answered"
        else:
            async for _ in graph.astream(asking("pump 17"), thread(), stream_mode=way):
                pass
        assert "90 days" in (await resume_turn(graph, "t"))["answer"]
        assert (await load_provenance(graph, "t"))["question"] == "pump 17"
        said = (await graph.aget_state(thread())).values["messages"]
        assert [one.type for one in said] == ["human", "human", "ai"]


@pytest.mark.parametrize("channel", OF_A_TURN)
async def test_a_new_turn_behind_a_damaged_review_goes_through(tmp_path: Path, channel: str) -> None:
    reviewed = settings_in(tmp_path, human_review={"support_below": 0.6}, synthesis={"style": "conversational"})
    weak, good = (
        ScriptedChatModel(f"{one} [1].") for one in ("The moon orbits a cheese", "OAuth has four grant types")
    )
    async with open_graph(reviewed, sources=[docs()], chat_model=weak) as graph:
        assert "__interrupt__" in await ask(graph, on="t")
    put(tmp_path, channel, "text")
    async with open_graph(reviewed, sources=[docs()], chat_model=good) as graph:
        assert (await ask(graph, on="t"))["outcome"] == "answered"


async def test_a_run_that_may_be_one_tried_again_is_refused_as_a_resume_is(tmp_path: Path, made: Made) -> None:
    await made(tmp_path, stopped)
    put(tmp_path, "ranking", "text")
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        with pytest.raises(StorageDamaged, match="'ranking'"):
            await graph.ainvoke(asking(), thread() | {"metadata": {"run_id": "r"}})


def damage_kept(folder: Path, channel: str, value: Any, first: bool) -> None:
    """Give the first or last write to `channel` in the thread "t" another value, and lose every state behind it, as
    when the process was killed before it stood in one."""
    with closing(sqlite3.connect(folder / ".groundgraph" / "threads.sqlite")) as db, db:
        order = "" if first else "DESC"
        query = f"SELECT rowid, checkpoint_id FROM writes WHERE thread_id = 't' AND channel = ? ORDER BY rowid {order}"
        row, point = db.execute(query, (channel,)).fetchone()
        for table in ("checkpoints", "writes"):
            db.execute(f"DELETE FROM {table} WHERE thread_id = 't' AND checkpoint_id > ?", (point,))
        db.execute("UPDATE writes SET value = ?, type = 'msgpack' WHERE rowid = ?", (ormsgpack.packb(value), row))


@pytest.mark.parametrize(("value", "first"), [(7, True), ([1], False)])
@pytest.mark.parametrize("channel", [*KEPT, "__pregel_tasks"])
async def test_a_kept_write_of_another_kind_than_its_channel_is_damage_when_the_turn_goes_on(
    tmp_path: Path, made: Made, channel: str, value: Any, first: bool
) -> None:
    await made(tmp_path, two_turns)
    damage_kept(tmp_path, channel, value, first)
    # The states before it, and a turn that does not go on from it, are as they were.
    await check_readers(tmp_path, rf"what was written to '{channel}' \(", "history", "ask")


WRONG_INSIDE = [
    *(("turn", {"id": 7}), ("intent", {"stages": [1]}), ("check", {"verdict": "nothing of the kind"})),
    *(("retrievals", {"docs/0": 7}), ("retrievals", {"docs/0": {"a": 1}}), ("bodies", {"key": 7})),
    *(("ranking", {"a": 1}), ("ranking", {"refs": "text"}), ("draft", {"a": 1}), ("draft", {"text": ["text"]})),
]


@pytest.mark.parametrize(("channel", "value"), WRONG_INSIDE, ids=str)
async def test_a_mapping_that_is_wrong_inside_is_damage(tmp_path: Path, made: Made, channel: str, value: Any) -> None:
    await made(tmp_path, stopped)
    put(tmp_path, channel, value)
    await check_readers(tmp_path, rf"the value of '{channel}' \(", "ask")


@pytest.mark.parametrize(
    ("channel", "value", "told"),
    [
        *((channel, value, "") for channel, value in WRONG_INSIDE),
        *((channel, "text", " .* is a mapping, and str was given") for channel in OF_A_TURN),
    ],
    ids=str,
)
async def test_an_edit_that_a_channel_cannot_hold_is_refused_and_hurts_nothing(
    tmp_path: Path, channel: str, value: Any, told: str
) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread(), interrupt_before=["record_turn"])
        with pytest.raises(InputInvalid, match=f"'{channel}'{told}"):
            await graph.aupdate_state(thread(), {channel: value})
        assert (await resume_turn(graph, "t"))["outcome"] == "answered"


async def test_a_state_has_every_key_and_storage_only_those_that_say_something(tmp_path: Path) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread(), interrupt_before=["record_turn"])
        state = (await graph.aget_state(thread())).values
    with closing(sqlite3.connect(tmp_path / ".groundgraph" / "threads.sqlite")) as db:
        blob = db.execute("SELECT checkpoint FROM checkpoints ORDER BY checkpoint_id DESC").fetchone()[0]
    stored = ormsgpack.unpackb(blob, ext_hook=ormsgpack.Ext)["channel_values"]
    for name in ("turn", "intent", "ranking", "draft", "check"):
        empty = lifetimes()[name].empty
        assert list(state[name]) == list(empty)
        assert stored[name] == {key: value for key, value in state[name].items() if value != empty[key]}
    [one], [kept] = state["retrievals"].values(), stored["retrievals"].values()
    assert list(one) == list(lifetimes()["retrievals"].empty)
    assert "failure" not in kept


def test_the_cosines_that_an_earlier_version_stored_are_still_told_of_the_evidence() -> None:
    empty = lifetimes()["retrievals"].empty
    value = upgrade({"source": "base", "status": "ok", "cosines": {"key": 0.7}}, empty)
    assert value == {**empty, "source": "base", "status": "ok", "fits": {"key": {"vector": 0.7}}}


@pytest.mark.parametrize("value", ["text", 7])
async def test_a_change_of_another_kind_than_its_channel_is_damage(tmp_path: Path, value: Any) -> None:
    async with open_graph(settings_in(tmp_path), sources=[docs()]) as graph:
        await graph.ainvoke(asking() | {"metadata": {"a": 1}}, thread())
    with closing(sqlite3.connect(tmp_path / ".groundgraph" / "threads.sqlite")) as db, db:
        changed = db.execute("UPDATE writes SET value = ? WHERE channel = 'metadata'", (ormsgpack.packb(value),))
        assert changed.rowcount
    await check_readers(tmp_path, "what was written to 'metadata' ")
