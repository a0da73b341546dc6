"""Evidence of recent turns yields to fresh evidence (P10)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.nodes.works.rotate_results import EQUAL, MAX_KEYS, RECENTLY_USED, recently_used, rotate, with_turn

pytestmark = pytest.mark.covers("P10")


def alike(_: object) -> float:
    return 0.5


def test_what_was_used_moves_behind_what_was_not():
    assert rotate("abcde", "ac".__contains__, alike) == list("bdeac")


def test_what_was_used_stays_before_what_is_less_relevant():
    assert rotate([0.9, 0.5, 0.88, 0.4], {0.9, 0.4}.__contains__, float) == [0.5, 0.88, 0.9, 0.4]
    assert rotate([0.9, 0.5, 0.4], {0.9}.__contains__, float, suppress=True, min_results=0) == [0.9, 0.5, 0.4]


def test_suppressed_evidence_comes_back_only_as_far_as_it_is_needed():
    assert rotate("abcde", "ac".__contains__, alike, suppress=True, min_results=3) == list("bde")
    assert rotate("abcde", "abcd".__contains__, alike, suppress=True, min_results=3) == list("eab")
    assert rotate("ab", "ab".__contains__, alike, suppress=True, min_results=0) == ["a", "b"]


@given(
    st.lists(st.integers(0, 20), unique=True, min_size=1),
    st.sets(st.integers(0, 20)),
    st.booleans(),
    st.integers(0, 5),
)
def test_no_fresh_evidence_is_lost_and_only_fresh_evidence_as_good_passes_the_best(ranked, used, suppress, least):
    found = rotate(ranked, used.__contains__, lambda one: one / 20, suppress=suppress, min_results=least)
    fresh = [one for one in ranked if one not in used]
    assert [one for one in found if one not in used] == fresh
    assert len(found) >= min(len(ranked), max(1, least))
    assert sorted(found) == sorted(ranked) or suppress
    assert found[0] == ranked[0] or any(one / 20 >= ranked[0] / 20 - EQUAL for one in fresh)


def test_keys_are_kept_per_turn_within_bounds_and_as_json():
    metadata: dict = {}
    for turn in range(9):
        metadata = {RECENTLY_USED: with_turn(metadata, [f"{turn}-{n}" for n in range(MAX_KEYS + 5)], turns=3)}
    kept = metadata[RECENTLY_USED]
    assert [len(keys) for keys in kept] == [MAX_KEYS] * 3
    assert json.loads(json.dumps(kept)) == kept
    assert "8-0" in recently_used(metadata)
    assert "5-0" not in recently_used(metadata)


@pytest.mark.parametrize("value", [None, "text", 3, {"a": 1}, [3, "x", None]])
def test_metadata_that_holds_something_else_is_no_memory(value):
    assert recently_used({RECENTLY_USED: value}) == frozenset()
