"""LangGraph's SQLite saver, with a conversation that costs the same to load late in a thread as early in it."""

from __future__ import annotations

import asyncio
import copy
import fcntl
import hashlib
import importlib
import json
import os
import sqlite3
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, EXT_PYDANTIC_V2, JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite._delta import build_delta_channels_writes_history, build_delta_stage2_sql
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.base import Op, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.core.evidence_store import readable_value, unbroken
from groundgraph.resilience.blocking import end_task
from groundgraph.storage.storage_errors import KeptRow, TellsDamage, readable_metadata, sqlite_error
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
        connection.row_factory = _readable_row
        self.file = file
        self._line = asyncio.Lock()

    async def __aexit__(self, *raised: Any) -> None:
        """Ends the task in the background too, which LangGraph leaves to the end of the loop: that of callers that are
        not asynchronous has none, and tells of it when it is collected."""
        await super().__aexit__(*raised)
        await end_task(self._task)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As LangGraph's; a batch whose caller is cancelled is written whole.

        Raises:
            StorageLocked: another process held the file.
            StorageUnavailable: the file cannot be written.
            StorageDamaged: the file is damaged.
        """
        return await unbroken(self._batch(ops))

    async def _batch(self, ops: Iterable[Op]) -> list[Result]:
        # In a line, so that what fails is undone before another begins.
        async with self._line:
            try:
                return await super().abatch(ops)
            except BaseException as error:
                await _undo(self)
                told = sqlite_error(error, self.file) if isinstance(error, sqlite3.Error) else None
                if told is None:
                    raise
                raise told from error


# In place of a date that is none; LangGraph's store fails at one of those, and with it the whole batch.
_NO_DATE = "1970-01-01 00:00:00"
_DATES = ("created_at", "updated_at")


def _readable_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """`row`; of one of the store that has no date, with a value that holds nothing, as where that cannot be read."""
    names = [column[0] for column in cursor.description]
    if all(_is_date(value) for name, value in zip(names, row, strict=True) if name in _DATES):
        return row
    instead = dict.fromkeys(_DATES, _NO_DATE) | {"value": None}
    return tuple(instead.get(name, value) for name, value in zip(names, row, strict=True))


def _is_date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


async def _undo(holder: AsyncSqliteSaver | AsyncSqliteStore) -> None:
    """Ends the transaction that was left open on the connection of `holder`: else the file stays locked for others, and
    what comes next fails, or ends it."""
    with suppress(sqlite3.Error, ValueError):
        async with holder.lock:
            await holder.conn.rollback()


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
            except asyncio.CancelledError:
                # It is behind what was begun, on the connection's thread, which goes on with that.
                await unbroken(_undo(self))
                raise

    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        """The typed error for one of SQLite's that the file caused; what it left half done is undone."""
        told = sqlite_error(error)
        if told is None:
            return None
        await _undo(self)
        with suppress(sqlite3.Error, ValueError):
            async with self.lock:
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
                yield KeptRow(thread, name, partial(_read_metadata, metadata))
        async with self.lock, self.conn.execute(_KEPT_WRITES, (thread_id,)) as cursor:
            async for thread, point, channel, kind, blob in cursor:
                name = f"the write to '{channel}' of the checkpoint {point} in {file}"
                yield KeptRow(thread, name, partial(self.serde.loads_typed, (kind, blob)))


def _read_metadata(content: Any) -> Any:
    return readable_metadata(json.loads(content))


async def file_of(connection: Any) -> str:
    """The file behind a connection of aiosqlite; empty when it is in memory."""
    rows = await connection.execute_fetchall("PRAGMA database_list")
    return next((str(row[2] or "") for row in rows if row[1] == "main"), "")


# Conversations held in memory as the bytes that storage has of them: a message is made when it is looked at.

# A message as it is stored, and what reads it so.


class KeptBytes(NamedTuple):
    """A message as it is stored: the class of what stands for it, its id, and what it is made of by what."""

    kind: type[_Unread]
    id: str
    data: bytes
    make: Callable[[int, bytes], Any]


def keeping_messages(serializer: Any) -> Any:
    """A serializer that reads as `serializer` does, but leaves messages as `KeptBytes`; None for one of another kind,
    which may not store them like this."""
    if not isinstance(serializer, JsonPlusSerializer):
        return None
    keeping = copy.copy(serializer)
    keeping._unpack_ext_hook = _keeping(serializer._unpack_ext_hook)
    return keeping


_OPTION = ormsgpack.OPT_NON_STR_KEYS


def _keeping(make: Callable[[int, bytes], Any]) -> Callable[[int, bytes], Any]:
    def hook(code: int, data: bytes) -> Any:
        if code == EXT_DELTA_SNAPSHOT:
            return _DeltaSnapshot(ormsgpack.unpackb(data, ext_hook=hook, option=_OPTION))
        kept = _kept(data, make) if code == EXT_PYDANTIC_V2 else None
        return kept or make(code, data)

    return hook


