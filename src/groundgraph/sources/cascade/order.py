"""The hits of all stages in one order.

Fused, a section counts by all that the stages say of it: BM25 and cosine by relative score as in a knowledge base
(`groundgraph.search.rank`), and on top, as a nudge, the share of the question that its keywords
literally cover. So a keyword that happens to stand in a long question moves little, and one that is the question
decides. RRF would count the place in each list and not how good the hit is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.evidence import SourceResult
from groundgraph.search.rank import fused_scores
from groundgraph.settings.search import RetrieverSettings, StageName
from groundgraph.sources.cascade.read_file import Section
from groundgraph.sources.cascade.search import Search, StageScores

# What a search found, and how each stage went.

SOURCE_TYPE = "cascade"


@dataclass(frozen=True)
class SearchResult:
    """A section that a search found.

    Attributes:
        section: what was found.
        stage: the first stage, in the order in which they ran, whose threshold it reached.
        score: its raw score there: keywords in the question (`exact`), share of the question's words (`lemma`), cosine
            (`semantic`).
        relevance: 0 to 1 and by one formula whatever the stage: the largest of what its keywords cover of the
            question, the share of the question's words that it holds in any form, and its cosine, as far as those
            stages ran. Keywords that weigh c in a question that weighs a, of which words that weigh k stand in the
            knowledge at all, cover c / sqrt(a k): the geometric mean of the shares of all words and of known ones.
        rank: from 1.
        order: the number by which it was ordered; never larger than that of the result before it.
        scores: the raw scores of all stages that ran and scored it.
    """

    section: Section
    stage: StageName
    score: float
    relevance: float
    rank: int
    order: float
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """The facts, a line each."""
        return self.section.content

    @property
    def category(self) -> str:
        """The name of its category."""
        return self.section.category

    @property
    def key(self) -> str:
        """Its key within the category."""
        return self.section.key

    def to_source_result(self, source_name: str) -> SourceResult:
        """The result as every source gives it; the stages are in `scores`, since evidence does not depend on them."""
        # Its keywords need not stand in its text, and stand in the question whatever else does.
        scores = {**self.scores, "lexical": 1.0 if self.stage == "exact" else self.relevance}
        if "semantic" in scores:
            # Under this name a turn keeps the cosine of a piece of evidence.
            scores["vector"] = scores["semantic"]
        if "lemma" in scores:
            # A keyword covers what is said around it, which may be what is asked for: "the warranty of the pro plan".
            scores["held"] = max(scores["lemma"], scores.get("semantic", 0.0))
        return SourceResult(
            self.content,
            self.section.id,
            source_name,
            SOURCE_TYPE,
            self.relevance,
            self.section.metadata(),
            self.order,
            scores,
        )


@dataclass
class StageReport:
    """How one stage went.

    Attributes:
        stage: its name.
        threshold: what a hit needs.
        ran: whether it did.
        reason: why it did not.
        candidates: sections that it gave a score, within the categories and filters.
        hits: those that reached the threshold.
        elapsed_ms: how long it took, in milliseconds.
    """

    stage: StageName
    threshold: float
    ran: bool = False
    reason: str = ""
    candidates: int = 0
    hits: int = 0
    elapsed_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report without its name."""
        return {name: value for name, value in vars(self).items() if name != "stage"}


@dataclass
class SearchReport:
    """How a search went.

    Attributes:
        query: what was asked.
        categories: those that were searched, in the order of the files.
        unknown_categories: those that were asked for and do not exist.
        sections: how many sections categories and filters left.
        stages: a report per stage, in the order in which they run.
        elapsed_ms: of the whole search, in milliseconds.
    """

    query: str
    categories: list[str]
    unknown_categories: list[str]
    sections: int
    stages: list[StageReport]
    elapsed_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values; the stages by name."""
        return {**vars(self), "stages": {report.stage: report.to_dict() for report in self.stages}}


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
