"""Looks for everything that an ingest has to read, and makes the base ready."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingModelChanged, InputInvalid
from groundgraph.core.knowledge_store import LOST, LOST_AND_READ, BaseIdentity, KnowledgeStore
from groundgraph.ingest.find_files import FoundFiles, find_files
from groundgraph.ingest.ingest_report import ReportValues, reasons
from groundgraph.ingest.metadata import Sidecars
from groundgraph.nodes.ingest.work import Given, IngestEvent, Plan, iterator_over
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings
from groundgraph.settings.settings import Settings

# Where in the configuration of a run the documents stand that were passed in. LangGraph would write an input into the
# first checkpoint, with every text; entries whose names begin so it leaves alone.
PASSED_IN = "__groundgraph_documents"
OUTSIDE = "it is outside of the folder that may be read here"
T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """What one of several ingests of the same folders reads.

    Attributes:
        found: the files among them that are its own.
        addresses: its web pages.
    """

    found: FoundFiles
    addresses: Sequence[str] = ()


class FindDocumentsInput(TypedDict, total=False):
    """What the step reads."""

    paths: list[str]
    dry_run: bool
    rebuild: bool
    follow_links: bool
    passed_in: bool


class FindDocumentsUpdate(TypedDict):
    """What the step writes."""

    plan: Plan
    report: Any


def find_documents(
    settings: Settings,
    store: KnowledgeStore,
    chains: Mapping[str, str],
    embedder: Embedder | None,
    *,
    within: Path | None = None,
    share: Share | None = None,
) -> Any:
    """The node.

    Args:
        settings: where relative paths start, and which path is taken when none is given.
        store: the base; a dry run does not open it for writing.
        chains: by kind of data the names of its chains, which the base remembers.
        embedder: the embedding model, which the base remembers too.
        within: paths outside of this folder are refused; None for no bounds.
        share: what was found already for this run, in place of its paths.
    """
    identity = BaseIdentity(embedder.name if embedder else "", 0, dict(chains))

    async def find_documents(
        state: FindDocumentsInput, config: RunnableConfig, runtime: Runtime[Any]
    ) -> FindDocumentsUpdate:
        documents = config.get("configurable", {}).get(PASSED_IN)
        plan = plan_of(share, settings) if share else await run_blocking(make_plan, state, documents, settings, within)
        total = _total(documents, plan)
        lost: Sequence[str] = ()
        if state.get("rebuild"):
            lost = await _rebuild(store, identity, embedder)
            total = await _plan_stored(plan, store)
        elif not state.get("dry_run"):
            # Whoever shares a run out has asked already.
            lost = await store.open(identity) if share else await _open(store, identity, embedder)
        report = _report(plan, total, lost)
        refused = [name for name, _ in plan.found.failed]
        told: IngestEvent = {"stage": "find_documents", "total": total, "failed": len(refused), "finished": refused}
        runtime.stream_writer(told)
        return {"plan": plan, "report": Overwrite(report)}

    return find_documents


def _report(plan: Plan, total: int | None, lost: Sequence[str]) -> ReportValues:
    """What is known of a run before it reads anything; `lost` are the documents that the base lost."""
    again = {file.name for file in plan.found.files}
    return {
        "total": total,
        # What is not among the files of this run is in the base no more.
        "failed": reasons([*plan.found.failed, *((name, LOST) for name in lost if name not in again)]),
        "warnings": reasons((name, LOST_AND_READ) for name in lost if name in again),
        "skipped": reasons(plan.found.skipped),
        "ignored": dict(plan.found.ignored),
        "done": len(plan.found.failed),
    }


def make_plan(state: FindDocumentsInput, given: Any, settings: Settings, within: Path | None = None) -> Plan:
    """What a run is asked for, `given` being the documents that were passed in, None for none; blocks.

    Raises:
        InputInvalid: there is nothing to ingest, or documents that were passed in are gone.
    """
    base = settings.knowledge_base or KnowledgeBaseSettings()
    documents = iterator_over(given)
    _check_given(state, passed_in=documents is not None)
    paths = _paths(state.get("paths"))
    if not paths and documents is None:
        if base.path is not None:
            paths = [str(settings.at(base.path))]
        elif not state.get("rebuild"):
            raise InputInvalid("There is nothing to ingest: name files or folders, or set knowledge_base.path.")
    addresses, files = _parted(paths, lambda path: "://" in path)
    follow_links = bool(state.get("follow_links")) or base.follow_links
    found = _found(files, settings.base_dir, within, base.metadata.sidecar, follow_links=follow_links)
    return _plan(Share(found, list(dict.fromkeys(addresses))), settings, documents)


def plan_of(share: Share, settings: Settings) -> Plan:
    """What a run is asked for that has its share of a larger ingest."""
    plan = _plan(share, settings)
    plan.is_part = True
    return plan


def _plan(share: Share, settings: Settings, documents: Iterator[Any] | AsyncIterator[Any] | None = None) -> Plan:
    sidecar = (settings.knowledge_base or KnowledgeBaseSettings()).metadata.sidecar
    sidecars = Sidecars(sidecar, settings.base_dir)
    return Plan(share.found, sidecars, deque(share.found.files), deque(share.addresses), documents)


def _check_given(state: FindDocumentsInput, *, passed_in: bool) -> None:
    if state.get("passed_in") and not passed_in:
        raise InputInvalid(
            "The documents of this run were passed in and are in no checkpoint. Run the ingest again with the same "
            "documents; what it has written already is not written again."
        )
    if state.get("rebuild") and passed_in:
        raise InputInvalid("A rebuild takes the documents that are in the base; pass others in afterwards.")


def _parted(items: Iterable[T], holds: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """Those of `items` for which `holds` holds, and the others."""
    kept: list[T] = []
    others: list[T] = []
    for item in items:
        (kept if holds(item) else others).append(item)
    return kept, others


def _paths(given: Any) -> list[str]:
    """The paths of an input, one of which may stand alone."""
    listed = [given] if isinstance(given, str | os.PathLike) else given or ()
    try:
        paths = [os.fsdecode(path) for path in listed]
    except TypeError as error:
        raise InputInvalid(f"'paths' must be a list of files, folders and web addresses: {error}") from error
    if any("\0" in path for path in paths):
        raise InputInvalid("A path cannot hold the character U+0000.")
    return paths


def _found(
    paths: Sequence[str], base_dir: Path, within: Path | None, sidecar: str | None, *, follow_links: bool
) -> FoundFiles:
    if within is None:
        return find_files(paths, base_dir, sidecar=sidecar, follow_links=follow_links)
    allowed, refused = _parted(paths, lambda path: _below(base_dir / path, within))
    found = find_files(allowed, base_dir, sidecar=sidecar, follow_links=follow_links)
    # A link may lead out of the folder.
    found.files, outside = _parted(found.files, lambda file: _below(file.path, within))
    found.failed += [(name, OUTSIDE) for name in (*refused, *(file.name for file in outside))]
    return found


def _below(path: Path, folder: Path) -> bool:
    # `Path.resolve` fails on a circle of links.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _total(given: Any, plan: Plan) -> int | None:
    """How many documents there are, as far as anybody knows."""
    if given is not None and not hasattr(given, "__len__"):
        return None
    return len(plan.found.failed) + len(plan.files) + len(plan.addresses) + (len(given) if given is not None else 0)


async def _open(store: KnowledgeStore, identity: BaseIdentity, embedder: Embedder | None) -> Sequence[str]:
    """Open the base; what opening it took out.

    Raises:
        EmbeddingModelChanged: the base holds vectors of another model, or of other sizes than the model gives now.
    """
    # While the model is down, unchanged documents need none, and others tell why they failed.
    with suppress(Exception):
        identity = await _exact(identity, embedder) if embedder else identity
    return await store.open(identity)


async def _exact(identity: BaseIdentity, embedder: Embedder) -> BaseIdentity:
    """With the size of the vectors, which a model may have changed while it kept its name."""
    return replace(identity, dimension=len(await embedder.embed_query("dimension")))


async def _rebuild(store: KnowledgeStore, identity: BaseIdentity, embedder: Embedder | None) -> Sequence[str]:
    """Open the base and drop its vectors when they are of another embedding model; what opening it took out.

    Those of the same model are kept, so that a rebuild that was cut short goes on where it stopped.
    """
    if embedder is None:
        return await store.open(identity, rebuild=True)
    exact = await _exact(identity, embedder)
    try:
        return await store.open(exact)
    except EmbeddingModelChanged:
        return await store.open(exact, rebuild=True)


async def _plan_stored(plan: Plan, store: KnowledgeStore) -> int:
    """Add what the base holds and the given paths do not to the plan; how many documents there are then."""
    read_anyway = {file.name for file in plan.files} | set(plan.addresses)
    rows = [row for row in await store.documents() if row.name not in read_anyway]

    async def stored() -> AsyncIterator[Given]:
        for row in rows:
            document = await store.document(row.name)
            if document is not None:
                yield Given(document, row.from_file)

    plan.documents = stored()
    return len(rows) + len(read_anyway) + len(plan.found.failed)
