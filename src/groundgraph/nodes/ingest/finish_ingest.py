"""Takes out the documents whose files are gone, and puts the base in order."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.knowledge_store import KnowledgeStore
from groundgraph.ingest.find_files import FoundFiles, document_name
from groundgraph.ingest.ingest_report import Reason, ReportValues, reasons
from groundgraph.nodes.ingest.find_documents import FindDocumentsInput, make_plan
from groundgraph.nodes.ingest.work import IngestEvent, Plan
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.settings import Settings


class FinishIngestInput(FindDocumentsInput, total=False):
    """What the step reads; the plan is missing after a run was resumed."""

    plan: Plan
    report: ReportValues


class FinishIngestUpdate(TypedDict):
    """What the step writes."""

    report: ReportValues


def finish_ingest(
    settings: Settings, store: KnowledgeStore, declared: Collection[str] = (), *, within: Path | None = None
) -> Any:
    """The node; the arguments are those of `find_documents`, and the names of the declared fields."""

    async def finish_ingest(state: FinishIngestInput, runtime: Runtime[Any]) -> FinishIngestUpdate:
        found = await run_blocking(_found, state, settings, within)
        gone = await _gone(store, found, settings.base_dir) if found.folders else []
        warnings = _doubts(state.get("plan"), declared, settings.base_dir)
        if state.get("dry_run"):
            return {"report": {"deleted": len(gone), "gone": gone, "warnings": warnings, "seconds": _seconds(state)}}
        deleted = await store.remove(gone) if gone else 0
        report = state["report"]
        if deleted or report.get("written") or report.get("deleted"):
            await store.tidy()
        told: IngestEvent = {"stage": "finish_ingest"}
        runtime.stream_writer(told)
        return {"report": {"deleted": deleted, "warnings": warnings, "seconds": _seconds(state)}}

    return finish_ingest


def _doubts(plan: Plan | None, declared: Collection[str], base_dir: Path) -> list[Reason]:
    """What looks like a slip in the sidecars; of a resumed run nobody knows which of them were read."""
    told = plan.sidecars.doubts(declared, [] if plan.is_part else plan.found.folders) if plan else []
    return reasons((document_name(file, base_dir), reason) for file, reason in told)


def _seconds(state: FinishIngestInput) -> float:
    """How long the run took; of a resumed one nobody knows."""
    plan = state.get("plan")
    return time.monotonic() - plan.started if plan else 0.0


def _found(state: FinishIngestInput, settings: Settings, within: Path | None) -> FoundFiles:
    plan = state.get("plan")
    if plan is not None:
        return plan.found
    # Only the files are looked for once more, so documents that were passed in are not missed.
    return make_plan({"paths": state.get("paths") or [], "rebuild": True}, None, settings, within).found


async def _gone(store: KnowledgeStore, found: FoundFiles, base_dir: Path) -> list[str]:
    """The documents whose files were in one of the given folders and are there no more."""
    stored = await store.names_from_files()
    there = {file.name for file in found.files} | {name for name, _ in found.failed}
    # What lies below a folder that could not be read is unknown, not gone.
    unknown = tuple("" if name == "." else f"{name}/" for name, _ in found.failed)
    return [
        name
        for name in stored
        if name not in there and not name.startswith(unknown) and _is_below(base_dir / name, found.folders)
    ]


def _is_below(path: Path, folders: list[Path]) -> bool:
    absolute, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    return any(absolute.is_relative_to(folder) or real.is_relative_to(os.path.realpath(folder)) for folder in folders)
