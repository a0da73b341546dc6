"""Checked filters as SQL conditions with bound values.

A condition on a column that is stored as its field is declared becomes plain SQL, which an index of the user's can
serve. Everything else (`contains`, lists inside a value, a field declared with another type) is decided by
`core.filters.matches` itself, called from SQL: slower, and the same for every source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, and_, collate, column, func, or_
from sqlalchemy.types import Integer
from typing_extensions import override

from groundgraph.core.filters import condition_of, matches
from groundgraph.core.time_operand import TimeOperand
from groundgraph.search.push_down import Pushed, Times
from groundgraph.sources.sql.shape import Column, TableShape, decode
from groundgraph.sources.sql.sql_dialect import (
    LONGEST_LIST,
    MOST_INTEGER,
    Condition,
    SqlDialect,
    exact_condition,
    ordered,
)

MATCHES = "groundgraph_matches"
_NATIVE = {
    "string": ("string",),
    "text": ("string",),
    "integer": ("integer", "number"),
    "number": ("integer", "number"),
    "boolean": ("boolean", "integer"),
    "date": ("date", "string"),
    "datetime": ("datetime", "string"),
}
_NUMBERS, _TEXTS = ("integer", "number"), ("string", "text", "date", "datetime")


def where(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """The condition that the rows of `shape` with checked `filters` satisfy, and no others."""
    return exact_condition(shape, filters, SqliteDialect())


def value_matches(kind: str, condition: str, value: Any) -> bool:
    """The function behind `groundgraph_matches` in SQL; `condition` is JSON."""
    return matches({"value": _read(kind, condition)}, {"value": decode(kind, value)})


@lru_cache(maxsize=256)
def _read(kind: str, condition: str) -> Any:
    return condition_of(kind, json.loads(condition))


class SqliteDialect(SqlDialect):
    """SQLite, which can call `matches` for what it cannot decide, so that everything is exact."""

    @override
    def times(self, field: Column) -> Times:
        return Times.TEXT if field.kind in _TEXTS and _is_native(field) else Times.NONE

    @override
    def equal(self, field: Column, values: Sequence[Any]) -> Pushed[Condition]:
        if not _is_native(field) or len(values) > LONGEST_LIST or not all(map(_is_bindable, values)):
            return _checked(field, values)
        here: ColumnElement[Any] = column(field.name)
        if field.kind == "boolean":
            forms = ([1, "true", "True", "TRUE"] if value else [0, "false", "False", "FALSE"] for value in values)
            return _exact(or_(*map(here.in_, forms)))
        if field.kind in _NUMBERS:
            # A bound number would also equal a text that reads as one, which `matches` does not know.
            return _exact(and_(here.in_(values), _is_number(here)))
        # Columns declared NOCASE would let the tenant 'ACME' see the rows of 'acme'.
        return _exact(collate(here, "BINARY").in_([str(value) for value in values]))

    @override
    def compared(self, field: Column, operator: str, operand: Any) -> Pushed[Condition]:
        if field.kind == "boolean" or not _is_native(field) or not _is_bindable(operand):
            return _checked(field, {operator: operand})
        here: ColumnElement[Any] = column(field.name)
        if not isinstance(operand, str):
            return _exact(and_(ordered(here, operator, operand), _is_number(here)))
        is_text = func.typeof(here) == "text"
        return _exact(and_(ordered(collate(here, "BINARY"), operator, str(operand)), is_text))

    @override
    def contains(self, field: Column, operand: Any) -> Pushed[Condition]:
        return _checked(field, {"contains": operand})

    @override
    def decided(self, field: Column, operator: str, times: Sequence[TimeOperand]) -> Pushed[Condition]:
        return _checked(field, times if operator == "equal" else {operator: times[0]})


def _checked(field: Column, condition: Any) -> Pushed[Condition]:
    call = getattr(func, MATCHES)(field.kind, json.dumps(condition), column(field.name), type_=Integer)
    return _exact(call == 1)


def _exact(condition: Condition) -> Pushed[Condition]:
    return Pushed(condition, exact=True)


def _is_number(here: ColumnElement[Any]) -> Condition:
    return func.typeof(here).in_(("integer", "real"))


def _is_bindable(value: Any) -> bool:
    """Whether SQLite can hold `value`; an integer beyond 64 bits it cannot."""
    return not isinstance(value, int) or abs(value) <= MOST_INTEGER


def _is_native(field: Column) -> bool:
    return field.stored_as in _NATIVE.get(field.kind, ())
