"""Reads the next documents of the plan, and keeps those that changed since they were written."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, IngestError, PageNotLoaded
from groundgraph.core.evidence import jsonable
from groundgraph.core.knowledge_store import KnowledgeStore, StoredDocument
from groundgraph.core.secret_mask import masked
from groundgraph.ingest.find_files import FoundFile
from groundgraph.ingest.ingest_report import Reason, ReportValues, combined, reasons
from groundgraph.ingest.load_document import read_document
from groundgraph.ingest.load_text import first_heading
from groundgraph.ingest.metadata import MetadataRules, glob_matches, with_metadata
from groundgraph.ingest.pdf_tables import pdf_tables, with_tables
from groundgraph.ingest.readers import READERS, Readers
from groundgraph.nodes.ingest.work import NO_TEXT, ChainsOf, IngestEvent, Job, Plan, reason_of
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings
from groundgraph.text.words import stemming

SAME_NAME = (
    "several of the documents that were passed in have this name, and only the last of them is kept: give each a name "
    "of its own (one of LangChain's an id, and a record the id that its schema names)"
)

# What tells whether a document changed, or the way in which it is processed.


def content_hash(document: Document) -> str:
    """The hash of the document itself: its text, its metadata, its parts and headings."""
    digest = hashlib.blake2b(document.text.encode("utf-8", "surrogatepass"), digest_size=16)
    parts = [[part.start, part.end, jsonable(part.metadata)] for part in document.parts]
    headings = [[heading.start, heading.end, heading.level, heading.title] for heading in document.headings]
    about = [document.media_type, document.kind, document.body_start, jsonable(document.metadata), parts, headings]
    digest.update(json.dumps(about, sort_keys=True).encode())
    return digest.hexdigest()


def document_hash(content: str, signature: str, embedding_model: str = "") -> str:
    """The hash of everything that the stored chunks of a document depend on.

    Args:
        content: see `content_hash`.
        signature: of the ingest chains of its kind.
        embedding_model: the name of the embedding model, empty without one.
    """
    depends_on = [content, signature, embedding_model, stemming()]
    return hashlib.blake2b(json.dumps(depends_on).encode(), digest_size=16).hexdigest()


class LoadDocumentsInput(TypedDict, total=False):
    """What the step reads; the plan is missing after a run was resumed."""

    plan: Plan
    dry_run: bool
    rebuild: bool
    report: ReportValues


class LoadDocumentsUpdate(TypedDict, total=False):
    """What the step writes."""

    batch: list[Job]
    report: ReportValues


@dataclass(frozen=True)
class BatchSize:
    """How much one batch takes in: what is in memory at once, and what is lost when the process is killed.

    Attributes:
        documents: at most so many.
        chars: a further document is read as long as there are fewer characters.
        pages: web pages that are fetched for one batch.
    """

    documents: int = 256
    chars: int = 1_000_000
    pages: int = 32


@dataclass(frozen=True)
class Loaded:
    """What became of one item of the plan: a document, or why there is none."""

    name: str
    document: Document | None = None
    reason: str = ""
    from_file: bool = False
    content_hash: str = ""

    @property
    def chars(self) -> int:
        """The length of its text."""
        return len(self.document.text) if self.document else 0


def load_documents(
    base: KnowledgeBaseSettings,
    store: KnowledgeStore,
    chains_of: ChainsOf,
    rules: MetadataRules,
    *,
    embedding_model: str = "",
    size: BatchSize,
) -> Any:
    """The node.

    Args:
        base: passwords, how pages are fetched, and how many at once.
        store: its ledger tells which documents did not change.
        chains_of: the chains of a kind of data.
        rules: the metadata of documents.
        embedding_model: the name of the embedding model, empty without one.
        size: of a batch.
    """

    async def load_documents(
        state: LoadDocumentsInput, config: RunnableConfig, runtime: Runtime[Any]
    ) -> LoadDocumentsUpdate:
        plan = state.get("plan")
        if plan is None:
            return {"batch": []}
        loaded = await _Reader(base, rules, size, config["configurable"][READERS]).next_of(plan)
        rows = await store.stored([entry.name for entry in loaded])
        if state.get("rebuild"):
            loaded += await _as_stored(store, [rows[entry.name] for entry in loaded if _failed(entry, rows)])
        jobs = {
            entry.name: _job(entry.document, entry, rows, chains_of, embedding_model)
            for entry in loaded
            if entry.document is not None
        }
        update = _update(plan, loaded, list(jobs.values()), rows, dry_run=bool(state.get("dry_run")))
        runtime.stream_writer(_event(loaded, update))
        return update

    return load_documents


def _failed(entry: Loaded, rows: dict[str, StoredDocument]) -> bool:
    return entry.document is None and entry.name in rows


async def _as_stored(store: KnowledgeStore, rows: Sequence[StoredDocument]) -> list[Loaded]:
    """The stored versions of documents that cannot be read any more."""
    documents = [(row, await store.document(row.name)) for row in rows]
    return [
        Loaded(row.name, document, "", row.from_file, content_hash(document)) for row, document in documents if document
    ]


def _job(
    document: Document, entry: Loaded, rows: dict[str, StoredDocument], chains_of: ChainsOf, embedding_model: str
) -> Job:
    hash_ = document_hash(entry.content_hash, chains_of(document.kind).signature, embedding_model)
    return Job(document, hash_, entry.content_hash, entry.from_file, entry.name in rows)


def _update(
    plan: Plan, loaded: Sequence[Loaded], jobs: Sequence[Job], rows: dict[str, StoredDocument], *, dry_run: bool
) -> LoadDocumentsUpdate:
    unchanged = [row for job in jobs if (row := _stored_alike(job, rows))]
    changed = [job for job in jobs if not _stored_alike(job, rows)]
    report: ReportValues = {
        **plan.count((row.name, "unchanged", row.chunks) for row in unchanged),
        "failed": reasons((entry.name, entry.reason) for entry in loaded if entry.reason),
        "warnings": _warnings(loaded),
        "done": len(loaded) - len(changed),
    }
    if dry_run:
        return {"batch": [], "report": combined(report, _foretold(plan, changed))}
    return {"batch": changed, "report": report}


def _stored_alike(job: Job, rows: Mapping[str, StoredDocument]) -> StoredDocument | None:
    """The stored document, if nothing of it changed."""
    row = rows.get(job.name)
    return row if row and row.hash == job.hash else None


def _foretold(plan: Plan, changed: Sequence[Job]) -> ReportValues:
    """What a dry run adds to the report in place of the steps that follow."""
    blank = [job for job in changed if not job.document.text[job.document.body_start :].strip()]
    names = [job.name for job in changed if job not in blank]
    gone = [job.name for job in blank if job.stored]
    anew = plan.anew(names)
    return {
        **plan.count((name, "written", 0) for name in names),
        "changed": anew,
        "failed": reasons((job.name, NO_TEXT) for job in blank),
        "deleted": len(gone),
        "gone": gone,
        "done": len(changed),
    }


def _event(loaded: Sequence[Loaded], update: LoadDocumentsUpdate) -> IngestEvent:
    under_way = {job.name for job in update["batch"]}
    finished = [entry.name for entry in loaded if entry.name not in under_way]
    return {"stage": "load_documents", "finished": finished, "failed": sum(bool(entry.reason) for entry in loaded)}


def _warnings(loaded: Sequence[Loaded]) -> list[Reason]:
    return reasons((entry.name, text) for entry in loaded if entry.document for text in entry.document.warnings)


def _titled(document: Document) -> Document:
    """`document`, which has the title that its file would have where it names none: else no reader could tell of
    "Installation" what is installed. A name that is none of a file says nothing."""
    if document.title or document.kind != "documents" or not Path(document.name).suffix:
        return document
    found = first_heading(document.text, document.body_start, document.media_type) or Path(document.name).stem
    return replace(document, metadata={**document.metadata, "title": found})


def _told_of_name(entry: Loaded, passed: dict[str, str]) -> Loaded:
    """`entry` with a warning, once for each name, where the document takes the place of another one in `passed`."""
    document, now = entry.document, entry.content_hash
    before = passed.setdefault(entry.name, now)
    if document is None or before in ("", now):
        return entry
    passed[entry.name] = ""
    return replace(entry, document=replace(document, warnings=(*document.warnings, SAME_NAME)))


def _check_parts(document: Document) -> None:
    """Whether the parts of a document of someone else's making stand in its text.

    Raises:
        IngestError: they do not.
    """
    for part in document.parts:
        if not 0 <= part.start <= part.end <= len(document.text):
            raise IngestError(f"its part {part.start} to {part.end} is not within its {len(document.text)} characters")


def _not_loaded(address: str, error: Exception) -> Loaded:
    """The entry for a page that failed, under the name that its document has; a password in it is not repeated."""
    if not isinstance(error, PageNotLoaded):
        return Loaded(masked(address), reason=reason_of(error))
    led = "" if error.hop == error.url else f"redirected to {error.hop}: "
    return Loaded(error.url, reason=led + error.detail)


def _fitting(by_glob: Mapping[str, str], name: str) -> str | None:
    """What stands under the first glob that the name of a file fits."""
    return next((value for glob, value in by_glob.items() if glob_matches(glob, name)), None)


@dataclass(frozen=True)
class _Reader:
    """Reads what a plan holds, from one of its three parts at a time."""

    base: KnowledgeBaseSettings
    rules: MetadataRules
    size: BatchSize
    readers: Readers

    async def next_of(self, plan: Plan) -> list[Loaded]:
        """The next documents, with those that cannot be read."""
        if plan.files:
            return await self._files(plan)
        if plan.addresses:
            return await self._pages(plan)
        if hasattr(plan.documents, "__anext__"):
            given = await plan.atake_given(documents=self.size.documents, chars=self.size.chars)
        else:
            given = await run_blocking(plan.take_given, documents=self.size.documents, chars=self.size.chars)
        loaded = await run_blocking(lambda: [self._described(item.document, item.from_file) for item in given])
        return [_told_of_name(entry, plan.passed) for entry in loaded]

    async def _files(self, plan: Plan) -> list[Loaded]:
        """The next files in their order, read by as many threads as there are processes to read in."""
        batch: list[Loaded | None] = []
        chars = 0
        lock = threading.Lock()

        def take_turns() -> None:
            nonlocal chars
            while True:
                with lock:
                    if not plan.files or len(batch) >= self.size.documents or chars >= self.size.chars:
                        return
                    file, place = plan.files.popleft(), len(batch)
                    batch.append(None)
                batch[place] = read = self._file(plan, file)
                with lock:
                    chars += read.chars

        count = min(self.readers.size, len(plan.files), self.size.documents)
        await asyncio.gather(*(run_blocking(take_turns) for _ in range(count)))
        return [loaded for loaded in batch if loaded is not None]

    def _file(self, plan: Plan, file: FoundFile) -> Loaded:
        try:
            sidecar = plan.sidecars.fields(Path(file.path).absolute())
            told = (_fitting(self.base.passwords, file.name), _fitting(self.base.encodings, file.name))
            document, ruled = self.readers.call(read_document, file.path, file.name, *told)
            if ruled:
                document = self._with_tables(document, file, told[0])
            return self._hashed(with_metadata(document, self.rules, sidecar), from_file=True)
        except ConfigurationError as error:
            # Without its metadata a document could get around a filter, or be lost behind one.
            return Loaded(file.name, reason=f"its metadata cannot be read: {error}")
        except Exception as error:  # whatever a parser makes of a damaged file: the others are taken in
            return Loaded(file.name, reason=str(error) if isinstance(error, IngestError) else reason_of(error))

    def _with_tables(self, document: Document, file: FoundFile, password: str | None) -> Document:
        """Of a PDF with the rows of its tables; reading them is bounded as reading the file is, and may fail alone."""
        try:
            tables = self.readers.call(pdf_tables, file.path, file.name, password)
        except IngestError as error:
            return replace(document, warnings=(*document.warnings, f"its tables were not taken in: {error}"))
        return with_tables(document, tables) if tables else document

    async def _pages(self, plan: Plan) -> list[Loaded]:
        addresses = [plan.addresses.popleft() for _ in range(min(len(plan.addresses), self.size.pages))]
        slots = asyncio.Semaphore(self.base.concurrency)
        # Its libraries are needed, and loaded, only where pages are fetched.
        from groundgraph.ingest.load_page import PageLoader

        plan.pages = plan.pages or PageLoader(self.base.web, read=self.readers.call)

        async def load(address: str, pages: PageLoader) -> Loaded:
            async with slots:
                try:
                    page = await pages.load(address)
                except Exception as error:  # whatever a server does: the other pages are taken in
                    return _not_loaded(address, error)
            return await run_blocking(self._described, page, False)

        async with plan.pages as pages:
            return list(await asyncio.gather(*(load(address, pages) for address in addresses)))

    def _described(self, document: Document, from_file: bool) -> Loaded:
        try:
            _check_parts(document)
            loaded = self._hashed(with_metadata(document, self.rules, {}), from_file=from_file)
            return replace(loaded, document=_titled(loaded.document)) if loaded.document else loaded
        except Exception as error:  # a document of someone else's making
            return Loaded(document.name, reason=reason_of(error))

    def _hashed(self, document: Document, *, from_file: bool) -> Loaded:
        return Loaded(document.name, document, "", from_file, content_hash(document))
