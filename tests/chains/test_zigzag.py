"""The best results at both ends (P8)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.clustering import zigzag

pytestmark = pytest.mark.covers("P8")


def test_a_ranking_of_seven():
    assert zigzag([1, 2, 3, 4, 5, 6, 7]) == [1, 3, 5, 7, 6, 4, 2]


@given(st.lists(st.integers()))
def test_nothing_is_lost_and_the_best_two_stand_at_the_two_ends(ranked):
    shown = zigzag(ranked)
    assert Counter(shown) == Counter(ranked)
    if ranked:
        assert shown[0] == ranked[0]
    if len(ranked) > 1:
        assert shown[-1] == ranked[1]


@given(st.integers(0, 40))
def test_the_further_from_an_end_the_lower_the_rank(count):
    shown = zigzag(list(range(count)))
    middle = (count + 1) // 2
    assert shown[:middle] == sorted(shown[:middle])
    assert shown[middle:] == sorted(shown[middle:], reverse=True)
