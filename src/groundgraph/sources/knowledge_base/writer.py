"""Writing documents and their chunks into the file of a knowledge base."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from groundgraph.core.document import Chunk, Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.search.rank import add_frequencies
from groundgraph.sources.knowledge_base import saved_vectors
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
from groundgraph.text.words import stems

# What is written of a document: the CPU work of an ingest, done outside of any transaction.


@dataclass(frozen=True)
class TextRow:
    """A matching text with the stems under which it is found.

    `text` is what stands before the chunk's own text when the matching text ends with that.
    """

    ends_with_chunk: bool
    stems: str
    heading_stems: str
    text: str


@dataclass(frozen=True)
class ChunkRow:
    """A chunk as the columns of its table, and its matching texts."""

    values: tuple[Any, ...]
    texts: tuple[TextRow, ...]


@dataclass(frozen=True)
class DocumentRows:
    """A document as the columns of its table, and everything that belongs to it.

    Attributes:
        document: the document.
        values: the columns of its row.
        chunks: its chunks.
        vectors: those of all matching texts in order, 16-bit numbers; None without an embedding model.
        dimension: of the vectors, 0 without.
        df: for each stem, how many matching texts hold it.
        stems: how many stems the matching texts and their headings hold, with repetitions.
    """

    document: Document = field(repr=False)
    values: tuple[Any, ...]
    chunks: Sequence[ChunkRow]
    vectors: bytes | None
    dimension: int
    df: Counter[str]
    stems: int

    @property
    def texts(self) -> int:
        """How many matching texts there are."""
        return sum(len(chunk.texts) for chunk in self.chunks)


def document_rows(prepared: PreparedDocument) -> DocumentRows:
    """The rows of `prepared`.

    Raises:
        ValueError: a chunk has no matching text, or vectors that do not belong to its matching texts.
    """
    headings = _HeadingStems(prepared.document)
    chunks = [ChunkRow(_chunk_values(chunk), _text_rows(chunk, headings)) for chunk in prepared.chunks]
    found_by = [[*text.stems.split(), *text.heading_stems.split()] for chunk in chunks for text in chunk.texts]
    vectors, dimension = _packed_vectors(prepared)
    return DocumentRows(
        prepared.document,
        _document_values(prepared),
        chunks,
        vectors,
        dimension,
        Counter(stem for of_text in found_by for stem in set(of_text)),
        sum(map(len, found_by)),
    )


class _HeadingStems:
    """The stems of title and heading path, once per path."""

    def __init__(self, document: Document) -> None:
        self._title = document.title
        self._title_stems = stems(document.title)
        self._known: dict[tuple[str, ...], str] = {}

    def of(self, chunk: Chunk) -> str:
        path = chunk.headings
        if path not in self._known:
            # A heading that repeats the title says nothing more.
            inner = [stem for heading in path if heading != self._title for stem in stems(heading)]
            self._known[path] = " ".join([*self._title_stems, *inner])
        return self._known[path]


def _text_rows(prepared: PreparedChunk, headings: _HeadingStems) -> tuple[TextRow, ...]:
    if not prepared.matching_texts:
        raise ValueError(f"chunk {prepared.chunk.position} has no matching text")
    above = headings.of(prepared.chunk)
    return tuple(_text_row(text, prepared.chunk.text, above) for text in prepared.matching_texts)


def _text_row(text: str, own: str, headings: str) -> TextRow:
    if not own or not text.endswith(own):
        return TextRow(False, " ".join(stems(text)), headings, text)
    before = text[: -len(own)]
    # The headings are indexed beside the body with a weight of their own; in both they would count twice.
    repeats_headings = set(stems(before)).issubset(headings.split())
    return TextRow(True, " ".join(stems(own if repeats_headings else text)), headings, before)


def _document_values(prepared: PreparedDocument) -> tuple[Any, ...]:
    document = prepared.document
    fields = sorted({str(name) for chunk in prepared.chunks for name in chunk.chunk.metadata})
    return (
        document.name,
        document.title,
        prepared.hash,
        prepared.content_hash,
        document.kind,
        prepared.from_file,
        len(prepared.chunks),
        datetime.now(UTC).isoformat(timespec="seconds"),
        document.media_type,
        document.body_start,
        _json(document.metadata),
        _json(fields),
        _json([[part.start, part.end, part.metadata] for part in document.parts]),
        _json([[heading.start, heading.end, heading.level, heading.title] for heading in document.headings]),
        document.text,
    )


def _chunk_values(prepared: PreparedChunk) -> tuple[Any, ...]:
    chunk = prepared.chunk
    return (
        chunk.position,
        chunk.start,
        chunk.end,
        chunk.origin,
        chunk.derived,
        _json(chunk.headings),
        _json(chunk.heading_levels),
        _json(chunk.metadata),
        prepared.qualifying_text,
        chunk.text,
    )


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False)


def _packed_vectors(prepared: PreparedDocument) -> tuple[bytes | None, int]:
    given = [(chunk.vectors, len(chunk.matching_texts)) for chunk in prepared.chunks]
    if all(vectors is None for vectors, _ in given):
        return None, 0
    import numpy as np

    if any(vectors is None or len(vectors) != texts for vectors, texts in given):
        raise ValueError("not every matching text has a vector")
    # Sixteen bits halve the file; the error of a cosine is below .001, far less than what ranks differ by.
    rows = np.concatenate([np.asarray(vectors, dtype=np.float16) for vectors, _ in given])
    return rows.tobytes(), rows.shape[1]


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
        with self._transaction():
            for rows in batch:
                reason = self._write_one(rows)
                if reason:
                    failed[rows.document.name] = reason
            if len(failed) < len(batch):
                self._connection.execute("UPDATE state SET changes = changes + 1")
                self._words.commit(self._connection)
        return failed

    def remove(self, names: Iterable[str]) -> int:
        """Remove the documents called `names` with their chunks, and count those that were there.

        The full-text index and the files of the vectors are written anew, which keeps nothing of them (3 s of CPU for
        100 000 chunks).
        """
        with self._transaction():
            removed = sum(self._remove_one(name) for name in names)
            if removed:
                self._connection.execute("UPDATE state SET changes = changes + 1")
                self._words.commit(self._connection, anew=True)
                self._save_vectors(anew=True)
        if removed:
            self._sweep()
        return removed

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
        self._count(df, -chunks, -len(texts), -sum(map(len, found_by)))
        return True

    def _count(self, df: Counter[str], chunks: int, texts: int, stems: int) -> None:
        """Add to the counts; negative numbers take away, `df` then too."""
        sign = -1 if texts < 0 else 1
        add_frequencies(self._connection, ("term",), [(term, sign * count) for term, count in df.items()])
        self._connection.execute(
            "UPDATE state SET chunks = chunks + ?, texts = texts + ?, stems = stems + ?", (chunks, texts, stems)
        )
