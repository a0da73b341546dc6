"""Dropping what is far below the best result (P2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import Hit
from groundgraph.nodes.works.score_results import relative_threshold

pytestmark = pytest.mark.covers("P2")

HITS = st.lists(st.floats(), max_size=12).map(
    lambda values: [Hit(str(n), "s", str(n), value, value) for n, value in enumerate(values)]
)


def hits(*relevances: float) -> list[Hit]:
    return [Hit(str(n), "s", str(n), value, value) for n, value in enumerate(relevances)]


def kept(*relevances: float, share: float = 0.5, floor: int = 0) -> str:
    return "".join(hit.key for hit in relative_threshold(hits(*relevances), share, floor))


def test_what_is_below_the_share_of_the_best_is_dropped():
    assert kept(0.8, 0.4, 0.39, 0.6) == "013"


def test_the_floor_keeps_the_best_in_their_order():
    assert kept(0.1, 0.9, 0.2, 0.3, floor=3) == "123"
    assert kept(0.1, 0.9, 0.2, 0.3, floor=9) == "0123"


def test_no_result_one_result_and_equal_results():
    assert kept() == ""
    assert kept(0.0, share=1) == "0"
    assert kept(0.2, 0.2, 0.2, share=1) == "012"


@given(HITS, st.floats(0, 1), st.integers(0, 15))
def test_the_best_and_the_floor_always_stay_and_the_order_holds(found, share, floor):
    left = relative_threshold(found, share, floor)
    assert len(left) >= min(len(found), max(1, floor))
    assert [hit.key for hit in left] == sorted((hit.key for hit in left), key=int)
    numbers = [hit.relevance for hit in found if hit.relevance == hit.relevance]
    if numbers:
        assert max(numbers) in [hit.relevance for hit in left]


@given(HITS)
def test_a_share_of_0_drops_nothing_that_is_not_negative(found):
    if all(hit.relevance >= 0 for hit in found):
        assert relative_threshold(found, 0, 0) == found
