"""The order of what was found, whatever store it came from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.search.rank import COMMON_PLACE, COMMON_SHARE, Passage, Pool, rank

NUMBERS = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
COSINES = st.none() | st.sampled_from([-0.5, 0.0, 0.1, 0.4, 0.9, 1.0])


@st.composite
def pools(draw, cosines=COSINES):
    """One or more pools whose passages have keys of their own."""
    made = []
    for place in range(draw(st.integers(1, 3))):
        drawn = draw(st.lists(st.tuples(NUMBERS.map(lambda n: 8 * n), NUMBERS, cosines), max_size=12))
        passages = [Passage((place, n), *values, payload=n) for n, values in enumerate(drawn)]
        average = draw(st.sampled_from([0.0, 0.2])) if any(one.cosine is not None for one in passages) else None
        made.append(Pool(passages, average, draw(NUMBERS)))
    return made


def keys(ranked):
    return [one.key for one in ranked]


def common(pools):
    """What is told less of the words of each passage."""
    best = sorted((one.lexical for pool in pools for one in pool.passages), reverse=True)
    return COMMON_SHARE * best[COMMON_PLACE - 1] if len(best) >= COMMON_PLACE else 0.0


@pytest.mark.covers("R10")
@given(pools(), NUMBERS, st.integers(0, 20))
def test_the_threshold_and_the_cap_only_leave_out(pools, threshold, top_k):
    everything = list(rank(pools))
    assert sorted(keys(everything)) == sorted(one.key for pool in pools for one in pool.passages)
    kept = [one for one in everything if one.relevance >= threshold]
    assert list(rank(pools, threshold=threshold, top_k=top_k)) == kept[:top_k]


@given(pools())
def test_the_best_come_first_and_equal_ones_by_their_words_and_key(pools):
    shares = {one.key: one.share for pool in pools for one in pool.passages}
    order = [(-one.score, -shares[one.key], one.key) for one in rank(pools)]
    assert order == sorted(order)


@given(pools(), st.randoms())
def test_the_order_does_not_depend_on_the_order_of_the_candidates(pools, random):
    shuffled = [
        Pool(random.sample(pool.passages, len(pool.passages)), *(pool.average_cosine, pool.vector_weight))
        for pool in pools
    ]
    random.shuffle(shuffled)
    assert list(rank(shuffled)) == list(rank(pools))


@pytest.mark.covers("R5")
@given(pools())
def test_either_words_or_nearness_make_a_passage_relevant(pools):
    given_ = {one.key: one for pool in pools for one in pool.passages}
    for one in rank(pools):
        words, cosine = given_[one.key].share, given_[one.key].cosine
        assert one.relevance == max(words, cosine or 0.0)
        assert one.match_score == (words if cosine is None else max(0.0, cosine))
        assert 0 <= one.relevance <= 1
        assert one.scores.get("vector") == cosine
        assert one.scores["lexical"] == max(0.0, given_[one.key].lexical - common(pools))
        assert one.payload == given_[one.key].payload


@given(pools(cosines=st.none()))
def test_by_words_alone_the_score_is_that_of_the_words(pools):
    for one in rank(pools):
        assert one.scores["lexical"] == max(0.0, one.score - common(pools))
        assert one.scores.keys() == {"lexical"}


def test_what_ten_passages_share_with_the_question_says_less_than_what_one_does():
    shared = [Passage(number, 0.8, 1.0) for number in range(COMMON_PLACE)]
    few, many = (next(rank([Pool(passages)])).scores["lexical"] for passages in (shared[1:], shared))
    assert (few, many) == (0.8, 0.4)


@given(pools())
def test_a_better_passage_in_both_is_never_below_another_of_its_pool(pools):
    place = {key: number for number, key in enumerate(keys(rank(pools)))}
    for pool in pools:
        for one in pool.passages:
            for other in pool.passages:
                better = one.lexical > other.lexical and one.share >= other.share
                if better and one.cosine is not None and other.cosine is not None and one.cosine > other.cosine:
                    assert place[one.key] < place[other.key]


def test_a_cosine_above_one_by_rounding_is_a_relevance_of_one():
    (one,) = rank([Pool([Passage("a", 0.0, 0.5, 1.0000001)], 0.1, 0.5)])
    assert one.relevance == one.match_score == 1.0
    assert one.scores == {"lexical": 0.0, "vector": 1.0000001, "fused": 0.5}


def test_nothing_found_is_nothing():
    assert list(rank([])) == list(rank([Pool([])])) == list(rank([Pool([], 0.3, 0.5)], top_k=3)) == []
    assert list(rank([Pool([Passage("a", 1.0, 1.0)])], top_k=-1)) == []
