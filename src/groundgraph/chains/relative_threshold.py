"""Dropping what is far below the best result (P2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from groundgraph.chains.merge import Hit


def relative_threshold(hits: Sequence[Hit], share: float, min_results: int = 3) -> list[Hit]:
    """The hits whose relevance is at least `share` of the best one, in their order.

    Where fewer than `min_results` are, the most relevant `min_results` stay; of equals the earlier one. The best result
    itself always stays. A relevance outside 0 to 1 counts as the nearest of the two, what is no number as less than 0.
    """
    values = [-1.0 if math.isnan(hit.relevance) else min(1.0, max(0.0, hit.relevance)) for hit in hits]
    cut = share * max(values, default=0.0)
    kept = {place for place, value in enumerate(values) if value >= cut}
    best_first = sorted(range(len(hits)), key=lambda place: -values[place])
    kept |= set(best_first[: max(1, min_results)]) if len(kept) < max(1, min_results) else set()
    return [hit for place, hit in enumerate(hits) if place in kept]
