"""The filter of match and rerank scores (K6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.core.chain import Match


@dataclass(frozen=True)
class CutoffFilter:
    """Drops what matches too badly or answers the query too unlikely.

    Args:
        match_cutoff: the match score below which a chunk is dropped, 0 to 1.
        rerank_cutoff: the rerank score below which one is dropped; a chunk that nobody judged passes it.
    """

    match_cutoff: float = 0.5
    rerank_cutoff: float = 0.5

    async def __call__(self, query: str, matches: Sequence[Match]) -> list[bool]:  # noqa: ARG002 - the protocol's
        """For each of `matches` whether both scores reach their cut-offs."""
        return [self._keeps(match) for match in matches]

    def _keeps(self, match: Match) -> bool:
        judged_well = match.rerank_score is None or match.rerank_score >= self.rerank_cutoff
        return match.match_score >= self.match_cutoff and judged_well
