"""The SQLite file of a knowledge base: its tables, its version, and how it is opened.

One file holds the documents with their texts, the chunks, a full-text index over the chunks' stems, and for
every stem the number of chunks that hold it. The index is contentless, so it stores no text twice, and it
keeps `detail=full`: with less its ranking is wrong without an error. Its tokenizer only divides at spaces,
since stems are made by `groundgraph.core.text`, which also folds what FTS5 does not.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundgraph.core.errors import SchemaVersionUnsupported, StorageLocked

SCHEMA_VERSION = 1
LOCK_TIMEOUT = 5.0

# `text` stands last in both tables: SQLite then reads the other columns without reading the text.
_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    hash TEXT NOT NULL,
    from_file INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    headings TEXT NOT NULL,
    heading_levels TEXT NOT NULL,
    stems TEXT NOT NULL,
    heading_stems TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_of_document ON chunks (document_id, position);
CREATE VIRTUAL TABLE chunk_stems USING fts5 (body, headings, content='', detail=full, tokenize='ascii');
CREATE TABLE terms (term TEXT PRIMARY KEY, df INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (chunks INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0, 0);
"""


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
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            _create(connection)
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


def _create(connection: sqlite3.Connection) -> None:
    if version_of(connection) == SCHEMA_VERSION:
        return
    with transaction(connection):
        # Another process may have created it between the look and the lock.
        if version_of(connection) != SCHEMA_VERSION:
            for statement in _TABLES.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
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
