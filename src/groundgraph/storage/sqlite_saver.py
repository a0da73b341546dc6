"""LangGraph's SQLite saver, with a conversation that costs the same to load late in a thread as early in it."""

from __future__ import annotations

import asyncio
import copy
import fcntl
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any, Literal, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite._delta import build_delta_channels_writes_history, build_delta_stage2_sql
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import Op, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.core.evidence_store import readable_value
from groundgraph.storage.kept_messages import KeptConversation, KeptConversations, keeping_messages
from groundgraph.storage.storage_errors import KeptRow, TellsDamage, sqlite_error
from groundgraph.storage.thread_locks import claimed

# LangGraph's SQLite store, whose errors name the file, and from which a damaged row takes nothing but itself.


class SqliteStore(AsyncSqliteStore):
    """A store over one file.

    Args:
        connection: of aiosqlite, without transactions of its own.
        file: the name of the file.
    """

    def __init__(self, connection: Any, file: str) -> None:
        super().__init__(connection, deserializer=readable_value)
        self.file = file

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As LangGraph's.

        Raises:
            StorageLocked: another process held the file.
            StorageUnavailable: the file cannot be written.
            StorageDamaged: the file is damaged.
        """
        try:
            return await super().abatch(ops)
        except sqlite3.Error as error:
            told = sqlite_error(error, self.file)
            if told is None:
                raise
            with suppress(sqlite3.Error, ValueError):
                async with self.lock:
                    # Else no other can begin.
                    if self.conn.in_transaction:
                        await self.conn.rollback()
            raise told from error


# One turn at a time on one thread of a SQLite file, whichever process runs it, by a lock file beside it.


class ThreadFiles:
    """Claims threads of one SQLite file for the turns of this process.

    Each thread has a file of its own while a turn runs on it, so that turns on other threads do not wait. The system
    gives the lock up when the process ends, however it ends. Where no file can be locked, on some network file systems
    or in a read-only folder, turns run without; what another process wrote meanwhile is told by `ForeignWrites`.

    Args:
        database: gives the path of the SQLite file; empty when it is in memory.
    """

    def __init__(self, database: Callable[[], Awaitable[str]]) -> None:
        self._database = database
        self._path: str | None = None

    @asynccontextmanager
    async def hold(self, name: str, wait: float) -> Any:
        """Holds `name` while inside.

        Raises:
            ThreadBusy: another process held it for all of `wait` seconds.
        """
        if self._path is None:
            self._path = await self._database()
        if not self._path:
            yield
            return
        path = f"{self._path}.turn-{_mark(name)}"

        async def claim() -> int | Literal[False] | None:
            return _locked(path)

        lock = await claimed(name, wait, claim)
        with _given_back(path, lock):
            yield


def _mark(name: str) -> str:
    """A thread id may be anything, and a file may not be called like that."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


@contextmanager
def _given_back(path: str, lock: int | Literal[False]) -> Iterator[None]:
    try:
        yield
    finally:
        if lock is not False:
            try:
                # While it is locked: whoever waits for this file finds that it is not there any more, and makes a new
                # one.
                os.unlink(path)
            except OSError:
                pass
            finally:
                os.close(lock)


def _locked(path: str) -> int | Literal[False] | None:
    """The descriptor of the locked file; None when another holds it, and False when nothing can be locked here."""
    try:
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_there(path, file):
            return file
        result: Literal[False] | None = None
    except BlockingIOError:
        result = None
    except OSError:
        result = False
    os.close(file)
    return result


