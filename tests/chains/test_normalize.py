"""Relevances of different sources on one scale (P1)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import Hit
from groundgraph.nodes.works.score_results import METHODS, min_max, normalize, rank, z_score

pytestmark = pytest.mark.covers("P1")

ANY = st.floats(allow_nan=True, allow_infinity=True)
NORMAL = st.floats(-1e6, 1e6)


def hit(source: str, score: float, relevance: float = 0.5) -> Hit:
    return Hit(f"{source}{score}", source, str(score), relevance, score)


@pytest.mark.parametrize("method", METHODS.values())
@given(scores=st.lists(ANY, max_size=20))
def test_every_method_gives_one_number_from_0_to_1_for_each_score_whatever_it_is(method, scores):
    values = method(scores)
    assert len(values) == len(scores)
    assert all(0 <= value <= 1 for value in values)


@pytest.mark.parametrize("method", METHODS.values())
@given(scores=st.lists(NORMAL, max_size=20))
def test_no_method_changes_the_order(method, scores):
    values = method(scores)
    for one, a in zip(scores, values, strict=True):
        for other, b in zip(scores, values, strict=True):
            assert one <= other or a >= b
            assert one != other or a == b


@pytest.mark.parametrize(("method", "equal"), [(min_max, 1.0), (z_score, 0.5), (rank, 1.0)])
def test_no_result_one_result_and_equal_scores_are_defined(method, equal):
    assert method([]) == []
    assert method([7.0]) == [equal]
    assert method([0.3, 0.3, 0.3]) == [equal] * 3


def test_min_max_maps_the_worst_to_0_and_the_best_to_1():
    assert min_max([2, 6, 4]) == [0.0, 1.0, 0.5]
    assert min_max([-1.7e308, 1.7e308, 0]) == [0.0, 1.0, 0.5]


def test_z_score_is_the_normal_distribution_of_the_deviation_from_the_mean():
    low, middle, high = z_score([1, 2, 3])
    assert middle == pytest.approx(0.5)
    assert high == pytest.approx(0.5 * (1 + math.erf(math.sqrt(1.5) / math.sqrt(2))))
    assert low == pytest.approx(1 - high)


def test_rank_goes_down_evenly_and_equals_share_the_better_rank():
    assert rank([9, 5, 7, 7]) == [1.0, 0.25, 0.75, 0.75]


@pytest.mark.parametrize("method", METHODS.values())
def test_what_is_no_number_counts_as_the_worst(method):
    values = method([3.0, math.nan, 5.0])
    assert values[1] == values[0] < values[2]


def test_each_source_is_normalised_by_itself_and_the_best_of_all_comes_first():
    hits = [hit("a", 900), hit("a", 100), hit("b", 0.9), hit("b", 0.7), hit("b", 0.1)]
    found = normalize(hits, "min_max", {})
    assert [(one.source_name, one.relevance) for one in found] == [
        ("a", 1.0), ("b", 1.0), ("b", 0.75), ("a", 0.0), ("b", 0.0),
    ]  # fmt: skip
    assert all(one.score == one.relevance for one in found)


def test_a_source_counts_by_the_share_of_its_weight_in_the_largest():
    hits = [hit("a", 9), hit("a", 1), hit("b", 9), hit("b", 5), hit("b", 1)]
    found = normalize(hits, "min_max", {"a": 1, "b": 4})
    assert [(one.source_name, one.relevance) for one in found][:3] == [("b", 1.0), ("b", 0.5), ("a", 0.25)]


def test_a_source_is_compared_by_the_number_it_ordered_by_not_by_its_relevance():
    found = normalize([hit("a", 1, 0.9), hit("a", 9, 0.1)], "rank", {})
    assert [one.source_id for one in found] == ["9", "1"]
