"""The state of an ingest: which channel lives how long, and who writes it."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langgraph.channels import UntrackedValue
from pydantic import Field
from typing_extensions import TypedDict

from groundgraph.core.ingest_report import ReportValues, combined
from groundgraph.graph.held_value import HeldValue
from groundgraph.graph.state import Lifetime
from groundgraph.nodes.ingest.plan import Plan
from groundgraph.nodes.ingest.work import Job


class IngestInput(TypedDict):
    """What a caller gives.

    `paths` are files, folders and web addresses; without any, and without documents, `knowledge_base.path`.
    `documents` are `Document`s, or mappings with `name`, `text`, `metadata`, `kind`, from any iterable, also an
    asynchronous one; they are read bit by bit and stand in no checkpoint. With `dry_run` nothing is written; with
    `rebuild` everything that the base holds is looked at too, and may change its embedding model. With `follow_links`
    links that lead out of a given folder are followed, as with the setting of that name. `passed_in` is set by the
    graph: documents were given.
    """

    paths: NotRequired[
        Annotated[list[str], Field(description="Files, folders and web addresses; the configured folder when absent.")]
    ]
    documents: NotRequired[
        Annotated[Any, Field(description="Documents as mappings with name, text and metadata."), UntrackedValue]
    ]
    dry_run: NotRequired[Annotated[bool, Field(description="Tell what would be done and write nothing.")]]
    rebuild: NotRequired[Annotated[bool, Field(description="Look at everything that the base holds, too.")]]
    follow_links: NotRequired[Annotated[bool, Field(description="Follow links that lead out of a given folder.")]]
    passed_in: NotRequired[bool]


class IngestOutput(TypedDict, total=False):
    """What a caller gets; `IngestReport.of` makes an object of it."""

    report: Annotated[ReportValues, combined]


class IngestState(TypedDict, total=False):
    """Every channel of the ingest graph.

    The texts of documents stand in no checkpoint: a run that is resumed in another process plans anew, and the ledger
    of the base tells what is done. Within one process it goes on where it stopped, so that it can be stepped through.
    """

    paths: Annotated[list[str], Lifetime("turn")]
    dry_run: Annotated[bool, Lifetime("turn")]
    rebuild: Annotated[bool, Lifetime("turn")]
    follow_links: Annotated[bool, Lifetime("turn")]
    passed_in: Annotated[bool, Lifetime("turn")]
    report: Annotated[ReportValues, Lifetime("turn"), combined]

    documents: Annotated[Any, Lifetime("run"), UntrackedValue]
    plan: Annotated[Plan, Lifetime("run"), HeldValue]
    batch: Annotated[list[Job], Lifetime("run"), HeldValue]


# What streams and checkpoints show; the others hold whole documents.
SHOWN = ["paths", "dry_run", "rebuild", "follow_links", "passed_in", "report"]
