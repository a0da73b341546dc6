"""What storage says: an error of ours for what a database refuses, and rows that are damaged."""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from groundgraph.core.errors import GroundGraphError, StorageDamaged, StorageLocked, StorageUnavailable
from groundgraph.core.evidence_store import lacks
from groundgraph.core.secret_mask import mask
from groundgraph.storage.checkpoint_serializer import NotReadable
from groundgraph.storage.thread_locks import turn_writes

WRITTEN_IS_SAFE = "What was written before is safe, and can be read"
_UNUSABLE = {
    sqlite3.SQLITE_FULL: f"cannot be written: the disk is full. {WRITTEN_IS_SAFE}: make room, and ask again.",
    # Also a limit of the process on the size of its files gives this.
    sqlite3.SQLITE_IOERR: (
        f"cannot be read or written (disk I/O error): the disk is full or failing, or the file has reached the "
        f"largest size allowed. {WRITTEN_IS_SAFE}: make room, and ask again."
    ),
    sqlite3.SQLITE_READONLY: (
        f"cannot be written: the file or its folder is read-only. {WRITTEN_IS_SAFE}: allow writing, or name another "
        "file."
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened: it is not there, or its folder is read-only. Allow writing, or name another file."
    ),
    sqlite3.SQLITE_NOTADB: "is not a database. Name another file, or move this one away.",
}

# What aiosqlite says, and the thread of a connection that somebody opens once more.
_CLOSED = ("Connection closed", "no active connection", "threads can only be started once")


def is_closed(error: BaseException) -> bool:
    """Whether `error` says that a connection to SQLite was closed before it was used."""
    return isinstance(error, ValueError | RuntimeError) and str(error) in _CLOSED


def sqlite_error(error: BaseException, file: str = "") -> GroundGraphError | None:
    """The typed error for an error that the file caused; None for any other error.

    Args:
        error: from SQLite or its connection, or raised while one of SQLite's was handled: a full disk also fails what
            ends a transaction.
        file: the database; empty when it is not known.
    """
    named = f"The file {file} of the checkpointer or the store" if file else "A database of this graph"
    if is_closed(error):
        return StorageUnavailable(f"{named} is closed: open it again, and use the graph inside `with open_graph(...)`.")
    return next(filter(None, (_of_sqlite(one, named, file) for one in _chain(error))), None)


def _of_sqlite(error: sqlite3.Error, named: str, file: str) -> GroundGraphError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or (not code and "locked" in str(error)):
        return StorageLocked(
            f"{named} stayed locked by another process for five seconds. "
            "Nothing was lost: ask again, or let one process own a thread."
        )
    if code in _UNUSABLE:
        return StorageUnavailable(f"{named} {_UNUSABLE[code]}")
    if code == sqlite3.SQLITE_CORRUPT:
        return StorageDamaged(
            f"{named} is damaged ({error}). Bring back a copy of it, or save what can still be read with "
            "`sqlite3 FILE .recover`, or move it away to begin anew.",
            row=file,
        )
    # Told by a search by what rows hold, which does not say which one.
    if "malformed JSON" in str(error):
        return StorageDamaged(f"{named} has a row that is no JSON.", row=f"a record in {file or 'the store'}")
    return None


def _chain(error: BaseException | None) -> Iterator[sqlite3.Error]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, sqlite3.Error):
            yield error
        error = error.__cause__ or error.__context__


# What goes wrong with the server behind checkpoints and store, as errors of ours.

_LOCKED = "55P03"
_NO_ROOM = "53"
_DISK_FULL = "53100"
_READ_ONLY = "25006"
# A right, a schema, a table or a column that it lacks.
_REFUSED = ("42501", "3F000", "42P01", "42703")
_SERVER = "PostgreSQL, which keeps the threads or the evidence of this graph,"


def server_error(error: BaseException) -> GroundGraphError | None:
    """The typed error for an error of psycopg that the server or the way to it caused; None for any other error."""
    # Not imported for this: an error of psycopg only comes when it is loaded.
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    # psycopg takes the first for an internal error, and the others for errors of the program.
    expected = state in (_READ_ONLY, *_REFUSED)
    if not expected and not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    if state == _LOCKED:
        return StorageLocked(
            "Another session kept a table of this graph locked for longer than five seconds. Nothing was lost: ask "
            "again."
        )
    return StorageUnavailable(_told(state, " ".join(mask(error.diag.message_primary or str(error)).split())))


def _told(state: str, reason: str) -> str:
    if state == _READ_ONLY:
        # LangGraph's store writes when it reads, so records cannot be read meanwhile; states can.
        return (
            f"{_SERVER} takes no writes: it is a standby, or read-only by a setting ({reason}). What was written "
            "before is safe: name the server that takes writes (`target_session_attrs=read-write` in the url "
            "finds it among several), or end `default_transaction_read_only`, and ask again."
        )
    if state in _REFUSED:
        return (
            f"{_SERVER} refuses: {reason}. The role of the url needs a schema on its search path in which it may "
            "create tables, and all rights on those of this graph; where one was removed, bring it back, or name "
            "another database."
        )
    if state.startswith(_NO_ROOM):
        lacking = "the disk is full" if state == _DISK_FULL else "memory, connections or another limit are used up"
        return f"{_SERVER} has no room left: {lacking} ({reason}). {WRITTEN_IS_SAFE}: make room, and ask again."
    return (
        f"{_SERVER} does not answer ({reason}). What was written before is safe: ask again, or "
        "resume the turn, when the server is back and lets the user of the url in."
    )


# Telling which row of a saver cannot be read, and what to do about it.

