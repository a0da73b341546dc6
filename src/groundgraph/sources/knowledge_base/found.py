"""What a search found, and its order: by words alone, or by words and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from groundgraph.sources.knowledge_base.fuse import fused_scores
from groundgraph.sources.knowledge_base.ranking import Ranking


@dataclass(frozen=True)
class Hit:
    """One chunk that was found by its words.

    Attributes:
        chunk_id: what identifies it in its base; equal scores are put in the order of these.
        score: the best that `Ranking` gives one of its matching texts.
        relevance: the same, 0 to 1.
    """

    chunk_id: Any
    score: float
    relevance: float


@dataclass(frozen=True)
class Found:
    """A chunk that was found.

    Attributes:
        chunk_id: as for `Hit`.
        score: by which the results are ordered: BM25, or the fused score.
        relevance: 0 to 1.
        match_score: the cosine of its best matching text where there are vectors, else the relevance by words.
        scores: `lexical`, and with vectors `vector` and `fused`.
    """

    chunk_id: Any
    score: float
    relevance: float
    match_score: float
    scores: dict[str, float]


def best_texts(rows: Iterable[tuple[Any, str, str]], ranking: Ranking) -> Iterable[Hit]:
    """One hit per chunk, with the best of its matching texts (K10).

    Args:
        rows: of each matching text its chunk, its stems and the stems of what stands above it.
        ranking: of the question.
    """
    best: dict[Any, Hit] = {}
    for chunk, body, headings in rows:
        found_by = (body.split(), headings.split())
        score, relevance = ranking.score(*found_by), ranking.relevance(*found_by)
        known = best.get(chunk)
        if known:
            score, relevance = max(score, known.score), max(relevance, known.relevance)
        best[chunk] = Hit(chunk, score, relevance)
    return best.values()


def by_words(hits: Iterable[Hit]) -> list[Found]:
    """`hits` as they are, in their order."""
    return [Found(hit.chunk_id, hit.score, hit.relevance, hit.relevance, {"lexical": hit.score}) for hit in hits]


def by_both(
    lexical: Mapping[Any, Hit], cosines: Mapping[Any, float], *, average_cosine: float, vector_weight: float
) -> list[Found]:
    """The candidates with both scores, the best first.

    Relevance is the better of the share of words and the cosine: either is a reason to show a chunk.

    Args:
        lexical: every candidate.
        cosines: of those candidates that have vectors.
        average_cosine: see `fused_scores`.
        vector_weight: the share of the cosines in the order.
    """
    chunks = sorted(lexical)
    fused = fused_scores(
        [lexical[chunk].score for chunk in chunks],
        [cosines.get(chunk) for chunk in chunks],
        average_cosine=average_cosine,
        vector_weight=vector_weight,
    )
    found = [_found(lexical[chunk], cosines.get(chunk), score) for chunk, score in zip(chunks, fused, strict=True)]
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _found(hit: Hit, cosine: float | None, fused: float) -> Found:
    if cosine is None:
        return Found(hit.chunk_id, fused, hit.relevance, hit.relevance, {"lexical": hit.score, "fused": fused})
    near = min(1.0, max(0.0, cosine))
    scores = {"lexical": hit.score, "vector": cosine, "fused": fused}
    return Found(hit.chunk_id, fused, max(hit.relevance, near), near, scores)
