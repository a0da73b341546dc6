"""The fusion of words and vectors (decision 3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.search.rank import fused_scores

CANDIDATES = st.lists(
    st.tuples(st.floats(0, 50).map(lambda x: round(x, 3)), st.floats(-1, 1).map(lambda x: round(x, 3))),
    min_size=1,
    max_size=30,
)
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
AVERAGES = st.sampled_from([-0.2, 0.0, 0.1, 0.7])


def fused(candidates, weight, average=0.1):
    lexical, cosines = zip(*candidates, strict=True)
    # The average of all chunks is never above the best of them, which is among the candidates.
    average = min(average, max(cosines))
    return fused_scores(lexical, cosines, average_cosine=average, vector_weight=weight)


@given(CANDIDATES, WEIGHTS, AVERAGES)
def test_no_candidate_is_lost_and_none_is_above_one(candidates, weight, average):
    scores = fused(candidates, weight, average)
    assert len(scores) == len(candidates)
    assert max(scores) <= 1 + 1e-9


@given(CANDIDATES, WEIGHTS, AVERAGES)
def test_who_is_better_in_both_is_not_worse_together(candidates, weight, average):
    scores = fused(candidates, weight, average)
    for (lexical, cosine), score in zip(candidates, scores, strict=True):
        for (other_lexical, other_cosine), other in zip(candidates, scores, strict=True):
            if lexical >= other_lexical and cosine >= other_cosine:
                assert score >= other - 1e-9


@given(CANDIDATES, WEIGHTS, st.sampled_from([0.001, 3.0, 1e4]), st.sampled_from([0.1, 0.5]), st.floats(-0.4, 0.4))
def test_the_scale_of_either_score_does_not_matter(candidates, weight, factor, squeeze, shift):
    lexical, cosines = zip(*candidates, strict=True)
    average = min(0.1, max(cosines))
    plain = fused_scores(lexical, cosines, average_cosine=average, vector_weight=weight)
    other = fused_scores(
        [score * factor for score in lexical],
        [cosine * squeeze + shift for cosine in cosines],
        average_cosine=average * squeeze + shift,
        vector_weight=weight,
    )
    if max(cosines) - average > 1e-3:
        assert other == pytest.approx(plain, rel=1e-6, abs=1e-6)


@given(CANDIDATES)
def test_the_ends_of_the_weight_are_the_lists_themselves(candidates):
    def order(scores):
        return sorted(range(len(scores)), key=lambda n: (-round(scores[n], 9), n))

    lexical, cosines = zip(*candidates, strict=True)
    assert order(fused(candidates, 0.0)) == order(lexical) or max(lexical) == 0
    if max(cosines) > 0.1 + 1e-3:
        assert order(fused(candidates, 1.0)) == order(cosines)


@given(CANDIDATES, st.tuples(st.just(0.0), st.floats(-1, -0.5)))
def test_a_poor_candidate_more_changes_no_other(candidates, poor):
    candidates = [*candidates, (1.0, 0.9)]
    assert fused([*candidates, poor], 0.5)[:-1] == fused(candidates, 0.5)


def test_a_chunk_without_vectors_counts_as_an_average_one():
    [missing, average, near] = fused_scores([2.0, 2.0, 0.0], [None, 0.2, 0.6], average_cosine=0.2, vector_weight=0.5)
    assert missing == average == 0.5
    assert near == 0.5


def test_nothing_to_fuse_is_nothing():
    assert fused_scores([], [], average_cosine=0.0, vector_weight=0.5) == []
    assert fused_scores([0.0], [0.3], average_cosine=0.3, vector_weight=0.5) == [0.0]
