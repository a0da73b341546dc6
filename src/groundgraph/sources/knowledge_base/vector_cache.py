"""The vectors of a base for the searches of a process: read once, and from then on only what is new."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any

from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.knowledge_base.saved_rows import VectorsUnsaved
from groundgraph.sources.knowledge_base.saved_vectors import (
    FEW,
    NEW_CHUNKS,
    new_rows,
    open_saved,
    saved_name,
    signs_of,
    vectors_after,
    words_of,
)
from groundgraph.sources.knowledge_base.stored_chunk import Revision
from groundgraph.sources.knowledge_base.vectors import BLOCK_ROWS, Vectors

_LOG = logging.getLogger(__name__)

_MOST_GONE = 0.25


class OutdatedSnapshot(Exception):
    """The reader's transaction began before what is in memory was read; it has to begin a new one."""


class VectorCache:
    """The newest `Vectors` that were asked for; may be used by several threads.

    Args:
        folder: where the files of a large base lie; None reads them all into memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._newest: Vectors | None = None
        self._loading = threading.Lock()

    def forget(self) -> None:
        """Open the files anew for the next question."""
        self._newest = None

    def keep_in_memory(self, reason: object) -> None:
        """Read all vectors into memory from now on, since their files cannot be written."""
        _LOG.warning("The vectors in '%s' cannot be kept there (%s); they are read into memory.", self._folder, reason)
        self._folder = None

    def at(
        self, connection: sqlite3.Connection, revision: Revision, dimension: int, *, from_scratch: bool = False
    ) -> Vectors:
        """The vectors of `revision`, which the transaction on `connection` sees; only what is new is read.

        With `from_scratch`, an older revision than the one in memory is read anew: a file that was restored from a
        copy looks like that.

        Raises:
            OutdatedSnapshot: a newer revision is in memory already.
            VectorsUnsaved: they are many, and there are no files that hold them.
            SourceUnavailable: the vectors in the file do not fit its matching texts.
        """
        with self._loading:
            known = self._newest
            if known and known.revision == revision:
                return known
            saved = saved_name(connection) if self._folder else ""
            base = known if known and known.is_of(revision.base, dimension, saved) else None
            if base and base.revision.changes > revision.changes:
                if not from_scratch:
                    raise OutdatedSnapshot
                base = None
            base = base or self._begun(connection, revision, dimension, saved)
            loaded = _brought_up_to(base, connection, revision)
            if not loaded.saved and loaded.there.size and loaded.there.mean() < 1 - _MOST_GONE:
                loaded = _brought_up_to(Vectors(revision, dimension), connection, revision)
            self._newest = loaded
            return loaded

    def _begun(self, connection: sqlite3.Connection, revision: Revision, dimension: int, saved: str) -> Vectors:
        """The vectors in files, or none."""
        if self._folder is None:
            return Vectors(revision, dimension)
        saved_vectors = open_saved(self._folder, saved, dimension) if saved else None
        if saved_vectors is None and vectors_after(connection, 0, dimension) > FEW:
            raise VectorsUnsaved
        return Vectors(revision, dimension, saved_vectors)


def _brought_up_to(old: Vectors, connection: sqlite3.Connection, revision: Revision) -> Vectors:
    import numpy as np

    new = Vectors(revision, old.dimension, old.saved)
    last = int(old.documents[-1]) if old.documents.size else 0
    documents, chunks, counts = _new_chunks(connection, last)
    new.blocks, new.signs, new.rows = _with_new_rows(old, connection, last)
    if new.rows - old.rows != counts.sum():
        raise SourceUnavailable(
            "The knowledge base is damaged: it does not hold one vector for each matching text. Delete its file and "
            "run `groundgraph ingest PATH` again."
        )
    new.documents = np.concatenate([old.documents, documents])
    new.chunks = np.concatenate([old.chunks, chunks])
    new.starts = np.concatenate([old.starts, old.rows + np.cumsum(counts) - counts])
    present = np.fromiter((row for (row,) in connection.execute("SELECT id FROM documents")), dtype=np.int64)
    new.there = np.isin(new.documents, present)
    return new


def _new_chunks(connection: sqlite3.Connection, last: int) -> tuple[Any, Any, Any]:
    """Document, row and number of matching texts of each chunk of the documents after `last` that have vectors."""
    import numpy as np

    table = np.fromiter(connection.execute(NEW_CHUNKS, (last,)), dtype=np.dtype((np.int64, 3)))
    return table[:, 0], table[:, 1], table[:, 2]


def _with_new_rows(
    old: Vectors, connection: sqlite3.Connection, last: int
) -> tuple[tuple[Any, ...], tuple[Any, ...], int]:
    """The blocks of `old` with the vectors of the documents after `last`, their signs, and how many rows are then in
    use."""
    import numpy as np

    in_files = len(old.saved.rows) if old.saved else 0
    blocks, signs, used = list(old.blocks), list(old.signs), old.rows - in_files
    for fetched in new_rows(connection, last, old.dimension):
        rows = fetched
        while len(rows):
            at = used % BLOCK_ROWS
            if used == len(blocks) * BLOCK_ROWS:
                blocks.append(np.empty((BLOCK_ROWS, old.dimension), dtype=np.float32))
                signs.append(np.empty((words_of(old.dimension), BLOCK_ROWS), dtype=np.uint64))
            taken = min(len(rows), BLOCK_ROWS - at)
            blocks[-1][at : at + taken] = rows[:taken]
            signs[-1][:, at : at + taken] = signs_of(rows[:taken])
            rows, used = rows[taken:], used + taken
    return tuple(blocks), tuple(signs), in_files + used
