"""A pruned conversation goes on, its last turns keep everything, and the files are small (T3, K12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from held_file import held_file
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import MessagesState
from parents import in_a_row
from plant_database import change, rows_of
from turns import build

from groundgraph import InMemorySource, load_provenance, load_settings, open_graph, prune_checkpoints, resume_turn
from groundgraph.core.errors import (
    ConfigurationError,
    EvidenceMissing,
    InputInvalid,
    NothingToResume,
    StorageLocked,
    StorageUnavailable,
)
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.prune_checkpoints import Pruned, _Pruning, cut_before, cut_thread
from groundgraph.graph.prune_checkpoints import compact_files as compact
from groundgraph.storage.records import referred

TEXTS = [f"Pump {n} is serviced every {n} days. {'Grease it well. ' * 40}" for n in range(1, 21)]


def place(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


@asynccontextmanager
async def opened(folder: Path, *beside: Any) -> AsyncIterator[Any]:
    settings = load_settings(
        {
            "intent": {"mode": "static"},
            "checkpointer": {"path": str(folder / "threads.sqlite")},
            "store": {"path": str(folder / "evidence.sqlite")},
            "retrieval": {"top_k": 1, "score_threshold": 0.0},
        }
    )
    async with open_graph(settings, sources=[InMemorySource(TEXTS, name="plant"), *beside]) as graph:
        yield graph


def freeze(monkeypatch: pytest.MonkeyPatch, at: datetime) -> None:
    """Pruning takes `at` for the present."""

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return at.astimezone(tz)

    monkeypatch.setattr("groundgraph.graph.prune_checkpoints.datetime", Frozen)


async def ask(graph: Any, *pumps: int, thread: str = "t", **options: Any) -> list[Any]:
    return [await graph.ainvoke({"question": f"pump {n}"}, place(thread), **options) for n in pumps]


async def turns_of(graph: Any, thread: str = "t") -> list[str]:
    """The ids of the turns, by their answers."""
    state = await graph.aget_state(place(thread))
    messages = [one for one in state.values["messages"] if isinstance(one, AIMessage)]
    return [one.response_metadata["turn_id"] for one in messages]


async def whole(graph: Any, thread: str = "t") -> list[tuple[str, str]]:
    return [(one.type, one.text) for one in (await graph.aget_state(place(thread))).values["messages"]]


def count(folder: Path, file: str, table: str, where: str = "1") -> int:
    return rows_of(folder / file, f"SELECT count(*) FROM {table} WHERE {where}")[0][0]


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.sqlite*"))


async def test_a_pruned_conversation_reads_as_before_and_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3, 4, 5)
        before, metadata = await whole(graph), (await graph.aget_state(place())).values["metadata"]
        done = await prune_checkpoints(graph, keep_turns=2)
        assert done.threads == 1
        assert done.records == 3
        assert done.checkpoints > 20
        assert await whole(graph) == before
        assert (await graph.aget_state(place())).values["metadata"] == metadata
        (result,) = await ask(graph, 6)
        assert "Pump 6" in result["answer"]
        assert await whole(graph) == [*before, ("human", "pump 6"), ("ai", result["answer"])]


@pytest.mark.parametrize("way", ["asked", "resumed", "edited"])
async def test_a_run_from_a_checkpoint_that_was_pruned_is_refused_and_the_conversation_stays(
    tmp_path: Path, way: str
) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1)
        gone = (await graph.aget_state(place())).config
        await ask(graph, 2, 3)
        before = await whole(graph)
        await prune_checkpoints(graph, keep_turns=1)
        ways = {
            "asked": partial(graph.ainvoke, {"question": "pump 9"}, gone),
            "resumed": partial(graph.ainvoke, None, gone),
            "edited": partial(graph.aupdate_state, gone, {"messages": [("user", "pump 9")]}),
        }
        with pytest.raises(NothingToResume, match="Leave checkpoint_id out"):
            await ways[way]()
        assert await whole(graph) == before


async def test_a_run_that_names_no_checkpoint_reads_one_and_looks_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as graph:
        looks, find = [], graph.checkpointer.aget_tuple

        async def counted(config: Any) -> Any:
            looks.append(config)
            return await find(config)

        monkeypatch.setattr(graph.checkpointer, "aget_tuple", counted)
        await ask(graph, 1, 2)
        assert len(looks) == 2


async def test_it_reads_the_same_in_another_process_through_langgraphs_own_saver(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, *range(1, 8))
        before = await whole(graph)
        await prune_checkpoints(graph, keep_turns=1)
        await ask(graph, 8)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        graph = build(sources=[InMemorySource(TEXTS, name="plant")], checkpointer=saver)
        # Past the wrapper that finds the snapshot by a shorter way.
        graph.checkpointer = saver
        assert (await whole(graph))[: len(before)] == before
        assert len(await whole(graph)) == len(before) + 2


async def test_the_provenance_of_the_kept_turns_loads_and_that_of_the_others_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3, 4)
        turns = await turns_of(graph)
        await prune_checkpoints(graph, keep_turns=2)
    async with opened(tmp_path) as graph:
        for number, turn in enumerate(turns, 1):
            if number <= 2:
                with pytest.raises(EvidenceMissing):
                    await load_provenance(graph, "t", turn)
            else:
                record = await load_provenance(graph, "t", turn)
                assert f"Pump {number} " in record["results"][0]["text"]


@pytest.mark.covers("K12")
async def test_evidence_of_removed_turns_goes_but_for_what_another_turn_or_thread_refers_to(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3, 4, 5)
        await ask(graph, 2, thread="other")
        bodies = "prefix = 'groundgraph.evidence'"
        assert count(tmp_path, "evidence.sqlite", "store", bodies) == 5
        done = await prune_checkpoints(graph, keep_turns=1)
        # The other thread refers to 2, and the state in which the last turn began to 4.
        assert done.bodies == 2
        assert count(tmp_path, "evidence.sqlite", "store", bodies) == 3
        # What was removed is written again when it is found again.
        await ask(graph, 1)
    async with opened(tmp_path) as graph:
        record = await load_provenance(graph, "t")
        assert "Pump 1 " in record["results"][0]["text"]


async def test_the_files_get_smaller_and_the_steps_of_the_old_turns_are_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, *range(1, 21))
    before = size(tmp_path)
    steps = count(tmp_path, "threads.sqlite", "checkpoints")
    async with opened(tmp_path) as graph:
        await prune_checkpoints(graph, keep_turns=2)
    assert size(tmp_path) < before / 3
    assert count(tmp_path, "threads.sqlite", "checkpoints") < steps / 5
    left = count(tmp_path, "threads.sqlite", "writes", "checkpoint_id NOT IN (SELECT checkpoint_id FROM checkpoints)")
    assert left == 0


@pytest.mark.covers("T3")
async def test_the_kept_turns_can_be_stepped_through_and_forked(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3)
        before = {
            one.config["configurable"]["checkpoint_id"]: one.values async for one in graph.aget_state_history(place())
        }
        await prune_checkpoints(graph, keep_turns=2)
        history = [one async for one in graph.aget_state_history(place())]
        assert 0 < len(history) < len(before)
        for one in history:
            kept = before[one.config["configurable"]["checkpoint_id"]]
            assert one.values == kept
        begin = next(one for one in history if one.next == ("retrieve_source",))
        forked = await graph.ainvoke(None, begin.config)
        assert "Pump 3" in forked["answer"]


@pytest.mark.covers("T3")
async def test_a_turn_that_waits_is_kept_and_resumed(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2)
        await ask(graph, 3, interrupt_before=["process_results"])
        assert (await prune_checkpoints(graph, keep_turns=1)).records == 2
    async with opened(tmp_path) as graph:
        assert (await graph.aget_state(place())).next == ("process_results",)
        assert "Pump 3" in (await resume_turn(graph, "t"))["answer"]
        assert [text for kind, text in await whole(graph) if kind == "human"] == ["pump 1", "pump 2", "pump 3"]


async def test_pruning_again_and_pruning_what_is_short_removes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3)
        assert await prune_checkpoints(graph, keep_turns=3) == Pruned(threads=1)
        await prune_checkpoints(graph, keep_turns=1)
        before = await whole(graph)
        assert await prune_checkpoints(graph, keep_turns=1) == Pruned(threads=1)
        assert await whole(graph) == before


async def test_many_rounds_of_asking_and_pruning_lose_no_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        for start in range(1, 19, 3):
            await ask(graph, start, start + 1, start + 2)
            await prune_checkpoints(graph, keep_turns=1, compact=False)
        said = await whole(graph)
        assert [text for kind, text in said if kind == "human"] == [f"pump {n}" for n in range(1, 19)]
        assert count(tmp_path, "threads.sqlite", "checkpoints") < 15


@pytest.mark.parametrize("durability", ["exit", "sync"])
async def test_every_durability_can_be_pruned(tmp_path: Path, durability: str) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3, 4, durability=durability)
        before = await whole(graph)
        done = await prune_checkpoints(graph, keep_turns=1)
        assert done.records == 3
        assert done.checkpoints > 0
        assert await whole(graph) == before
        await ask(graph, 5, durability=durability)
        assert (await whole(graph))[: len(before)] == before


async def test_the_conversations_that_nobody_went_on_with_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, thread="old")
        between = datetime.now(UTC)
        await ask(graph, 2, thread="new")
        freeze(monkeypatch, between + timedelta(hours=1))
        done = await prune_checkpoints(graph, older_than=timedelta(hours=1))
        assert (done.threads, done.forgotten, done.records, done.bodies) == (2, 1, 1, 1)
        assert (await graph.aget_state(place("old"))).values.get("messages", []) == []
        assert len(await whole(graph, "new")) == 2
        assert count(tmp_path, "evidence.sqlite", "store", "prefix LIKE '%provenance.old'") == 0
        assert (await prune_checkpoints(graph, older_than=timedelta.max)).forgotten == 0


async def test_only_the_conversations_that_were_named_are_looked_at(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        for thread in ("a", "b"):
            await ask(graph, 1, 2, thread=thread)
        done = await prune_checkpoints(graph, keep_turns=1, threads=["a", "nobody"])
        assert (done.threads, done.records) == (1, 1)
        assert count(tmp_path, "evidence.sqlite", "store", "prefix LIKE '%provenance.b'") == 2


class Game(MessagesState):
    """Counts turns too."""

    turn: dict[str, Any]


@pytest.mark.parametrize(
    ("schema", "move"),
    [(MessagesState, {"messages": [("ai", "hi")]}), (Game, {"turn": {"id": "white", "number": 1}})],
)
async def test_the_conversations_of_another_graph_in_the_same_file_are_left_alone(
    tmp_path: Path, schema: Any, move: Any
) -> None:
    async with opened(tmp_path) as graph:
        other = in_a_row(schema, move=lambda _: move).compile(checkpointer=graph.checkpointer)
        for _ in range(3):
            await other.ainvoke({"messages": [("user", "hi")]}, place("theirs"))
        before = count(tmp_path, "threads.sqlite", "checkpoints", "thread_id = 'theirs'")
        values = (await other.aget_state(place("theirs"))).values
        await asyncio.sleep(0.01)
        assert await prune_checkpoints(graph, keep_turns=1, older_than=timedelta(0)) == Pruned()
        assert count(tmp_path, "threads.sqlite", "checkpoints", "thread_id = 'theirs'") == before
        assert (await other.aget_state(place("theirs"))).values == values


@pytest.mark.covers("fault 75")
async def test_a_turn_under_way_is_waited_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2)
        turn = asyncio.create_task(graph.ainvoke({"question": "pump 3"}, place()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done = await prune_checkpoints(graph, keep_turns=1)
        assert "Pump 3" in (await turn)["answer"]
        assert done.records >= 1
        assert [text for kind, text in await whole(graph) if kind == "human"] == ["pump 1", "pump 2", "pump 3"]


@pytest.mark.covers("fault 45")
async def test_a_file_that_another_process_holds_is_a_typed_error_and_loses_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3)
        before = await whole(graph)
        await graph.checkpointer.conn.execute("PRAGMA busy_timeout = 100")
        with held_file(tmp_path / "threads.sqlite"), pytest.raises(StorageLocked):
            await prune_checkpoints(graph, keep_turns=1)
        assert await whole(graph) == before
        assert (await prune_checkpoints(graph, keep_turns=1)).records == 2


@pytest.mark.parametrize("asked", [(), (1,)])
async def test_pruning_and_reading_by_a_closed_graph_say_so(tmp_path: Path, asked: tuple[int, ...]) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, *asked)
    for use in (lambda: prune_checkpoints(graph, keep_turns=1), lambda: graph.aget_state(place())):
        with pytest.raises(StorageUnavailable, match="is closed: open it again"):
            await use()


async def test_wrong_arguments_and_other_savers_are_refused(tmp_path: Path) -> None:
    wrong = {
        "keep_turns": {},
        "0": {"keep_turns": 0},
        "future": {"older_than": timedelta(days=-1)},
        "list of thread ids": {"keep_turns": 1, "threads": "anna"},
    }
    async with opened(tmp_path) as graph:
        for told, given in wrong.items():
            with pytest.raises(InputInvalid, match=told):
                await prune_checkpoints(graph, **given)
    graph = build(sources=[InMemorySource(TEXTS)], checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match="InMemorySaver"):
        await prune_checkpoints(graph, keep_turns=1)


async def test_the_age_is_that_of_the_last_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1)
        between = datetime.now(UTC)
        await ask(graph, 2)
        freeze(monkeypatch, between + timedelta(hours=1))
        assert (await prune_checkpoints(graph, older_than=timedelta(hours=1))).forgotten == 0
        freeze(monkeypatch, datetime.now(UTC) + timedelta(hours=1))
        assert (await prune_checkpoints(graph, older_than=timedelta(hours=1))).forgotten == 1


@pytest.mark.covers("fault 75")
async def test_a_transaction_of_a_turn_under_way_is_not_ended_by_giving_space_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        async with graph.store.lock:
            await graph.store.conn.execute("BEGIN")
            compacting = asyncio.create_task(compact([graph.checkpointer, graph.store]))
            await asyncio.wait({compacting}, timeout=0.3)
            assert graph.store.conn.in_transaction
            await graph.store.conn.execute("COMMIT")
        await compacting


@pytest.mark.covers("fault 75")
async def test_pruning_while_other_conversations_are_answered_fails_neither(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:

        async def talk(thread: str) -> list[Any]:
            return await ask(graph, *range(1, 9), thread=thread)

        talks = [asyncio.create_task(talk(f"t{number}")) for number in range(4)]
        while not all(one.done() for one in talks):
            await prune_checkpoints(graph, keep_turns=1)
            await asyncio.sleep(0.02)
        answers = [[result["answer"] for result in await one] for one in talks]
        assert all(f"Pump {n} " in said[n - 1] for said in answers for n in range(1, 9))


@pytest.mark.covers("K12")
async def test_a_turn_under_way_keeps_its_evidence_before_any_checkpoint_refers_to_it(tmp_path: Path) -> None:
    gate = asyncio.Event()

    class Slow(InMemorySource):
        async def query(self, *_: Any, **__: Any) -> list[Any]:
            await gate.wait()
            return []

    async with opened(tmp_path, Slow([], name="slow")) as graph:
        gate.set()
        await ask(graph, 2, 3, 4)
        gate.clear()
        # With this durability nothing of the turn is written before its end.
        turn = asyncio.create_task(ask(graph, 2, thread="other", durability="exit"))
        await asyncio.sleep(0.3)
        pruning = asyncio.create_task(prune_checkpoints(graph, keep_turns=1, threads=["t"], compact=False))
        await asyncio.wait({pruning}, timeout=0.3)
        gate.set()
        await pruning
        assert "Pump 2 " in (await turn)[0]["answer"]
    async with opened(tmp_path) as graph:
        assert "Pump 2 " in (await load_provenance(graph, "other"))["results"][0]["text"]


class Killed(Exception):
    """In place of the end of the process."""


async def killed(*_: Any) -> Any:
    raise Killed


def written_long_ago(folder: Path) -> None:
    """Make all texts of evidence older than any that a turn under way may have written."""
    old = "UPDATE store SET updated_at = datetime('now', '-30 hours') WHERE prefix = 'groundgraph.evidence'"
    change(folder / "evidence.sqlite", old)


def texts(folder: Path) -> int:
    return count(folder, "evidence.sqlite", "store", "prefix = 'groundgraph.evidence'")


@pytest.mark.covers("K12")
async def test_texts_that_a_killed_prune_left_behind_go_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3, 4)
        with monkeypatch.context() as patch:
            patch.setattr("groundgraph.graph.prune_checkpoints.remove_unused", killed)
            with pytest.raises(Killed):
                await prune_checkpoints(graph, keep_turns=1)
    async with opened(tmp_path) as graph:
        assert texts(tmp_path) == 4
        assert (await prune_checkpoints(graph, keep_turns=1)).bodies == 0, "a turn of another process may write them"
        written_long_ago(tmp_path)
        assert (await prune_checkpoints(graph, keep_turns=1, threads=["t"])).bodies == 0, "others are not looked at"
        # The state in which the last turn began refers to the one before it.
        assert (await prune_checkpoints(graph, keep_turns=1)).bodies == 2
        assert (await load_provenance(graph, "t"))["results"][0]["text"].startswith("Pump 4 ")
        assert "Pump 1 " in (await ask(graph, 1))[0]["answer"]


@pytest.mark.covers("K12")
async def test_an_old_text_that_any_record_or_checkpoint_refers_to_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2)
        await ask(graph, 3, thread="other")
        interrupted = graph.ainvoke({"question": "pump 5"}, place("waits"), interrupt_before=["process_results"])
        await interrupted
    async with opened(tmp_path) as graph:
        written_long_ago(tmp_path)
        assert (await prune_checkpoints(graph, keep_turns=5)).bodies == 0
        assert "Pump 5 " in (await resume_turn(graph, "waits"))["answer"]


@pytest.mark.covers("K12")
@pytest.mark.parametrize("step", ["_forget_items", "_forget_checkpoints"])
async def test_a_conversation_whose_removal_was_killed_is_found_by_the_next_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2)
        with monkeypatch.context() as patch:
            patch.setattr(f"groundgraph.graph.forget_thread.{step}", killed)
            with pytest.raises(Killed):
                await prune_checkpoints(graph, older_than=timedelta(0))
        done = await prune_checkpoints(graph, older_than=timedelta(0))
        assert (done.forgotten, done.threads) == (1, 1)
        assert count(tmp_path, "evidence.sqlite", "store", "prefix LIKE 'groundgraph.provenance%'") == 0


async def test_looking_for_references_lets_go_of_the_file_when_it_has_found_all(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2)
        (key, *_) = await referred(graph.checkpointer, None, "t")
        assert await referred(graph.checkpointer, None, None, among={key}) == {key}
        assert not graph.checkpointer.lock.locked()


async def test_a_write_that_a_cancelled_turn_left_open_is_kept_and_does_not_stop_the_pruning(tmp_path: Path) -> None:
    async with opened(tmp_path) as graph:
        await ask(graph, 1, 2, 3)
        points, _ = await _Pruning(graph, graph.checkpointer, 1, None)._points("t")
        cut = cut_before(points, 1)
        assert cut is not None
        await graph.checkpointer.conn.execute("INSERT INTO writes VALUES ('x', '', 'y', 'z', '', 0, 'c', 'null', x'')")
        await cut_thread(graph.checkpointer, "t", cut, {})
        assert count(tmp_path, "threads.sqlite", "writes", "thread_id = 'x'") == 1


@pytest.mark.covers("F2", "fault 88")
@pytest.mark.parametrize(
    ("damage", "row"),
    [
        ("UPDATE writes SET value = X'c1'", "the write to '"),
        ("UPDATE checkpoints SET checkpoint = X'c1'", "the checkpoint "),
        # An empty mapping, which is decoded.
        ("UPDATE checkpoints SET checkpoint = X'80'", "the checkpoint "),
    ],
)
async def test_a_conversation_that_cannot_be_read_is_listed_and_the_others_are_pruned(
    tmp_path: Path, damage: str, row: str
) -> None:
    async with opened(tmp_path) as graph:
        for number, thread in enumerate(("a", "b c", "d")):
            await ask(graph, 2 * number + 1, 2 * number + 2, thread=thread)
    change(tmp_path / "threads.sqlite", f"{damage} WHERE thread_id = 'b c'")
    async with opened(tmp_path) as graph:
        rows = count(tmp_path, "threads.sqlite", "checkpoints", "thread_id = 'b c'")
        done = await prune_checkpoints(graph, keep_turns=1)
        assert (done.threads, done.records, done.bodies) == (2, 2, 0)
        assert list(done.damaged) == ["b c"]
        assert row in done.damaged["b c"]
        assert "groundgraph forget 'b c'" in done.damaged["b c"]
        assert count(tmp_path, "threads.sqlite", "checkpoints", "thread_id = 'b c'") == rows
        assert len(await whole(graph, "d")) == 4
        assert await forget_thread(graph, "b c")
        assert not (await prune_checkpoints(graph, keep_turns=1)).damaged
