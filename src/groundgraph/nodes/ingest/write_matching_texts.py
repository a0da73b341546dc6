"""Writes the texts by which each chunk is found; they know the qualifying text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from groundgraph.core.chain import IngestChains
from groundgraph.core.errors import IngestError
from groundgraph.ingest.ingest_report import Reason
from groundgraph.nodes.ingest.work import ChainsOf, Job, call_for_each, chain_step, failure


def write_matching_texts(chains_of: ChainsOf, *, at_once: int) -> Any:
    """The node.

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
