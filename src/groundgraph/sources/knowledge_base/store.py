"""The writing side of a knowledge base in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from groundgraph.core.document import Document
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, StoredDocument, Verified
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.knowledge_base import ledger
from groundgraph.sources.knowledge_base.document_rows import DocumentRows, document_rows
from groundgraph.sources.knowledge_base.ledger import identity_of
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT, ReadConnections, reading
from groundgraph.sources.knowledge_base.writer import KnowledgeBaseWriter

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
