"""Neighbouring chunks of one document become one piece of evidence (R9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groundgraph.chains.merge import Hit
from groundgraph.chains.merge_adjacent import Pair, join, neighbours, pairs
from groundgraph.core.deadline import within
from groundgraph.core.failure import tell_failure
from groundgraph.nodes.works.work import Change, View, Work, WorkParts, hits_of, ref_of
from groundgraph.sources.contract import GroundedSource


def join_neighbours(parts: WorkParts) -> Work:
    """The work. A source that cannot tell in time what stands between its chunks leaves them apart."""

    async def join_neighbours(view: View) -> Change:
        records = await view.records()
        hits = hits_of(view.refs, records)
        wanted = pairs(neighbours(hits, records))
        between, failed = await _between(wanted, parts.sources, parts.settings.deadlines.source)
        joined = join(hits, records, between)
        ran = {"joined": len(joined.parts), **({"failed": failed} if failed else {})}
        return Change(
            [ref_of(hit) for hit in joined.hits],
            {"merge_adjacent": ran},
            values={"joined": joined.parts},
            records=joined.records,
            told=ran,
            why="joined",
        )

    return join_neighbours


async def _between(
    wanted: Sequence[tuple[Hit, Hit]], sources: Mapping[str, GroundedSource], limit: float
) -> tuple[dict[Pair, str | None], dict[str, str]]:
    """What stands between two chunks, by their keys; and by source, why it could not tell."""
    between: dict[Pair, str | None] = {}
    failed: dict[str, str] = {}
    for name in dict.fromkeys(one.source_name for one, _ in wanted):
        own = [(one, other) for one, other in wanted if one.source_name == name]
        try:
            told = await within(limit, sources[name].texts_between([(a.source_id, b.source_id) for a, b in own]))
        except Exception as error:  # whatever a source raises: its chunks are good evidence apart as well
            failed[name] = tell_failure(error, "source", name).text
            continue
        between |= {(a.key, b.key): text for (a, b), text in zip(own, told, strict=False)}
    return between, failed
