"""Writing documents and their chunks into the file of a knowledge base."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.search.rank import add_frequencies
from groundgraph.sources.knowledge_base import saved_vectors
from groundgraph.sources.knowledge_base.document_rows import DocumentRows
from groundgraph.sources.knowledge_base.ledger import check_dimension, forget_vectors, identity_of, settle_identity
from groundgraph.sources.knowledge_base.schema import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    LOCK_TIMEOUT,
    locked_means_typed,
    open_for_writing,
    transaction,
    unusable_means_typed,
    word_index,
)


class KnowledgeBaseWriter:
    """The only place that writes to the file of a knowledge base. Its methods block the thread.

    Args:
        path: the SQLite file, created with its folder when it is not there.
        lock_timeout: seconds to wait for another process that writes.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        StorageLocked: another process held the file for too long; also raised by the methods that write.
    """

    def __init__(self, path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._path = path
        self._lock_timeout = lock_timeout
        self._connection = open_for_writing(path, lock_timeout)
        self._words = word_index(path)
        self._turn = threading.Lock()
        self._closed = False

    def settle(self, identity: BaseIdentity, *, rebuild: bool = False) -> None:
        """Remember what the base is made with, and build its full-text index where that is behind; with `rebuild` the
        vectors are dropped first.

        Raises:
            EmbeddingModelChanged: the base holds vectors of another model or dimension.
        """
        with self._transaction():
            if rebuild:
                forget_vectors(self._connection)
            settle_identity(self._connection, self._path, identity)
            if self._next("texts") > 1:
                self._words.mend(self._connection)

    def write(self, batch: Sequence[DocumentRows]) -> dict[str, str]:
        """Write every document of `batch` in one transaction, each in place of the one of the same name.

        Returns:
            by name, why a document could not be written; the others are in, and its old chunks are kept.

        Raises:
            EmbeddingModelChanged: the vectors are not of the dimension of the base; nothing of the batch is written.
        """
        failed: dict[str, str] = {}
        counts = _Counts()
        with self._transaction():
            for rows in batch:
                reason = self._write_one(rows, counts)
                if reason:
                    failed[rows.document.name] = reason
            if len(failed) < len(batch):
                counts.store(self._connection)
                self._words.commit(self._connection)
        return failed

    def remove(self, names: Iterable[str]) -> int:
        """Remove the documents called `names` with their chunks, and count those that were there.

        The full-text index and the files of the vectors are written anew, which keeps nothing of them (3 s of CPU for
        100 000 chunks).
        """
        counts = _Counts()
        with self._transaction():
            gone = [counted for name in names if (counted := self._remove_one(name))]
            if gone:
                for counted in gone:
                    counts.take_in(*counted, sign=-1)
                counts.store(self._connection)
                self._words.commit(self._connection, anew=True)
                self._save_vectors(anew=True)
        if gone:
            self._sweep()
        return len(gone)

    def tidy(self) -> None:
        """Let the texts that were replaced last leave the full-text index, and write the vectors of a large base into
        files where it has outgrown them."""
        with self._transaction():
            self._words.settle(self._connection)
            self._save_vectors()
        self._sweep()

    def close(self) -> None:
        """Close the file, after a call that still runs."""
        with self._turn:
            if not self._closed:
                self._closed = True
                self._connection.close()

    def _save_vectors(self, *, anew: bool = False) -> None:
        saved_vectors.save(self._connection, self._path, identity_of(self._connection).dimension, anew=anew)

    def _sweep(self) -> None:
        # In a transaction of its own: until the one before is stored, its predecessor's files are those that count.
        with self._transaction():
            saved_vectors.sweep(self._connection, self._path)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One write transaction, one at a time.

        Raises:
            StorageLocked: another process held the file for too long.
            SourceUnavailable: the full-text index cannot be written.
        """
        with (
            self._turn,
            locked_means_typed(self._path, self._lock_timeout),
            unusable_means_typed(self._path),
            transaction(self._connection),
        ):
            yield

    def _write_one(self, rows: DocumentRows, counts: _Counts) -> str:
        """Why the document could not be written, or an empty string."""
        self._connection.execute("SAVEPOINT document")
        try:
            gone = self._remove_one(rows.document.name)
            if rows.chunks:
                check_dimension(self._connection, self._path, rows.dimension)
            self._insert(rows)
        except (sqlite3.DataError, sqlite3.IntegrityError, ValueError, TypeError, OverflowError) as error:
            # For example half of a surrogate pair, which is no Unicode text and which SQLite does not store.
            self._connection.execute("ROLLBACK TO document")
            return f"it cannot be stored: {error}"
        finally:
            self._connection.execute("RELEASE document")
        if gone:
            counts.take_in(*gone, sign=-1)
        counts.take_in(rows.df, len(rows.chunks), rows.texts, rows.stems)
        return ""

    def _insert(self, rows: DocumentRows) -> None:
        places = ", ".join("?" * len(rows.values))
        number = self._connection.execute(
            f"INSERT INTO documents ({', '.join(DOCUMENT_COLUMNS)}) VALUES ({places})", rows.values
        ).lastrowid
        self._insert_chunks(number or 0, rows)
        if rows.vectors is not None:
            self._connection.execute("INSERT INTO vectors VALUES (?, ?)", (number, rows.vectors))

    def _insert_chunks(self, document: int, rows: DocumentRows) -> None:
        first_chunk, first_text = self._next("chunks"), self._next("texts")
        numbered = list(enumerate(rows.chunks, first_chunk))
        columns, places = ", ".join(CHUNK_COLUMNS), ", ".join("?" * (2 + len(CHUNK_COLUMNS)))
        self._connection.executemany(
            f"INSERT INTO chunks (id, document_id, {columns}) VALUES ({places})",
            ((number, document, *chunk.values) for number, chunk in numbered),
        )
        texts = ((number, text) for number, chunk in numbered for text in chunk.texts)
        self._connection.executemany(
            "INSERT INTO texts (id, document_id, chunk_id, ends_with_chunk, stems, heading_stems, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((number, document, chunk, *text) for number, (chunk, text) in enumerate(texts, first_text)),
        )

    def _next(self, table: str) -> int:
        """The row number that SQLite would give next."""
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return 1 + (row[0] if row else 0)

    def _remove_one(self, name: str) -> _Counted | None:
        """Remove a document, and count what goes; None when it is not there."""
        row = self._connection.execute("SELECT id, chunks FROM documents WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        document, chunks = row
        texts = self._connection.execute(
            "SELECT stems, heading_stems FROM texts WHERE document_id = ?", (document,)
        ).fetchall()
        for table, column in (
            ("texts", "document_id"),
            ("chunks", "document_id"),
            ("vectors", "document_id"),
            ("documents", "id"),
        ):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (document,))
        found_by = [[*body.split(), *headings.split()] for body, headings in texts]
        df = Counter(stem for of_text in found_by for stem in set(of_text))
        return df, chunks, len(texts), sum(map(len, found_by))


# For each stem how many texts hold it; chunks, texts, and stems with repetitions.
_Counted = tuple[Counter[str], int, int, int]


class _Counts:
    """By how much a transaction changes what the base counts: told once in its end, not document by document."""

    def __init__(self) -> None:
        self._df: Counter[str] = Counter()
        self._chunks = self._texts = self._stems = 0

    def take_in(self, df: Counter[str], chunks: int, texts: int, stems: int, *, sign: int = 1) -> None:
        """Count a document in, or out with the `sign` -1."""
        (self._df.update if sign > 0 else self._df.subtract)(df)
        self._chunks += sign * chunks
        self._texts += sign * texts
        self._stems += sign * stems

    def store(self, connection: sqlite3.Connection) -> None:
        """Add to what the base counts."""
        add_frequencies(connection, ("term",), [(term, count) for term, count in self._df.items() if count])
        connection.execute(
            "UPDATE state SET chunks = chunks + ?, texts = texts + ?, stems = stems + ?, changes = changes + 1",
            (self._chunks, self._texts, self._stems),
        )
