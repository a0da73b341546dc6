"""Running an ingest from Python, with its progress and its report."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from groundgraph.core.chain import Chunker, IngestChains
from groundgraph.core.document import DOCUMENTS, Document
from groundgraph.core.embedder import Embedder
from groundgraph.graph.ingest import IngestInput, compiled_ingest
from groundgraph.graph.ingest_resources import IngestResources, SharedStore
from groundgraph.graph.ingest_runner import IngestRunner
from groundgraph.ingest.build_chains import ingest_chains
from groundgraph.ingest.chunkers import DEFAULT_MAX_CHUNK_SIZE, HeadingChunker
from groundgraph.ingest.ingest_report import IngestReport, ReportValues
from groundgraph.nodes.ingest.work import IngestEvent
from groundgraph.settings.settings import Settings
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.store import EmbeddedStore

# Called with the number of documents done, how many there are (None when unknown) and the name of the last one.
Progress = Callable[[int, int | None, str], None]
OnEvent = Callable[[IngestEvent], None]


async def run_ingest(
    graph: IngestRunner, given: IngestInput | dict[str, Any], *, on_event: OnEvent | None = None
) -> IngestReport:
    """Run `graph` on the input `given`, and tell `on_event` on the event loop how it goes.

    Raises:
        GroundGraphError: see `IngestRunner.astream`.
    """
    report: ReportValues = {}
    async for mode, item in graph.astream(given, stream_mode=["custom", "values"]):
        if mode == "values":
            report = item.get("report", report)
        elif on_event:
            on_event(item)
    return IngestReport.of(report)


def counting(on_progress: Progress) -> OnEvent:
    """A listener that calls `on_progress` for each document that is dealt with."""
    done = 0
    total: int | None = None

    def listen(event: IngestEvent) -> None:
        nonlocal done, total
        total = event.get("total", total)
        for name in event.get("finished", ()):
            done += 1
            on_progress(done, total, name)

    return listen


async def ingest_documents(
    path_of_sqlite: str | Path,
    documents: Iterable[Document] | AsyncIterable[Document],
    *,
    max_chunk_size: int = DEFAULT_MAX_CHUNK_SIZE,
    chunker: Chunker | None = None,
    chains: IngestChains | None = None,
    embedder: Embedder | None = None,
    on_progress: Progress | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> IngestReport:
    """Take `documents` into the knowledge base in `path_of_sqlite`, each in place of the one of its name.

    The iterable is read bit by bit. What was written before an error or a cancellation stays; the same call then goes
    on where it stopped. For a base as a configuration describes it, use `ingest_graph`.

    Args:
        path_of_sqlite: the file, created when it is not there.
        documents: the documents.
        max_chunk_size: characters that no chunk exceeds; used unless a `chunker` is given.
        chunker: another way to cut, for example `WholeTextChunker()`.
        chains: all three chains, in place of the two arguments above.
        embedder: an embedding model; None for a base that is searched by words alone.
        on_progress: called on the event loop for each document that is dealt with.
        lock_timeout: seconds to wait for another process that writes.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        EmbeddingModelChanged: the base holds vectors of another model.
        StorageLocked: another process held the file for too long.
    """
    path = Path(path_of_sqlite)
    settings = Settings()
    used = chains or replace(ingest_chains(settings, DOCUMENTS), chunker=chunker or HeadingChunker(max_chunk_size))
    resources = IngestResources(
        settings,
        SharedStore(lambda: EmbeddedStore(path, lock_timeout=lock_timeout), path),
        lambda _: used,
        {DOCUMENTS: used.signature},
        embedder=embedder,
    )
    graph = compiled_ingest(resources, checkpointer=False)
    return await run_ingest(graph, {"documents": documents}, on_event=counting(on_progress) if on_progress else None)
