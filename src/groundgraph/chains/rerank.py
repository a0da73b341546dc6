"""Reranking once, after the merge (P4): what a reranker gives, and what becomes of the ranking."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundgraph.chains.merge import Hit
from groundgraph.core.call_chain import call_chain
from groundgraph.core.chain import Reranker
from groundgraph.core.errors import RerankerFailed
from groundgraph.core.evidence import SourceResult


@dataclass(frozen=True)
class Judged:
    """A candidate that stays.

    Attributes:
        place: which one.
        score: 0 to 1; None from a reranker that gives an order and no scores.
    """

    place: int
    score: float | None


# From a question and candidates, of which there is at least one, to those that stay, best first.
Rerank = Callable[[str, Sequence[SourceResult]], Awaitable[list[Judged]]]


def by_scores(reranker: Reranker) -> Rerank:
    """A reranker that gives one score per candidate, plain or asynchronous; candidates of one score keep their order.

    Scores outside 0 to 1 count as the nearest of the two. Raises `RerankerFailed` when they are not one number each.
    """

    async def rerank(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:
        scores = _numbers(await call_chain(reranker, question, candidates), len(candidates))
        judged = [Judged(place, min(1.0, max(0.0, score))) for place, score in enumerate(scores)]
        return sorted(judged, key=lambda one: -(one.score or 0.0))

    return rerank


def _numbers(given: Any, expected: int) -> list[float]:
    try:
        scores = [float(score) for score in given]
    except (TypeError, ValueError) as error:
        raise RerankerFailed(f"it gave no list of scores: {error}") from error
    if len(scores) != expected or any(math.isnan(score) for score in scores):
        raise RerankerFailed(f"it gave {len(scores)} scores for {expected} candidates, or one that is no number")
    return scores


def reranked(hits: Sequence[Hit], judged: Sequence[Judged], threshold: float) -> list[Hit]:
    """The hits that `judged` names, in its order, without those that score below `threshold`.

    A score takes the place of relevance and score; without one a hit keeps its own.
    """
    return [
        hits[one.place]
        if one.score is None
        else replace(hits[one.place], relevance=round(one.score, 6), score=round(one.score, 6))
        for one in judged
        if one.score is None or one.score >= threshold
    ]


async def identity(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:  # noqa: ARG001
    """Every candidate, in the order in which it came, without a score."""
    return [Judged(place, None) for place in range(len(candidates))]
