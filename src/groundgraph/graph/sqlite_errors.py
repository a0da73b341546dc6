"""What goes wrong with a SQLite file, as errors of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from groundgraph.core.errors import GroundGraphError, StorageDamaged, StorageLocked, StorageUnavailable

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