def _is_there(path: str, file: int) -> bool:
    """Whether `file` is still the one at `path`, and not one that its last holder has removed."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


_ONE = "FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"

# The target and its ancestors, nearest first, back to a given one; only their ids.
_ANCESTORS = """
WITH RECURSIVE ancestors(id, parent) AS (
    SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
    UNION ALL
    SELECT c.checkpoint_id, c.parent_checkpoint_id FROM ancestors CROSS JOIN checkpoints c
    ON c.checkpoint_id = ancestors.parent WHERE c.thread_id = ? AND c.checkpoint_ns = ? AND ancestors.id <> ?
)
SELECT id FROM ancestors LIMIT ?
"""

_KEPT_CHECKPOINTS = """
SELECT thread_id, checkpoint_id, type, checkpoint, metadata FROM checkpoints
WHERE thread_id = coalesce(?, thread_id) ORDER BY checkpoint_id DESC
"""
_KEPT_WRITES = """
SELECT thread_id, checkpoint_id, channel, type, value FROM writes
WHERE thread_id = coalesce(?, thread_id) ORDER BY checkpoint_id DESC
"""


class _Place(NamedTuple):
    thread: str
    space: str
    checkpoint: str


class _LinearHistory(AsyncSqliteSaver):
    """Knows how far back the last snapshot of the messages is, and reads no checkpoint on the way to it.

    The saver that it extends unpacks every ancestor until it finds the snapshot, about nine for each turn: in the two
    hundredth turn of a thread that took most of the time. The checkpoint's own metadata tells the distance. Of a
    conversation that this process has read before, only what came since is read: writes to the channel `messages` are
    taken to combine as LangGraph's reducer of messages combines them.
    """

    conversations: KeptConversations

    @override
    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """As LangGraph's, and in one order with its own, without the random number behind each: a checkpoint has thirty
        of them, and keeps its values in itself, so nothing is found by a version alone."""
        last = int(str(current).partition(".")[0]) if current is not None else 0
        return f"{last + 1:032}"

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As LangGraph's, perhaps with the writes in the seed; falls back to it where the distance is not known."""
        given = config["configurable"]
        place = _Place(str(given["thread_id"]), given.get("checkpoint_ns", ""), given.get("checkpoint_id") or "")
        distances = await self._distances(place, channels) if place.checkpoint else {}
        found: dict[str, DeltaChannelHistory] = {}
        for channel, distance in distances.items():
            keeping = keeping_messages(self.serde) if channel == "messages" else None
            known = await self._conversation(place, distance, keeping) if keeping else None
            known = known or await self._history(place, channel, await self._ancestors(place, distance), distance)
            if known:
                found[channel] = known
        if len(found) < len(set(channels)):
            return await super().aget_delta_channel_history(config=config, channels=channels)
        return found

    async def _conversation(self, place: _Place, distance: int, keeping: Any) -> DeltaChannelHistory | None:
        """The history of the messages, which are held from now on; None where they are not stored as `keeping` reads
        them."""
        before = self.conversations.get(place.thread, place.space)
        if before is None or before.checkpoint != place.checkpoint:
            chain = await self._ancestors(place, distance, before.checkpoint if before else "")
            if before is None or before.checkpoint not in chain:
                # Also where a snapshot is nearer: what was written before that may belong to another branch.
                before = KeptConversation("", {}, 0)
            known = await self._history(place, "messages", chain, distance, keeping, before.checkpoint)
            before = known and before.after(place.checkpoint, [*_seeds(known), *(one[2] for one in known["writes"])])
            if before is None:
                return None
            self.conversations.put(place.thread, place.space, before)
        return before.history()

    async def _history(
        self, place: _Place, channel: str, chain: list[str], distance: int, serde: Any = None, known: str = ""
    ) -> DeltaChannelHistory | None:
        """What was written to a channel in the checkpoints of `chain`, upon the snapshot in the last of them, unless
        that is `known`; None where there is none."""
        seed = await self._snapshot(place, chain[-1], channel, serde or self.serde) if chain and not known else {}
        if not seed and not known and len(chain) == distance:
            return None
        writes = build_delta_stage2_sql(has_task_path=self._has_task_path, chain_lens=[len(chain)]) if chain else ""
        return build_delta_channels_writes_history(
            channels=[channel],
            chain_by_ch={channel: chain},
            seed_val_by_ch=seed,
            seeded=set(seed),
            stage2_rows=await self._rows(writes, *place[:2], channel, *chain) if chain else [],
            serde=serde or self.serde,
        )[channel]

    async def _ancestors(self, place: _Place, distance: int, back_to: str = "") -> list[str]:
        """Those of a checkpoint, the nearest first: as many as `distance`, or fewer where `back_to` is among them."""
        rows = await self._rows(_ANCESTORS, *place, *place[:2], back_to, distance + 1)
        return [row[0] for row in rows][1:]

    async def _distances(self, place: _Place, channels: Sequence[str]) -> dict[str, int]:
        """How many checkpoints back the last snapshot of each channel is; nothing when that of one is not known."""
        rows = await self._rows(f"SELECT metadata {_ONE}", *place)
        metadata = json.loads(rows[0][0]) if rows else {}
        counters = metadata.get("counters_since_delta_snapshot") or {}
        try:
            known = {channel: int(counters[channel][1]) for channel in set(channels)}
        except (IndexError, KeyError, TypeError, ValueError):
            return {}
        return known if min(known.values(), default=-1) >= 0 else {}

    async def _snapshot(self, place: _Place, checkpoint: str, channel: str, serde: Any) -> dict[str, Any]:
        rows = await self._rows(f"SELECT type, checkpoint {_ONE}", *place[:2], checkpoint)
        values = serde.loads_typed(tuple(rows[0])).get("channel_values") or {}
        return {channel: values[channel]} if channel in values else {}

    async def _rows(self, query: str, *parameters: Any) -> list[Any]:
        await self.setup()
        async with self.lock:
            # One way to the connection's thread and back; a cursor takes three.
            return list(await self.conn.execute_fetchall(query, parameters))


