"""What travels from step to step of an ingest, and how a step takes in one bad document without losing the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.failure import described
from groundgraph.core.ingest_report import Reason, ReportValues, reasons
from groundgraph.core.secret_mask import mask

ChainsOf = Callable[[str], IngestChains]
# Why a document that is empty, or of which no chunk was made, is not taken in.
NO_TEXT = "it holds no text"


@dataclass(frozen=True)
class Job:
    """A new or changed document on its way into the base; each step fills in one more attribute.

    Attributes:
        document: the document.
        hash: of everything that its chunks depend on.
        content_hash: of the document alone.
        from_file: an ingest of its folder may remove it again.
        stored: an older version is in the base.
        chunks: its chunks.
        qualifying_texts: one for each chunk.
        matching_texts: for each chunk at least one.
        vectors: for each chunk an array of shape (matching texts, dimension); empty without an embedding model.
    """

    document: Document
    hash: str
    content_hash: str
    from_file: bool = False
    stored: bool = False
    chunks: tuple[Chunk, ...] = field(default=(), repr=False)
    qualifying_texts: tuple[str, ...] = field(default=(), repr=False)
    matching_texts: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    vectors: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The name of the document."""
        return self.document.name


class BatchInput(TypedDict, total=False):
    """What a step that works on a batch reads.

    The batch is in no checkpoint. A run that is resumed finds none, does nothing in the steps up to the end of the
    batch, and then plans anew: the ledger tells what is in the base already.
    """

    batch: list[Job]


class BatchUpdate(TypedDict):
    """What such a step writes."""

    batch: list[Job]
    report: ReportValues


class IngestEvent(TypedDict, total=False):
    """What a step tells whoever streams custom events.

    `finished` names the documents that are dealt with, `failed` of them without success; `chunks` counts those that
    were written.
    """

    stage: str
    total: int | None
    finished: list[str]
    failed: int
    chunks: int


def event(stage: str, update: BatchUpdate) -> IngestEvent:
    """The event of a step that works on a batch."""
    failed = update["report"].get("failed", [])
    return {"stage": stage, "finished": [entry["document"] for entry in failed], "failed": len(failed)}


def by_kind(batch: Sequence[Job]) -> Iterator[tuple[str, list[Job]]]:
    """The jobs of each kind of data, which has chains of its own."""
    for kind in dict.fromkeys(job.document.kind for job in batch):
        yield kind, [job for job in batch if job.document.kind == kind]


def sorted_out(outcomes: Sequence[Job | Reason]) -> BatchUpdate:
    """The update for what became of each job: itself, further on, or why it failed."""
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Job)]
    return {
        "batch": [outcome for outcome in outcomes if isinstance(outcome, Job)],
        "report": {"failed": failed, "done": len(failed)},
    }


def failure(job: Job, error: BaseException | str) -> Reason:
    """The entry of the report for a document that failed."""
    return reasons([(job.name, error if isinstance(error, str) else reason_of(error))])[0]


def reason_of(error: BaseException) -> str:
    """An exception in a sentence for a reader."""
    return mask(str(error).strip()) if str(error).strip() and isinstance(error, GroundGraphError) else described(error)