_PARTS: dict[str, type] = {
    "v": int,
    "id": str,
    "ts": str,
    "channel_values": dict,
    "channel_versions": dict,
    "versions_seen": dict,
}
# LangGraph makes the ids of tasks of the one, and compares the others with each other.
_FITS: dict[str, Callable[[Any], object]] = {
    "id": re.compile(r"(?:[0-9a-fA-F]{2}-?)+").fullmatch,
    "channel_versions": lambda versions: len({type(version) for version in versions.values()}) <= 1,
    "versions_seen": lambda seen: all(isinstance(versions, dict) for versions in seen.values()),
    "updated_channels": lambda names: names is None or isinstance(names, list),
}


class KeptRow(NamedTuple):
    """One stored value of a thread: what it is called, and what reads it."""

    thread_id: str
    name: str
    read: Callable[[], Any]
    whole: bool = False
    """Whether it is a checkpoint, and not the value of one channel."""


def damaged(thread_id: str, row: str, reason: str) -> StorageDamaged:
    """The error for a row of `thread_id` that cannot be read."""
    return StorageDamaged(
        f"The conversation '{thread_id}' cannot be read: {row} {reason}. Nothing of it was run, and other "
        f"conversations go on. Remove this one with: groundgraph forget {shlex.quote(thread_id)}",
        thread_id=thread_id,
        row=row,
    )


class TellsDamage(BaseCheckpointSaver[Any]):
    """A saver whose reading methods raise `StorageDamaged`, with the row, for what does not decode.

    Its writes raise typed errors. To be mixed in before a saver of LangGraph's; the rows are looked through only when
    something went wrong.
    """

    def kept_rows(self, thread_id: str | None) -> AsyncGenerator[KeptRow, None]:
        """The rows of a thread, or of all, in which something is kept."""
        raise NotImplementedError

    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        """The typed error for one of the database itself; None for any other."""
        raise NotImplementedError

    def writing(self) -> AbstractAsyncContextManager[None]:
        """What a write is done within: its errors of the database are raised as typed ones."""
        raise NotImplementedError

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's.

        Raises:
            StorageLocked: another process or session held the file or the table.
            StorageUnavailable: the file cannot be written, or the server does not answer or has no room.
        """
        turn = turn_writes.get()
        with turn.one(config) if turn else nullcontext():
            async with self.writing():
                written = await super().aput(config, checkpoint, metadata, new_versions)
            if turn:
                turn.wrote(config, checkpoint)
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's; raises as `aput` does."""
        turn = turn_writes.get()
        with turn.one(config) if turn else nullcontext():
            async with self.writing():
                await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As LangGraph's; raises as `aput` does."""
        async with self.writing():
            await super().adelete_thread(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's.

        Raises:
            StorageDamaged: a row of the thread cannot be read.
        """
        thread = str(config["configurable"]["thread_id"])
        try:
            found = await super().aget_tuple(config)
            if found is not None:
                _check_shape(found)
        except Exception as error:
            raise await self._told(error, thread) from error
        return found

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncGenerator[CheckpointTuple, None]:
        """As LangGraph's.

        Raises:
            StorageDamaged: as for `aget_tuple`.
        """
        thread = str(config["configurable"]["thread_id"]) if config else None
        try:
            async with aclosing(super().alist(config, **options)) as points:  # type: ignore[type-var]
                async for point in points:
                    _check_shape(point)
                    yield point
        except Exception as error:
            raise await self._told(error, thread) from error

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As LangGraph's.

        Raises:
            StorageDamaged: as for `aget_tuple`.
        """
        try:
            return await super().aget_delta_channel_history(config=config, channels=channels)
        except Exception as error:
            raise await self._told(error, str(config["configurable"]["thread_id"])) from error

    async def _told(self, error: Exception, thread_id: str | None) -> Exception:
        """What a user is told in place of `error`."""
        if isinstance(error, GroundGraphError):
            return error
        told = await self.storage_error(error) or await self._first_damage(thread_id)
        if told is None and isinstance(error, NotReadable) and thread_id is not None:
            return damaged(thread_id, "the checkpoint", str(error))
        return told or error

    async def _first_damage(self, thread_id: str | None) -> StorageDamaged | None:
        async with aclosing(self.kept_rows(thread_id)) as rows:
            async for row in rows:
                if fault := _fault(row):
                    return damaged(row.thread_id, row.name, fault)
        return None


def _check_shape(found: CheckpointTuple) -> None:
    if fault := _shape_fault(found.checkpoint) or _metadata_fault(found.metadata):
        place = found.config["configurable"]
        raise damaged(str(place["thread_id"]), f"the checkpoint {place['checkpoint_id']}", fault)


def _fault(row: KeptRow) -> str:
    try:
        value = row.read()
    except Exception as error:
        # Those of our own serializer say what is wrong; another one's may quote what the row holds.
        return str(error) if isinstance(error, NotReadable) else f"does not decode ({type(error).__name__})"
    return _shape_fault(value) if row.whole else ""


def _shape_fault(checkpoint: Any) -> str:
    """What a checkpoint lacks, without which nothing can be made of it."""
    if not isinstance(checkpoint, dict):
        return "is no checkpoint"
    missing = [name for name, kind in _PARTS.items() if not isinstance(checkpoint.get(name), kind)]
    if not missing:
        missing = [name for name, fits in _FITS.items() if not fits(checkpoint.get(name))]
    return f"is no checkpoint: '{missing[0]}' is missing or wrong" if missing else ""


def readable_metadata(metadata: Any) -> Any:
    """The metadata of a checkpoint as they are.

    Raises:
        NotReadable: no run can go on from a checkpoint that has these.
    """
    if fault := _metadata_fault(metadata):
        raise NotReadable(fault)
    return metadata


def _metadata_fault(metadata: Any) -> str:
    return "has metadata without the number of its step" if lacks(metadata, [("step", int)]) else ""
