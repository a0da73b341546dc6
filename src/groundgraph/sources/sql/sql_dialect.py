"""What the dialects of SQL databases have in common: how conditions are put together and negated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, column, false, func, not_, or_, true
from typing_extensions import override

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import condition_of, matches
from groundgraph.search.push_down import Dialect, Pushed, push_down
from groundgraph.sources.sql.shape import Column, TableShape

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
