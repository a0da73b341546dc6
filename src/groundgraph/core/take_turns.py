"""Several ranked lists of one source as one."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.evidence import SourceResult


def take_turns(lists: Sequence[Sequence[SourceResult]]) -> list[SourceResult]:
    """The results of several queries, all first ones first; what two of them found keeps its best relevance."""
    best: dict[tuple[str, str], SourceResult] = {}
    for rank in range(max(map(len, lists), default=0)):
        for found in lists:
            if rank < len(found):
                result = found[rank]
                known = best.setdefault(result.passage, result)
                if known.relevance < result.relevance:
                    best[result.passage] = result
    return list(best.values())
