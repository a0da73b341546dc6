"""What a checkpoint holds of an extraction, and the day of a turn (I2, I10)."""

from __future__ import annotations

import json
from datetime import date

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.extract_intent import Extraction
from groundgraph.core.turn_values import EMPTY_TURN
from groundgraph.nodes.extracted_intent import MAX_DROPPED, RAW_CHARS, day_of, extracted_intent, recorded
from groundgraph.settings.search import IntentSettings

pytestmark = pytest.mark.covers("I10")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_what_is_recorded_can_be_stored_by_msgpack_and_json(raw):
    found = recorded(raw)
    ormsgpack.packb(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_plain_extraction_is_recorded_as_it_is():
    raw = {"text_queries": ["a"], "filters": {"s": {"n": 5, "x": 0.5}}, "scope": None}
    assert recorded(raw) == raw
    assert recorded({**raw, "topic_index": {"a": 1}}) == raw


def test_a_long_one_is_recorded_by_its_beginning():
    found = recorded({"text_queries": ["a" * RAW_CHARS]})
    assert list(found) == ["reply"]
    assert found["reply"].startswith('{"text_queries": ["aaa')


def test_the_day_is_that_on_which_the_turn_began():
    assert day_of({"started_at": 0.0}) == date(1970, 1, 1)
    assert day_of({"started_at": 1_795_219_199.0}) == date(2026, 11, 20)


def test_what_was_dropped_is_bounded():
    extra = {str(number): number for number in range(100)}
    turn = {**EMPTY_TURN, "question": "q"}
    intent = extracted_intent(Extraction(["q q"], {}, extra, {}), IntentSettings(), {}, {}, turn, [])
    assert len(intent["dropped"]) == MAX_DROPPED
