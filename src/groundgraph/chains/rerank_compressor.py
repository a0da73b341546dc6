"""Any of LangChain's document compressors as a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document

from groundgraph.chains.rerank import Judged, Rerank
from groundgraph.core.errors import RerankerFailed
from groundgraph.core.evidence import SourceResult

# How the place of a candidate travels through a compressor.
_PLACE = "groundgraph_place"
# Where those of LangChain's compressors that score put the score.
SCORE = "relevance_score"


def by_compressor(compressor: BaseDocumentCompressor) -> Rerank:
    """Order and selection of `compressor`; what it does to a text is not taken over, since evidence is verbatim.

    A `relevance_score` from 0 to 1 in the metadata is taken as the score; any other number says nothing about a
    threshold, so only the order counts. Raises `RerankerFailed` for a document that was not given to it.
    """

    async def rerank(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:
        documents = [
            Document(page_content=candidate.content, metadata={**candidate.metadata, _PLACE: place})
            for place, candidate in enumerate(candidates)
        ]
        kept = await compressor.acompress_documents(documents, question)
        by_text = {candidate.content: place for place, candidate in reversed(list(enumerate(candidates)))}
        judged = [Judged(_place(one, by_text, len(candidates)), _score(one)) for one in kept]
        first = {one.place: one for one in reversed(judged)}
        return [one for one in judged if first[one.place] is one]

    return rerank


def _place(document: Any, by_text: dict[str, int], count: int) -> int:
    place = document.metadata.get(_PLACE, by_text.get(document.page_content))
    if not isinstance(place, int) or not 0 <= place < count:
        raise RerankerFailed("it returned a document that it was not given")
    return place


def _score(document: Any) -> float | None:
    score = document.metadata.get(SCORE)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if 0 <= score <= 1 else None
