"""Times in filters compare as instants, days as written, and other text as text (R2)."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from operator import eq, ge, gt, le, lt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_times import ODD_ZONES, near_times, written

from groundgraph.core.filters import TimeOperand, check_filters, matches, with_times, written_time
from groundgraph.core.schema import SourceSchema

SCHEMA = SourceSchema("log", {"at": {"type": "datetime"}, "day": {"type": "date"}, "note": {"type": "string"}})
COMPARISONS = {"gte": ge, "gt": gt, "lte": le, "lt": lt}
ZONES = st.none() | st.sampled_from(ODD_ZONES).map(timezone)
ANY_TIME = st.datetimes() | st.datetimes(datetime(2026, 3, 1), datetime(2026, 3, 2))
DAYS = st.dates(datetime(2024, 2, 26).date(), datetime(2024, 3, 4).date()).map(str)
NO_TIMES = ["2026-02-30T12:00:00Z", "2026-03-01 noon", "2026-03-01T12", "20260301T120000Z", "2026-W09-7T12:00", "", "x"]


def keeps(condition, value, field="at"):
    return matches(check_filters(SCHEMA, {field: condition}, source="log"), {field: value})


def in_utc(moment):
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@pytest.mark.covers("R2")
@given(ANY_TIME, ZONES, ANY_TIME, ZONES, st.data())
def test_random_times_in_random_zones_compare_as_datetimes_do(left, left_zone, right, right_zone, data):
    left, right = left.replace(tzinfo=left_zone), right.replace(tzinfo=right_zone)
    value = data.draw(st.sampled_from(list(written(left))))
    operand = data.draw(st.sampled_from(list(written(right))))
    for field in ("at", "day"):
        for operator, holds in COMPARISONS.items():
            assert keeps({operator: operand}, value, field) is holds(in_utc(left), in_utc(right))
        assert keeps(operand, value, field) is (in_utc(left) == in_utc(right))
        assert keeps([operand, "1999-01-01"], value, field) is (in_utc(left) == in_utc(right))
        assert keeps({"not": operand}, value, field) is (in_utc(left) != in_utc(right))
    assert keeps({"gte": right}, left) is (in_utc(left) >= in_utc(right))


@pytest.mark.covers("R2")
@given(near_times() | DAYS, DAYS)
def test_a_bare_day_is_compared_with_the_day_as_it_is_written(value, day):
    for operator, holds in COMPARISONS.items():
        assert keeps({operator: day}, value) is holds(value[:10], day)
    assert keeps(day, value) is (value == day)


@pytest.mark.covers("R2")
@given(st.sampled_from(NO_TIMES) | DAYS | st.text(), near_times())
def test_text_that_is_no_time_is_compared_as_text(value, operand):
    (text,) = check_filters(SCHEMA, {"at": operand}, source="log").values()
    for operator, holds in COMPARISONS.items():
        assert keeps({operator: operand}, value) is holds(value, str(text))
    assert keeps(operand, value) is (value == text)


@pytest.mark.covers("R2")
@given(near_times(), near_times())
def test_a_string_field_that_looks_like_a_time_stays_text(value, operand):
    for operator, holds in COMPARISONS.items():
        assert keeps({operator: operand}, value, "note") is holds(value, operand)
    assert keeps(operand, value, "note") is (value == operand)


@pytest.mark.covers("R2")
@pytest.mark.parametrize(
    ("operand", "value"),
    [
        ("2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00Z"),
        ("2026-03-01T12:00:00+02:00", "2026-03-01 10:00"),
        ("2026-03-01T12:00:00", "2026-03-01 12:00:00.000"),
        ("2026-03-01T12:00:00.5", "2026-03-01T12:00:00,500"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00+00:00"),
        ("2026-03-01T23:30:00-05:00", datetime(2026, 3, 2, 4, 30, tzinfo=UTC)),
        ("2026-03-01T12:00:00", datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
        ("0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00+02:00"),
        ("9999-12-31T23:59:59-02:00", "9999-12-31 23:59:59-0200"),
    ],
)
def test_ways_of_writing_one_instant(operand, value):
    assert keeps(operand, value)
    assert keeps({"gte": operand, "lte": operand}, value)
    assert not keeps({"not": operand}, value)
    assert not keeps({"gt": operand}, value)


@given(near_times(), near_times())
def test_outside_the_days_around_a_value_compares_as_the_text_does(value, operand):
    time = TimeOperand(operand)
    first, after = time.days_around()
    assert not (value < first and time.compares(ge, value))
    assert not (value >= after and time.compares(le, value))
    assert not (time.compares(eq, value) and not first <= value < after)


def test_there_are_no_days_around_a_bare_day_nor_at_the_ends_of_the_calendar():
    assert TimeOperand("2026-03-01T12:00:00").days_around() == ("2026-02-27", "2026-03-04")
    for text in ("2026-03-01", "0001-01-02T00:00:00", "9999-12-30T00:00:00"):
        assert TimeOperand(text).days_around() is None


@pytest.mark.parametrize("carry", [lambda it: json.loads(json.dumps(it)), lambda it: it])
def test_checked_filters_that_were_stored_as_json_are_times_again(carry):
    filters = {
        "at": {"gte": "2026-03-01T12:00:00+02:00", "not": ["2026-03-01T13:00:00+02:00"], "contains": "2026"},
        "note": "2026-03-01T12:00:00+02:00",
    }
    checked = check_filters(SCHEMA, filters, source="log")
    again = with_times(SCHEMA, carry(checked))
    assert again == checked == filters
    assert matches(again, {"at": "2026-03-01T10:00:00Z", "note": "2026-03-01T12:00:00+02:00"})
    assert not matches(again, {"at": "2026-03-01T11:00:00Z", "note": "2026-03-01T12:00:00+02:00"})
    assert not matches(again, {"at": "2026-03-01T10:00:00Z", "note": "2026-03-01T10:00:00Z"})
    assert with_times(None, filters) == filters


@pytest.mark.parametrize("again", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_of_an_operand_is_one(again):
    copied = again(TimeOperand("2026-03-01T12:00:00+02:00"))
    assert type(copied) is TimeOperand
    assert copied.compares(eq, "2026-03-01T10:00:00Z")


def test_a_checkpoint_holds_the_text_alone():
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serializer = JsonPlusSerializer()
    plain = "2026-03-01T12:00:00+02:00"
    stored = serializer.dumps_typed({"at": TimeOperand(plain)})
    assert stored == serializer.dumps_typed({"at": plain})
    assert type(serializer.loads_typed(stored)["at"]) is str


@given(st.text() | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*"))
def test_any_text_is_read_as_a_time_or_not_at_all(text):
    assert written_time(text) is None or written_time(text) == datetime.fromisoformat(text)
