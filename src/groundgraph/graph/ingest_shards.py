"""Ingesting into a base in Weaviate in many processes, on this machine or on many: one run of the graph for each shard.

What schedules the runs is an engine; see `shard_engines`. All of them call `run_shards`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from groundgraph.core.knowledge_store import LOST, BaseIdentity
from groundgraph.graph.ingest_documents import OnEvent
from groundgraph.graph.ingest_resources import IngestResources
from groundgraph.graph.knowledge_base_files import knowledge_base_file, weaviate_store
from groundgraph.graph.shard_job import Engine, Outcome, ShardJob
from groundgraph.ingest.find_files import FoundFiles
from groundgraph.ingest.ingest_report import IngestReport, Reason, combined, reasons
from groundgraph.nodes.ingest.find_documents import Share, make_plan
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.weaviate_base.shards import SHARDS, shard_of


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
    told = reasons((name, LOST) for name in lost)
    report.failed += [entry for entry in told if entry["document"] not in written]
    report.warnings += [entry for entry in told if entry["document"] in written]


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
