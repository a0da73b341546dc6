"""The index that groundgraph keeps beside a user's database: its tables, and how it is opened.

It lies in a SQLite file of its own and holds, for every row, the stems of its content field and of its other search
fields and a hash of their values; the full-text index over the stems lies in a folder beside it, as that of a knowledge
base does. Each table of the source has a slot; the number of an index row is the slot times 2^40 plus the row number in
the user's table (or a running number where that table has none), so that the rows that a filter keeps translate into
index rows without a look-up. The `id` of a row is another one whenever its words change.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.write_ahead_log import use_write_ahead_log
from groundgraph.search.word_index import WordIndex, WordsUnusable, WordTable
from groundgraph.sources.sql.introspect import ROWID_BITS
from groundgraph.sources.sql.search_rows import ROWS

# Where the index of a source lies when the configuration names no file for it.

INDEX_FOLDER = Path(".groundgraph/index")
# Part of a long name is enough for people; the hash tells the files apart.
_READABLE = 60
_HASH_BYTES = 8
_FORMER_LAYOUT = 2
_FORMER_TABLES = {"tables", "rows", "row_stems", "terms", "state"}


def default_index(folder: Path, source: str, identity: str) -> Path:
    """The file for the source called `source`, over the database that `AnyDatabase.identity` tells of."""
    told = hashlib.blake2b(f"{source}\0{identity}".encode(), digest_size=_HASH_BYTES).hexdigest()
    return folder / INDEX_FOLDER / f"{quote(source, safe=' ')[:_READABLE]}-{told}.sqlite"


def delete_former_index(folder: Path, source: str) -> None:
    """Delete the file that version 0.1 kept for `source`: named by the source alone, it may hold rows that another
    session saw. What lies there and is no such index stays."""
    path = folder / INDEX_FOLDER / f"{quote(source, safe=' ')}.sqlite"
    if not path.is_symlink() and path.is_file() and _is_former(path):
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)


def _is_former(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as index:
            return _has_former_tables(index)
    except sqlite3.Error:
        return False


def _has_former_tables(index: sqlite3.Connection) -> bool:
    own = {name for name in _tables_in(index) if not name.startswith("row_stems_")}
    return _made_by(index) == (0, _FORMER_LAYOUT) and own == _FORMER_TABLES


def _made_by(index: sqlite3.Connection) -> tuple[int, int]:
    """Which program made a file, and in which layout."""
    (program,) = index.execute("PRAGMA application_id").fetchone()
    (layout,) = index.execute("PRAGMA user_version").fetchone()
    return program, layout


def _tables_in(index: sqlite3.Connection) -> list[str]:
    """The tables of a file, virtual ones first: with them go those that they keep their rows in."""
    found = index.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' "
        "ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    return [name for (name,) in found]


LAYOUT = 3
# "grnd"; a file of version 0.1 has none.
APPLICATION_ID = 0x67726E64
# A second process waits for one that builds the same index.
WRITE_TIMEOUT = 60.0
_KEPT = 8
_OURS = (APPLICATION_ID, LAYOUT)

_TABLES = """
CREATE TABLE tables (slot INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, header TEXT NOT NULL,
    rows INTEGER NOT NULL, stems INTEGER NOT NULL);
CREATE TABLE rows (id INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL UNIQUE, key, hash BLOB NOT NULL,
    content TEXT NOT NULL, other TEXT NOT NULL);
CREATE TABLE terms (term TEXT NOT NULL, slot INTEGER NOT NULL, df INTEGER NOT NULL, PRIMARY KEY (term, slot))
    WITHOUT ROWID;
CREATE TABLE state (signature TEXT NOT NULL, version TEXT NOT NULL, changes INTEGER NOT NULL);
INSERT INTO state VALUES ('', '', 0);
"""
WORDS = WordTable(
    "rows", f"number >> {ROWID_BITS}, number, content, other", "number, key, content, other", ROWS.above_weight
)


@dataclass
class IndexWrite:
    """A write transaction on an index.

    Attributes:
        connection: in that transaction.
        removed: a row is gone for good, so that the files are to hold nothing of it; the full-text index is built anew.
    """

    connection: sqlite3.Connection
    removed: bool = False


class IndexFile:
    """Connections to one index. Every method blocks.

    Args:
        location: the file, or a `file:...?mode=memory&cache=shared` name.
        words: the full-text index in memory of such a name.

    Attributes:
        words: the full-text index.
    """

    def __init__(self, location: str | Path, words: WordIndex | None = None) -> None:
        self._location = location
        self.words = words or WordIndex(Path(f"{location}-words"), WORDS)
        self._idle: list[sqlite3.Connection] = []
        self._keeper: sqlite3.Connection | None = None
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection in one read transaction.

        Raises:
            SourceUnavailable: the index cannot be opened.
        """
        with self._typed_errors():
            connection = self._take()
            try:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.rollback()
            finally:
                self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[IndexWrite]:
        """One write transaction: all or nothing.

        Raises:
            SourceUnavailable: the index cannot be written, or another process held it for a minute.
        """
        with self._typed_errors():
            connection = self._open()
            try:
                connection.execute("BEGIN IMMEDIATE")
                write = IndexWrite(connection)
                yield write
                in_file = not isinstance(self._location, str)
                self.words.commit(connection, anew=write.removed and in_file)
                connection.execute("COMMIT")
                if write.removed and in_file:
                    _empty_log(connection)
            finally:
                # Closing rolls back what was not committed.
                connection.close()

    def mend(self, *, anew: bool = False) -> None:
        """Have the full-text index built when it does not suit the rows, or `anew`; in memory where its folder cannot
        be written.

        Raises:
            SourceUnavailable: the index cannot be read either.
        """
        try:
            with closing(self._open()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                self.words.mend(connection, anew=anew)
                connection.execute("COMMIT")
        except (WordsUnusable, sqlite3.Error, OSError) as error:
            with self.reading() as connection:
                self.words.keep_in_memory(connection, error)

    def copy_of(self, index: sqlite3.Connection) -> None:
        """Hold what `index` holds, in place of what is here."""
        with self._typed_errors():
            connection = self._open()
            try:
                index.backup(connection)
            finally:
                connection.close()

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
            if self._keeper:
                idle.append(self._keeper)
                self._keeper = None
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        return connection or self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> sqlite3.Connection:
        in_memory = isinstance(self._location, str)
        with self._guard:
            if self._closed:
                raise SourceUnavailable("The source is closed.")
            if in_memory and self._keeper is None:
                # A shared memory database lives as long as one connection to it.
                self._keeper = _connect(self._location)
        if not isinstance(self._location, str):
            self._location.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                # It holds the words of the rows; SQLite gives the files beside it the same rights.
                self._location.touch(mode=0o600, exist_ok=False)
        return _connect(self._location)

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, WordsUnusable) as error:
            raise SourceUnavailable(
                f"The text index '{self._location}' cannot be used: {error}. Name a file that can be written with "
                "`index:`; a damaged one can be deleted, it is built again from the rows."
            ) from error


