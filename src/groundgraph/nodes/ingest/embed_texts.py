"""Fetches the vectors of all matching texts of a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langgraph.runtime import Runtime

from groundgraph.core.embedder import Embedder
from groundgraph.core.failure import bugs_logged_once
from groundgraph.ingest.ingest_report import Reason
from groundgraph.models.call_model import call_with_retries
from groundgraph.nodes.ingest.work import BatchInput, BatchUpdate, Job, Outage, event, failure, passes, sorted_out
from groundgraph.settings.settings import Settings

# When the service is down, asking once more for each document would take hours; it is given up after so many.
_LONE_FAILURES = 3


def embed_texts(embedder: Embedder, settings: Settings, *, at_once: int) -> Any:
    """The node.

    Texts go to the model in batches of its size. Transient errors are tried again (`limits.attempts`); when a batch
    fails for good, each document in it is tried once more on its own, so that only those fail that must.

    Args:
        embedder: the embedding model.
        settings: their limits for one call of a model.
        at_once: how many calls run at the same time.
    """

    bugs: set[tuple[str, ...]] = set()

    async def embed_texts(state: BatchInput, runtime: Runtime[Any]) -> BatchUpdate:
        jobs = state.get("batch") or []
        run = _Embedding(embedder, settings, asyncio.Semaphore(at_once))
        with bugs_logged_once(bugs):
            update = sorted_out(await run.of(jobs))
        runtime.stream_writer(event("embed_texts", update))
        return update

    return embed_texts


@dataclass(frozen=True)
class _Embedding:
    embedder: Embedder
    settings: Settings
    slots: asyncio.Semaphore

    async def of(self, jobs: Sequence[Job]) -> list[Job | Reason]:
        """The jobs with their vectors, in order."""
        texts = [text for job in jobs for text in _texts(job)]
        rows = await self._rows(texts)
        outcomes: list[Job | Reason] = []
        outage = Outage(_LONE_FAILURES)
        start = 0
        for job in jobs:
            own = rows[start : start + len(_texts(job))]
            start += len(own)
            error = next((row for row in own if isinstance(row, Exception)), None)
            if error is None:
                outcomes.append(_with_vectors(job, own))
                continue
            outcomes.append(failure(job, error) if outage.error and passes(error) else await self._alone(job, outage))
        return outcomes

    async def _alone(self, job: Job, outage: Outage) -> Job | Reason:
        rows = await self._rows(_texts(job))
        error = next((row for row in rows if isinstance(row, Exception)), None)
        outage.see(error)
        return failure(job, error) if error else _with_vectors(job, rows)

    async def _rows(self, texts: Sequence[str]) -> list[Any]:
        """For each text its vector, or why its batch failed."""
        size = self.embedder.batch_size
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        answers = await asyncio.gather(*map(self._batch, batches))
        return [row for rows in answers for row in rows]

    async def _batch(self, texts: Sequence[str]) -> Sequence[Any]:
        async with self.slots:
            try:
                rows, _ = await call_with_retries(
                    lambda: self.embedder.embed_texts(texts),
                    limit=self.settings.deadlines.model,
                    attempts=self.settings.limits.attempts,
                    service=self.embedder,
                )
            except Exception as error:
                return [error] * len(texts)
            return list(rows)


def _texts(job: Job) -> list[str]:
    return [text for texts in job.matching_texts for text in texts]


def _with_vectors(job: Job, rows: Sequence[Any]) -> Job:
    import numpy as np

    vectors = []
    start = 0
    for texts in job.matching_texts:
        vectors.append(np.stack(rows[start : start + len(texts)]))
        start += len(texts)
    return replace(job, vectors=tuple(vectors))
