"""Reranking what a cascade found when it is used alone; in a turn the work `rerank_results` does it (P4)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from groundgraph.chains.rerank import Judged, Rerank
from groundgraph.chains.strategy_chain import first_available
from groundgraph.core.degraded import degraded
from groundgraph.sources.cascade import SearchResult


@dataclass(frozen=True)
class Reranking:
    """Rerankers that stand in for each other.

    Attributes:
        rerankers: by name, the first choice first.
        threshold: results with a lower score are dropped.
        candidates_count: how many results are judged; the others are dropped.
        timeout: seconds for one reranker.
    """

    rerankers: Mapping[str, Rerank]
    threshold: float = 0.5
    candidates_count: int = 10
    timeout: float = 30.0

    async def apply(
        self, question: str, results: Sequence[SearchResult], source: str
    ) -> tuple[list[SearchResult], dict[str, Any]]:
        """The results that stay, the best first, and how it went; all of them as they were when no reranker works."""
        if not results:
            return [], {"judged": 0, "kept": 0, "reason": "nothing was found", "elapsed_ms": 0.0}
        started = time.perf_counter()
        judged = results[: self.candidates_count]
        candidates = [result.to_source_result(source) for result in judged]
        calls = [(name, partial(self._within, rerank, question, candidates)) for name, rerank in self.rerankers.items()]
        ran = await first_available(calls)
        if ran.value is None:
            degraded(source, "reranker", ran.reason, next(iter(ran.classes.values()), None))
            kept = list(results)
        else:
            kept = self._kept(judged, ran.value)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        report = {"method": ran.method, "judged": len(judged), "kept": len(kept), "reason": ran.reason}
        return kept, {**report, "elapsed_ms": elapsed}

    async def _within(self, rerank: Rerank, question: str, candidates: Sequence[Any]) -> list[Judged]:
        return await asyncio.wait_for(rerank(question, candidates), self.timeout)

    def _kept(self, results: Sequence[SearchResult], judged: Sequence[Judged]) -> list[SearchResult]:
        staying = [one for one in judged if one.score is None or one.score >= self.threshold]
        return [_rescored(results[one.place], one.score, rank) for rank, one in enumerate(staying, start=1)]


def _rescored(result: SearchResult, score: float | None, rank: int) -> SearchResult:
    """`result` at its new place; a score takes the place of its relevance and of what it was ordered by."""
    if score is None:
        return replace(result, rank=rank)
    return replace(result, rank=rank, relevance=score, order=score, scores={**result.scores, "rerank": score})
