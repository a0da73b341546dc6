"""What an ingest did: as a value of the graph's state, and for Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict


class Reason(TypedDict):
    """Why a document was not taken in, or what had to be repaired in it."""

    document: str
    reason: str


class ReportValues(TypedDict, total=False):
    """The report in the state: numbers that are added up, and lists that grow. See `IngestReport` for the names.

    `done` counts the documents that are dealt with, of `total`, which is None when nobody knows it. `changed` and
    `gone` name documents in a dry run, where nothing else tells which they are.
    """

    documents: int
    chunks: int
    written: int
    unchanged: int
    deleted: int
    failed: list[Reason]
    warnings: list[Reason]
    skipped: list[Reason]
    ignored: dict[str, int]
    changed: list[str]
    gone: list[str]
    done: int
    total: int | None
    seconds: float


_COUNTS = ("documents", "chunks", "written", "unchanged", "deleted", "done")
_LISTS = ("failed", "warnings", "skipped", "changed", "gone")


def combined(report: ReportValues, more: ReportValues) -> ReportValues:
    """Two reports in one: counts and lists add up, everything else of `more` wins."""
    together: dict[str, Any] = {**report, **more}
    together |= {name: report.get(name, 0) + more.get(name, 0) for name in _COUNTS}  # type: ignore[operator]
    together |= {name: [*report.get(name, []), *more.get(name, [])] for name in _LISTS}  # type: ignore[misc]
    return together  # type: ignore[return-value]


def reasons(failed: Iterable[tuple[str, str]]) -> list[Reason]:
    """The entries of a report for (document, reason) pairs."""
    return [{"document": document, "reason": reason} for document, reason in failed]


@dataclass
class IngestReport:
    """What an ingest did.

    Attributes:
        documents: documents that are in the base now: `written` and `unchanged`.
        chunks: the chunks of these documents; in a dry run those of the unchanged ones.
        written: documents that are new or changed.
        unchanged: documents that were in the base already.
        deleted: documents that were taken out because their file is gone or holds no text any more.
        failed: `{document, reason}` of each document that was not taken in; an older version of it stays.
        seconds: how long it took.
        warnings: `{document, reason}` of each repair that was needed to read a document.
        skipped: `{document, reason}` of each link in a given folder that leads out of it.
        ignored: files in the given folders that are no documents, counted by suffix.
        changed: in a dry run the names of the documents that would be written.
        gone: in a dry run the names of the documents that would be taken out.
    """

    documents: int = 0
    chunks: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: list[Reason] = field(default_factory=list)
    seconds: float = 0.0
    warnings: list[Reason] = field(default_factory=list)
    skipped: list[Reason] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, values: ReportValues) -> IngestReport:
        """The report that the graph's state holds."""
        known = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        failed = sorted(values.get("failed", []), key=lambda entry: entry["document"])
        return cls(**{**known, "ignored": Counter(values.get("ignored", {})), "failed": failed})  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """The report as `groundgraph ingest --json` prints it."""
        names = ("documents", "chunks", "written", "unchanged", "deleted", "failed", "warnings", "skipped")
        return {**{name: getattr(self, name) for name in names}, "seconds": round(self.seconds, 3)}