def _connect(location: str | Path) -> sqlite3.Connection:
    is_uri = isinstance(location, str)
    connection = sqlite3.connect(
        location, uri=is_uri, timeout=WRITE_TIMEOUT, check_same_thread=False, isolation_level=None
    )
    try:
        connection.execute("PRAGMA cache_size = -16000")
        # Not every SQLite is built so that nothing is left of a row that is deleted.
        connection.execute("PRAGMA secure_delete = ON")
        if _made_by(connection) != _OURS:
            _create(connection, in_memory=is_uri)
    except BaseException:
        connection.close()
        raise
    return connection


def _empty_log(connection: sqlite3.Connection) -> None:
    """Leave nothing of what was removed in the write-ahead log."""
    # A reader that takes longer keeps it, until the next time or until the last connection closes.
    connection.execute("PRAGMA busy_timeout = 1000")
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _create(connection: sqlite3.Connection, *, in_memory: bool) -> None:
    # In one transaction: whose it is and which tables it has must be of one moment, while others create it.
    connection.execute("BEGIN")
    _check_owner(connection)
    connection.execute("COMMIT")
    if not in_memory:
        use_write_ahead_log(connection, WRITE_TIMEOUT)
        connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have created it between the look and the lock; one of another version is built anew.
    if _made_by(connection) != _OURS:
        _check_owner(connection)
        for name in _tables_in(connection):
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in (_TABLES + WORDS.tables).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    connection.execute("COMMIT")


def _check_owner(connection: sqlite3.Connection) -> None:
    """Leave alone what is no index: everything in one may be deleted.

    Raises:
        SourceUnavailable: the file holds tables of somebody else.
    """
    if _made_by(connection)[0] == APPLICATION_ID or not _tables_in(connection) or _has_former_tables(connection):
        return
    (_, _, path), *_ = connection.execute("PRAGMA database_list")
    raise SourceUnavailable(
        f"The file '{path}' is no text index: it holds tables of something else. Name a file of its own with `index:`."
    )


# The text index in memory, for those who want no file beside their database.


class MemoryIndex:
    """An index in memory that is read while it is written, as one in a file is. Every method blocks.

    A file in WAL mode lets readers see the last committed rows beside a writer. SQLite's shared memory refuses such
    readers at once ("database table is locked"), so an update is made on a copy that nobody reads, which then takes
    the place of the index before it.
    """

    def __init__(self) -> None:
        self.words = WordIndex(None, WORDS)
        self._current = IndexFile(_unused_name(), self.words)
        self._one_writer = threading.Lock()
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection in one read transaction.

        Raises:
            SourceUnavailable: the source is closed.
        """
        with ExitStack() as until_read:
            with self._guard:
                connection = until_read.enter_context(self._current.reading())
            yield connection

    @contextmanager
    def writing(self) -> Iterator[IndexWrite]:
        """One write transaction: all or nothing.

        Raises:
            SourceUnavailable: the source is closed.
        """
        with self._one_writer:
            copy = IndexFile(_unused_name(), self.words)
            try:
                with self.reading() as current:
                    copy.copy_of(current)
                with copy.writing() as write:
                    yield write
            except BaseException:
                copy.close()
                raise
            with self._guard:
                before, self._current = self._current, copy
                if self._closed:
                    copy.close()
            before.close()

    def mend(self, *, anew: bool = False) -> None:
        """See `IndexFile.mend`."""
        with self._one_writer:
            self._current.mend(anew=anew)

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            self._current.close()


def _unused_name() -> str:
    return f"file:groundgraph-{uuid4().hex}?mode=memory&cache=shared"
