"""Coverage, idf and BM25: their bounds and directions (R5)."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundgraph.text.words import bm25, coverage, idf

STEMS = st.text("abc", min_size=1, max_size=2)
WEIGHTS = st.dictionaries(STEMS, st.floats(0, 100), max_size=6)


@given(WEIGHTS, st.frozensets(STEMS), st.frozensets(STEMS))
def test_coverage_is_a_share_and_grows_with_what_is_present(weights, present, more):
    share = coverage(weights, present)
    assert 0 <= share <= 1
    assert share <= coverage(weights, present | more)


@given(WEIGHTS)
def test_all_of_it_is_one_and_none_of_it_nothing(weights):
    assume(sum(weights.values()) > 0)
    assert coverage(weights, set(weights)) == pytest.approx(1.0)
    assert coverage(weights, set()) == 0.0


def test_coverage_weighs_the_stems():
    assert coverage({"refund": 3.0, "policy": 1.0}, {"refund", "other"}) == 0.75
    assert coverage({}, {"a"}) == 0.0
    assert coverage({"a": 0.0}, {"a"}) == 0.0


@given(st.integers(1, 10**6), st.data())
def test_idf_is_never_negative_and_falls_with_frequency(documents, data):
    rare = data.draw(st.integers(0, documents - 1))
    common = data.draw(st.integers(rare + 1, documents))
    assert idf(documents, rare) > idf(documents, common) >= 0


def test_idf_is_lucenes():
    assert idf(10, 2) == pytest.approx(math.log(1 + 8.5 / 2.5))


LENGTHS = st.integers(1, 1000)


@given(st.integers(0, 100), LENGTHS, LENGTHS, st.floats(1, 1000))
def test_bm25_grows_with_frequency_falls_with_length_and_has_a_ceiling(frequency, length, longer, average):
    score = bm25(frequency, length, average)
    assert 0 <= score <= 1.2 + 1
    assert bm25(frequency + 1, length, average) > score
    assert bm25(frequency, length + longer, average) <= score


def test_bm25_examples():
    assert bm25(0, 10, 10) == 0
    assert bm25(1, 10, 10) == pytest.approx(1.0)
    assert bm25(1, 10, 0.0) == pytest.approx(1.0)
    assert bm25(2, 20, 10) == pytest.approx(2 * 2.2 / (2 + 1.2 * 1.75))
