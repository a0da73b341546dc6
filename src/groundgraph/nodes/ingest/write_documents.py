"""Writes a batch into the base, each document in place of its older version, together with its row of the ledger."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.knowledge_store import KnowledgeStore, PreparedChunk, PreparedDocument
from groundgraph.ingest.ingest_report import ReportValues, combined, reasons
from groundgraph.nodes.ingest.work import BatchUpdate, Counted, IngestEvent, Job, Plan


class WriteDocumentsInput(TypedDict, total=False):
    """What the step reads; the plan is missing after a run was resumed, and the batch with it."""

    plan: Plan
    batch: list[Job]
    report: ReportValues


def write_documents(store: KnowledgeStore) -> Any:
    """The node. The next batch is read only after it, so a slow store slows the whole ingest down."""

    async def write_documents(state: WriteDocumentsInput, runtime: Runtime[Any]) -> BatchUpdate:
        batch = state.get("batch") or []
        same = await _written_meanwhile(store, batch)
        failed = await _written(store, [_prepared(job) for job in batch if job.name not in same])
        done = [_counted(job, same) for job in batch if job.name not in failed]
        gained = state["plan"].count(done) if done else {}
        report = combined(gained, {"failed": reasons(failed.items()), "done": len(batch)})
        told: IngestEvent = {"stage": "write_documents", "finished": [job.name for job in batch]}
        runtime.stream_writer({**told, "failed": len(failed), "chunks": sum(chunks for _, _, chunks in done)})
        return {"batch": [], "report": report}

    return write_documents


def _counted(job: Job, same: Collection[str]) -> tuple[str, Counted, int]:
    """How a document counts that is in the base now; those in `same` were there."""
    return job.name, "unchanged" if job.name in same else "written", len(job.chunks)


async def _written_meanwhile(store: KnowledgeStore, batch: list[Job]) -> set[str]:
    """The documents that another ingest has written since they were read; they are not written twice."""
    rows = await store.stored([job.name for job in batch]) if batch else {}
    return {job.name for job in batch if job.name in rows and rows[job.name].hash == job.hash}


async def _written(store: KnowledgeStore, batch: list[PreparedDocument]) -> dict[str, str]:
    """Why documents could not be written; those that a store refused get one more try, on their own."""
    if not batch:
        return {}
    refused = await store.write(batch)
    if not refused:
        return {}
    return await store.write([prepared for prepared in batch if prepared.document.name in refused])


def _prepared(job: Job) -> PreparedDocument:
    vectors = job.vectors or (None,) * len(job.chunks)
    parts = zip(job.chunks, job.matching_texts, job.qualifying_texts, vectors, strict=True)
    chunks = [PreparedChunk(*part) for part in parts]
    return PreparedDocument(job.document, chunks, job.hash, job.from_file, job.content_hash)