def _seeds(history: DeltaChannelHistory) -> list[Any]:
    seed: Any = history.get("seed", [])
    return [seed.value if isinstance(seed, _DeltaSnapshot) else seed]


class LinearSqliteSaver(TellsDamage, _LinearHistory):
    """LangGraph's SQLite saver for long threads, whose errors name the file or the row.

    A turn has up to a dozen writes under way at once. When one has waited in vain for a locked file, those that stood
    in line behind it fail as well: each would wait for as long again, one after another, for a turn that is lost.
    """

    _line: asyncio.Lock
    _locked_at: float
    claims: ThreadFiles
    """Keep other processes from running a turn on the same thread."""

    @classmethod
    def over(cls, saver: Any) -> Any:
        """`saver` itself, or when it is LangGraph's SQLite saver, one like this on the same connection and lock."""
        if type(saver) is not AsyncSqliteSaver:
            return saver
        linear: Any = copy.copy(saver)
        linear.__class__ = cls
        linear._line, linear._locked_at = asyncio.Lock(), float("-inf")
        linear.conversations = KeptConversations()
        linear.claims = ThreadFiles(partial(file_of, saver.conn))
        return linear

    @override
    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        came = time.monotonic()
        async with self._line:
            try:
                if came < self._locked_at:
                    raise sqlite3.OperationalError("database is locked")
                yield
            except sqlite3.Error as error:
                told = await self.storage_error(error)
                if isinstance(told, StorageLocked):
                    self._locked_at = time.monotonic()
                if told is None:
                    raise
                raise told from error

    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        """The typed error for one of SQLite's that the file caused; what it left half done is undone."""
        told = sqlite_error(error)
        if told is None:
            return None
        with suppress(sqlite3.Error, ValueError):
            async with self.lock:
                # Else the file stays locked for others, and the next write would end what failed here.
                if self.conn.in_transaction:
                    await self.conn.rollback()
                return sqlite_error(error, await file_of(self.conn))
        return told

    @override
    async def adelete_thread(self, thread_id: str) -> None:
        await super().adelete_thread(thread_id)
        self.conversations.forget(thread_id)

    async def kept_rows(self, thread_id: str | None) -> AsyncGenerator[KeptRow, None]:
        """The checkpoints, their metadata and writes: of a thread the newest first, or of all threads."""
        file = await file_of(self.conn)
        async with self.lock, self.conn.execute(_KEPT_CHECKPOINTS, (thread_id,)) as cursor:
            async for thread, point, kind, blob, metadata in cursor:
                name = f"the checkpoint {point} in {file}"
                yield KeptRow(thread, name, partial(self.serde.loads_typed, (kind, blob)), whole=True)
                yield KeptRow(thread, name, partial(json.loads, metadata or "{}"))
        async with self.lock, self.conn.execute(_KEPT_WRITES, (thread_id,)) as cursor:
            async for thread, point, channel, kind, blob in cursor:
                name = f"the write to '{channel}' of the checkpoint {point} in {file}"
                yield KeptRow(thread, name, partial(self.serde.loads_typed, (kind, blob)))


async def file_of(connection: Any) -> str:
    """The file behind a connection of aiosqlite; empty when it is in memory."""
    rows = await connection.execute_fetchall("PRAGMA database_list")
    return next((str(row[2] or "") for row in rows if row[1] == "main"), "")
