"""The walk over conditions: no engine loses a row that `matches` keeps, whatever it can and cannot decide."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_times import near_times

from examples import examples
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.schema import SourceSchema
from groundgraph.search.push_down import Dialect, Pushed, Times, push_down
from groundgraph.text.words import fold

Predicate = Callable[[dict[str, Any]], bool]
COMPARE = {"gte": operator.ge, "gt": operator.gt, "lte": operator.le, "lt": operator.lt}


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


class InMemory(Dialect[str, Predicate]):
    """Predicates on rows: an engine that decides everything."""

    exact = True

    @property
    def never(self):
        return lambda _row: False

    def all_of(self, conditions):
        return lambda row: all(condition(row) for condition in conditions)

    def any_of(self, conditions):
        return lambda row: any(condition(row) for condition in conditions)

    def negated(self, _field, condition):
        return lambda row: not condition(row)

    def times(self, _field):
        return Times.TEXT

    def equal(self, field, values):
        return Pushed(lambda row: matches({field: [str(v) if isinstance(v, str) else v for v in values]}, row), True)

    def compared(self, field, operator, operand):
        def holds(row):
            same = isinstance(row[field], str) if isinstance(operand, str) else is_number(row[field])
            return same and COMPARE[operator](row[field], operand)

        return Pushed(holds, exact=True)

    def contains(self, field, operand):
        return Pushed(lambda row: matches({field: {"contains": operand}}, row), exact=True)

    def decided(self, field, operator, times):
        condition = times if operator == "equal" else {operator: times[0]}
        return Pushed(lambda row: matches({field: condition}, row), exact=True)


class Folding(InMemory):
    """An engine that takes a capital for its small letter, and cannot tell when a written time is."""

    exact = False

    def equal(self, field, values):
        folded = [fold(value) if isinstance(value, str) else value for value in values]

        def holds(row):
            own = row[field] if isinstance(row[field], list) else [row[field]]
            return matches({field: folded}, {field: [fold(v) if isinstance(v, str) else v for v in own]})

        return Pushed(holds, exact=False)

    def contains(self, _field, _operand):
        return Pushed(None, exact=False)

    def decided(self, _field, _operator, _times):
        return Pushed(None, exact=False)


class Moments(InMemory):
    """An engine that keeps days as days and times as moments, as far as the values are some."""

    def times(self, field):
        return {"day": Times.DAYS, "at": Times.MOMENTS}.get(field, super().times(field))

    def equal(self, field, values):
        if field not in ("day", "at"):
            return super().equal(field, values)
        return Pushed(lambda row: self._read(field, row) in [self._stored(value) for value in values], exact=True)

    def compared(self, field, operator, operand):
        if field not in ("day", "at"):
            return super().compared(field, operator, operand)
        return Pushed(
            lambda row: row[field] is not None and COMPARE[operator](self._read(field, row), self._stored(operand)),
            exact=True,
        )

    def _read(self, field, row):
        read = date.fromisoformat if field == "day" else datetime.fromisoformat
        return None if row[field] is None else self._stored(read(row[field]))

    @staticmethod
    def _stored(value):
        return value.replace(tzinfo=value.tzinfo or UTC) if isinstance(value, datetime) else value


KINDS = {"word": "string", "whole": "integer", "yes": "boolean", "day": "date", "at": "datetime", "tags": "array"}
SCHEMA = SourceSchema("rows", {name: {"type": kind} for name, kind in KINDS.items()})
WORDS = st.sampled_from(["a", "A", "b", "2024-02-28", "2024-02-28x", "2024-02-28T10:00"])
DAYS = st.sampled_from(["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "0001-01-01", "9999-12-31"])
MOMENTS = near_times() | st.sampled_from(["9999-12-31T23:59:59", "0001-01-01T00:00:00"])
VALUES = {
    "word": WORDS,
    "whole": st.integers(-3, 3),
    "yes": st.booleans(),
    "day": DAYS,
    "at": MOMENTS,
    "tags": st.lists(WORDS | st.integers(-3, 3), max_size=3),
}
OPERANDS = {**VALUES, "day": DAYS | MOMENTS, "at": MOMENTS | DAYS, "tags": WORDS | st.integers(-3, 3)}


def conditions(values):
    some = values | st.lists(values, min_size=1, max_size=3)
    operators = st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt"]), values, min_size=1, max_size=2)
    negated = st.builds(lambda value: {"not": value}, some)
    return some | operators | negated | st.builds(lambda text: {"contains": text}, WORDS)


@pytest.mark.covers("R2")
@pytest.mark.guard
@pytest.mark.parametrize("field", KINDS)
@pytest.mark.parametrize("dialect", [InMemory(), Folding(), Moments()], ids=lambda one: type(one).__name__)
@settings(max_examples=examples(60, quick=25))
@given(data=st.data())
def test_what_is_pushed_down_loses_no_row_and_keeps_no_other_where_it_is_exact(dialect, field, data):
    try:
        filters = check_filters(SCHEMA, {field: data.draw(conditions(OPERANDS[field]))}, source="rows")
    except FilterInvalid:
        return
    pushed = push_down(filters, {field: field}, dialect)
    assert pushed.exact or not dialect.exact
    # Any value in any field, as SQLite and JSON have them; columns of moments give all of them in one zone.
    values = VALUES[field] | WORDS | st.integers(-3, 3)
    if isinstance(dialect, Moments):
        values = near_times(zones=()) if field == "at" else VALUES[field]
    for value in data.draw(st.lists(st.none() | values, min_size=6, max_size=12)):
        row = {field: value}
        kept = pushed.condition is None or pushed.condition(row)
        assert kept or not matches(filters, row)
        if pushed.exact:
            assert kept is matches(filters, row)


def test_what_is_not_exact_is_never_negated():
    filters = {"word": {"not": "a"}}
    assert push_down(filters, {"word": "word"}, Folding()) == Pushed(None, exact=False)
    exact = push_down(filters, {"word": "word"}, InMemory())
    assert exact.exact
    assert [exact.condition({"word": word}) for word in ("a", "A", None)] == [False, True, True]


def test_a_field_that_is_not_there_satisfies_not_alone():
    assert push_down({"gone": {"not": "a"}}, {}, InMemory()) == Pushed(None, exact=True)
    for condition in ("a", {"gte": 1}, {"contains": ""}, {"not": "a", "lt": 1}):
        pushed = push_down({"gone": condition}, {}, InMemory())
        assert pushed.exact
        assert not pushed.condition({})


def test_a_time_that_cannot_be_told_still_leaves_the_days_that_are_far_from_it():
    filters = check_filters(SCHEMA, {"at": {"gte": "2024-02-28T10:00:00+02:00"}}, source="rows")
    pushed = push_down(filters, {"at": "at"}, Folding())
    assert not pushed.exact
    assert not pushed.condition({"at": "2024-02-20T10:00:00+02:00"})


def test_many_times_are_decided_in_one_span():
    asked: list[int] = []

    class Counting(InMemory):
        def decided(self, field, operator, times):
            asked.append(len(times))
            return super().decided(field, operator, times)

    times = [f"2026-03-01T12:{n // 60:02}:{n % 60:02}Z" for n in range(400)]
    pushed = push_down(check_filters(SCHEMA, {"at": times}, source="rows"), {"at": "at"}, Counting())
    assert asked == [400]
    assert pushed.condition({"at": "2026-03-01T14:00:07+02:00"})
    assert not pushed.condition({"at": "2026-03-01T14:00:07Z"})
