"""Keeping the index fresh: seeing that it is stale, and bringing it up to date beside the queries."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Sequence

from groundgraph.sources.sql.any_database import AnyDatabase
from groundgraph.sources.sql.index_file import IndexFile
from groundgraph.sources.sql.memory_index import MemoryIndex
from groundgraph.sources.sql.shape import TableShape
from groundgraph.sources.sql.update_index import signature, update_index
from groundgraph.sources.sql.version import Version

# A query waits this long for an update, then answers from the rows as they were.
REFRESH_WAIT = 1.0
_CLOSE_WAIT = 5.0


class IndexKeeper:
    """One index and the thread that updates it. Every method blocks."""

    def __init__(self, index: IndexFile | MemoryIndex, database: AnyDatabase) -> None:
        self.index = index
        self._database = database
        self._guard = threading.Lock()
        self._update: _Update | None = None
        self._fresh: tuple[str, Version] | None = None
        self._stop = threading.Event()

    def ensure(self, version: Version, shapes: Sequence[TableShape], *, wait: float | None = REFRESH_WAIT) -> bool:
        """Whether the index holds the rows of `version`, after an update if need be.

        An index that was never built, or was built for other tables, is waited for however long that takes; otherwise
        at most `wait` seconds, and the update goes on meanwhile.

        Raises:
            SourceUnavailable: the index cannot be built, or the database cannot be read.
        """
        made_for = signature(self._database.identity, shapes)
        if self._fresh == (made_for, version) and self._holds(made_for):
            return True
        if self._stored(made_for, version):
            self._fresh = (made_for, version)
            return True
        usable = self._holds(made_for)
        if not usable:
            self._fresh = None  # another source of the same name has taken the file
        until = time.monotonic() + wait if usable and wait is not None else None
        while self._fresh != (made_for, version):
            # An update for an earlier version may still run; this one's comes after it.
            update = self._started(made_for, version, shapes)
            update.join(max(0.0, until - time.monotonic()) if until is not None else None)
            if update.is_alive():
                return False
            if update.error:
                if usable:
                    return False
                raise update.error
        return True

    def close(self) -> None:
        """Stop an update and close the index."""
        self._stop.set()
        with self._guard:
            update = self._update
        if update:
            update.join(_CLOSE_WAIT)
        self.index.close()

    def is_for(self, index: sqlite3.Connection, shapes: Sequence[TableShape]) -> bool:
        """Whether `index`, as it is now, was made for tables of these shapes."""
        return _signature_in(index) == signature(self._database.identity, shapes)

    def _holds(self, made_for: str) -> bool:
        with self.index.reading() as connection:
            return _signature_in(connection) == made_for

    def _stored(self, made_for: str, version: Version) -> bool:
        """Whether an earlier process left the index up to date."""
        with self.index.reading() as connection:
            row: tuple[str, str] = connection.execute("SELECT signature, version FROM state").fetchone()
        return self._fresh is None and row == (made_for, _written(version))

    def _started(self, made_for: str, version: Version, shapes: Sequence[TableShape]) -> _Update:
        with self._guard:
            if self._update is None or not self._update.is_alive():
                self._update = _Update(self, made_for, version, shapes)
                self._update.start()
            return self._update

    def run_update(self, made_for: str, version: Version, shapes: Sequence[TableShape]) -> None:
        """The work of the thread."""
        with self.index.writing() as connection:
            update_index(connection, self._database, shapes, stopped=self._stop.is_set)
            connection.execute(
                "UPDATE state SET signature = ?, version = ?, changes = changes + 1",
                (made_for, _written(version) if version.is_settled() else ""),
            )
        self._fresh = (made_for, version)


class _Update(threading.Thread):
    """One update; `error` is set when it failed."""

    def __init__(self, keeper: IndexKeeper, made_for: str, version: Version, shapes: Sequence[TableShape]) -> None:
        super().__init__(name="groundgraph-index", daemon=True)
        self._work = (keeper, made_for, version, shapes)
        self.error: BaseException | None = None

    def run(self) -> None:
        keeper, *rest = self._work
        try:
            keeper.run_update(*rest)  # type: ignore[arg-type]
        except BaseException as error:
            self.error = error


def _signature_in(index: sqlite3.Connection) -> str:
    found: str = index.execute("SELECT signature FROM state").fetchone()[0]
    return found


def _written(version: Version) -> str:
    return json.dumps(version.file)
