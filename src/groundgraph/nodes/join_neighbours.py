"""Neighbouring chunks of one document become one piece of evidence (R9)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from groundgraph.chains.merge import Hit
from groundgraph.chains.merge_adjacent import Pair, join, neighbours, pairs
from groundgraph.core.context import Context
from groundgraph.core.deadline import within
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.failure import tell_failure
from groundgraph.core.settings import Settings
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, changed, ended, hits_of, ref_of
from groundgraph.sources.contract import GroundedSource


def join_neighbours(
    settings: Settings,
    sources: Mapping[str, GroundedSource],
    evidence: EvidenceStore,
    *,
    ending: Ending | None = None,
) -> Node[RankingInput, RankingUpdate]:
    """The node. A source that cannot tell in time what stands between its chunks leaves them apart."""

    async def join_neighbours(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, ranking = time.perf_counter(), state["ranking"]
        keys = [ref[0] for ref in ranking["refs"]]
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        records = await evidence.load(runtime.store, keys, state.get("bodies"), scope=scope)
        hits = hits_of(ranking["refs"], records)
        between, failed = await _between(pairs(neighbours(hits, records)), sources, settings.deadlines.source)
        joined = join(hits, records, between)
        bodies = await evidence.save(runtime.store, joined.records)
        ran = {"joined": len(joined.parts), **({"failed": failed} if failed else {})}
        refs = [ref_of(hit) for hit in joined.hits]
        ranking = changed(ranking, "join_neighbours", started, refs, merge_adjacent=ran)
        ranking["joined"] = joined.parts
        runtime.stream_writer({"stage": "join_neighbours", "results": len(refs), **ran})
        return {"ranking": await ended(state, runtime, ranking, ending), "bodies": bodies}

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
