"""Relevances of different sources on one scale (P1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from groundgraph.chains.merge import Hit


def min_max(scores: Sequence[float]) -> list[float]:
    """(x - min) / (max - min): the best score becomes 1 and the worst 0; equal scores, or a single one, become 1."""
    values = finite(scores)
    low, high = min(values, default=0.0), max(values, default=0.0)
    # Halved, so that the span between two very large numbers stays a number.
    span = high / 2 - low / 2
    return [min(1.0, (value / 2 - low / 2) / span) if span > 0 else 1.0 for value in values]


def z_score(scores: Sequence[float]) -> list[float]:
    """The standard normal distribution function at (x - mean) / deviation, so an average score becomes 0.5.

    The deviation is that of the population. Equal scores, or a single one, become 0.5.
    """
    values = finite(scores)
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    scaled = [value / largest for value in values]
    mean = math.fsum(scaled) / len(scaled) if scaled else 0.0
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / len(scaled)) if scaled else 0.0
    if deviation < 1e-12:
        return [0.5] * len(values)
    return [0.5 * (1 + math.erf((value - mean) / deviation / math.sqrt(2))) for value in scaled]


def rank(scores: Sequence[float]) -> list[float]:
    """1 - (rank - 1) / n, rank 1 being the best of n (the Borda count, scaled); equal scores share the better rank."""
    values = finite(scores)
    first: dict[float, int] = {}
    for place, value in enumerate(sorted(values, reverse=True)):
        first.setdefault(value, place)
    return [1 - first[value] / len(values) for value in values]


def finite(scores: Iterable[float]) -> list[float]:
    """`scores` with infinities as the largest numbers there are, and what is no number as the least of the others."""
    bound = 1.7e308
    kept = [None if math.isnan(score) else min(bound, max(-bound, float(score))) for score in scores]
    least = min((score for score in kept if score is not None), default=0.0)
    return [least if score is None else score for score in kept]


METHODS: dict[str, Callable[[Sequence[float]], list[float]]] = {"min_max": min_max, "z_score": z_score, "rank": rank}


def normalize(hits: Sequence[Hit], method: str, weights: Mapping[str, int]) -> list[Hit]:
    """The hits of all sources by their normalised relevance, best first; ties keep their order.

    Each source's scores are normalised by themselves, and count by the share of the source's weight in the largest
    weight, so that a weight means the same as in the merge.
    """
    scale = METHODS[method]
    most = max((weights.get(hit.source_name, 1) for hit in hits), default=1)
    relevance: dict[int, float] = {}
    for name in dict.fromkeys(hit.source_name for hit in hits):
        places = [place for place, hit in enumerate(hits) if hit.source_name == name]
        share = weights.get(name, 1) / most
        for place, value in zip(places, scale([hits[place].score for place in places]), strict=True):
            relevance[place] = round(value * share, 6)
    rated = [replace(hit, relevance=relevance[place], score=relevance[place]) for place, hit in enumerate(hits)]
    return sorted(rated, key=lambda hit: -hit.relevance)
