"""What of checked filters any database can decide: enough to leave out most rows, and never one that they keep.

Databases differ in what they take for equal: many fold case or drop accents, some keep only seven digits of a number.
So a condition here keeps every row that `core.filters.matches` keeps, and that decides among those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Date, DateTime, and_, column, true
from typing_extensions import override

from groundgraph.search.push_down import Pushed
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import LONGEST_LIST, MOST_INTEGER, Condition, SqlDialect, ordered, pushed

# Of a value: more than a number of four bytes loses.
_SLACK = 1e-5
# More than two time zones are apart.
_DAYS = timedelta(days=2)
_UNDECIDED: Pushed[Condition] = Pushed(None, exact=False)


def narrowed(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """A condition that every row satisfies which satisfies `filters`."""
    condition = pushed(shape, filters, PortableDialect()).condition
    return true() if condition is None else and_(true(), condition)


class PortableDialect(SqlDialect):
    """Any database; nothing is exact."""

    @override
    def equal(self, field: Column, values: Sequence[Any]) -> Pushed[Condition]:
        if len(values) > LONGEST_LIST or field.kind != field.stored_as:
            return _UNDECIDED
        if field.stored_as in ("string", "integer"):
            kind = str if field.stored_as == "string" else int
            usable = all(isinstance(value, kind) and not isinstance(value, bool) and _fits(value) for value in values)
            return Pushed(column(field.name).in_(values), exact=False) if usable else _UNDECIDED
        sides = [[self.compared(field, side, value).condition for side in ("gte", "lte")] for value in values]
        ranges = [and_(lower, upper) for lower, upper in sides if lower is not None and upper is not None]
        return Pushed(self.any_of(ranges), exact=False) if len(ranges) == len(sides) else _UNDECIDED

    def compared(self, field: Column, operator: str, operand: Any) -> Pushed[Condition]:
        """See `Dialect.compared`; the limit is set a little further out."""
        lower = operator in ("gte", "gt")
        here: ColumnElement[Any] = column(field.name)
        limit: Any = None
        if field.kind != field.stored_as:
            return _UNDECIDED
        if field.stored_as in ("integer", "number") and not isinstance(operand, bool | str) and _fits(operand):
            slack = abs(operand) * _SLACK + _SLACK
            limit = operand - slack if lower else operand + slack
        elif field.stored_as in ("date", "datetime") and isinstance(operand, str) and (day := _day(operand)):
            limit, here = day - _DAYS if lower else day + _DAYS, column(field.name, Date())
            if field.stored_as == "datetime":
                limit, here = datetime.combine(limit, time()), column(field.name, DateTime())
        return _UNDECIDED if limit is None else Pushed(ordered(here, "gte" if lower else "lte", limit), exact=False)

    @override
    def contains(self, field: Column, operand: Any) -> Pushed[Condition]:
        return _UNDECIDED


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= MOST_INTEGER


def _day(written: str) -> date | None:
    """The day of an ISO date or time; None near the ends of the calendar, where nothing can be added."""
    try:
        day = date.fromisoformat(written[:10])
    except ValueError:
        return None
    return day if 1 < day.year < 9999 else None
