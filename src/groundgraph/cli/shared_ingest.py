"""`groundgraph ingest --workers`, `--shard`: an ingest that many processes share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.progress import OnEvent

if TYPE_CHECKING:
    from groundgraph.ingest.ingest_report import IngestReport
    from groundgraph.settings.settings import Settings

Workers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|ray",
        help="Read in N processes: of a base in a file those that read its documents (default: one for each core), of "
        "one in Weaviate whole ingests, each of a part. 'ray': as tasks of the cluster that RAY_ADDRESS names, else of "
        "one on this machine (extra: ray).",
        show_default=False,
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Take in part I, from 0, of N (64 at most) into a base in Weaviate, while other processes, wherever they "
        "run, take in the others.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Shared:
    """How an ingest is shared among processes.

    Attributes:
        processes: of this machine; 0 for another engine.
        ray: by the tasks of a Ray cluster.
        shard: the part that is done here, and of how many.
    """

    processes: int = 0
    ray: bool = False
    shard: tuple[int, int] = (0, 1)

    @classmethod
    def of(cls, workers: str | None, shard: str | None) -> Shared | None:
        """What the options say; None without any."""
        if workers is not None and shard is not None:
            raise typer.BadParameter("is one part of an ingest, so it goes without --workers", param_hint="--shard")
        if shard is not None:
            return cls(shard=_part_of(shard))
        if workers is None or workers == "ray":
            return cls(ray=True) if workers else None
        if not workers.isdecimal() or not 0 < int(workers) <= 1024:
            raise typer.BadParameter("is a number from 1 to 1024, or ray", param_hint="--workers")
        return cls(int(workers))

    async def ingest(
        self, settings: Settings, source: str | None, given: dict[str, Any], on_event: OnEvent
    ) -> IngestReport:
        """The ingest of `given` into a base in Weaviate."""
        from groundgraph.graph.ingest_shards import by_processes, by_ray, in_turn, ingest_shards
        from groundgraph.sources.weaviate_base.objects import SHARDS

        engine = partial(by_processes, workers=self.processes) if self.processes else by_ray if self.ray else in_turn
        part, parts = self.shard
        return await ingest_shards(
            settings.origin or None,
            given["paths"],
            engine,
            source=source,
            shards=range(part, SHARDS, parts),
            follow_links=given["follow_links"],
            on_event=on_event,
        )


def _part_of(shard: str) -> tuple[int, int]:
    part, _, parts = shard.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and int(part) < int(parts) <= 64):
        raise typer.BadParameter("is I/N with I from 0 to N - 1 and N up to 64", param_hint="--shard")
    return int(part), int(parts)
