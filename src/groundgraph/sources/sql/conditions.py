"""Checked filters as SQL conditions with bound values.

A condition on a column that is stored as its field is declared becomes plain SQL, which an index of the user's can
serve. Everything else (`contains`, lists inside a value, a field declared with another type) is decided by
`core.filters.matches` itself, called from SQL: slower, and the same for every source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, and_, collate, column, func, literal, not_, or_, true
from sqlalchemy.types import Integer

from groundgraph.core.filters import condition_of, matches
from groundgraph.core.time_operand import TimeOperand
from groundgraph.sources.sql.shape import Column, TableShape, decode

MATCHES = "groundgraph_matches"
# SQLite allows 32 766 bound values in a statement; long before that a list is checked row by row.
_LONGEST_LIST = 500
_MOST_TIMES = 50
_MOST_INTEGER = 2**63 - 1
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LAST_CHARACTER = "\U0010ffff"
_NATIVE = {
    "string": ("string",),
    "text": ("string",),
    "integer": ("integer", "number"),
    "number": ("integer", "number"),
    "boolean": ("boolean", "integer"),
    "date": ("date", "string"),
    "datetime": ("datetime", "string"),
}


def where(shape: TableShape, filters: Mapping[str, Any]) -> ColumnElement[bool]:
    """The condition that the rows of `shape` with checked `filters` satisfy; a missing column only satisfies `not`."""
    parts = []
    for name, condition in filters.items():
        found = shape.column(name)
        if found is None:
            parts.append(literal(matches({name: condition}, {})) == literal(True))
        else:
            parts.append(_condition(found, condition))
    return and_(true(), *parts)


def may_match(shape: TableShape, filters: Mapping[str, Any]) -> bool:
    """Whether a row of `shape` can satisfy `filters` by the columns that the table has."""
    missing = {name: condition for name, condition in filters.items() if shape.column(name) is None}
    return matches(missing, {})


def value_matches(kind: str, condition: str, value: Any) -> bool:
    """The function behind `groundgraph_matches` in SQL; `condition` is JSON."""
    return matches({"value": _read(kind, condition)}, {"value": decode(kind, value)})


@lru_cache(maxsize=256)
def _read(kind: str, condition: str) -> Any:
    return condition_of(kind, json.loads(condition))


def _condition(found: Column, condition: Any) -> ColumnElement[bool]:
    condition = condition_of(found.kind, condition)
    if not isinstance(condition, Mapping):
        return _any_of(found, condition)
    return and_(true(), *(_operator(found, operator, operand) for operator, operand in condition.items()))


def _operator(found: Column, operator: str, operand: Any) -> ColumnElement[bool]:
    if operator == "not":
        return or_(column(found.name).is_(None), not_(_any_of(found, operand)))
    if operator == "contains" or found.kind == "boolean" or not _is_native(found) or not _is_bindable(operand):
        return _checked(found, {operator: operand})
    if isinstance(operand, str):
        return _ordered_text(found, operator, operand)
    return and_(
        _compare(column(found.name), operator, operand), func.typeof(column(found.name)).in_(("integer", "real"))
    )


def _any_of(found: Column, condition: Any) -> ColumnElement[bool]:
    wanted = condition if isinstance(condition, list) else [condition]
    if not _is_native(found) or len(wanted) > _LONGEST_LIST or not all(map(_is_bindable, wanted)):
        return _checked(found, condition)
    here: ColumnElement[Any] = column(found.name)
    if found.kind == "boolean":
        return or_(
            *(here.in_([1, "true", "True", "TRUE"] if value else [0, "false", "False", "FALSE"]) for value in wanted)
        )
    if found.kind in ("integer", "number"):
        # A bound number would also equal a text that reads as one, which `matches` does not know.
        return and_(here.in_(wanted), func.typeof(here).in_(("integer", "real")))
    times = [value for value in wanted if isinstance(value, TimeOperand) and value.moment]
    if len(times) > _MOST_TIMES:
        return _checked(found, condition)
    texts = [str(value) if isinstance(value, TimeOperand) else value for value in wanted if value not in times]
    # Columns declared NOCASE would let the tenant 'ACME' see the rows of 'acme'.
    return or_(collate(here, "BINARY").in_(texts), *(_equal_time(found, time) for time in times))


def _equal_time(found: Column, wanted: TimeOperand) -> ColumnElement[bool]:
    checked, around = _checked(found, wanted), wanted.days_around()
    if around is None:
        return checked
    # An index can serve the days.
    here: ColumnElement[Any] = collate(column(found.name), "BINARY")
    return and_(here >= around[0], here < around[1], checked)


def _ordered_text(found: Column, operator: str, operand: str) -> ColumnElement[bool]:
    here: ColumnElement[Any] = collate(column(found.name), "BINARY")
    is_text = func.typeof(column(found.name)) == "text"
    if isinstance(operand, TimeOperand) and operand.moment:
        return and_(_ordered_time(found, operator, operand), is_text)
    if _DAY.fullmatch(operand) and operator in ("gt", "lte"):
        # A day includes every time on it, and a comparison without substr() can use an index.
        return and_(_compare(here, "gte" if operator == "gt" else "lt", operand + _LAST_CHARACTER), is_text)
    return and_(_compare(here, operator, str(operand)), is_text)


def _ordered_time(found: Column, operator: str, operand: TimeOperand) -> ColumnElement[bool]:
    here: ColumnElement[Any] = collate(column(found.name), "BINARY")
    checked, around = _checked(found, {operator: operand}), operand.days_around()
    if around is None:
        return checked
    # Only the rows of the days around need Python; an index can serve the rest.
    first, after = around
    if operator in ("gte", "gt"):
        return and_(here >= first, or_(here >= after, checked))
    return and_(here < after, or_(here < first, checked))


def _compare(left: ColumnElement[Any], operator: str, right: Any) -> ColumnElement[bool]:
    comparisons: dict[str, ColumnElement[bool]] = {
        "gte": left >= right,
        "gt": left > right,
        "lte": left <= right,
        "lt": left < right,
    }
    return comparisons[operator]


def _checked(found: Column, condition: Any) -> ColumnElement[bool]:
    call = getattr(func, MATCHES)(found.kind, json.dumps(condition), column(found.name), type_=Integer)
    checked: ColumnElement[bool] = call == 1
    return checked


def _is_bindable(value: Any) -> bool:
    """Whether SQLite can hold `value`; an integer beyond 64 bits it cannot."""
    return not isinstance(value, int) or abs(value) <= _MOST_INTEGER


def _is_native(found: Column) -> bool:
    return found.stored_as in _NATIVE.get(found.kind, ())
