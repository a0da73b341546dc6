"""Says for each chunk what its document is about, so that it keeps its meaning when it stands alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from groundgraph.ingest.ingest_report import Reason
from groundgraph.nodes.ingest.work import (
    BatchInput,
    BatchUpdate,
    ChainsOf,
    Job,
    by_kind,
    call_for_each,
    event,
    failure,
    sorted_out,
)


def write_qualifying_texts(chains_of: ChainsOf, *, at_once: int) -> Any:
    """The node.

    Args:
        chains_of: the chains of a kind of data.
        at_once: how many calls of a chain run at the same time.
    """

    async def write_qualifying_texts(state: BatchInput, runtime: Runtime[Any]) -> BatchUpdate:
        outcomes: list[Job | Reason] = []
        for kind, jobs in by_kind(state.get("batch") or []):
            chain = chains_of(kind).qualifying_text
            answers = await call_for_each(chain, [(job.document, job.chunks) for job in jobs], at_once=at_once)
            outcomes += [_qualified(job, answer) for job, answer in zip(jobs, answers, strict=True)]
        update = sorted_out(outcomes)
        runtime.stream_writer(event("write_qualifying_texts", update))
        return update

    return write_qualifying_texts


def _qualified(job: Job, answer: Any) -> Job | Reason:
    if isinstance(answer, Exception):
        return failure(job, answer)
    texts = (answer,) * len(job.chunks) if isinstance(answer, str) else tuple(map(str, answer))
    if len(texts) != len(job.chunks):
        return failure(job, f"its qualifying-text chain gave {len(texts)} texts for {len(job.chunks)} chunks")
    return replace(job, qualifying_texts=texts)
