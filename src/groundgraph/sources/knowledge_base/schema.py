"""The SQLite file of a knowledge base: its version, how it is opened, one state of it, a chunk out of its columns."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import NeverIngested, SchemaVersionUnsupported, SourceUnavailable, StorageLocked
from groundgraph.core.knowledge_store import PreparedChunk
from groundgraph.core.write_ahead_log import reading_uri, use_write_ahead_log
from groundgraph.search.rank import CHUNKS
from groundgraph.search.word_index import WordIndex, WordsUnusable, WordTable
from groundgraph.sources.knowledge_base.saved_vectors import folder_of, save

# The tables of a knowledge base's file.
#
# One file holds the documents with their texts, the chunks, the matching texts of each chunk with their stems, for
# every stem the number of texts that hold it, and the vectors. The full-text index over the stems lies in a folder
# beside it (`WordIndex`). Row numbers are never used again, so that what was read earlier is never taken for something
# else.

# `text` stands last in the tables: SQLite then reads the other columns without reading the text. A matching text that
# ends with the text of its chunk is kept as what stands before it. The vectors of a document are those of its matching
# texts in order, 16-bit numbers.
CONTENT_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    hash TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    from_file INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    written_at TEXT NOT NULL,
    media_type TEXT NOT NULL,
    body_start INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    chunk_fields TEXT NOT NULL,
    parts TEXT NOT NULL,
    marked_headings TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    derived INTEGER NOT NULL,
    headings TEXT NOT NULL,
    heading_levels TEXT NOT NULL,
    metadata TEXT NOT NULL,
    qualifying_text TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_of_document ON chunks (document_id, position);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    chunk_id INTEGER NOT NULL REFERENCES chunks (id),
    ends_with_chunk INTEGER NOT NULL,
    stems TEXT NOT NULL,
    heading_stems TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX texts_of_document ON texts (document_id, chunk_id);
CREATE INDEX texts_of_chunk ON texts (chunk_id);
CREATE TABLE vectors (document_id INTEGER PRIMARY KEY REFERENCES documents (id), vectors BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
INDEX_TABLES = """
CREATE TABLE terms (term TEXT PRIMARY KEY, df INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (chunks INTEGER NOT NULL, texts INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0, 0, 0);
"""
WORDS = WordTable(
    "texts", "document_id, chunk_id, stems, heading_stems", "chunk_id, stems, heading_stems", CHUNKS.above_weight
)


def word_index(path: Path) -> WordIndex:
    """The full-text index of the base at `path`."""
    return WordIndex(Path(f"{path}-words"), WORDS)


def _kept(table: str) -> dict[str, str]:
    found = re.search(rf"CREATE TABLE {table} \((.*?)\n\);", CONTENT_TABLES, re.DOTALL)
    return dict(re.findall(r"^ +(\w+) (TEXT|INTEGER) NOT NULL(?: UNIQUE)?,?$", found[1] if found else "", re.MULTILINE))


# What any store keeps of a document and of a chunk, with its type here: all columns but the numbers of rows.
DOCUMENT_COLUMNS, CHUNK_COLUMNS = _kept("documents"), _kept("chunks")


def create(connection: sqlite3.Connection, tables: str) -> None:
    """Create `tables` within the transaction that is open; `executescript` would end it."""
    for statement in tables.split(";\n"):
        if statement.strip():
            connection.execute(statement)


# Bringing the file of an older groundgraph to the present schema, within the caller's transaction.

_BEFORE = (
    "DROP INDEX chunks_of_document",
    "ALTER TABLE documents RENAME TO documents_1",
    "ALTER TABLE chunks RENAME TO chunks_1",
)
# In version 1 a chunk had one matching text, its own, under its own row number in the index.
_AFTER = (
    "INSERT INTO documents (id, name, title, hash, content_hash, kind, from_file, chunks, written_at, media_type, "
    "body_start, metadata, chunk_fields, parts, marked_headings, text) "
    "SELECT id, name, title, hash, '', 'documents', from_file, chunks, '', "
    "'text/plain', 0, metadata, '[]', '[]', '[]', text FROM documents_1 ORDER BY id",
    "INSERT INTO chunks (id, document_id, position, start, end, origin, derived, headings, heading_levels, metadata, "
    "qualifying_text, text) SELECT id, document_id, position, start, end, 0, 0, headings, heading_levels, '{}', '', "
    "text FROM chunks_1 ORDER BY id",
    "INSERT INTO texts (id, document_id, chunk_id, ends_with_chunk, stems, heading_stems, text) "
    "SELECT id, document_id, id, 1, stems, heading_stems, '' FROM chunks_1 ORDER BY id",
    "DROP TABLE chunks_1",
    "DROP TABLE documents_1",
    "DROP TABLE chunk_stems",
    "ALTER TABLE state RENAME TO state_1",
    "CREATE TABLE state "
    "(chunks INTEGER NOT NULL, texts INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL)",
    "INSERT INTO state SELECT chunks, chunks, stems, changes + 1 FROM state_1",
    "DROP TABLE state_1",
)


def to_version_2(connection: sqlite3.Connection) -> None:
    """From version 1: matching texts get a table of their own, documents and chunks more columns.

    What version 1 did not keep (media type, where the body starts) is unknown; the next ingest of a document writes
    it, since its hash then differs.
    """
    for statement in _BEFORE:
        connection.execute(statement)
    create(connection, CONTENT_TABLES)
    for statement in _AFTER:
        connection.execute(statement)


SCHEMA_VERSION = 3
LOCK_TIMEOUT = 5.0


def open_for_reading(path: Path, lock_timeout: float = LOCK_TIMEOUT) -> sqlite3.Connection:
    """A read-only connection to the base at `path`, usable from one thread at a time, whichever that is.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        sqlite3.Error: the file cannot be opened or is no database.
    """
    connection = sqlite3.connect(reading_uri(path), uri=True, timeout=lock_timeout, check_same_thread=False)
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
        elif version == 1:
            to_version_2(connection)
        # Until version 2 the full-text index was one of FTS5 in the file; that beside it is built by whoever needs it.
        connection.execute("DROP TABLE IF EXISTS text_stems")
        create(connection, WORDS.tables)
        # A reader tells by it that the file is another one than it knew.
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('base', ?)", (uuid.uuid4().hex,))
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
        raise stayed_locked(path, lock_timeout) from error


def stayed_locked(path: Path, seconds: float) -> StorageLocked:
    """The error when another process held the base for `seconds`."""
    return StorageLocked(
        f"The knowledge base '{path}' stayed locked by another process for more than {seconds:g} s; "
        "what was written before is kept. Try again when the other process has ended."
    )


# So many seconds a reader that mends waits for another process, before it looks whether that has mended it.
_MEND_TIMEOUT = 0.2


@contextmanager
def _mending(path: Path) -> Iterator[sqlite3.Connection]:
    """A write transaction of its own on the base at `path`."""
    with (
        closing(open_for_writing(path, _MEND_TIMEOUT)) as connection,
        locked_means_typed(path, _MEND_TIMEOUT),
        transaction(connection),
    ):
        yield connection


def mend_words(path: Path, words: WordIndex, *, anew: bool) -> None:
    """Have the full-text index `words` of the base at `path` suit it; see `WordIndex.mend`.

    Raises:
        WordsUnusable: the index cannot be written.
        sqlite3.Error: the base cannot be opened for writing.
        StorageLocked: another process holds the base.
    """
    with _mending(path) as connection:
        words.mend(connection, anew=anew)


def mend_vectors(path: Path, dimension: int) -> None:
    """Have the files of the vectors of the base at `path` suit it; see `save`.

    Raises:
        OSError: they cannot be written.
        sqlite3.Error: the base cannot be opened for writing.
        StorageLocked: another process holds the base.
    """
    with _mending(path) as connection:
        save(connection, path, dimension)


@contextmanager
def unusable_means_typed(path: Path) -> Iterator[None]:
    """Turns what is wrong with the indexes beside the base into `SourceUnavailable`."""
    try:
        yield
    except OSError as error:
        raise SourceUnavailable(
            f"The vectors of the knowledge base '{path}' cannot be kept in '{folder_of(path)}': {error}. Make room on "
            "the disk, or the folder writable, and try again; what was written before is kept."
        ) from error
    except WordsUnusable as error:
        raise SourceUnavailable(
            f"The full-text index '{path}-words' of the knowledge base '{path}' cannot be written: {error}. Make room "
            "on the disk, or the folder writable, and try again; what was written before is kept."
        ) from error


def is_locked(error: sqlite3.Error) -> bool:
    """Whether `error` says that another connection holds the file."""
    # The low byte is the primary code; the rest tells variants of it apart.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


# Read-only connections to one knowledge base, kept open between searches.

T = TypeVar("T")

# More than this many searches at once are rare; a connection beyond them is closed after its search.
_KEPT = 8


class ReadConnections:
    """A pool of connections. Each is used by one thread at a time; every method blocks.

    Args:
        path: the SQLite file.
        lock_timeout: seconds to wait for a writer that keeps readers out.
    """

    def __init__(self, path: Path, lock_timeout: float) -> None:
        self._path = path
        self._lock_timeout = lock_timeout
        self._idle: list[sqlite3.Connection] = []
        self._file: tuple[int, int] = (0, 0)
        self._closed = False
        self._guard = threading.Lock()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns when it is given a connection.

        Raises:
            SourceUnavailable: there is no such file, nothing was ever ingested into it, or it is damaged.
            SchemaVersionUnsupported: a newer groundgraph wrote the file.
            StorageLocked: a writer kept readers out for too long.
        """
        file = self._identity()
        try:
            with locked_means_typed(self._path, self._lock_timeout):
                connection = self._take(file)
                try:
                    return work(connection)
                finally:
                    self._give_back(connection, file)
        except sqlite3.Error as error:
            raise SourceUnavailable(
                f"The knowledge base '{self._path}' cannot be read: {_told(error)}. {when_unreadable(error)}"
            ) from error

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _identity(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except OSError:
            raise self._never_ingested() from None
        return found.st_dev, found.st_ino

    def _take(self, file: tuple[int, int]) -> sqlite3.Connection:
        stale: list[sqlite3.Connection] = []
        with self._guard:
            if self._closed:
                raise SourceUnavailable(f"The source over the knowledge base '{self._path}' is closed.")
            if file != self._file:
                # The file was replaced by another one, which an open connection would not notice.
                stale, self._idle, self._file = self._idle, [], file
            connection = self._idle.pop() if self._idle else None
        for old in stale:
            old.close()
        return connection or self._open()

    def _open(self) -> sqlite3.Connection:
        connection = open_for_reading(self._path, self._lock_timeout)
        version = version_of(connection)
        if version == SCHEMA_VERSION:
            return connection
        connection.close()
        if version == 0:
            raise self._never_ingested()
        self._migrate(version)
        return open_for_reading(self._path, self._lock_timeout)

    def _migrate(self, version: int) -> None:
        """Opening for writing brings the file to the present schema."""
        try:
            open_for_writing(self._path, self._lock_timeout).close()
        except sqlite3.OperationalError as error:
            if is_locked(error):
                raise
            raise SchemaVersionUnsupported(
                f"The knowledge base '{self._path}' has the older schema version {version} and cannot be brought to "
                f"version {SCHEMA_VERSION}: {error}. Make the file and its folder writable once, or ingest into a "
                "new file."
            ) from error

    def _give_back(self, connection: sqlite3.Connection, file: tuple[int, int]) -> None:
        with self._guard:
            if not self._closed and file == self._file and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _never_ingested(self) -> NeverIngested:
        return NeverIngested(
            f"There is no knowledge base in '{self._path}' yet. Fill it with `groundgraph ingest PATH`."
        )


def when_unreadable(error: sqlite3.Error) -> str:
    """What to do about a base that cannot be read."""
    # A reader too writes beside the file, so a full disk is no reason to delete it.
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
        return "The disk is full or failing: make room on it, and try again."
    return "If the file is damaged, delete it and run `groundgraph ingest PATH` again."


def _told(error: sqlite3.Error) -> str:
    # What cannot be decoded is quoted behind these words: the text of some chunk, whoever may read it.
    return str(error).partition(" with text ")[0]


# One state of a base, which a reader sees from the beginning of its transaction to the end.


class Revision(NamedTuple):
    """Which state: `base` names the file for as long as it exists, `changes` counts what was written to it."""

    base: str
    changes: int


@contextmanager
def reading(connection: sqlite3.Connection, path: Path) -> Iterator[Revision]:
    """One transaction, so that a writer in between does not change what the row numbers stand for.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph has migrated the file since it was opened.
    """
    connection.execute("BEGIN")
    try:
        check_version(connection, path)
        row = connection.execute("SELECT value, changes FROM meta, state WHERE name = 'base'").fetchone()
        yield Revision(*row)
    finally:
        connection.rollback()


def chunk_of(whole: Document, values: Mapping[str, Any], texts: Iterable[tuple[int, str]] = ()) -> PreparedChunk:
    """A chunk out of the columns that are stored of it, with its matching texts: each of `texts` with whether it goes
    on with the text of the chunk."""
    chunk = Chunk(
        whole,
        int(values["position"]),
        int(values["start"]),
        int(values["end"]),
        tuple(json.loads(values["headings"])),
        values["text"] or "",
        tuple(json.loads(values["heading_levels"])),
        json.loads(values["metadata"]),
        int(values["origin"]),
        bool(values["derived"]),
    )
    found_by = tuple(own + chunk.text if ends else own for ends, own in texts)
    return PreparedChunk(chunk, found_by, values["qualifying_text"] or "")
