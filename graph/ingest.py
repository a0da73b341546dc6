"""Taking documents into a knowledge base: load, chunk, write; what did not change is left as it is."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from groundgraph.chains.chunk_by_headings import DEFAULT_MAX_CHUNK_SIZE, HeadingChunker
from groundgraph.core.blocking import run_blocking
from groundgraph.core.chain import Chunker
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import GroundGraphError, IngestError
from groundgraph.nodes.ingest.find_files import FoundFile, FoundFiles, find_files
from groundgraph.nodes.ingest.load_document import load_document
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.writer import (
    KnowledgeBaseWriter,
    PreparedDocument,
    document_hash,
    prepare,
)

# Called with the number of documents done, how many there are (None when unknown) and the name of the last
# one.
Progress = Callable[[int, int | None, str], None]

# Documents wait in memory until this many characters are ready, and are then written in one transaction.
_BATCH_CHARS = 1_000_000
_BATCH_DOCUMENTS = 256


@dataclass
class IngestReport:
    """What an ingest did.

    Attributes:
        documents: documents that are in the base now: `written` and `unchanged`.
        chunks: the chunks of these documents.
        written: documents that are new or changed.
        unchanged: documents that were in the base already.
        deleted: documents that were taken out because their file is gone or holds no text any more.
        failed: `{document, reason}` of each document that was not taken in.
        seconds: how long it took.
        warnings: `{document, reason}` of each repair that was needed to read a document.
        ignored: files in the given folders that are no documents, counted by suffix.
    """

    documents: int = 0
    chunks: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    warnings: list[dict[str, str]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """The report as `groundgraph ingest --json` prints it."""
        return {
            "documents": self.documents,
            "chunks": self.chunks,
            "written": self.written,
            "unchanged": self.unchanged,
            "deleted": self.deleted,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
        }

    def fail(self, name: str, reason: str) -> None:
        """Note that the document called `name` was not taken in."""
        self.failed.append({"document": name, "reason": reason})


async def ingest_documents(
    path_of_sqlite: str | Path,
    documents: Iterable[Document],
    *,
    max_chunk_size: int = DEFAULT_MAX_CHUNK_SIZE,
    chunker: Chunker | None = None,
    on_progress: Progress | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> IngestReport:
    """Take `documents` into the knowledge base in `path_of_sqlite`, each in place of the one of its name.

    The iterable is read bit by bit in a worker thread. What was written before an error or a cancellation
    stays; the same call then goes on where it stopped.

    Args:
        path_of_sqlite: the file, created when it is not there.
        documents: the documents.
        max_chunk_size: characters that no chunk exceeds; used unless a `chunker` is given.
        chunker: another way to cut, for example `WholeTextChunker()`.
        on_progress: called on the event loop after each document.
        lock_timeout: seconds to wait for another process that writes.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        StorageLocked: another process held the file for too long.
    """
    total = len(documents) if isinstance(documents, Sized) else None
    run = _Run(path_of_sqlite, chunker or HeadingChunker(max_chunk_size), lock_timeout)
    return await run.over(documents, total, on_progress)


async def ingest_paths(
    path_of_sqlite: str | Path,
    paths: Iterable[str | os.PathLike[str]],
    *,
    base_dir: str | Path = ".",
    max_chunk_size: int = DEFAULT_MAX_CHUNK_SIZE,
    chunker: Chunker | None = None,
    on_progress: Progress | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> IngestReport:
    """Take the files under `paths` into the base, and take out those that are gone from the given folders.

    Args:
        path_of_sqlite: the file of the base, created when it is not there.
        paths: files and folders.
        base_dir: where relative paths start; a document is named by its path from here.
        max_chunk_size: see `ingest_documents`, as for the other arguments and the errors.
        chunker: see `ingest_documents`.
        on_progress: see `ingest_documents`.
        lock_timeout: see `ingest_documents`.
    """
    found = await run_blocking(find_files, list(paths), Path(base_dir))
    run = _Run(path_of_sqlite, chunker or HeadingChunker(max_chunk_size), lock_timeout, from_file=True)
    run.report.ignored = found.ignored
    for name, reason in found.failed:
        run.report.fail(name, reason)
    return await run.over(found.files, len(found.files), on_progress, lambda: run.remove_gone(found, Path(base_dir)))


class _Run:
    """One ingest. Its methods block, except `over`, which calls the others in worker threads."""

    def __init__(self, path: str | Path, chunker: Chunker, lock_timeout: float, *, from_file: bool = False) -> None:
        self.report = IngestReport()
        self._path = Path(path)
        self._chunker = chunker
        self._lock_timeout = lock_timeout
        self._from_file = from_file
        self._wrote = False
        self._writer: KnowledgeBaseWriter | None = None
        self._ended = False
        self._opening = threading.Lock()

    async def over(
        self,
        items: Iterable[Document | FoundFile],
        total: int | None,
        on_progress: Progress | None,
        at_end: Callable[[], None] = lambda: None,
    ) -> IngestReport:
        """Take in `items`, then call `at_end`."""
        started = time.monotonic()
        try:
            await run_blocking(self._open)
            iterator = iter(items)
            done = 0
            while names := await run_blocking(self._batch, iterator):
                for name in names:
                    done += 1
                    if on_progress:
                        on_progress(done, total, name)
            await run_blocking(at_end)
            if self._wrote:
                await run_blocking(self._base.tidy)
        finally:
            await run_blocking(self._close)
        self.report.seconds = time.monotonic() - started
        return self.report

    @property
    def _base(self) -> KnowledgeBaseWriter:
        if self._writer is None:
            raise RuntimeError("the ingest has not begun")
        return self._writer

    def _open(self) -> None:
        with self._opening:
            # A run that was cancelled meanwhile has nobody left who would close the file.
            if not self._ended:
                self._writer = KnowledgeBaseWriter(self._path, lock_timeout=self._lock_timeout)

    def _close(self) -> None:
        with self._opening:
            self._ended = True
            if self._writer:
                self._writer.close()

    def remove_gone(self, found: FoundFiles, base_dir: Path) -> None:
        """Take out the documents whose files were in one of the given folders and are there no more."""
        there = {file.name for file in found.files} | {name for name, _ in found.failed}
        # What lies below a folder that could not be read is unknown, not gone.
        unknown = tuple(f"{name}/" for name, _ in found.failed)
        gone = [
            name
            for name in self._base.names_from_files()
            if name not in there and not name.startswith(unknown) and _is_below(base_dir / name, found.folders)
        ]
        self._remove(gone)

    def _batch(self, items: Iterator[Document | FoundFile]) -> list[str]:
        """Take in some more of `items`; their names, none when there are no more."""
        names: list[str] = []
        ready: dict[str, PreparedDocument] = {}
        chars = 0
        for item in items:
            names.append(item.name)
            prepared = self._prepared(item)
            if prepared:
                ready[item.name] = prepared
                chars += len(prepared.document.text)
            if chars >= _BATCH_CHARS or len(names) >= _BATCH_DOCUMENTS:
                break
        self._write(list(ready.values()))
        return names

    def _prepared(self, item: Document | FoundFile) -> PreparedDocument | None:
        """`item` ready to be written; None when it did not change or cannot be taken in."""
        try:
            document = item if isinstance(item, Document) else load_document(item.path, item.name)
            for warning in document.warnings:
                self.report.warnings.append({"document": document.name, "reason": warning})
            return self._changed(document)
        except IngestError as error:
            self.report.fail(item.name, str(error))
        except (GroundGraphError, sqlite3.Error):
            raise
        except Exception as error:
            # A chunker or a document of someone else's: one bad document must not cost the others.
            self.report.fail(item.name, f"{type(error).__name__}: {error}")
        return None

    def _changed(self, document: Document) -> PreparedDocument | None:
        hash_ = document_hash(document, self._chunker.signature)
        stored = self._base.stored(document.name)
        if stored and stored[0] == hash_:
            self.report.documents += 1
            self.report.unchanged += 1
            self.report.chunks += stored[1]
            return None
        prepared = prepare(document, cast("Iterable[Chunk]", self._chunker(document)), hash_, from_file=self._from_file)
        if not prepared.chunks:
            self._remove([document.name] if stored else [])
            raise IngestError("it holds no text")
        return prepared

    def _write(self, ready: list[PreparedDocument]) -> None:
        if not ready:
            return
        failed = self._base.write(ready)
        self._wrote = True
        for name, reason in failed.items():
            self.report.fail(name, reason)
        for prepared in ready:
            if prepared.document.name not in failed:
                self.report.documents += 1
                self.report.written += 1
                self.report.chunks += len(prepared.chunks)

    def _remove(self, names: list[str]) -> None:
        if names:
            self.report.deleted += self._base.remove(names)
            self._wrote = True


def _is_below(path: Path, folders: list[Path]) -> bool:
    absolute = Path(os.path.abspath(path))
    return any(absolute.is_relative_to(folder) for folder in folders)
