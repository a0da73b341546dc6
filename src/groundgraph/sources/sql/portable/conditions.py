"""What of checked filters any database can decide: enough to leave out most rows, and never one that they keep.

Databases differ in what they take for equal: many fold case or drop accents, some keep only seven digits of a number.
So a condition here keeps every row that `core.filters.matches` keeps, and that decides among those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Date, DateTime, and_, column, or_, true

from groundgraph.sources.sql.shape import Column, TableShape

Condition = ColumnElement[bool]
_LONGEST_LIST = 500
_MOST_INTEGER = 2**63 - 1
# Of a value: more than a number of four bytes loses.
_SLACK = 1e-5
# More than two time zones are apart.
_DAYS = timedelta(days=2)


def narrowed(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """A condition that every row satisfies which satisfies `filters`."""
    parts = [
        part
        for name, condition in filters.items()
        if (found := shape.column(name)) and found.kind == found.stored_as
        for part in _parts(found, condition)
    ]
    return and_(true(), *parts)


def _parts(found: Column, condition: Any) -> list[Condition]:
    if not isinstance(condition, Mapping):
        return _any_of(found, condition if isinstance(condition, list) else [condition])
    return [
        part
        for operator, operand in condition.items()
        if operator in ("gte", "gt", "lte", "lt")
        for part in _bound(found, operator, operand)
    ]


def _any_of(found: Column, wanted: Sequence[Any]) -> list[Condition]:
    if len(wanted) > _LONGEST_LIST:
        return []
    if found.stored_as in ("string", "integer"):
        kind = str if found.stored_as == "string" else int
        usable = all(isinstance(value, kind) and not isinstance(value, bool) for value in wanted)
        return [column(found.name).in_(wanted)] if usable and all(map(_fits, wanted)) else []
    ranges = [[*_bound(found, "gte", value), *_bound(found, "lte", value)] for value in wanted]
    return [or_(*(and_(*both) for both in ranges))] if all(ranges) else []


def _bound(found: Column, operator: str, operand: Any) -> list[Condition]:
    """The limit that `operator` sets, a little further out."""
    is_lower = operator in ("gte", "gt")
    if found.stored_as in ("integer", "number") and not isinstance(operand, bool | str) and _fits(operand):
        slack = abs(operand) * _SLACK + _SLACK
        number: ColumnElement[Any] = column(found.name)
        return [number >= operand - slack if is_lower else number <= operand + slack]
    if found.stored_as in ("date", "datetime") and isinstance(operand, str) and (day := _day(operand)):
        limit = day - _DAYS if is_lower else day + _DAYS
        moment: ColumnElement[Any] = column(found.name, Date())
        if found.stored_as == "datetime":
            moment, limit = column(found.name, DateTime()), datetime.combine(limit, time())
        return [moment >= limit if is_lower else moment <= limit]
    return []


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= _MOST_INTEGER


def _day(written: str) -> date | None:
    """The day of an ISO date or time; None near the ends of the calendar, where nothing can be added."""
    try:
        found = date.fromisoformat(written[:10])
    except ValueError:
        return None
    return found if 1 < found.year < 9999 else None
