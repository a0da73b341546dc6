"""What the dialects of SQL databases have in common: how conditions are put together and negated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    and_,
    collate,
    column,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy import table as table_clause
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import Integer
from typing_extensions import override

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import TimeOperand, condition_of, matches
from groundgraph.search.push_down import Dialect, Pushed, Times, push_down
from groundgraph.sources.sql.shape import Column, TableShape, decode

# What a statement selects rows from: a table, or a table with the columns of its partners.

# The name under which the full-text index of a table with partners is selected.
TEXT_INDEX = "groundgraph_text_index"


def from_clause(shape: TableShape) -> Any:
    """The rows of `shape`, with columns named as in `shape.columns`, and the row number where there is one."""
    base = _table(shape)
    if not shape.joins:
        return base
    here = base.alias("groundgraph_row")
    selected: list[Any] = [here.c[item.name] for item in shape.own_columns]
    if shape.rowid:
        selected.append(literal_column(f"groundgraph_row.{shape.rowid}").label(shape.rowid))
    selected += [here.c[name] for name in shape.vector_fields]
    if shape.text_index:
        selected.append(literal_column(shape.text_index).label(TEXT_INDEX))
    source: Any = here
    for number, join in enumerate(shape.joins):
        there = _table(join.other).alias(f"groundgraph_partner_{number}")
        source = source.outerjoin(there, here.c[join.column] == there.c[join.key])
        selected += [there.c[name].label(label) for label, name in join.columns]
    return select(*selected).select_from(source).subquery(shape.relation or shape.name)


def _table(shape: TableShape) -> Any:
    names = [item.name for item in shape.own_columns]
    # Quoted where that is right: PostgreSQL would fold a name that needs no quotes elsewhere.
    quote = True if shape.quoted else None
    columns: list[Any] = [column(quoted_name(name, quote)) for name in (*names, *shape.vector_fields)]
    space: Any = quoted_name(shape.namespace, quote) if shape.namespace else None
    return table_clause(quoted_name(shape.relation or shape.name, quote), *columns, schema=space)


Condition = ColumnElement[bool]
# A statement has room for some ten thousands of bound values; long before that a list is checked row by row.
LONGEST_LIST = 500
MOST_INTEGER = 2**63 - 1


class SqlDialect(Dialect[Column, Condition]):
    """A dialect over the columns of a table."""

    @property
    @override
    def never(self) -> Condition:
        return false()

    @override
    def all_of(self, conditions: Sequence[Condition]) -> Condition:
        return and_(*conditions)

    @override
    def any_of(self, conditions: Sequence[Condition]) -> Condition:
        return or_(*conditions)

    @override
    def negated(self, field: Column, condition: Condition) -> Condition:
        return or_(column(field.name).is_(None), not_(func.coalesce(condition, false())))


def pushed(shape: TableShape, filters: Mapping[str, Any], dialect: SqlDialect) -> Pushed[Condition]:
    """Checked `filters` on the rows of `shape`; times that went through JSON are times again."""
    fields = {item.name: item for item in shape.columns}
    conditions = {
        name: condition_of(fields[name].kind if name in fields else None, condition)
        for name, condition in filters.items()
    }
    return push_down(conditions, fields, dialect)


def exact_condition(shape: TableShape, filters: Mapping[str, Any], dialect: SqlDialect) -> Condition:
    """`pushed` where nothing is checked afterwards.

    Raises:
        FilterInvalid: the dialect cannot decide a condition, so that rows might escape it.
    """
    made = pushed(shape, filters, dialect)
    if not made.exact:
        raise FilterInvalid(f"The database cannot decide the filter on {', '.join(map(repr, filters))}.")
    return true() if made.condition is None else and_(true(), made.condition)


def may_match(shape: TableShape, filters: Mapping[str, Any]) -> bool:
    """Whether a row of `shape` can satisfy `filters` by the columns that the table has."""
    missing = {name: condition for name, condition in filters.items() if shape.column(name) is None}
    return matches(missing, {})


def ordered(left: ColumnElement[Any], operator: str, right: Any) -> Condition:
    """`left` on the side of `right` that `operator` names."""
    comparisons: dict[str, Condition] = {
        "gte": left >= right,
        "gt": left > right,
        "lte": left <= right,
        "lt": left < right,
    }
    return comparisons[operator]


# Checked filters as SQL conditions with bound values.
#
# A condition on a column that is stored as its field is declared becomes plain SQL, which an index of the user's can
# serve. Everything else (`contains`, lists inside a value, a field declared with another type) is decided by
# `core.filters.matches` itself, called from SQL: slower, and the same for every source.

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
            return _exact(or_(*(here.in_(_bound(form)) for form in forms)))
        if field.kind in _NUMBERS:
            # A bound number would also equal a text that reads as one, which `matches` does not know.
            return _exact(and_(here.in_(_bound(values)), _is_number(here)))
        # Columns declared NOCASE would let the tenant 'ACME' see the rows of 'acme'.
        return _exact(collate(here, "BINARY").in_([str(value) for value in values]))

    @override
    def compared(self, field: Column, operator: str, operand: Any) -> Pushed[Condition]:
        if field.kind == "boolean" or not _is_native(field) or not _is_bindable(operand):
            return _checked(field, {operator: operand})
        here: ColumnElement[Any] = column(field.name)
        if not isinstance(operand, str):
            return _exact(and_(ordered(here, operator, literal(operand)), _is_number(here)))
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


def _bound(values: Iterable[Any]) -> list[ColumnElement[Any]]:
    """`values` as parameters that are not called by their column, whose name may be "paid?"."""
    return list(map(literal, values))


def _is_number(here: ColumnElement[Any]) -> Condition:
    return func.typeof(here).in_(("integer", "real"))


def _is_bindable(value: Any) -> bool:
    """Whether SQLite can hold `value`; an integer beyond 64 bits it cannot."""
    return not isinstance(value, int) or abs(value) <= MOST_INTEGER


def _is_native(field: Column) -> bool:
    return field.stored_as in _NATIVE.get(field.kind, ())
