"""Switching a SQLite file to its write-ahead log, beside others that do the same."""

from __future__ import annotations

import sqlite3

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
