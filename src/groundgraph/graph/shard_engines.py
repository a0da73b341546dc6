"""What schedules the runs of a sharded ingest: processes of this machine, Ray, or this process alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from pydantic import ByteSize

from groundgraph.core.errors import ConfigurationError, IngestError, Problem
from groundgraph.graph.shard_job import Outcome, ShardJob, run_shards
from groundgraph.ingest.readers import Readers
from groundgraph.resilience.blocking import run_blocking, run_in_background
from groundgraph.settings.knowledge_base import ReaderSettings

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
