"""One ranking out of what the sources gave; a piece of evidence gets its label by its place in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from groundgraph.answers.merge import STRATEGIES, concatenate, fuse_queries, times_found
from groundgraph.core.turn_values import Ref, Retrieval
from groundgraph.nodes.works.work import Change, View, Work, WorkParts, hits_of, ref_of


def merge_results(parts: WorkParts) -> Work:
    """The work; sources take turns in the order in which the graph has them."""
    settings = parts.settings
    weights = {entry.name: entry.weight for entry in settings.sources}
    strategy = settings.retrieval.merge
    merge = STRATEGIES[strategy]
    join = partial(fuse_queries, k=parts.way.rrf_k) if settings.retrieval.deduplicate else concatenate

    async def merge_results(view: View) -> Change:
        lists = _lists_by_source(view.state["retrievals"], list(parts.sources))
        refs = [ref for found in lists.values() for one in found for ref in one]
        records = await view.records(refs)
        hits = {name: [hits_of(one, records) for one in found] for name, found in lists.items()}
        by_source = {name: join(found) for name, found in hits.items()}
        merged = [ref_of(hit) for hit in merge(by_source, weights)]
        return Change(
            merged,
            ranking={
                **view.ranking,
                "by_source": {name: [ref_of(hit) for hit in found] for name, found in by_source.items()},
                "total": len(refs),
                "found_again": times_found(hits.values()),
                "strategy": strategy,
            },
            came_in=len(refs),
        )

    return merge_results


def _lists_by_source(retrievals: Mapping[str, Retrieval], source_names: Sequence[str]) -> dict[str, list[list[Ref]]]:
    """Each source's lists in the order of its queries; tasks end in any order."""
    lists: dict[str, list[list[Ref]]] = {name: [] for name in source_names}
    for task in sorted(retrievals, key=_query_number):
        retrieval = retrievals[task]
        # The facts of a state answer no query: they stand behind the ranking, see `backfill_facts`.
        if retrieval["refs"] and retrieval["kind"] != "state_facts":
            lists[retrieval["source"]].append(retrieval["refs"])
    return {name: found for name, found in lists.items() if found}


def _query_number(task: str) -> int:
    number = task.rpartition("/")[2]
    return int(number) if number.isdigit() else 0
