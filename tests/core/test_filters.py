"""Filters: what a schema allows (R2, I10), and what a condition means for a row."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import OPERATORS, check_filters, matches
from groundgraph.core.schema import SourceSchema

SCHEMA = SourceSchema(
    "shop",
    {
        "topic": {"type": "string", "enum": ["returns", "payment"]},
        "author": {},
        "body": {"type": "text"},
        "year": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "day": {"type": "date"},
        "at": {"type": "datetime"},
        "tags": {"type": "array"},
    },
)


def checked(**filters):
    return check_filters(SCHEMA, filters, source="shop")


@pytest.mark.covers("R2")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"topic": "returns"}, {"topic": "returns"}),
        ({"topic": ("returns", "payment")}, {"topic": ["returns", "payment"]}),
        ({"topic": {"not": "returns"}}, {"topic": {"not": "returns"}}),
        ({"topic": {"contains": "pay"}}, {"topic": {"contains": "pay"}}),
        ({"topic": {"gte": "q"}}, {"topic": {"gte": "q"}}),
        ({"year": {"gte": 2024, "lt": 2026}}, {"year": {"gte": 2024, "lt": 2026}}),
        ({"open": False}, {"open": False}),
        ({"day": date(2026, 3, 1)}, {"day": "2026-03-01"}),
        ({"day": "20260301"}, {"day": "2026-03-01"}),
        ({"day": {"lte": "2026-W10-1"}}, {"day": {"lte": "2026-03-02"}}),
        ({"at": datetime(2026, 3, 1, 17, tzinfo=UTC)}, {"at": "2026-03-01T17:00:00+00:00"}),
        ({"at": "2026-03-01 17:00"}, {"at": "2026-03-01T17:00:00"}),
        ({"at": {"gt": "2026-03-01"}}, {"at": {"gt": "2026-03-01"}}),
        ({"tags": "a"}, {"tags": "a"}),
        ({"tags": ["a", 2]}, {"tags": ["a", 2]}),
        ({}, {}),
    ],
)
def test_what_the_schema_allows(given, expected):
    assert checked(**given) == expected


@pytest.mark.covers("R2")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"topik": "returns"}, r"no field 'topik'.*Did you mean 'topic'"),
        (
            {"topic": "retuns"},
            r"shop\.topic: 'retuns' is not an allowed value.*Did you mean 'returns'.*payment",
        ),
        ({"topic": {"not": "x"}}, "not an allowed value"),
        ({"topic": []}, "empty list"),
        ({"topic": {}}, "nothing is not an operator"),
        ({"topic": {"$ne": "x"}}, r"\$ne is not an operator.*gte"),
        ({"topic": {"contains": ["a"]}}, "one text or number"),
        ({"topic": {"contains": True}}, "one text or number"),
        ({"topic": None}, "not a value of type string"),
        ({"author": True}, "not a value of type string"),
        ({"author": {"not": {"not": "x"}}}, "not a value of type string"),
        ({"year": 2024.5}, "type integer"),
        ({"year": "2024"}, "type integer"),
        ({"year": {"gte": [2024]}}, "type integer"),
        ({"price": "1"}, "type number"),
        ({"open": 1}, "type boolean"),
        ({"day": "1 March"}, "ISO 8601"),
        ({"day": 20260301}, "ISO 8601"),
        ({"tags": {"gte": None}}, "this field holds lists. Name a value of them"),
        ({"tags": {"gt": 2}}, "'gt' compares one value, and this field holds lists"),
        ({"tags": {"contains": True}}, "Name the value alone"),
    ],
)
def test_what_it_refuses(given, message):
    with pytest.raises(FilterInvalid, match=message):
        checked(**given)


@pytest.mark.covers("R2")
def test_a_filter_without_a_schema_cannot_be_enforced():
    with pytest.raises(FilterInvalid, match="declares no schema, so the filter on 'topic'"):
        check_filters(None, {"topic": "x"}, source="shop")
    assert check_filters(None, {}, source="shop") == {}


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(OPERATORS), inner)),
    max_leaves=6,
)


@pytest.mark.covers("I10")
@pytest.mark.guard
@given(st.dictionaries(st.sampled_from(sorted(SCHEMA.fields)), VALUES), st.dictionaries(st.text(), VALUES))
def test_any_value_is_checked_or_refused_and_checking_twice_changes_nothing(filters, row):
    try:
        plain = check_filters(SCHEMA, filters, source="shop")
    except FilterInvalid:
        return
    assert check_filters(SCHEMA, plain, source="shop") == plain
    assert matches(plain, {**row, **filters}) in (True, False)


ROW = {
    "topic": "returns",
    "year": 2024,
    "price": 9.5,
    "open": True,
    "day": "2026-03-31",
    "at": "2026-03-31T17:00:00",
    "tags": ["money", 7],
    "grid": [["a", ["b"]], "c"],
    "empty": None,
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"topic": "returns"}, True),
        ({"topic": ["x", "returns"]}, True),
        ({"topic": {"not": "returns"}}, False),
        ({"topic": {"not": ["x", "y"]}}, True),
        ({"topic": {"contains": "TURN"}}, True),
        ({"year": 2024}, True),
        ({"year": "2024"}, True),
        ({"year": {"gt": 2024}}, False),
        ({"year": {"gte": 2024, "lte": 2024}}, True),
        ({"topic": {"gte": 5}}, False),
        ({"price": {"lt": 10}}, True),
        ({"open": 1}, False),
        ({"year": True}, False),
        ({"day": {"lte": "2026-03-31"}}, True),
        ({"at": {"lte": "2026-03-31"}}, True),
        ({"at": {"lt": "2026-03-31T17:00:01"}}, True),
        ({"tags": "7"}, True),
        ({"tags": ["x", 7]}, True),
        ({"tags": {"contains": "money"}}, True),
        ({"tags": {"contains": "mon"}}, False),
        ({"tags": {"not": "money"}}, False),
        ({"grid": "b"}, True),
        ({"grid": {"contains": "a"}}, True),
        ({"grid": {"not": ["x", "b"]}}, False),
        ({"missing": {"gte": 0}}, False),
        ({"missing": {"contains": ""}}, False),
        ({"missing": {"not": "x"}}, True),
        ({"empty": {"not": "x"}}, True),
        ({"empty": "None"}, False),
        ({"topic": "returns", "year": 1999}, False),
        ({}, True),
    ],
)
def test_what_a_condition_means(condition, holds):
    assert matches(condition, ROW) is holds


def test_dates_in_a_row_compare_as_iso_text():
    row = {"day": date(2026, 3, 31), "at": datetime(2026, 3, 31, 17)}
    assert matches({"day": "2026-03-31"}, row)
    assert matches({"day": {"gte": "2026-03-31", "lt": "2026-04-01"}}, row)
    assert matches({"at": "2026-03-31T17:00:00"}, row)
    assert matches({"at": {"gte": "2026-03-31T16:00:00", "lte": "2026-03-31"}}, row)
    assert not matches({"at": {"gte": "2026-03-31T18:00:00"}}, row)


def test_a_text_of_ten_characters_is_not_a_day():
    assert not matches({"topic": {"lte": "abcdefghij"}}, {"topic": "abcdefghijk"})
    assert matches({"topic": {"lte": "abcdefghij"}}, {"topic": "abcdefghij"})


def test_a_number_that_is_none_orders_with_nothing():
    assert not matches({"price": {"gte": 0}}, {"price": math.nan})


@given(
    st.one_of(st.integers(), st.text(), st.booleans()),
    st.one_of(st.integers(), st.text(), st.booleans(), st.none()),
)
def test_not_is_the_opposite_of_equal(condition, value):
    assert matches({"f": {"not": condition}}, {"f": value}) is not matches({"f": condition}, {"f": value})


@pytest.mark.parametrize("value", [1_700_000_000, 0, 12.5, True])
def test_a_number_has_no_place_among_days(value):
    assert not matches({"day": {"lte": "2000-01-01"}}, {"day": value})
    assert not matches({"day": {"gte": "2000-01-01"}}, {"day": value})
