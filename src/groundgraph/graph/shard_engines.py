"""What schedules the runs of a sharded ingest: processes of this machine, Ray, or this process alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from pydantic import ByteSize

from groundgraph.core.errors import ConfigurationError, GroundGraphError, IngestError, Problem
from groundgraph.graph.shard_job import Outcome, ShardJob, run_shard
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.ingest.readers import Readers
from groundgraph.resilience.blocking import run_blocking, run_in_background
from groundgraph.settings.knowledge_base import ReaderSettings

# A shard is none of somebody else's files: nothing bounds its time and its memory, save what a machine has.
_UNBOUNDED = ReaderSettings.model_construct(memory=ByteSize(2**50), seconds=86_400.0)


async def by_processes(jobs: Sequence[ShardJob], workers: int) -> AsyncIterator[Outcome]:
    """Run `jobs` in processes of this machine, `workers` at a time; one that dies, or fails, is tried once more."""
    processes = Readers(_UNBOUNDED, workers)
    slots = asyncio.Semaphore(workers)

    async def outcome(job: ShardJob) -> Outcome:
        async with slots:
            return job, await run_blocking(_tried, processes, job)

    tasks = [asyncio.ensure_future(outcome(job)) for job in jobs]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        processes.close()
        for task in tasks:
            task.cancel()


def _tried(processes: Readers, job: ShardJob) -> IngestReport | str:
    try:
        return processes.call(run_shard, job)
    except IngestError:
        try:
            return processes.call(run_shard, job)
        except IngestError as error:
            return str(error)


async def by_ray(jobs: Sequence[ShardJob]) -> AsyncIterator[Outcome]:
    """Run `jobs` as tasks of the Ray cluster that RAY_ADDRESS names, else of one on this machine.

    Raises:
        ConfigurationError: Ray is not installed, or the cluster cannot be reached.
    """
    # Linux ends what Ray starts together with the thread that starts it, so that has to be one that stays.
    ray = await run_blocking(run_in_background, _ray())
    try:
        task = ray.remote(run_shard).options(num_cpus=1, max_retries=1, retry_exceptions=True)
        left = {task.remote(job): job for job in jobs}
        while left:
            [done], _ = await run_blocking(partial(ray.wait, list(left), num_returns=1))
            yield left.pop(done), await run_blocking(_got, ray, done)
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


def _got(ray: Any, done: Any) -> IngestReport | str:
    try:
        report: IngestReport = ray.get(done)
        return report
    except Exception as error:  # whatever ended the task, its process or its machine
        return " ".join(str(error).split())[-300:]


async def in_turn(jobs: Sequence[ShardJob]) -> AsyncIterator[Outcome]:
    """Run `jobs` here, one after the other."""
    for job in jobs:
        try:
            yield job, await run_blocking(run_shard, job)
        except GroundGraphError as error:
            yield job, str(error)
