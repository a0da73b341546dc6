"""What a reranker gives, and what becomes of the ranking (P4)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.strategy_chain import Judged, by_scores, identity, reranked
from groundgraph.core.errors import RerankerFailed
from groundgraph.core.evidence import Hit, SourceResult

pytestmark = pytest.mark.covers("P4")

HITS = [Hit(key, "s", key, 0.4, 3.0) for key in "abc"]


def candidates(count: int = 3) -> list[SourceResult]:
    return [SourceResult(f"text {n}", str(n), "s", "memory") for n in range(count)]


async def test_a_plain_function_an_asynchronous_one_and_an_object_all_score():
    class Object:
        def __call__(self, query, found):
            return [len(query) / 10 for _ in found]

    async def slow(query, found):
        return [0.3, 0.9, 0.3]

    assert await by_scores(lambda query, found: [0.1, 0.2, 0.3])("q", candidates()) == [
        Judged(2, 0.3), Judged(1, 0.2), Judged(0, 0.1),
    ]  # fmt: skip
    assert [one.place for one in await by_scores(slow)("q", candidates())] == [1, 0, 2]
    assert [one.score for one in await by_scores(Object())("four", candidates())] == [0.4] * 3


@pytest.mark.parametrize("wrong", [None, 3, [0.1], [0.1, 0.2, "x"], [0.1, 0.2, math.nan], [0.1] * 4, "abc"])
async def test_scores_that_are_none_are_refused(wrong):
    with pytest.raises(RerankerFailed):
        await by_scores(lambda query, found: wrong)("q", candidates())


async def test_scores_beyond_0_and_1_count_as_these():
    judged = await by_scores(lambda query, found: [7, -3, math.inf])("q", candidates())
    assert judged == [Judged(0, 1.0), Judged(2, 1.0), Judged(1, 0.0)]


def test_a_score_becomes_the_relevance_and_what_is_below_the_threshold_is_dropped():
    found = reranked(HITS, [Judged(2, 0.9), Judged(0, 0.5), Judged(1, 0.49)], 0.5)
    assert [(hit.key, hit.relevance, hit.score) for hit in found] == [("c", 0.9, 0.9), ("a", 0.5, 0.5)]


async def test_an_order_without_scores_keeps_relevance_and_knows_no_threshold():
    assert reranked(HITS, [Judged(1, None), Judged(0, None)], 1.0) == [HITS[1], HITS[0]]
    assert reranked(HITS, await identity("q", candidates()), 1.0) == HITS


@given(st.lists(st.floats(0, 1), max_size=9), st.floats(0, 1))
async def test_what_stays_is_sorted_and_is_all_that_reaches_the_threshold(scores, threshold):
    hits = [Hit(str(n), "s", str(n), 0.5, 0.5) for n in range(len(scores))]
    judged = await by_scores(lambda query, found: scores)("q", candidates(len(scores)))
    left = reranked(hits, judged, threshold)
    assert {hit.key for hit in left} == {str(n) for n, score in enumerate(scores) if score >= threshold}
    assert [hit.relevance for hit in left] == sorted((hit.relevance for hit in left), reverse=True)
