"""Properties of the intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.evals.measures import area_difference_interval, area_interval, area_under_curve, mean_interval

VALUES = st.lists(st.floats(-1, 1), min_size=1, max_size=40)
SCORES = st.lists(st.integers(0, 6).map(lambda n: n / 6), min_size=1, max_size=12)
FEW = settings(max_examples=25, deadline=None)


@FEW
@given(VALUES)
def test_the_interval_holds_the_mean_stays_within_the_values_and_is_the_same_again(values):
    low, high = mean_interval(values)
    mean = sum(values) / len(values)
    assert low - 1e-12 <= mean <= high + 1e-12
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12
    assert mean_interval(values) == (low, high)


@FEW
@given(st.floats(-1, 1), st.integers(1, 50))
def test_equal_values_have_an_interval_without_width(value, number):
    low, high = mean_interval([value] * number)
    assert low == high == pytest.approx(value)


def test_the_width_is_that_of_the_normal_approximation_for_many_values():
    low, high = mean_interval([0.0, 1.0] * 500)
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / 1000**0.5, rel=0.1)


@FEW
@given(SCORES, SCORES)
def test_the_area_counts_pairs_and_its_interval_holds_it(positive, negative):
    pairs = [(p > n) + (p == n) / 2 for p in positive for n in negative]
    area = area_under_curve(positive, negative)
    assert area == pytest.approx(sum(pairs) / len(pairs))
    low, high = area_interval(positive, negative)
    assert 0 <= low <= area <= high <= 1


def test_areas_that_are_known():
    assert area_under_curve([3, 2], [1, 0]) == 1.0
    assert area_under_curve([1, 0], [3, 2]) == 0.0
    assert area_under_curve([1, 1], [1]) == 0.5
    assert area_interval([3, 2], [1, 0]) == (1.0, 1.0)


@FEW
@given(SCORES, SCORES)
def test_a_run_does_not_differ_from_itself(positive, negative):
    assert area_difference_interval((positive, positive), (negative, negative)) == (0.0, 0.0)


def test_opposite_runs_differ():
    assert area_difference_interval(([3, 2], [1, 0]), ([1, 0], [3, 2])) == (1.0, 1.0)


def test_nothing_to_resample_is_refused():
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
    with pytest.raises(ValueError, match="positive and negative"):
        area_interval([1.0], [])
