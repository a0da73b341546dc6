"""Evidence: its dictionary form (R1), its stable key, and metadata that is always JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import SourceResult, evidence_key, from_record, jsonable, preview, to_record


class Colour(StrEnum):
    RED = "red"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.binary(),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
    st.sampled_from([Colour.RED, Colour, date, datetime, object(), Path("a/b"), range(3)]),
)
KEYS = st.one_of(st.text(), st.integers(), st.none(), st.booleans(), st.dates())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner),
        st.frozensets(st.one_of(st.integers(), st.text())),
    ),
    max_leaves=8,
)


@given(VALUES)
def test_jsonable_is_total_and_survives_json(value):
    plain = jsonable(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert jsonable(plain) == plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 3, 1, 17, tzinfo=UTC), "2026-03-01T17:00:00+00:00"),
        (date(2026, 3, 1), "2026-03-01"),
        (time(17, 30), "17:30:00"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, "a"), [1, "a"]),
        ({1: {None: date(2026, 3, 1)}}, {"1": {"None": "2026-03-01"}}),
    ],
)
def test_jsonable_examples(value, expected):
    assert jsonable(value) == expected


def test_an_enum_becomes_its_plain_value():
    plain = jsonable({"colour": Colour.RED})["colour"]
    assert (plain, type(plain)) == ("red", str)


RESULT = SourceResult("Отказ 🙂", "c1", "docs", "memory", 0.5, {"b": 1, "a": [1, 2], "day": date(2026, 3, 1)})


def test_the_key_does_not_depend_on_order_relevance_or_score():
    key = evidence_key(to_record(RESULT))
    reordered = SourceResult("Отказ 🙂", "c1", "docs", "memory", 0.9, dict(reversed(RESULT.metadata.items())), 7.0)
    assert evidence_key(to_record(reordered)) == key
    assert len(key) == 16
    assert key.replace("-", "").replace("_", "").isalnum()


def test_the_key_is_the_same_in_every_version_and_process():
    assert evidence_key(to_record(RESULT)) == "0Yw2eAa7I1BERrXO"
    code = (
        "from groundgraph.core.evidence import *\n"
        "print(evidence_key(to_record(SourceResult('x', '1', 's', 't', metadata={'k': {'b', 'a', 'c'}}))))"
    )
    printed = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(printed) == 1


@pytest.mark.parametrize("changed", ["content", "source_id", "source_name", "source_type", "metadata"])
def test_the_key_covers_every_part_of_the_record(changed):
    record = to_record(RESULT)
    other = {**record, changed: {"a": 0} if changed == "metadata" else "other"}
    assert evidence_key(other) != evidence_key(record)


def test_a_lone_surrogate_has_a_key():
    assert evidence_key(to_record(SourceResult("\ud800", "1", "s", "t")))


def test_a_record_gives_back_its_result():
    back = from_record(to_record(RESULT), 0.5)
    assert back.content == RESULT.content
    assert back.relevance == 0.5
    assert back.metadata == {"b": 1, "a": [1, 2], "day": "2026-03-01"}
    assert to_record(back) == to_record(RESULT)


@pytest.mark.covers("R1")
def test_to_dict_has_text_preview_and_in_a_turn_a_label():
    row = RESULT.to_dict()
    assert row["text"] == row["text_preview"] == "Отказ 🙂"
    assert (row["source_id"], row["source_name"], row["source_type"]) == ("c1", "docs", "memory")
    assert row["relevance"] == 0.5
    assert "label" not in row
    assert RESULT.to_dict(3)["label"] == 3


@given(st.text(), st.integers(2, 200))
def test_a_preview_is_one_line_within_its_limit(text, limit):
    shown = preview(text, limit)
    assert len(shown) <= limit
    assert "\n" not in shown


def test_a_preview_is_cut_between_words():
    assert preview("one two  three\nfour", 12) == "one two…"
    assert preview("short\ntext", 12) == "short text"
    assert preview("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.covers("fault 5")
def test_a_name_without_forbidden_characters():
    assert jsonable({"a\x00": {"\ud800": "\x00"}}) == {"a\ufffd": {"\ufffd": "\ufffd"}}
