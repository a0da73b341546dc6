"""Cuts each new or changed document into chunks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from langgraph.runtime import Runtime

from groundgraph.core.chain import Chunker, IngestChains
from groundgraph.core.document import DOCUMENTS, Chunk, Document, is_text, media_type_of
from groundgraph.core.errors import IngestError
from groundgraph.core.knowledge_store import KnowledgeStore
from groundgraph.ingest.ingest_report import Reason
from groundgraph.nodes.ingest.work import (
    NO_TEXT,
    BatchInput,
    BatchUpdate,
    ChainsOf,
    Job,
    call_for_each,
    event,
    failure,
    is_asynchronous,
    with_chains,
)
from groundgraph.text.original import FILE_LINE

_LINE_END = re.compile("\n")


def cut_chunks(store: KnowledgeStore, chains_of: ChainsOf, *, at_once: int) -> Any:
    """The node.

    Args:
        store: what it holds of a document that has no text any more is taken out.
        chains_of: the chains of a kind of data.
        at_once: how many calls of a chain run at the same time.
    """

    async def cut_chunks(state: BatchInput, runtime: Runtime[Any]) -> BatchUpdate:
        emptied: list[str] = []

        async def cut(chains: IngestChains, jobs: list[Job]) -> list[Job | Reason]:
            answers = await call_for_each(_whole(chains.chunker), [(job.document,) for job in jobs], at_once=at_once)
            emptied.extend(job.name for job, answer in zip(jobs, answers, strict=True) if answer == [] and job.stored)
            return list(map(_cut, jobs, answers))

        update = await with_chains(state, chains_of, cut)
        if emptied:
            update["report"]["deleted"] = await store.remove(emptied)
        runtime.stream_writer(event("cut_chunks", update))
        return update

    return cut_chunks


def _whole(chunker: Chunker) -> Callable[[Document], Any]:
    """`chunker` as a function whose chunks are complete when it returns: a generator would cut on the event loop."""
    if is_asynchronous(chunker):

        async def acut(document: Document) -> list[Chunk]:
            return list(await cast("Awaitable[Sequence[Chunk]]", chunker(document)))

        return acut

    def cut(document: Document) -> Any:
        answer: Any = chunker(document)
        return answer if isinstance(answer, Awaitable) else list(answer)

    return cut


def _cut(job: Job, answer: Any) -> Job | Reason:
    if isinstance(answer, Exception):
        return failure(job, answer)
    chunks = tuple(answer)
    try:
        _check(job.document, chunks)
    except IngestError as error:
        return failure(job, error)
    return replace(job, chunks=_with_lines(job.document, chunks))


def _with_lines(document: Document, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """The chunks with the line of the file on which each begins, where the file is text."""
    if document.kind != DOCUMENTS or document.parts or not is_text(media_type_of(document.name)):
        return tuple(chunks)
    ends = [found.start() for found in _LINE_END.finditer(document.text)]
    return tuple(_on_line(chunk, bisect_left(ends, chunk.start) + 1) for chunk in chunks)


def _on_line(chunk: Chunk, line: int) -> Chunk:
    # `replace` would take three times as long.
    made = object.__new__(Chunk)
    made.__dict__.update(chunk.__dict__, metadata={**chunk.metadata, FILE_LINE: line})
    return made


def _check(document: Document, chunks: Sequence[Any]) -> None:
    """Whether a chunker kept its contract; citations quote by these offsets.

    Raises:
        IngestError: it did not, or there is nothing to take in.
    """
    if not chunks:
        raise IngestError(NO_TEXT)
    for position, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            raise IngestError(f"its chunker gave a {type(chunk).__name__} in place of a Chunk")
        if chunk.position != position:
            raise IngestError(f"its chunker numbered chunk {position} as {chunk.position}")
        if not chunk.derived and document.text[chunk.start : chunk.end] != chunk.text:
            raise IngestError(f"the text of chunk {position} is not what stands at its offsets; is it derived?")
