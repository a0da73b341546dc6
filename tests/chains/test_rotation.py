"""Evidence of recent turns yields to fresh evidence (P10)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.nodes.works.rotate_results import MAX_KEYS, RECENTLY_USED, recently_used, rotate, with_turn


@pytest.mark.covers("P10")
def test_what_was_shown_moves_behind_what_was_not():
    assert rotate("abcde", "ac".__contains__) == list("bdeac")


@pytest.mark.covers("P10")
def test_suppressed_evidence_comes_back_only_as_far_as_it_is_needed():
    assert rotate("abcde", "ac".__contains__, suppress=True, min_results=3) == list("bde")
    assert rotate("abcde", "abcd".__contains__, suppress=True, min_results=3) == list("eab")
    assert rotate("ab", "ab".__contains__, suppress=True, min_results=0) == ["a"]


@pytest.mark.covers("P10")
@given(st.lists(st.integers(0, 20), unique=True), st.sets(st.integers(0, 20)), st.booleans(), st.integers(0, 5))
def test_fresh_evidence_is_never_lost_nor_put_behind_shown_evidence(ranked, shown, suppress, least):
    found = rotate(ranked, shown.__contains__, suppress=suppress, min_results=least)
    fresh = [one for one in ranked if one not in shown]
    assert found[: len(fresh)] == fresh
    assert len(found) >= min(len(ranked), max(1, least))
    assert sorted(found) == sorted(ranked) or suppress


@pytest.mark.covers("P10")
def test_keys_are_kept_per_turn_within_bounds_and_as_json():
    metadata: dict = {}
    for turn in range(9):
        metadata = {RECENTLY_USED: with_turn(metadata, [f"{turn}-{n}" for n in range(MAX_KEYS + 5)], turns=3)}
    kept = metadata[RECENTLY_USED]
    assert [len(keys) for keys in kept] == [MAX_KEYS] * 3
    assert json.loads(json.dumps(kept)) == kept
    assert "8-0" in recently_used(metadata)
    assert "5-0" not in recently_used(metadata)


@pytest.mark.covers("P10")
@pytest.mark.parametrize("value", [None, "text", 3, {"a": 1}, [3, "x", None]])
def test_metadata_that_holds_something_else_is_no_memory(value):
    assert recently_used({RECENTLY_USED: value}) == frozenset()
