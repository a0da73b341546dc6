"""Times in PostgreSQL's conditions: bound ones, and those that a column of text writes in ISO form.

A cast would fail on the first text that is no time, so a pattern lets only texts through that it takes: the form that
`core.time_operand.written_time` reads, on a day that the calendar has.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Integer, Interval, String, Text, case, cast, collate, func, literal
from sqlalchemy.dialects.postgresql import TIMESTAMP

from groundgraph.core.time_operand import TimeOperand

_LEAP_YEAR = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_ANY_YEAR = "(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31"
_DAY = f"(?!0000)([0-9]{{4}}-({_ANY_YEAR})|{_LEAP_YEAR}-02-29)"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
_OFFSET = "[+-]([01][0-9]|2[0-3])(:?[0-5][0-9](:?[0-5][0-9])?)?"
_TIME = f"^{_DAY}[T ]{_CLOCK}(Z|{_OFFSET})?$"
# Python reads no more of a fraction, and PostgreSQL would round the rest.
_LOCAL = "^.{16}(?::[0-9]{2}(?:[.,][0-9]{1,6})?)?"
_WRITTEN_OFFSET = "[+-][0-9:]+$"
_CLOCK_FROM = len("2026-11-21T")
_COMPARE: dict[str, Any] = {
    "equal": lambda left, right: left == right,
    "gte": lambda left, right: left >= right,
    "gt": lambda left, right: left > right,
    "lte": lambda left, right: left <= right,
    "lt": lambda left, right: left < right,
}


def time_holds(
    text: ColumnElement[Any], operator: str, operand: TimeOperand, *, spaced: bool = False
) -> ColumnElement[bool]:
    """Whether a time that `text` writes stands to `operand` as `operator` says; other text is compared as text.

    Args:
        text: a column.
        operator: of a condition, or `equal`.
        operand: a time, no bare day.
        spaced: a space behind the day is read as a T, as it is in a field of type datetime.
    """
    assert operand.moment is not None
    compare = _COMPARE[operator]
    as_time = compare(_written(text), utc_time(operand.moment, with_zone=False))
    shown = func.regexp_replace(text, "^(.{10}) ", r"\1T") if spaced else text
    as_text = compare(collate(shown, "C"), literal(str(operand), Text))
    return case((text.op("~", is_comparison=True)(_TIME), as_time), else_=as_text)


def utc_time(moment: datetime, *, with_zone: bool) -> ColumnElement[Any]:
    """`moment` bound as a time in UTC; one without a zone counts as UTC."""
    written = moment.replace(tzinfo=None).isoformat() + ("+00:00" if with_zone else "")
    bound: ColumnElement[Any] = cast(literal(written, String), TIMESTAMP(timezone=with_zone))
    offset = moment.utcoffset() or timedelta()
    # Python's calendar ends where an offset can still be taken away for PostgreSQL.
    if offset > timedelta():
        return bound - literal(offset, Interval)
    return bound + literal(-offset, Interval) if offset else bound


def _written(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The time in UTC that `text` writes."""
    local = cast(func.replace(func.substring(text, _LOCAL), ",", "."), TIMESTAMP(timezone=False))
    clock = func.substr(text, _CLOCK_FROM)
    # As a number of the form hhmmss, with its sign.
    digits = func.rpad(func.replace(func.coalesce(func.substring(clock, _WRITTEN_OFFSET), "+0"), ":", ""), 7, "0")
    offset = cast(digits, Integer)
    hours, minutes, seconds = offset // 10_000, offset // 100 % 100, offset % 100
    return local - func.make_interval(0, 0, 0, 0, hours, minutes, seconds)
