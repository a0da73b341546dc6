"""Writing documents and their chunks into the file of a knowledge base."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.search.full_text import add_frequencies
from groundgraph.sources.knowledge_base.identity import check_dimension, forget_vectors, settle_identity
from groundgraph.sources.knowledge_base.rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS, DocumentRows
from groundgraph.sources.knowledge_base.schema import (
    LOCK_TIMEOUT,
    locked_means_typed,
    open_for_writing,
    transaction,
)

# Pages that one step of merging the index may write: short enough not to keep another writer waiting.
_MERGE_PAGES = 500


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
        self._turn = threading.Lock()
        self._closed = False

    def settle(self, identity: BaseIdentity, *, rebuild: bool = False) -> None:
        """Remember what the base is made with; with `rebuild` its vectors are dropped first.

        Raises:
            EmbeddingModelChanged: the base holds vectors of another model or dimension.
        """
        with self._turn, locked_means_typed(self._path, self._lock_timeout), transaction(self._connection):
            if rebuild:
                forget_vectors(self._connection)
            settle_identity(self._connection, self._path, identity)

    def write(self, batch: Sequence[DocumentRows]) -> dict[str, str]:
        """Write every document of `batch` in one transaction, each in place of the one of the same name.

        Returns:
            by name, why a document could not be written; the others are in, and its old chunks are kept.

        Raises:
            EmbeddingModelChanged: the vectors are not of the dimension of the base; nothing of the batch is written.
        """
        failed: dict[str, str] = {}
        with self._turn, locked_means_typed(self._path, self._lock_timeout), transaction(self._connection):
            for rows in batch:
                reason = self._write_one(rows)
                if reason:
                    failed[rows.document.name] = reason
            if len(failed) < len(batch):
                self._connection.execute("UPDATE state SET changes = changes + 1")
        return failed

    def remove(self, names: Iterable[str]) -> int:
        """Remove the documents called `names` with their chunks, and count those that were there."""
        with self._turn, locked_means_typed(self._path, self._lock_timeout), transaction(self._connection):
            removed = sum(self._remove_one(name) for name in names)
            if removed:
                self._connection.execute("UPDATE state SET changes = changes + 1")
        return removed

    def tidy(self) -> None:
        """Merge the pieces of the text index, in short steps; a search then reads few in place of many."""
        with self._turn, locked_means_typed(self._path, self._lock_timeout):
            self._merge(-_MERGE_PAGES)
            while self._merge(_MERGE_PAGES):
                pass

    def close(self) -> None:
        """Close the file, after a call that still runs."""
        with self._turn:
            if not self._closed:
                self._closed = True
                self._connection.close()

    def _merge(self, pages: int) -> bool:
        # By SQLite's documentation of FTS5, a merge that changes fewer than two rows found nothing to do.
        before = self._connection.total_changes
        self._connection.execute("INSERT INTO text_stems (text_stems, rank) VALUES ('merge', ?)", (pages,))
        return self._connection.total_changes - before >= 2

    def _write_one(self, rows: DocumentRows) -> str:
        """Why the document could not be written, or an empty string."""
        self._connection.execute("SAVEPOINT document")
        try:
            self._remove_one(rows.document.name)
            if rows.chunks:
                check_dimension(self._connection, self._path, rows.dimension)
            self._insert(rows)
        except (sqlite3.DataError, sqlite3.IntegrityError, ValueError, TypeError, OverflowError) as error:
            # For example half of a surrogate pair, which is no Unicode text and which SQLite does not store.
            self._connection.execute("ROLLBACK TO document")
            return f"it cannot be stored: {error}"
        finally:
            self._connection.execute("RELEASE document")
        return ""

    def _insert(self, rows: DocumentRows) -> None:
        places = ", ".join("?" * len(rows.values))
        number = self._connection.execute(
            f"INSERT INTO documents ({', '.join(DOCUMENT_COLUMNS)}) VALUES ({places})", rows.values
        ).lastrowid
        self._insert_chunks(number or 0, rows)
        if rows.vectors is not None:
            self._connection.execute("INSERT INTO vectors VALUES (?, ?)", (number, rows.vectors))
        self._count(rows.df, len(rows.chunks), rows.texts, rows.stems)

    def _insert_chunks(self, document: int, rows: DocumentRows) -> None:
        first_chunk, first_text = self._next("chunks"), self._next("texts")
        numbered = list(enumerate(rows.chunks, first_chunk))
        columns, places = ", ".join(CHUNK_COLUMNS), ", ".join("?" * (2 + len(CHUNK_COLUMNS)))
        self._connection.executemany(
            f"INSERT INTO chunks (id, document_id, {columns}) VALUES ({places})",
            ((number, document, *chunk.values) for number, chunk in numbered),
        )
        texts = [(number, text) for number, chunk in numbered for text in chunk.texts]
        self._connection.executemany(
            "INSERT INTO texts (id, document_id, chunk_id, ends_with_chunk, stems, heading_stems, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (number, document, chunk, text.ends_with_chunk, text.stems, text.heading_stems, text.text)
                for number, (chunk, text) in enumerate(texts, first_text)
            ),
        )
        self._connection.executemany(
            "INSERT INTO text_stems (rowid, body, headings) VALUES (?, ?, ?)",
            ((number, text.stems, text.heading_stems) for number, (_, text) in enumerate(texts, first_text)),
        )

    def _next(self, table: str) -> int:
        """The row number that SQLite would give next."""
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return 1 + (row[0] if row else 0)

    def _remove_one(self, name: str) -> bool:
        row = self._connection.execute("SELECT id, chunks FROM documents WHERE name = ?", (name,)).fetchone()
        if row is None:
            return False
        document, chunks = row
        texts = self._connection.execute(
            "SELECT id, stems, heading_stems FROM texts WHERE document_id = ?", (document,)
        ).fetchall()
        # A contentless index forgets a row only when it is told what the row held.
        self._connection.executemany(
            "INSERT INTO text_stems (text_stems, rowid, body, headings) VALUES ('delete', ?, ?, ?)", texts
        )
        for table, column in (
            ("texts", "document_id"),
            ("chunks", "document_id"),
            ("vectors", "document_id"),
            ("documents", "id"),
        ):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (document,))
        found_by = [[*body.split(), *headings.split()] for _, body, headings in texts]
        df = Counter(stem for of_text in found_by for stem in set(of_text))
        self._count(df, -chunks, -len(texts), -sum(map(len, found_by)))
        return True

    def _count(self, df: Counter[str], chunks: int, texts: int, stems: int) -> None:
        """Add to the counts; negative numbers take away, `df` then too."""
        sign = -1 if texts < 0 else 1
        add_frequencies(self._connection, ("term",), [(term, sign * count) for term, count in df.items()])
        self._connection.execute(
            "UPDATE state SET chunks = chunks + ?, texts = texts + ?, stems = stems + ?", (chunks, texts, stems)
        )
