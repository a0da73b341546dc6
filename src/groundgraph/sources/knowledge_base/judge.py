"""The query chains around a search (K6): a chain that fails is left out and told, so that the others still serve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from groundgraph.core.call_chain import call_chain
from groundgraph.core.chain import Match, MatchFilter, QueryTransformer, Reranker
from groundgraph.core.degraded import degraded_by


async def transformed(transformer: QueryTransformer | None, query: str, source: str) -> str:
    """`query` in the form of the matching texts; as it is when there is no transformer, or it fails."""
    if transformer is None or not query.strip():
        return query
    try:
        text = await call_chain(transformer, query)
        if not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of a text")
    except Exception as error:
        degraded_by(source, "transformer", error)
        return query
    return text if text.strip() else query


async def reranked(reranker: Reranker | None, query: str, matches: Sequence[Match], source: str) -> list[Match]:
    """`matches` by what the reranker says, which then is their relevance; as they are when it fails."""
    if reranker is None or not matches:
        return list(matches)
    try:
        scores = _scores(await call_chain(reranker, query, [match.result for match in matches]), len(matches))
    except Exception as error:
        degraded_by(source, "reranker", error)
        return list(matches)
    judged = [_judged(match, score) for match, score in zip(matches, scores, strict=True)]
    # Python's sort is stable: what is judged the same stays in the order of the search.
    return sorted(judged, key=lambda match: -match.result.relevance)


async def filtered(match_filter: MatchFilter | None, query: str, matches: Sequence[Match], source: str) -> list[Match]:
    """`matches`, each marked with whether the filter keeps it; all are kept when it fails."""
    if match_filter is None or not matches:
        return list(matches)
    try:
        kept = list(await call_chain(match_filter, query, matches))
        if len(kept) != len(matches):
            raise ValueError(f"it gave {len(kept)} verdicts for {len(matches)} matches")
    except Exception as error:
        degraded_by(source, "filter", error)
        return list(matches)
    return [replace(match, kept=bool(verdict)) for match, verdict in zip(matches, kept, strict=True)]


def _judged(match: Match, score: float) -> Match:
    result = replace(match.result, relevance=score, score=score, scores={**match.result.scores, "rerank": score})
    return replace(match, result=result, rerank_score=score)


def _scores(answer: Any, expected: int) -> list[float]:
    scores = [float(score) for score in answer]
    if len(scores) != expected or not all(math.isfinite(score) for score in scores):
        raise ValueError(f"it gave {len(scores)} scores for {expected} candidates, or a score that is no number")
    return [min(1.0, max(0.0, score)) for score in scores]
