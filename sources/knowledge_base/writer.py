"""Writing documents and their chunks into a knowledge base."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundgraph.core.document import Chunk, Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.text import stems
from groundgraph.sources.knowledge_base.schema import (
    LOCK_TIMEOUT,
    locked_means_typed,
    open_for_writing,
    transaction,
)

# Pages that one step of merging the index may write: short enough not to keep another writer waiting.
_MERGE_PAGES = 500


@dataclass(frozen=True)
class PreparedChunk:
    """A chunk with the stems under which it is found."""

    chunk: Chunk
    stems: str
    heading_stems: str

    def all_stems(self) -> list[str]:
        """The stems of the chunk and its headings, with repetitions."""
        return [*self.stems.split(), *self.heading_stems.split()]


@dataclass(frozen=True)
class PreparedDocument:
    """A document ready to be written; `from_file` when an ingest of its folder may remove it again."""

    document: Document
    chunks: Sequence[PreparedChunk]
    hash: str
    from_file: bool = False


def document_hash(document: Document, signature: str) -> str:
    """The hash of everything that the chunks of `document` depend on; `signature` is the chunker's."""
    content = [
        document.text,
        document.media_type,
        jsonable(document.metadata),
        document.body_start,
        signature,
    ]
    canonical = json.dumps(content, sort_keys=True)
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def prepare(document: Document, chunks: Iterable[Chunk], hash_: str, *, from_file: bool) -> PreparedDocument:
    """`document` with the stems of its chunks; the CPU work of an ingest, done outside of any transaction."""
    title = stems(document.title)
    paths: dict[tuple[str, ...], str] = {}
    prepared = []
    for chunk in chunks:
        if chunk.headings not in paths:
            # A heading that repeats the title says nothing more.
            inner = [heading for heading in chunk.headings if heading != document.title]
            paths[chunk.headings] = " ".join([*title, *(stem for heading in inner for stem in stems(heading))])
        prepared.append(PreparedChunk(chunk, " ".join(stems(chunk.text)), paths[chunk.headings]))
    return PreparedDocument(document, prepared, hash_, from_file)


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

    def stored(self, name: str) -> tuple[str, int] | None:
        """The hash and the number of chunks of the document called `name`; None when it is not there."""
        with self._turn:
            row: tuple[str, int] | None = self._connection.execute(
                "SELECT hash, chunks FROM documents WHERE name = ?", (name,)
            ).fetchone()
        return row

    def names_from_files(self) -> list[str]:
        """The names of all documents that were read from files."""
        with self._turn:
            rows = self._connection.execute("SELECT name FROM documents WHERE from_file ORDER BY name").fetchall()
        return [name for (name,) in rows]

    def write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        """Write every document of `batch` in one transaction, each in place of the one of the same name.

        Returns:
            by name, why a document could not be written; the others are in, and its old chunks are kept.
        """
        failed: dict[str, str] = {}
        with self._turn, locked_means_typed(self._path, self._lock_timeout), transaction(self._connection):
            for prepared in batch:
                reason = self._write_one(prepared)
                if reason:
                    failed[prepared.document.name] = reason
            self._connection.execute("UPDATE state SET changes = changes + 1")
        return failed

    def remove(self, names: Iterable[str]) -> int:
        """Remove the documents called `names` with their chunks, and count those that were there."""
        with self._turn, locked_means_typed(self._path, self._lock_timeout), transaction(self._connection):
            removed = sum(self._remove_one(name) for name in names)
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
        self._connection.execute("INSERT INTO chunk_stems (chunk_stems, rank) VALUES ('merge', ?)", (pages,))
        return self._connection.total_changes - before >= 2

    def _write_one(self, prepared: PreparedDocument) -> str:
        """Why the document could not be written, or an empty string."""
        self._connection.execute("SAVEPOINT document")
        try:
            self._remove_one(prepared.document.name)
            self._insert(prepared)
        except (sqlite3.DataError, sqlite3.IntegrityError, ValueError, TypeError, OverflowError) as error:
            # For example half of a surrogate pair, which is no Unicode text and which SQLite does not store.
            self._connection.execute("ROLLBACK TO document")
            return f"it cannot be stored: {error}"
        finally:
            self._connection.execute("RELEASE document")
        return ""

    def _insert(self, prepared: PreparedDocument) -> None:
        document = prepared.document
        row = (
            document.name,
            document.title,
            prepared.hash,
            prepared.from_file,
            len(prepared.chunks),
            json.dumps(jsonable(document.metadata), ensure_ascii=False),
            document.text,
        )
        number = self._connection.execute(
            "INSERT INTO documents (name, title, hash, from_file, chunks, metadata, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        for chunk in prepared.chunks:
            self._insert_chunk(number or 0, chunk)
        self._count([chunk.all_stems() for chunk in prepared.chunks], 1)

    def _insert_chunk(self, document: int, prepared: PreparedChunk) -> None:
        chunk = prepared.chunk
        headings = json.dumps(chunk.headings, ensure_ascii=False)
        levels = json.dumps(chunk.heading_levels)
        found_by = (prepared.stems, prepared.heading_stems)
        row = (document, chunk.position, chunk.start, chunk.end, headings, levels, *found_by, chunk.text)
        number = self._connection.execute(
            "INSERT INTO chunks (document_id, position, start, end, headings, heading_levels, stems, "
            "heading_stems, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        self._connection.execute(
            "INSERT INTO chunk_stems (rowid, body, headings) VALUES (?, ?, ?)", (number, *found_by)
        )

    def _remove_one(self, name: str) -> bool:
        row = self._connection.execute("SELECT id FROM documents WHERE name = ?", (name,)).fetchone()
        if row is None:
            return False
        chunks = self._connection.execute(
            "SELECT id, stems, heading_stems FROM chunks WHERE document_id = ?", row
        ).fetchall()
        # A contentless index forgets a row only when it is told what the row held.
        self._connection.executemany(
            "INSERT INTO chunk_stems (chunk_stems, rowid, body, headings) VALUES ('delete', ?, ?, ?)", chunks
        )
        self._connection.execute("DELETE FROM chunks WHERE document_id = ?", row)
        self._connection.execute("DELETE FROM documents WHERE id = ?", row)
        self._count([[*body.split(), *headings.split()] for _, body, headings in chunks], -1)
        return True

    def _count(self, chunks: Sequence[list[str]], sign: int) -> None:
        """Add (or with `sign` -1 take away) chunks that hold these stems."""
        counts = Counter(term for stems_of_chunk in chunks for term in set(stems_of_chunk))
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?) ON CONFLICT (term) DO UPDATE SET df = df + excluded.df",
            [(term, sign * count) for term, count in counts.items()],
        )
        if sign < 0:
            self._connection.executemany("DELETE FROM terms WHERE term = ? AND df <= 0", [(term,) for term in counts])
        self._connection.execute(
            "UPDATE state SET chunks = chunks + ?, stems = stems + ?",
            (sign * len(chunks), sign * sum(map(len, chunks))),
        )
