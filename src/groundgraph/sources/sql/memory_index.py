"""The text index in memory, for those who want no file beside their database."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

from groundgraph.sources.sql.index_file import IndexFile


class MemoryIndex:
    """An index in memory that is read while it is written, as one in a file is. Every method blocks.

    A file in WAL mode lets readers see the last committed rows beside a writer. SQLite's shared memory refuses such
    readers at once ("database table is locked"), so an update is made on a copy that nobody reads, which then takes
    the place of the index before it.
    """

    def __init__(self) -> None:
        self._current = IndexFile(_unused_name())
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
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in one write transaction: all or nothing.

        Raises:
            SourceUnavailable: the source is closed.
        """
        with self._one_writer:
            copy = IndexFile(_unused_name())
            try:
                with self.reading() as current:
                    copy.copy_of(current)
                with copy.writing() as connection:
                    yield connection
            except BaseException:
                copy.close()
                raise
            with self._guard:
                before, self._current = self._current, copy
                if self._closed:
                    copy.close()
            before.close()

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            self._current.close()


def _unused_name() -> str:
    return f"file:groundgraph-{uuid4().hex}?mode=memory&cache=shared"
