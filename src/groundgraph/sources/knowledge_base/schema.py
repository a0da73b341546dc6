"""The SQLite file of a knowledge base: its version, and how it is opened."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundgraph.core.errors import SchemaVersionUnsupported, StorageLocked
from groundgraph.core.write_ahead_log import use_write_ahead_log
from groundgraph.sources.knowledge_base.migrate import to_version_2
from groundgraph.sources.knowledge_base.tables import CONTENT_TABLES, INDEX_TABLES, create

SCHEMA_VERSION = 2
LOCK_TIMEOUT = 5.0


def open_for_reading(path: Path, lock_timeout: float = LOCK_TIMEOUT) -> sqlite3.Connection:
    """A read-only connection to the base at `path`, usable from one thread at a time, whichever that is.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        sqlite3.Error: the file cannot be opened or is no database.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        # A reader of a WAL database writes beside it, which a read-only folder (a container image) does not
        # allow.
        uri += "&immutable=1"
    connection = sqlite3.connect(uri, uri=True, timeout=lock_timeout, check_same_thread=False)
    try:
        check_version(connection, path)
        connection.execute("PRAGMA cache_size = -16000")
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_writing(path: Path, lock_timeout: float = LOCK_TIMEOUT) -> sqlite3.Connection:
    """A connection in autocommit mode to the base at `path`, which is created when it is not there.

    A file of an older version is migrated first, in one transaction.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        StorageLocked: another process held the file for `lock_timeout` seconds.
        sqlite3.Error: the file cannot be opened or is no database.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=lock_timeout, check_same_thread=False, isolation_level=None)
    try:
        with locked_means_typed(path, lock_timeout):
            check_version(connection, path)
            use_write_ahead_log(connection, lock_timeout)
            connection.execute("PRAGMA synchronous = NORMAL")
            _bring_up_to_date(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of the file, 0 when nothing was ever ingested into it."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that a newer groundgraph wrote.

    Raises:
        SchemaVersionUnsupported: the version of the file is above `SCHEMA_VERSION`.
    """
    version = version_of(connection)
    if version > SCHEMA_VERSION:
        raise SchemaVersionUnsupported(
            f"The knowledge base '{path}' has schema version {version}; this groundgraph knows "
            f"versions up to {SCHEMA_VERSION}. Upgrade groundgraph, or ingest into a new file."
        )


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if version_of(connection) == SCHEMA_VERSION:
        return
    with transaction(connection):
        # Another process may have done it between the look and the lock.
        check_version(connection, path)
        version = version_of(connection)
        if version == SCHEMA_VERSION:
            return
        if version == 0:
            create(connection, CONTENT_TABLES + INDEX_TABLES)
        else:
            to_version_2(connection)
        # A reader tells by it that the file is another one than it knew.
        connection.execute("INSERT INTO meta VALUES ('base', ?)", (uuid.uuid4().hex,))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what is written inside; the write lock is taken at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def locked_means_typed(path: Path, lock_timeout: float) -> Iterator[None]:
    """Turns SQLite's "locked" and "busy" into `StorageLocked`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if not is_locked(error):
            raise
        raise StorageLocked(
            f"The knowledge base '{path}' stayed locked by another process for more than {lock_timeout:g} s; "
            "what was written before is kept. Try again when the other process has ended."
        ) from error


def is_locked(error: sqlite3.Error) -> bool:
    """Whether `error` says that another connection holds the file."""
    # The low byte is the primary code; the rest tells variants of it apart.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
