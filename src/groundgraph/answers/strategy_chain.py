"""Strategies that stand in for each other, and reranking once, after the merge."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from groundgraph.core.chain import Reranker
from groundgraph.core.errors import ConfigurationError, GroundGraphError, Problem, RerankerFailed
from groundgraph.core.evidence import Hit, SourceResult
from groundgraph.core.failure import Failure, described, tell_failure
from groundgraph.resilience.blocking import call_chain

# Reranking once, after the merge: what a reranker gives, and what becomes of the ranking.


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
        else hits[one.place]._replace(relevance=round(one.score, 6), score=round(one.score, 6))
        for one in judged
        if one.score is None or one.score >= threshold
    ]


async def identity(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:  # noqa: ARG001
    """Every candidate, in the order in which it came, without a score."""
    return [Judged(place, None) for place in range(len(candidates))]


# What is configured and cannot be built.


class Unusable(ConfigurationError):
    """A strategy lacks something. In a chain the next one takes over; alone it is an error.

    Attributes:
        of_this_machine: a key or a package is missing here; the configuration itself may be right.
    """

    def __init__(self, problem: Problem, *, of_this_machine: bool) -> None:
        self.of_this_machine = of_this_machine
        super().__init__([problem])


T = TypeVar("T")
Strategy = tuple[str, Callable[[], Awaitable[T]]]


@dataclass(frozen=True)
class Ran(Generic[T]):
    """What came of a chain.

    Attributes:
        value: what the first strategy that worked gave; None when none did.
        method: its name; None when none did.
        failures: by name, why those before it could not be used, in their order; for log and record.
        classes: the same as readers are told it.
    """

    value: T | None = None
    method: str | None = None
    failures: dict[str, str] = field(default_factory=dict)
    classes: dict[str, Failure] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The failures as one sentence."""
        return "; ".join(f"{name}: {reason}" for name, reason in self.failures.items())

    def record(self) -> dict[str, object]:
        """The entry of the provenance: which strategy ran, and why others did not."""
        return {"method": self.method, **({"unavailable": self.failures} if self.failures else {})}


async def first_available(strategies: Sequence[Strategy[T]]) -> Ran[T]:
    """What the first of `strategies` gives that raises nothing; the others are not called."""
    failures: dict[str, str] = {}
    classes: dict[str, Failure] = {}
    for name, call in strategies:
        try:
            return Ran(await call(), name, failures, classes)
        except Exception as error:  # a service or a third party's strategy fails in its own ways
            told = tell_failure(error, "step", name)
            failures[name] = told.text if isinstance(error, GroundGraphError) else described(error)
            classes[name] = told.failure
    return Ran(None, None, failures, classes)
