"""The texts that are written for a chunk: what its document is about, and those by which it is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from groundgraph.core.chain import IngestChains
from groundgraph.core.errors import IngestError
from groundgraph.ingest.ingest_report import Reason
from groundgraph.nodes.ingest.work import ChainsOf, Job, call_for_each, chain_step, failure


def write_qualifying_texts(chains_of: ChainsOf, *, at_once: int) -> Any:
    """Says for each chunk what its document is about, so that it keeps its meaning when it stands alone.

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


def write_matching_texts(chains_of: ChainsOf, *, at_once: int) -> Any:
    """Writes the texts by which each chunk is found; they know the qualifying text.

    Args:
        chains_of: the chains of a kind of data.
        at_once: how many calls of a chain run at the same time.
    """

    async def written(chains: IngestChains, jobs: list[Job]) -> list[Job | Reason]:
        asked = [pair for job in jobs for pair in zip(job.chunks, job.qualifying_texts, strict=True)]
        answers = iter(await call_for_each(chains.matching_texts, asked, at_once=at_once))
        return [_matched(job, answers) for job in jobs]

    return chain_step("write_matching_texts", chains_of, written)


def _matched(job: Job, answers: Iterator[Any]) -> Job | Reason:
    own = [next(answers) for _ in job.chunks]
    try:
        return replace(job, matching_texts=tuple(_texts(answer) for answer in own))
    except Exception as error:
        return failure(job, error)


def _texts(answer: str | Sequence[Any] | Exception) -> tuple[str, ...]:
    if isinstance(answer, Exception):
        raise answer
    given = (answer,) if isinstance(answer, str) else tuple(map(str, answer))
    texts = tuple(dict.fromkeys(text for text in given if text.strip()))
    if not texts:
        raise IngestError("its matching-text chain gave no text for one of its chunks")
    return texts
