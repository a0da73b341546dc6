"""What the topic stores of knowledge bases have in common: questions go the way that the source itself searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from groundgraph.core.chain import Match
from groundgraph.core.evidence import SourceResult
from groundgraph.core.query_vector import query_vector, wants_vector

if TYPE_CHECKING:
    from groundgraph.sources.knowledge_base.chained_source import ChainedSource


class ChainedTopicStore:
    """The part of a `TopicStore` that asks; see there for the methods.

    Args:
        source: searches the base with its chains.
    """

    def __init__(self, source: ChainedSource) -> None:
        self._source = source

    @property
    def embeds(self) -> bool:
        """Whether the source has an embedding model."""
        return self._source.embedder is not None

    async def seeds(
        self, question: str, *, limit: int, filters: Mapping[str, Any], by_vector: bool
    ) -> list[SourceResult]:
        """See `TopicStore.seeds`; the query chains of the source run here as well."""
        weight = 1.0 if by_vector else None
        matches = await self._source.matches(question, top_k=limit, filters=filters, vector_weight=weight)
        return [_by_cosine(match) if by_vector else match.result for match in matches if match.kept]

    async def question_vector(self, question: str) -> Any:
        """See `TopicStore.question_vector`."""
        embedder = self._source.embedder
        if embedder is None or not wants_vector(embedder, question):
            return None
        return await query_vector(embedder, question, self._source.name)


def _by_cosine(match: Match) -> SourceResult:
    score = match.match_score if match.rerank_score is None else match.rerank_score
    return replace(match.result, relevance=score)
