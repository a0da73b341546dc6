"""A source that returns what it was given, with the relevances that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundgraph import GroundedSource, RetrievalIntent, SourceResult


class RankedSource(GroundedSource):
    """Returns its results for every question, in their order.

    Args:
        results: pairs of relevance and text, or results.
        name: the name of the source.
        source_type: what it says it is.
    """

    def __init__(
        self, results: Sequence[tuple[float, str] | SourceResult], *, name: str = "docs", source_type: str = "ranked"
    ) -> None:
        self._name = name
        self._source_type = source_type
        self._results = [
            replace(one, source_name=name)
            if isinstance(one, SourceResult)
            else SourceResult(one[1], f"{name}-{number}", name, "ranked", one[0])
            for number, one in enumerate(results)
        ]

    @property
    def name(self) -> str:
        """The name given at construction."""
        return self._name

    @property
    def source_type(self) -> str:
        """The one given at construction."""
        return self._source_type

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """The results, whatever the question."""
        return [result for result in self._results if result.relevance >= score_threshold][:top_k]
