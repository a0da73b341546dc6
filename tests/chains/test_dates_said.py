"""Periods that a text names, and the days that a model's values mean (I3)."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.ground_fields import DateGround, grounded_days
from groundgraph.text.dates import MAX_PERIODS, periods

pytestmark = pytest.mark.covers("I3")

TODAY = date(2026, 11, 21)


def named(text: str, today: date = TODAY) -> list[tuple[str, str, bool]]:
    return [(str(one.first), str(one.last), one.year_said) for one in periods(text, today)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("after March", [("2026-03-01", "2026-03-31", False)]),
        ("после марта", [("2026-03-01", "2026-03-31", False)]),
        ("in March 2024", [("2024-03-01", "2024-03-31", True)]),
        ("on 14 March", [("2026-03-14", "2026-03-14", False)]),
        ("on 2024-02-29", [("2024-02-29", "2024-02-29", True)]),
        ("14.03.2024", [("2024-03-14", "2024-03-14", True)]),
        ("in 2025", [("2025-01-01", "2025-12-31", True)]),
        ("yesterday", [("2026-11-20", "2026-11-20", True)]),
        ("вчера", [("2026-11-20", "2026-11-20", True)]),
        ("last week", [("2026-11-09", "2026-11-15", True)]),
        ("the last 30 days", [("2026-10-22", "2026-11-21", True)]),
        ("за последние 3 месяца", [("2026-08-21", "2026-11-21", True)]),
        ("two weeks ago", [("2026-11-07", "2026-11-07", True)]),
        ("RFC 6749 section 10", []),
        ("version 1.2026", []),
        ("30 February", []),
    ],
)
def test_a_text_names_days_months_years_and_what_depends_on_the_day(text, found):
    assert named(text) == found


@given(st.text(max_size=60), st.dates(date(1970, 1, 1), date(2200, 1, 1)))
def test_any_text_gives_periods_that_begin_before_they_end(text, today):
    assert all(one.first <= one.last for one in periods(text, today))


@given(st.integers(0, 400), st.sampled_from(["day", "week"]), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_so_many_days_ago_are_counted(count, unit, today):
    expected = today - timedelta(days=count * (7 if unit == "week" else 1))
    found = [one.first for one in periods(f"{count} {unit}s ago", today)]
    assert found == ([expected] if count else [])


def days(text: str, given_: dict, *, today: date = TODAY, **ground) -> dict:
    return grounded_days(given_, DateGround(text, today, **ground))[0]


@pytest.mark.parametrize(
    ("text", "proposed", "kept"),
    [
        # A period is cut where the operator needs it.
        ("after March", {"gt": "March"}, {"gt": "2026-03-31"}),
        ("since March", {"gte": "March"}, {"gte": "2026-03-01"}),
        ("before March", {"lt": "March"}, {"lt": "2026-03-01"}),
        ("until March", {"lte": "March"}, {"lte": "2026-03-31"}),
        ("in March", {"eq": "March"}, {"gte": "2026-03-01", "lte": "2026-03-31"}),
        # A day counts where what was said begins or ends.
        ("after March", {"gte": "2026-04-01"}, {"gte": "2026-04-01"}),
        ("after March", {"gt": "2026-03-31"}, {"gt": "2026-03-31"}),
        ("after March", {"gt": "2026-03-15"}, {}),
        ("incidents", {"gt": "2026-03-31"}, {}),
        ("on 14 March 2025", {"eq": "2025-03-14"}, {"eq": "2025-03-14"}),
        ("on 14 March 2025", {"eq": "2026-03-14"}, {}),
        # A year that nobody said is not the model's to choose.
        ("after March", {"gte": "2024-03-01"}, {"gte": "2026-03-01"}),
        ("after December", {"gte": "2026-12-01"}, {"gte": "2025-12-01"}),
        ("from December to January", {"gte": "December", "lte": "January"}, {"gte": "2025-12-01", "lte": "2026-01-31"}),
        # One operand may stand where another falls.
        ("after March", {"gt": "March", "lte": "2026-11-21"}, {"gt": "2026-03-31"}),
        ("last 30 days", {"gte": "last 30 days"}, {"gte": "2026-10-22"}),
        ("yesterday", {"eq": "2024-05-01"}, {}),
        ("not in March", {"not": "March"}, {}),
        ("not on 14 March", {"not": "14 March"}, {"not": "2026-03-14"}),
        ("critical ones", {"gt": "soon"}, {}),
    ],
)
def test_a_date_must_occur_in_the_message(text, proposed, kept):
    assert days(text, proposed) == kept


def test_a_year_of_the_conversation_is_believed():
    assert days("after March", {"gte": "2024-03-01"}, years={2024}) == {"gte": "2024-03-01"}


def test_a_field_that_skips_grounding_takes_every_date():
    assert days("anything", {"gte": "2024-03-01"}, anything=True) == {"gte": "2024-03-01"}
    assert days("anything", {"gte": "March"}, anything=True) == {"gte": "2026-03-01"}
    assert days("anything", {"gte": "soon"}, anything=True) == {}


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["eq", "gte", "gt", "lte", "lt", "not"]))
def test_whatever_is_kept_is_an_iso_day(text, value, operator):
    for found in days(text, {operator: value}).values():
        date.fromisoformat(found)


@pytest.mark.parametrize("text", ["5000 years ago", "in the last 9999 years"])
@pytest.mark.parametrize("value", ["5000 years ago", "0001-01-01", "2026-03-01"])
def test_the_first_day_that_there_is_has_none_before_it(text, value):
    new_year = DateGround(text, date(2026, 1, 1))
    found, _ = grounded_days({"gte": value}, new_year)
    assert found in ({}, {"gte": "0001-01-01"})


@pytest.mark.covers("fault 2")
def test_a_text_of_dates_names_each_once_and_not_more_than_so_many():
    today = date(2026, 11, 21)
    assert len(periods("in March " * 500, today)) == 1
    log = " ".join(f"{number % 28 + 1}.{number % 12 + 1}.{1900 + number % 120}" for number in range(1000))
    assert len(periods(log, today)) == MAX_PERIODS
