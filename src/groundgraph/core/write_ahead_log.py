"""SQLite files with a write-ahead log: switching to it beside others that do the same, and reading without rights."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

_PAUSE = 0.01


def use_write_ahead_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Let readers of the file see its last committed state beside a writer; the file remembers it.

    Of several connections that switch a new file at once, SQLite lets one through and refuses the others immediately,
    whatever timeout they have, so that the refused ones must ask again.

    Args:
        connection: a connection to the file, outside a transaction.
        timeout: seconds to go on asking.

    Raises:
        sqlite3.OperationalError: the file was locked all the time, or cannot be written.
    """
    try:
        _switch(connection)
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
        # Only now: most processes never need tenacity here, and it costs as much as opening the file.
        from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

        asking = Retrying(
            retry=retry_if_exception(_is_busy), wait=wait_fixed(_PAUSE), stop=stop_after_delay(timeout), reraise=True
        )
        asking(_switch, connection)


def _switch(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")


def _is_busy(error: BaseException) -> bool:
    # The lower byte is the primary code; the rest tells a kind of it.
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def reading_uri(path: Path, *, full: bool = False) -> str:
    """How SQLite opens the file at `path` to read only, also where nothing may be written beside it, or the disk is
    `full`."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    log = Path(f"{path}-wal")
    # On a full disk SQLite leaves an empty one before it fails.
    begun = log.exists() and not (full and not log.stat().st_size)
    if not begun and (full or not os.access(path.parent, os.W_OK)):
        # A reader of a WAL database writes beside it, which a read-only folder (a container image) does not
        # allow.
        uri += "&immutable=1"
    return uri
