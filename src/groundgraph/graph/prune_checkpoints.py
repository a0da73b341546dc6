"""Keeping a file of conversations small: old steps, old conversations, and the evidence of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import BaseStore, PutOp

from groundgraph.answers.provenance import provenance_namespace, turn_of_thread
from groundgraph.core.errors import ConfigurationError, InputInvalid, StorageDamaged
from groundgraph.core.evidence_store import NAMESPACE, run_batch
from groundgraph.core.thread_id import checked_thread_id
from groundgraph.graph.forget_thread import empty_logs, remove_thread, remove_unused
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.storage.records import items_below, keys_in, referred
from groundgraph.storage.storage_errors import damaged
from groundgraph.storage.thread_locks import held_thread

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


# The checkpoints of one conversation, by turn.


@dataclass(frozen=True)
class TurnPoint:
    """One checkpoint of a conversation.

    Attributes:
        id: of the checkpoint.
        parent: the id of the one before it, None for the first.
        turn: the id of the turn that it belongs to, None when it belongs to none.
        begins: whether it holds the input of a run, and still the turn before it.
        evidence: the keys of evidence that it refers to.
    """

    id: str
    parent: str | None
    turn: str | None
    begins: bool = False
    evidence: frozenset[str] = frozenset()

    @property
    def shows(self) -> str:
        """The id of the turn whose values it holds; empty when there is none, or it is still the one before."""
        return "" if self.begins else self.turn or ""


@dataclass(frozen=True)
class Cut:
    """What of a conversation stays.

    Attributes:
        root: the oldest checkpoint of the last turns, from which all others that stay descend.
        removed: the others.
        turns: the ids of the turns that stay.
    """

    root: TurnPoint
    removed: tuple[TurnPoint, ...]
    turns: frozenset[str]


def cut_before(points: Sequence[TurnPoint], keep: int) -> Cut | None:
    """The cut that leaves the last `keep` turns, and every branch that was forked off from them.

    Args:
        points: the checkpoints of a conversation, the newest first: its head.
        keep: how many turns, at least 1.

    Returns:
        None when no checkpoint belongs to a turn: they are another graph's.
    """
    root = _root_of(points, keep)
    if root is None:
        return None
    ids = _descendants(root, points)
    turns = frozenset(point.shows for point in points if point.id in ids)
    return Cut(root, tuple(point for point in points if point.id not in ids), turns - {""})


def _root_of(points: Sequence[TurnPoint], keep: int) -> TurnPoint | None:
    """The oldest checkpoint of the last `keep` turns; None when none belongs to a turn."""
    by_id = {point.id: point for point in points}
    root, turns = points[0], list[str]()
    for point in _chain(points[0], by_id):
        if point.shows and point.shows not in turns[-1:]:
            if len(turns) == keep:
                break
            turns.append(point.shows)
        root = point
    return root if turns else None


def _chain(head: TurnPoint, by_id: dict[str, TurnPoint]) -> list[TurnPoint]:
    """`head` and what is before it, back to the first; a loop, which LangGraph can make, ends it too."""
    chain = {head.id: head}
    while (parent := by_id.get(head.parent or "")) is not None and parent.id not in chain:
        chain[parent.id] = head = parent
    return list(chain.values())


def _descendants(root: TurnPoint, points: Sequence[TurnPoint]) -> set[str]:
    """The ids of `root` and of everything that comes from it."""
    children: dict[str | None, list[str]] = {}
    for point in points:
        children.setdefault(point.parent, []).append(point.id)
    found, waiting = {root.id}, [root.id]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


# Taking old checkpoints out of a SQLite file.

_PLACE = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"


async def cut_thread(saver: Any, thread_id: str, cut: Cut, values: Mapping[str, Any]) -> None:
    """Remove the checkpoints that `cut` removes, in one transaction.

    Args:
        saver: LangGraph's SQLite saver.
        thread_id: the conversation.
        cut: what stays.
        values: the whole values, at the root of the cut, of those channels that a checkpoint holds only in part: what
            the rest of them is made from goes.
    """
    inner = await _inner_removed(saver, thread_id, {point.id for point in cut.removed})
    gone = [*(("", point.id) for point in cut.removed), *inner]
    async with saver.lock:
        try:
            # A write of a turn that was cancelled may stand open; the saver's next one would end it like this.
            await saver.conn.commit()
            await saver.conn.execute("BEGIN IMMEDIATE")
            await _make_first(saver, thread_id, cut.root.id, values)
            for table in ("checkpoints", "writes"):
                rows = [(thread_id, space, point) for space, point in gone]
                await saver.conn.executemany(f"DELETE FROM {table} WHERE {_PLACE}", rows)
            await saver.conn.commit()
        except BaseException:
            await saver.conn.rollback()
            raise


async def _inner_removed(saver: Any, thread_id: str, removed: set[str]) -> list[tuple[str, str]]:
    """The checkpoints of inner graphs that belong to a removed one of the conversation."""
    query = "SELECT checkpoint_ns, checkpoint_id, metadata FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != ''"
    async with saver.lock, saver.conn.execute(query, (thread_id,)) as cursor:
        rows = await cursor.fetchall()
    return [
        (space, point)
        for space, point, metadata in rows
        if (json.loads(metadata).get("parents") or {}).get("") in removed
    ]


async def _make_first(saver: Any, thread_id: str, point: str, values: Mapping[str, Any]) -> None:
    """Make a checkpoint stand by itself, as LangGraph does with every hundredth: nothing before it is read again."""
    place = (thread_id, "", point)
    query = f"SELECT type, checkpoint, metadata FROM checkpoints WHERE {_PLACE}"
    async with saver.conn.execute(query, place) as cursor:
        kind, blob, metadata = await cursor.fetchone()
    checkpoint = saver.serde.loads_typed((kind, blob))
    checkpoint["channel_values"] |= {name: _DeltaSnapshot(value) for name, value in values.items()}
    kind, blob = saver.serde.dumps_typed(checkpoint)
    told = json.loads(metadata)
    told.pop("counters_since_delta_snapshot", None)
    await saver.conn.execute(
        f"UPDATE checkpoints SET type = ?, checkpoint = ?, metadata = ?, parent_checkpoint_id = NULL WHERE {_PLACE}",
        (kind, blob, json.dumps(told, ensure_ascii=False).encode(), *place),
    )


async def thread_ids(saver: Any) -> list[str]:
    """The ids of all conversations in the file."""
    query = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
    async with saver.lock, saver.conn.execute(query) as cursor:
        return [row[0] for row in await cursor.fetchall()]


async def keys_before(store: Any, namespace: tuple[str, ...], seconds: float) -> set[str]:
    """The keys of the items of `namespace` that nobody has written for so many seconds.

    Args:
        store: LangGraph's SQLite store; its own search would read the items too.
        namespace: theirs, without what is below it.
        seconds: by the clock of this machine.
    """
    query = "SELECT key FROM store WHERE prefix = ? AND updated_at < datetime('now', ?)"
    parameters = (".".join(namespace), f"-{seconds:.0f} seconds")
    async with store.lock, store.conn.execute(query, parameters) as cursor:
        return {row[0] for row in await cursor.fetchall()}


async def compact_files(holders: Sequence[Any]) -> None:
    """Give the space of removed rows back to the disk; a file needs as much again while it is rewritten.

    Args:
        holders: LangGraph's SQLite savers and stores, whose turns under way wait meanwhile.
    """
    async with AsyncExitStack() as stack:
        connections = {}
        for holder in holders:
            # Else this would end a transaction of theirs, and a statement of theirs would stop this.
            await stack.enter_async_context(holder.lock)
            connections[id(holder.conn)] = holder.conn
        for connection in connections.values():
            await connection.commit()
            await connection.execute("VACUUM")
    await empty_logs(*holders)


# Longer than `WRITTEN_AGAIN_AFTER`, so that a turn of another process, whose checkpoints may not be there yet, loses
# none of its texts; and long enough for a person who decides about an answer that a saver of another graph keeps.
UNREFERRED_FOR = timedelta(days=1)


@dataclass(frozen=True)
class Pruned:
    """What was removed.

    Attributes:
        threads: conversations that were looked at.
        forgotten: those of them that were removed as a whole.
        checkpoints: states of conversations.
        records: provenance records of turns.
        bodies: texts of evidence that nothing refers to any more; none while a conversation cannot be read.
        damaged: by id, what is said of each conversation that cannot be read, of which nothing was removed.
    """

    threads: int = 0
    forgotten: int = 0
    checkpoints: int = 0
    records: int = 0
    bodies: int = 0
    damaged: Mapping[str, str] = field(default_factory=dict)


async def prune_checkpoints(
    graph: TurnRunner,
    *,
    keep_turns: int | None = None,
    older_than: timedelta | None = None,
    threads: Sequence[str] | None = None,
    compact: bool = True,
) -> Pruned:
    """Remove what is old from the SQLite files of a graph.

    A conversation that stays can be read and goes on: all of its messages are kept, and the last turns can be stepped
    through, resumed and forked. Of the turns before them the steps and the provenance records go. Do it while no other
    process answers. What was killed can be done again: texts of evidence that it left behind go as well, once they were
    not written for a day and neither a record in the store nor a checkpoint in this saver refers to them; with
    `threads` they stay. A conversation that cannot be read is left as it is and listed; the others are looked at.

    Args:
        graph: a turn or retrieval graph with its checkpointer and store, for example from `open_graph`.
        keep_turns: how many turns of each conversation keep their steps and records; all when absent.
        older_than: conversations without a turn in this time are forgotten as a whole; none when absent.
        threads: the conversations to look at; all of the file when absent. Those of other graphs are left alone.
        compact: give the space back to the disk.

    Raises:
        InputInvalid: there is nothing to do, less than one turn is to be kept, the age is negative, `threads` is one
            text, or no thread can have one of these ids.
        ConfigurationError: the checkpointer is no SQLite saver.
        ThreadBusy: a turn of this process held a conversation for longer than a turn may take.
        StorageLocked: another process holds a file; what was removed before stays removed.
        StorageDamaged: a file as a whole is damaged.
        StorageUnavailable: what keeps the threads is closed, or cannot be used.
    """
    check_limits(keep_turns, older_than)
    if isinstance(threads, str):
        raise InputInvalid(f"threads is the text '{threads}'; pass a list of thread ids.")
    for thread in threads or ():
        checked_thread_id(thread)
    saver = _sqlite_saver(graph)
    before = None if older_than is None else _time_before(older_than)
    with graph.told_as_ours({}, Exception):
        return await _Pruning(graph, saver, keep_turns, before).of(threads, compact=compact)


def check_limits(keep_turns: int | None, older_than: timedelta | None) -> None:
    """Nothing, when `prune_checkpoints` has something to do with these arguments.

    Raises:
        InputInvalid: it has not.
    """
    if keep_turns is None and older_than is None:
        raise InputInvalid("Nothing to prune: give keep_turns (--keep-turns), older_than (--older-than) or both.")
    if keep_turns is not None and keep_turns < 1:
        raise InputInvalid(f"keep_turns is {keep_turns}; at least the last turn has to stay, else forget the thread.")
    if older_than is not None and older_than < timedelta(0):
        raise InputInvalid(f"older_than is {older_than}; a time in the future would forget every conversation.")


def _time_before(age: timedelta) -> datetime:
    try:
        return datetime.now(UTC) - age
    except OverflowError:
        # Older than any date: nothing is.
        return datetime.min.replace(tzinfo=UTC)


def _sqlite_saver(graph: TurnRunner) -> AsyncSqliteSaver:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    if not isinstance(graph.checkpointer, AsyncSqliteSaver):
        kind = type(graph.checkpointer).__name__
        raise ConfigurationError(
            f"Only conversations in a SQLite file can be pruned, and the checkpointer is {kind}. LangGraph "
            "Server has a time to live for threads; `forget_thread` works on every checkpointer."
        )
    return graph.checkpointer


@dataclass(frozen=True)
class _Pruning:
    """One run over the conversations of a file."""

    graph: TurnRunner
    saver: AsyncSqliteSaver
    keep: int | None
    before: datetime | None

    async def of(self, threads: Sequence[str] | None, *, compact: bool) -> Pruned:
        """What was removed of `threads`."""
        # aiosqlite is loaded with the saver.

        await self.saver.setup()
        wait = self.graph.resources.settings.deadlines.turn
        total, candidates = Pruned(), set[str]()
        for thread in await thread_ids(self.saver) if threads is None else threads:
            async with held_thread(self.saver, thread, wait):
                done, keys = await self._readable(thread)
            candidates |= keys
            total = _sum(total, done)
        if threads is None:
            candidates |= await self._old_texts()
        total = replace(total, bodies=await remove_unused(self.graph, candidates))
        if compact:
            await compact_files(self._holders())
        else:
            await empty_logs(*self._holders())
        return total

    async def _old_texts(self) -> set[str]:
        """The keys of all evidence that no turn under way can have written.

        A process that was killed between a record and its texts, or before a record, left some that nothing refers to.
        """
        from langgraph.store.sqlite.aio import AsyncSqliteStore

        store = self.graph.resources.evidence.store_of(self.graph.store)
        if not isinstance(store, AsyncSqliteStore):
            return set()
        age = UNREFERRED_FOR.total_seconds() + self.graph.resources.settings.deadlines.turn
        return await keys_before(store, NAMESPACE, age)

    async def _readable(self, thread: str) -> tuple[Pruned, set[str]]:
        """As `_thread`; a conversation that cannot be read keeps the others from nothing."""
        try:
            return await self._thread(thread)
        except StorageDamaged as error:
            if not error.thread_id:
                raise
            return Pruned(damaged={error.thread_id: str(error)}), set()

    async def _thread(self, thread: str) -> tuple[Pruned, set[str]]:
        """What was removed of one conversation, and the evidence that this referred to."""
        points, last = await self._points(thread)
        if not any(point.turn for point in points):
            return Pruned(), set()
        if self.before is not None and last < self.before:
            keys = await referred(self.saver, self.graph.store, thread)
            gone = await remove_thread(self.graph, thread)
            return Pruned(1, 1, gone.checkpoints, gone.records), keys
        cut = cut_before(points, self.keep) if self.keep else None
        if cut is None:
            return Pruned(1), set()
        return await self._cut(thread, cut)

    async def _points(self, thread: str) -> tuple[list[TurnPoint], datetime]:
        """The checkpoints, the newest first, and when that was written."""
        points, last = list[TurnPoint](), datetime.min.replace(tzinfo=UTC)
        async for one in self.saver.alist({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}):
            last = max(last, _written_at(thread, one.checkpoint))
            points.append(_point(one))
        return points, last

    async def _cut(self, thread: str, cut: Cut) -> tuple[Pruned, set[str]]:

        keys = {key for point in cut.removed for key in point.evidence}
        if cut.removed:
            await cut_thread(self.saver, thread, cut, await self._whole_values(thread, cut.root.id))
        records, more = await _remove_records(self.graph.store, thread, cut.turns) if self.graph.store else (0, set())
        return Pruned(1, 0, len(cut.removed), records), keys | more

    async def _whole_values(self, thread: str, point: str) -> dict[str, Any]:
        """The values at a checkpoint of the channels that it holds as changes since an earlier one."""
        place: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": point}}
        kept = await self.saver.aget_tuple(place)
        if kept is None:
            return {}
        here, state = kept.checkpoint, await self.graph.aget_state(place)
        return {
            name: state.values[name]
            for name, channel in self.graph.channels.items()
            if isinstance(channel, DeltaChannel)
            and name in here["channel_versions"]
            and name not in here["channel_values"]
            and name in state.values
        }

    def _holders(self) -> list[Any]:
        """What holds a connection to a file."""
        return [one for one in (self.saver, self.graph.store) if getattr(one, "conn", None) is not None]


def _written_at(thread: str, checkpoint: Mapping[str, Any]) -> datetime:
    """
    Raises:
        StorageDamaged: the checkpoint does not say when it was written.
    """
    try:
        return datetime.fromisoformat(checkpoint["ts"]).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise damaged(thread, f"the checkpoint {checkpoint['id']}", "has no date") from error


def _point(one: Any) -> TurnPoint:
    values = one.checkpoint["channel_values"]
    turn = values.get("turn")
    # Another graph may keep something under this name too.
    ours = isinstance(turn, dict) and turn.keys() >= {"id", "question", "message_id"}
    parent = (one.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    writes = [write[2] for write in one.pending_writes or ()]
    return TurnPoint(
        id=one.checkpoint["id"],
        parent=parent,
        turn=turn["id"] if ours else None,
        begins=one.metadata.get("source") == "input",
        evidence=frozenset(keys_in([values, writes])),
    )


async def _remove_records(store: BaseStore, thread: str, kept: frozenset[str]) -> tuple[int, set[str]]:
    """Remove the provenance of all turns but `kept`; how many there were, and the evidence that they referred to."""
    space = provenance_namespace(thread)
    old = [item async for item in items_below(store, space) if turn_of_thread(item.value) not in kept]
    if old:
        await run_batch(store, [PutOp(space, item.key, None) for item in old])
    return len(old), {key for item in old for key in keys_in(item.value)}


def _sum(one: Pruned, other: Pruned) -> Pruned:
    return Pruned(
        one.threads + other.threads,
        one.forgotten + other.forgotten,
        one.checkpoints + other.checkpoints,
        one.records + other.records,
        damaged={**one.damaged, **other.damaged},
    )
