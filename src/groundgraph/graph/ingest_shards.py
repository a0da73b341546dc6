"""Ingesting into a base in Weaviate in many processes, on this machine or on many: one run of the graph for each shard.

What schedules the runs is an engine: processes of this machine, Ray, or this process alone. All of them call
`run_shards`, which any process may do, on any machine.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import ByteSize

from groundgraph.core.errors import ConfigurationError, IngestError, Problem
from groundgraph.core.knowledge_store import LOST, LOST_AND_READ, BaseIdentity
from groundgraph.graph.ingest import OnEvent, compiled_ingest, run_ingest
from groundgraph.graph.ingest_resources import IngestResources, SharedStore
from groundgraph.graph.knowledge_base_files import knowledge_base_file, place_of, weaviate_store
from groundgraph.ingest.find_files import FoundFiles
from groundgraph.ingest.ingest_report import IngestReport, Reason, combined, reasons
from groundgraph.ingest.readers import Readers
from groundgraph.nodes.ingest.find_documents import Share, make_plan
from groundgraph.nodes.ingest.work import reason_of
from groundgraph.resilience.blocking import run_blocking, run_in_background
from groundgraph.settings.knowledge_base import ReaderSettings
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.weaviate.client import WeaviateConnection
from groundgraph.sources.weaviate_base.objects import SHARDS, shard_of


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


# A shard is none of somebody else's files: nothing bounds its time and its memory, save what a machine has.
_UNBOUNDED = ReaderSettings.model_construct(memory=ByteSize(2**50), seconds=86_400.0)


# Shards that one process does at once.
_AT_ONCE = 4


def _bundles(jobs: Sequence[ShardJob], workers: int) -> list[Sequence[ShardJob]]:
    """`jobs` as the processes get them: few at a time, and fewer where there would not be enough for all."""
    size = max(1, min(_AT_ONCE, len(jobs) // workers))
    return [jobs[start : start + size] for start in range(0, len(jobs), size)]


async def by_processes(jobs: Sequence[ShardJob], workers: int) -> AsyncIterator[Outcome]:
    """Run `jobs` in processes of this machine, `workers` at a time. What fails, or dies, is tried once more, alone."""
    processes = Readers(_UNBOUNDED, workers)
    slots = asyncio.Semaphore(workers)

    async def outcomes(some: Sequence[ShardJob]) -> list[Outcome]:
        async with slots:
            return await run_blocking(_tried, processes, some)

    tasks = [asyncio.ensure_future(outcomes(some)) for some in _bundles(jobs, workers)]
    try:
        for done in asyncio.as_completed(tasks):
            for outcome in await done:
                yield outcome
    finally:
        processes.close()
        for task in tasks:
            task.cancel()


def _tried(processes: Readers, jobs: Sequence[ShardJob]) -> list[Outcome]:
    first = _called(processes, jobs)
    return [_called(processes, [job])[0] if isinstance(outcome, str) else (job, outcome) for job, outcome in first]


def _called(processes: Readers, jobs: Sequence[ShardJob]) -> list[Outcome]:
    try:
        return list(zip(jobs, processes.call(run_shards, jobs), strict=True))
    except IngestError as error:
        return [(job, str(error)) for job in jobs]


async def by_ray(jobs: Sequence[ShardJob]) -> AsyncIterator[Outcome]:
    """Run `jobs` as tasks of the Ray cluster that RAY_ADDRESS names, else of one on this machine.

    Raises:
        ConfigurationError: Ray is not installed, or the cluster cannot be reached.
    """
    # Linux ends what Ray starts together with the thread that starts it, so that has to be one that stays.
    ray = await run_blocking(run_in_background, _ray())
    try:
        task = ray.remote(run_shards).options(num_cpus=1, max_retries=1)
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        left = {task.remote(some): some for some in _bundles(jobs, cores)}
        while left:
            [done], _ = await run_blocking(partial(ray.wait, list(left), num_returns=1))
            for outcome in await run_blocking(_got, ray, done, left.pop(done)):
                yield outcome
    finally:
        await run_blocking(ray.shutdown)


async def _ray() -> Any:
    # Nobody is told that somebody uses it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray

        # Ray listens on every interface of a machine, whatever it is told; so much the less of it is started.
        alone: dict[str, Any] = (
            {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        )
        ray.init(log_to_driver=False, **alone)
    except ImportError as error:
        told = 'the package ray is not installed: pip install "groundgraph[ray]"'
        raise ConfigurationError([Problem("--workers", told)]) from error
    except ConnectionError as error:
        raise ConfigurationError([Problem("RAY_ADDRESS", f"the cluster cannot be reached: {error}")]) from error
    return ray


def _got(ray: Any, done: Any, jobs: Sequence[ShardJob]) -> list[Outcome]:
    try:
        return list(zip(jobs, ray.get(done), strict=True))
    except Exception as error:  # whatever ended the task, its process or its machine
        told = " ".join(str(error).split())[-300:]
        return [(job, told) for job in jobs]


async def in_turn(jobs: Sequence[ShardJob]) -> AsyncIterator[Outcome]:
    """Run `jobs` here, some at a time."""
    for some in _bundles(jobs, 1):
        for outcome in zip(some, await run_blocking(run_shards, some), strict=True):
            yield outcome


async def ingest_shards(
    config: str | Path | None,
    paths: Iterable[str],
    engine: Engine,
    *,
    source: str | None = None,
    shards: Iterable[int] = range(SHARDS),
    follow_links: bool = False,
    embeddings: Any = None,
    on_event: OnEvent | None = None,
) -> IngestReport:
    """Take what lies under `paths` into a base in Weaviate, shard by shard. Run it again after a failure: what is in
    the base is not written again.

    Args:
        config: the file of the settings; None for those of the environment.
        paths: files, folders and web addresses; `knowledge_base.path` when there are none.
        engine: runs the shards.
        source: the name of the knowledge base, when there are several.
        shards: those to do here, of `SHARDS`.
        follow_links: follow links that lead out of a folder.
        embeddings: a model in place of the one of the settings, which can be pickled.
        on_event: told, on the event loop, of each shard that is done.

    Raises:
        ConfigurationError: the base is not in Weaviate.
        GroundGraphError: the base cannot be made ready; see `IngestRunner.astream`.
    """
    started = time.monotonic()
    settings = load_settings(config) if config else load_settings()
    resources = IngestResources.build(settings, source=source, embeddings=embeddings)
    lost, stored = await _prepare_base(resources, source)
    given: Any = {"paths": list(paths), "follow_links": follow_links}
    plan = await run_blocking(make_plan, given, None, settings)
    shares, file = _shares(plan.found, list(plan.addresses)), str(config) if config else None
    jobs = [ShardJob(file, source, shard, shares[shard], embeddings) for shard in shards]
    # Where nothing is to be read, something may have to leave.
    jobs = [job for job in jobs if job.names or (plan.found.folders and job.shard in stored)]
    report = _together(await _done(engine, jobs, on_event), plan.found)
    _note_lost(report, lost, jobs)
    report.seconds = time.monotonic() - started
    return report


async def _done(engine: Engine, jobs: Sequence[ShardJob], on_event: OnEvent | None) -> list[Outcome]:
    """What came of each job, in the order in which they ended."""
    if on_event:
        on_event({"stage": "find_documents", "total": sum(len(job.names) for job in jobs)})
    done: list[Outcome] = []
    async with aclosing(engine(jobs)) as outcomes:  # type: ignore[type-var]
        async for job, outcome in outcomes:
            done.append((job, outcome))
            if on_event:
                on_event(_event(job, outcome))
    return done


def _note_lost(report: IngestReport, lost: Sequence[str], jobs: Sequence[ShardJob]) -> None:
    """Tell of what had to be taken out of the base: a warning where it was written anew, a failure where it was not."""
    written = {name for job in jobs for name in job.names}
    report.failed += reasons((name, LOST) for name in lost if name not in written)
    report.warnings += reasons((name, LOST_AND_READ) for name in lost if name in written)


async def _prepare_base(resources: IngestResources, source: str | None) -> tuple[Sequence[str], set[int]]:
    """Make the base ready for writers to its shards: the documents that had to be taken out, and the shards of those
    from files that it holds."""
    store = weaviate_store(resources.settings, knowledge_base_file(resources.settings, source))
    embedder = resources.embedder
    dimension = len(await embedder.embed_query("dimension")) if embedder else 0
    identity = BaseIdentity(embedder.name if embedder else "", dimension, dict(resources.chain_names))
    try:
        lost = await store.open_for_shards(identity)
        return lost, set(map(shard_of, await store.names_from_files()))
    finally:
        await store.close()


def _shares(found: FoundFiles, addresses: Sequence[str]) -> list[Share]:
    """What each shard reads."""
    # What could not be read is told once, and yet every shard has to know what may be behind it.
    shares = [Share(replace(found, files=[], skipped=[], ignored=Counter()), []) for _ in range(SHARDS)]
    for file in found.files:
        shares[shard_of(file.name)].found.files.append(file)
    pages: list[list[str]] = [[] for _ in shares]
    for address in addresses:
        pages[shard_of(address)].append(address)
    return [replace(share, addresses=own) for share, own in zip(shares, pages, strict=True)]


def _event(job: ShardJob, outcome: IngestReport | str) -> Any:
    report = outcome if isinstance(outcome, IngestReport) else IngestReport(failed=_lost(job, outcome))
    told = {"stage": f"shard {job.shard}", "finished": job.names}
    return {**told, "failed": len(report.failed), "chunks": report.chunks}


def _lost(job: ShardJob, reason: str) -> list[Reason]:
    """The entries for a shard that did not end: its documents, or itself where it has none."""
    told = f"shard {job.shard} was not taken in: {reason}"
    return reasons((name, told) for name in job.names or [f"shard {job.shard}"])


def _together(done: Sequence[Outcome], found: FoundFiles) -> IngestReport:
    """One report of all shards; what each of them tells of the whole stands in it once."""
    values: Any = {}
    for job, outcome in sorted(done, key=lambda pair: pair[0].shard):
        more = asdict(outcome) if isinstance(outcome, IngestReport) else {"failed": _lost(job, outcome)}
        values = combined(values, more)  # type: ignore[arg-type]
    values |= {"skipped": reasons(found.skipped), "ignored": dict(found.ignored)}
    for name in ("failed", "warnings"):
        entries = {(entry["document"], entry["reason"]): entry for entry in values.get(name, [])}
        values[name] = list(entries.values())
    return IngestReport.of(values)
