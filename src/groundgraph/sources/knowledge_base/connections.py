"""Read-only connections to one knowledge base, kept open between searches."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from groundgraph.core.errors import NeverIngested, SchemaVersionUnsupported, SourceUnavailable
from groundgraph.sources.knowledge_base.schema import (
    SCHEMA_VERSION,
    is_locked,
    locked_means_typed,
    open_for_reading,
    open_for_writing,
    version_of,
)

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
                f"The knowledge base '{self._path}' cannot be read: {_told(error)}. If the file is damaged, "
                "delete it and run `groundgraph ingest PATH` again."
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


def _told(error: sqlite3.Error) -> str:
    # What cannot be decoded is quoted behind these words: the text of some chunk, whoever may read it.
    return str(error).partition(" with text ")[0]
