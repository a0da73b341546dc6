"""Conditions as Weaviate's filters over the fields of a base.

A filter never drops what `groundgraph.core.filters.matches` keeps; where it keeps more, results are checked with that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.core.errors import SchemaChanged
from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate_base.collections import field_property
from groundgraph.sources.weaviate_base.field_values import wanted_form

_DAY_CHARS = len("2026-11-21")
# Behind every text that begins with a day.
_LAST = "\uffff"


def as_filter(conditions: Mapping[str, Any], fields: Mapping[str, int]) -> Any:
    """One filter for all checked `conditions`; None without any.

    Raises:
        SchemaChanged: the base does not know a field yet.
    """
    parts = []
    for name, condition in conditions.items():
        if name not in fields:
            raise SchemaChanged(
                f"The knowledge base does not know the field '{name}' yet; run `groundgraph ingest` once.", field=name
            )
        operators = condition if isinstance(condition, Mapping) else {"equal": condition}
        parts += [_part(fields[name], operator, operand) for operator, operand in operators.items()]
    return queries().Filter.all_of(parts) if parts else None


def _part(number: int, operator: str, operand: Any) -> Any:
    if operator == "equal":
        return _equal(number, operand)
    if operator == "not":
        return queries().Filter.not_(_equal(number, operand))
    if operator == "contains":
        return _contains(number, operand)
    return _compared(number, operator, operand)


def _equal(number: int, operand: Any) -> Any:
    wanted = operand if isinstance(operand, list) else [operand]
    return _by(number, "equal").contains_any(sorted({wanted_form(one) for one in wanted}))


def _contains(number: int, operand: Any) -> Any:
    # A question mark stands for any one character; there is no way to ask for the marks themselves.
    folded = str(operand).casefold().replace("*", "?")
    return queries().Filter.any_of([_equal(number, operand), _by(number, "folded").like(f"*{folded}*")])


def _compared(number: int, operator: str, operand: Any) -> Any:
    if not isinstance(operand, str):
        return _COMPARE[operator](_by(number, "number"), float(operand))
    if len(operand) == _DAY_CHARS and operator in ("gt", "lte"):
        # A day includes every time on it.
        operand += _LAST
    return _COMPARE[operator](_by(number, "text"), operand)


def _by(number: int, kind: str) -> Any:
    return queries().Filter.by_property(field_property(number, kind))


_COMPARE: dict[str, Any] = {
    "gte": lambda by, value: by.greater_or_equal(value),
    "gt": lambda by, value: by.greater_than(value),
    "lte": lambda by, value: by.less_or_equal(value),
    "lt": lambda by, value: by.less_than(value),
}
