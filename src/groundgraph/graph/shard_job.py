"""The work on one shard of a base in Weaviate: a run of the ingest graph that any process may do, on any machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from groundgraph.graph.ingest import compiled_ingest
from groundgraph.graph.ingest_documents import run_ingest
from groundgraph.graph.ingest_resources import IngestResources, SharedStore
from groundgraph.graph.knowledge_base_files import knowledge_base_file, place_of, weaviate_store
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.ingest.readers import Readers
from groundgraph.nodes.ingest.find_documents import Share
from groundgraph.nodes.ingest.work import reason_of
from groundgraph.resilience.blocking import run_in_background
from groundgraph.settings.knowledge_base import ReaderSettings
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.weaviate.client import WeaviateConnection


@dataclass(frozen=True)
class ShardJob:
    """The work of one run. It travels to the process that does it, without a key in it.

    Attributes:
        config: the file of the settings, which that process reads, with its own environment; None without a file.
        source: the name of the knowledge base, when there are several.
        shard: the shard.
        share: the files and web pages of the shard.
        embeddings: a model that was passed in; None for the one of the settings.
    """

    config: str | None
    source: str | None
    shard: int
    share: Share
    embeddings: Any = None

    @property
    def names(self) -> list[str]:
        """The documents that it reads."""
        return [*(file.name for file in self.share.found.files), *self.share.addresses]


# What became of a job: its report, or why it did not end.
Outcome = tuple[ShardJob, IngestReport | str]
Engine = Callable[[Sequence[ShardJob]], AsyncIterator[Outcome]]


class _KeptReaders(Readers):
    """One process that reads for all runs of this one, and ends with it."""

    def close(self) -> None:
        """Nothing: the next run goes on with it."""


@cache
def _kept_readers(limits: str) -> Readers:
    return _KeptReaders(ReaderSettings.model_validate_json(limits), 1)


@cache
def _resources(config: str | None, source: str | None, _changed: float) -> IngestResources:
    # A model that runs in this process is loaded once.
    return IngestResources.build(load_settings(config) if config else load_settings(), source=source)


def run_shards(jobs: Sequence[ShardJob]) -> list[IngestReport | str]:
    """Take the documents of some shards of one ingest into a base that `ingest_shards` made ready; those that are gone
    leave.

    The shards are done at once: while one waits for the server's index, others read and write.

    Returns:
        for each of `jobs` its report, or why it failed.
    """
    return run_in_background(_run_all(jobs))


async def _run_all(jobs: Sequence[ShardJob]) -> list[IngestReport | str]:
    # They are of one ingest, so what they work with is made once: clients and settings cost as much as small shards.
    try:
        resources = _resources_of(jobs[0])
        place = place_of(knowledge_base_file(resources.settings, jobs[0].source))
    except Exception as error:  # it would end each of them
        return [reason_of(error)] * len(jobs)
    connection = WeaviateConnection(place.address, timeout=place.timeout)
    try:
        return list(await asyncio.gather(*(_ended(job, resources, connection) for job in jobs)))
    finally:
        await connection.close()


def _resources_of(job: ShardJob) -> IngestResources:
    if job.embeddings is None:
        return _resources(job.config, job.source, Path(job.config).stat().st_mtime if job.config else 0.0)
    settings = load_settings(job.config) if job.config else load_settings()
    return IngestResources.build(settings, source=job.source, embeddings=job.embeddings)


async def _ended(job: ShardJob, resources: IngestResources, connection: WeaviateConnection) -> IngestReport | str:
    try:
        return await _run(job, resources, connection)
    except Exception as error:  # the other shards go on
        return reason_of(error)


async def _run(job: ShardJob, resources: IngestResources, connection: WeaviateConnection) -> IngestReport:
    base = knowledge_base_file(resources.settings, job.source)
    store = SharedStore(lambda: weaviate_store(resources.settings, base, job.shard, connection))
    readers = _kept_readers(resources.base.reader.model_dump_json())
    own = replace(resources, store=store, share=job.share, readers=lambda _: readers)
    return await run_ingest(compiled_ingest(own, checkpointer=False), {})
