"""Says for each chunk what its document is about, so that it keeps its meaning when it stands alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groundgraph.core.chain import IngestChains
from groundgraph.ingest.ingest_report import Reason
from groundgraph.nodes.ingest.work import ChainsOf, Job, call_for_each, chain_step, failure


def write_qualifying_texts(chains_of: ChainsOf, *, at_once: int) -> Any:
    """The node.

    Args:
        chains_of: the chains of a kind of data.
        at_once: how many calls of a chain run at the same time.
    """

    async def written(chains: IngestChains, jobs: list[Job]) -> list[Job | Reason]:
        asked = [(job.document, job.chunks) for job in jobs]
        answers = await call_for_each(chains.qualifying_text, asked, at_once=at_once)
        return list(map(_qualified, jobs, answers))

    return chain_step("write_qualifying_texts", chains_of, written)


def _qualified(job: Job, answer: Any) -> Job | Reason:
    if isinstance(answer, Exception):
        return failure(job, answer)
    texts = (answer,) * len(job.chunks) if isinstance(answer, str) else tuple(map(str, answer))
    if len(texts) != len(job.chunks):
        return failure(job, f"its qualifying-text chain gave {len(texts)} texts for {len(job.chunks)} chunks")
    return replace(job, qualifying_texts=texts)
