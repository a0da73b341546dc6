"""The hits of all stages in one order.

Fused, a section counts by all that the stages say of it: BM25 and cosine by relative score as in a knowledge base
(`groundgraph.search.fuse`), and on top, as a nudge, the share of the question that its keywords
literally cover. So a keyword that happens to stand in a long question moves little, and one that is the question
decides. RRF would count the place in each list and not how good the hit is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groundgraph.core.cascade_settings import RetrieverSettings, StageName
from groundgraph.search.fuse import fused_scores
from groundgraph.sources.cascade.found import SearchResult
from groundgraph.sources.cascade.search import Search, StageScores

# What keywords that cover the whole question add to a score whose best is 1.
EXACT_WEIGHT = 0.25
# Two scores that differ by less fit about equally well, and the priority decides.
NEARLY_EQUAL = 0.02
NONE = StageScores()


def ordered(search: Search) -> list[SearchResult]:
    """What the stages that ran found, the best first; each section once, under the first stage that it is a hit of."""
    search.complete()
    stage_of: dict[int, StageName] = {}
    for stage, scores in search.scores.items():
        for number in scores.hits(threshold_of(search.settings, stage)):
            stage_of.setdefault(number, stage)
    order = _fused(search, list(stage_of)) if search.settings.ordering == "fused" else _by_stage(search, stage_of)
    return _results(search, stage_of, order)


def threshold_of(settings: RetrieverSettings, stage: StageName) -> float:
    """What a hit of `stage` needs."""
    threshold: float = getattr(settings.thresholds, stage)
    return threshold


def _fused(search: Search, numbers: list[int]) -> dict[int, float]:
    exact, lemma, semantic = (search.scores.get(stage, NONE) for stage in ("exact", "lemma", "semantic"))
    weight = 0.0 if not semantic.raw else 1.0 if "lemma" not in search.scores else search.settings.vector_weight
    # Every section that was scored takes part, so that the scale does not depend on the thresholds.
    scored = sorted({*lemma.raw, *semantic.raw, *numbers})
    fused = fused_scores(
        [lemma.order.get(number, 0.0) for number in scored],
        [semantic.raw.get(number) for number in scored],
        average_cosine=semantic.average,
        vector_weight=weight,
    )
    both = dict(zip(scored, fused, strict=True))
    return {number: both[number] + EXACT_WEIGHT * exact.order.get(number, 0.0) for number in numbers}


def _by_stage(search: Search, stage_of: dict[int, StageName]) -> dict[int, float]:
    """Above all the number of stages that come later, then the share of the stage's best score, below 1."""
    order: dict[int, float] = {}
    for later, stage in enumerate(reversed(search.settings.stages)):
        scores = search.scores.get(stage, NONE).order
        best = max(scores.values(), default=0.0)
        for number in (number for number, found in stage_of.items() if found == stage):
            order[number] = later + (max(0.0, scores[number] / best) * 0.99 if best > 0 else 0.0)
    return order


def _results(search: Search, stage_of: dict[int, StageName], order: dict[int, float]) -> list[SearchResult]:
    sections = search.sections
    results: list[SearchResult] = []
    ceiling = float("inf")
    for rank, number in enumerate(by_priority(order, lambda number: sections[number].priority), start=1):
        stage = stage_of[number]
        ceiling = min(ceiling, order[number])
        raw: dict[str, float] = {
            name: scores.raw[number] for name, scores in search.scores.items() if number in scores.raw
        }
        results.append(SearchResult(sections[number], stage, raw[stage], search.relevance(number), rank, ceiling, raw))
    return results


def by_priority(order: dict[int, float], priority: Callable[[int], int]) -> Iterable[int]:
    """The numbers by their score, the best first; within a run of scores that are nearly equal by priority."""
    ranked = sorted(order, key=lambda number: (-order[number], number))
    start = 0
    while start < len(ranked):
        end = start + 1
        while end < len(ranked) and order[ranked[start]] - order[ranked[end]] < NEARLY_EQUAL:
            end += 1
        # A stable sort keeps the order within one priority.
        yield from sorted(ranked[start:end], key=lambda number: -priority(number))
        start = end