def _kept(data: bytes, make: Callable[[int, bytes], Any]) -> KeptBytes | None:
    """None for what is no message with an id."""
    module, name, values, *_ = ormsgpack.unpackb(data, ext_hook=lambda *_: None, option=_OPTION)
    kind, given = _message_kind(module, name), values.get("id") if isinstance(values, dict) else None
    if kind is None or not isinstance(given, str) or not given or not all(isinstance(one, str) for one in values):
        return None
    return KeptBytes(_unread_kind(kind), given, data, make)


@cache
def _message_kind(module: str, name: str) -> type[BaseMessage] | None:
    if (module, name) not in SAFE_MSGPACK_TYPES or not module.startswith("langchain_core.messages."):
        return None
    kind: type[BaseMessage] = getattr(importlib.import_module(module), name)
    return kind


# What stands for a message in a state until somebody looks at it.


class _Unread:
    """What a message is until anything but its id is asked of it: its class, without any field but `id`.

    It then becomes the message itself, for good. So a list of ten thousand costs as much as those of them that are
    read, and each reader may change what it is given: nobody else has the same.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(_read(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_read(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_read(self), name)

    def __eq__(self, other: object) -> bool:
        return bool(_read(self) == _read(other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _read(self).__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return _read(self).__copy__()

    def __deepcopy__(self, memo: Any = None) -> Any:
        return _read(self).__deepcopy__(memo)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return _read(self).__dict__


# Where a model of pydantic, which a message is, has its values; it watches over setting them.
_PLACES = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
_set = object.__setattr__


def _read(message: Any) -> Any:
    if isinstance(message, _Unread):
        kept: KeptBytes = object.__getattribute__(message, "kept")
        made = kept.make(EXT_PYDANTIC_V2, kept.data)
        _set(message, "__class__", type(made))
        for place in _PLACES:
            _set(message, place, getattr(made, place))
    return message


@cache
def _unread_kind(kind: type[BaseMessage]) -> Any:
    # Under the name of the class that it stands for, by which serializers call it.
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made: Any = type(kind)
    return made(kind.__name__, (_Unread, kind), names)


# The conversations of threads.


@dataclass(frozen=True)
class KeptConversation:
    """A conversation at a checkpoint, its messages by id, in their order; `size` is that of them all, in bytes."""

    checkpoint: str
    messages: dict[str, KeptBytes]
    size: int

    def after(self, checkpoint: str, writes: Iterable[Any]) -> KeptConversation | None:
        """The conversation at a later checkpoint, as LangGraph's reducer of messages makes it.

        Args:
            checkpoint: the later one.
            writes: to the channel since, the oldest first.

        Returns:
            None where a write is anything but messages with ids.
        """
        messages, size = dict(self.messages), self.size
        for write in writes:
            for one in write if type(write) is list else [write]:
                if not isinstance(one, KeptBytes):
                    return None
                size -= len(messages[one.id].data) if one.id in messages else 0
                if one.id == REMOVE_ALL_MESSAGES:
                    messages, size = {}, 0
                elif issubclass(one.kind, RemoveMessage):
                    messages.pop(one.id, None)
                else:
                    messages[one.id] = one
                    size += len(one.data)
        return KeptConversation(checkpoint, messages, size)

    def history(self) -> DeltaChannelHistory:
        """The conversation as LangGraph takes it from a saver, in messages that are its own."""
        kept = self.messages.values()
        # Loops that run in C: a thread of 5000 turns has 10000 messages in each of them.
        messages = list(map(object.__new__, map(itemgetter(0), kept)))
        deque(map(_set, messages, repeat("id"), self.messages), maxlen=0)
        deque(map(_set, messages, repeat("kept"), kept), maxlen=0)
        return {"writes": [], "seed": _DeltaSnapshot(messages)}


class KeptConversations:
    """The conversations that were read last, one of each thread and name space.

    Args:
        most: bytes of them all; the one read longest ago gives way.
    """

    def __init__(self, most: int = 64_000_000) -> None:
        self._most, self._size = most, 0
        self._held: OrderedDict[tuple[str, str], KeptConversation] = OrderedDict()

    def get(self, thread: str, space: str) -> KeptConversation | None:
        """The one of a thread, None when it is not kept."""
        return self._held.get((thread, space))

    def put(self, thread: str, space: str, one: KeptConversation) -> None:
        """Keep `one`, in place of what is kept of its thread."""
        self._drop((thread, space))
        self._held[thread, space] = one
        self._size += one.size
        while self._size > self._most:
            self._drop(next(iter(self._held)))

    def forget(self, thread: str) -> None:
        """Keep nothing of a thread."""
        for place in [place for place in self._held if place[0] == thread]:
            self._drop(place)

    def _drop(self, place: tuple[str, str]) -> None:
        if (gone := self._held.pop(place, None)) is not None:
            self._size -= gone.size
