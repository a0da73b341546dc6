"""What goes wrong with a SQLite file, or with the server behind checkpoints and store, as errors of ours."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator

from groundgraph.core.errors import GroundGraphError, StorageDamaged, StorageLocked, StorageUnavailable
from groundgraph.core.secret_mask import mask

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


def sqlite_error(error: BaseException, file: str = "") -> GroundGraphError | None:
    """The typed error for an error that the file caused; None for any other error.

    Args:
        error: from SQLite, or raised while one of SQLite's was handled: a full disk also fails what ends a transaction.
        file: the database; empty when it is not known.
    """
    named = f"The file {file} of the checkpointer or the store" if file else "A database of this graph"
    for one in _chain(error):
        code = getattr(one, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or (not code and "locked" in str(one)):
            return StorageLocked(
                f"{named} stayed locked by another process for five seconds. "
                "Nothing was lost: ask again, or let one process own a thread."
            )
        if code in _UNUSABLE:
            return StorageUnavailable(f"{named} {_UNUSABLE[code]}")
        if code == sqlite3.SQLITE_CORRUPT:
            return StorageDamaged(
                f"{named} is damaged ({one}). Bring back a copy of it, or save what can still be read with "
                "`sqlite3 FILE .recover`, or move it away to begin anew.",
                row=file,
            )
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
_SERVER = "PostgreSQL, which keeps the threads or the evidence of this graph,"


def server_error(error: BaseException) -> GroundGraphError | None:
    """The typed error for an error of psycopg that the server or the way to it caused; None for any other error."""
    # Not imported for this: an error of psycopg only comes when it is loaded.
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    # psycopg takes this one for an internal error.
    if state != _READ_ONLY and not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    if state == _LOCKED:
        return StorageLocked(
            "Another session kept a table of this graph locked for longer than five seconds. Nothing was lost: ask "
            "again."
        )
    reason = " ".join(mask(str(error)).split())
    if state == _READ_ONLY:
        # LangGraph's store writes when it reads, so records cannot be read meanwhile; states can.
        return StorageUnavailable(
            f"{_SERVER} takes no writes: it is a standby, or read-only by a setting ({reason}). What was written "
            "before is safe: name the server that takes writes (`target_session_attrs=read-write` in the url "
            "finds it among several), or end `default_transaction_read_only`, and ask again."
        )
    if state.startswith(_NO_ROOM):
        lacking = "the disk is full" if state == _DISK_FULL else "memory, connections or another limit are used up"
        return StorageUnavailable(
            f"{_SERVER} has no room left: {lacking} ({reason}). {WRITTEN_IS_SAFE}: make room, and ask again."
        )
    return StorageUnavailable(
        f"{_SERVER} does not answer: {reason}. What was written before is safe: ask again, or "
        "resume the turn, when the server is back."
    )
