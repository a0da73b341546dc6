"""What a search found, and how each stage went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.cascade_settings import StageName
from groundgraph.core.evidence import SourceResult
from groundgraph.sources.cascade.section import Section

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
        scores = dict(self.scores)
        if "semantic" in scores:
            # Under this name a turn keeps the cosine of a piece of evidence.
            scores["vector"] = scores["semantic"]
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
