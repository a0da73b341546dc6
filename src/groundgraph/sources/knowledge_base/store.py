"""The writing side of a knowledge base in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from groundgraph.core.document import Document
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, StoredDocument, Verified
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.rank import add_frequencies, stems_in
from groundgraph.sources.knowledge_base import ledger, saved_vectors
from groundgraph.sources.knowledge_base.document_rows import DocumentRows, document_rows
from groundgraph.sources.knowledge_base.ledger import check_dimension, forget_vectors, identity_of, settle_identity
from groundgraph.sources.knowledge_base.schema import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    LOCK_TIMEOUT,
    ReadConnections,
    locked_means_typed,
    open_for_writing,
    reading,
    transaction,
    unusable_means_typed,
    word_index,
)

# Writing documents and their chunks into the file.


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
        found_by = [[*body.split(), *stems_in(above)] for body, above in texts]
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


# Is every chunk of a base in one file there, and what the text of its document has at its place?

_LOST = """
SELECT name FROM documents WHERE chunks <> (SELECT count(*) FROM chunks WHERE document_id = documents.id)
UNION SELECT name FROM chunks JOIN documents ON documents.id = document_id
    WHERE chunks.id NOT IN (SELECT chunk_id FROM texts)
ORDER BY name
"""


def look(connection: sqlite3.Connection) -> Verified:
    """What is wrong; nothing is changed. What a model wrote stands in no text, so only its presence can be told."""
    found = Verified()
    found.incomplete = [name for (name,) in connection.execute(_LOST)]
    for number, name, text in connection.execute("SELECT id, name, text FROM documents ORDER BY name"):
        found.documents += 1
        is_altered = False
        own = connection.execute('SELECT start, "end", derived, text FROM chunks WHERE document_id = ?', (number,))
        for start, end, derived, chunk in own:
            found.chunks += 1
            is_altered |= not derived and text[start:end] != chunk
        if is_altered and name not in found.incomplete:
            found.altered.append(name)
    return found


T = TypeVar("T")


class EmbeddedStore:
    """A `KnowledgeStore` over one SQLite file; see there for the methods.

    Documents are replaced within one transaction, so a reader in any process always finds one version. The methods
    that read work without `open`; the file is created by `open` or the first `write`.

    Args:
        path: the file, created with its folder when it is not there.
        lock_timeout: seconds to wait for another process that writes.
    """

    def __init__(self, path: str | Path, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._path = Path(path)
        self._lock_timeout = lock_timeout
        self._readers = ReadConnections(self._path, lock_timeout)
        self._writer: KnowledgeBaseWriter | None = None
        self._closed = False
        self._opening = threading.Lock()

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:
        """See `KnowledgeStore.open`.

        With `rebuild`, all vectors are dropped and every document counts as changed, so that another embedding model
        can be used; until a document is written anew it is found by its words.
        """
        await run_blocking(self._change, lambda writer: writer.settle(identity, rebuild=rebuild))
        return ()

    async def stored(self, names: Iterable[str]) -> dict[str, StoredDocument]:
        """See `KnowledgeStore.stored`."""
        return await run_blocking(self._read, lambda connection: ledger.rows_named(connection, list(names)))

    async def names_from_files(self) -> list[str]:
        """See `KnowledgeStore.names_from_files`."""
        return await run_blocking(self._read, ledger.names_from_files)

    async def write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        """See `KnowledgeStore.write`.

        Raises:
            EmbeddingModelChanged: the vectors are not of the dimension of the base, or missing where it has vectors.
            StorageLocked: another process held the file for too long.
        """
        return await run_blocking(self._write, batch)

    async def remove(self, names: Iterable[str]) -> int:
        """See `KnowledgeStore.remove`."""
        if not await run_blocking(self._path.exists):
            return 0
        return await run_blocking(self._change, lambda writer: writer.remove(filter(ledger.can_be_name, names)))

    async def documents(self) -> list[StoredDocument]:
        """See `KnowledgeStore.documents`.

        Raises:
            SourceUnavailable: nothing was ever ingested; also raised by the other methods that read.
        """
        return await run_blocking(self._read, ledger.all_rows)

    async def document(self, name: str) -> Document | None:
        """See `KnowledgeStore.document`."""
        return await run_blocking(self._read, lambda connection: ledger.document(connection, name))

    async def chunks(self, name: str) -> list[PreparedChunk]:
        """See `KnowledgeStore.chunks`."""
        return await run_blocking(self._read, lambda connection: ledger.chunks(connection, name))

    async def identity(self) -> BaseIdentity:
        """What the base was made with."""
        return await run_blocking(self._read, identity_of)

    async def prepared(self, names: Sequence[str]) -> list[PreparedDocument]:
        """Those of `names` that are there as they were written, with their vectors."""

        def read(connection: sqlite3.Connection) -> list[PreparedDocument]:
            found = (ledger.prepared(connection, name) for name in names)
            return [document for document in found if document is not None]

        return await run_blocking(self._read, read)

    async def verify(self) -> Verified:
        """Look at every chunk, and take out the documents that are not as they were written; see `look`.

        Raises:
            SourceUnavailable: nothing was ever ingested.
        """
        found: Verified = await run_blocking(self._read, look)
        if found.taken_out:
            await self.remove(found.taken_out)
        return found

    async def tidy(self) -> None:
        """See `KnowledgeStore.tidy`."""
        await run_blocking(self._change, KnowledgeBaseWriter.tidy)

    async def close(self) -> None:
        """See `KnowledgeStore.close`; closing twice is harmless."""
        await run_blocking(self._close)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def within(connection: sqlite3.Connection) -> T:
            with reading(connection, self._path):
                return work(connection)

        return self._readers.run(within)

    def _change(self, work: Callable[[KnowledgeBaseWriter], T]) -> T:
        """What `work` returns.

        Raises:
            SourceUnavailable: the file cannot be written, or is no database.
        """
        try:
            return work(self._opened())
        except sqlite3.Error as error:
            raise SourceUnavailable(
                f"The knowledge base '{self._path}' cannot be written: {error}. Allow writing to the file and its "
                "folder, or make room there; a file that is damaged or no database is to be deleted or moved away, and "
                "filled anew by `groundgraph ingest PATH`."
            ) from error

    def _opened(self) -> KnowledgeBaseWriter:
        with self._opening:
            # Whoever was cancelled while opening has nobody left who would close the file.
            if self._closed:
                raise SourceUnavailable(f"The store over the knowledge base '{self._path}' is closed.")
            if self._writer is None:
                self._writer = KnowledgeBaseWriter(self._path, lock_timeout=self._lock_timeout)
            return self._writer

    def _write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        failed: dict[str, str] = {}
        ready: dict[str, DocumentRows] = {}
        for prepared in batch:
            try:
                ready[prepared.document.name] = document_rows(prepared)
            except (ValueError, TypeError) as error:
                failed[prepared.document.name] = f"it cannot be stored: {error}"
        return {**failed, **self._change(lambda writer: writer.write(list(ready.values())))}

    def _close(self) -> None:
        with self._opening:
            self._closed = True
            # First: only a connection that may write, closed last, moves the log into the file.
            self._readers.close()
            if self._writer:
                self._writer.close()
