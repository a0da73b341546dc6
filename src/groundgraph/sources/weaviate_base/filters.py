"""Conditions as Weaviate's filters over the fields of a base.

A filter never drops what `groundgraph.core.filters.matches` keeps; where it keeps more, results are checked with that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.core.errors import SchemaChanged
from groundgraph.core.time_operand import TimeOperand
from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate_base.collections import field_property
from groundgraph.sources.weaviate_base.field_values import LARGEST, wanted_form

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
        made = (_part(fields[name], operator, operand) for operator, operand in operators.items())
        parts += [part for part in made if part is not None]
    return queries().Filter.all_of(parts) if parts else None


def _part(number: int, operator: str, operand: Any) -> Any:
    if operator == "equal":
        return _equal(number, operand)
    if operator == "not":
        # What is kept for a time is a few days; not all of them are the time.
        return None if _times(operand) else queries().Filter.not_(_equal(number, operand))
    if operator == "contains":
        return _contains(number, operand)
    return _compared(number, operator, operand)


def _equal(number: int, operand: Any) -> Any:
    wanted = operand if isinstance(operand, list) else [operand]
    if times := _times(operand):
        days = [_days(number, time) for time in times]
        texts = [_equal(number, one) for one in wanted if one not in times]
        return None if None in days else queries().Filter.any_of([*texts, *days])
    return _by(number, "equal").contains_any(sorted({wanted_form(one) for one in wanted}))


def _contains(number: int, operand: Any) -> Any:
    # A question mark stands for any one character; there is no way to ask for the marks themselves.
    folded = str(operand).casefold().replace("*", "?")
    return queries().Filter.any_of([_equal(number, operand), _by(number, "folded").like(f"*{folded}*")])


def _compared(number: int, operator: str, operand: Any) -> Any:
    if not isinstance(operand, str):
        # Whatever is stored is less, and a larger whole number is no floating-point number.
        return _COMPARE[operator](_by(number, "number"), float(max(-LARGEST, min(LARGEST, operand))))
    for time in _times(operand):
        return _near(number, operator, time)
    if len(operand) == _DAY_CHARS and operator in ("gt", "lte"):
        # A day includes every time on it.
        operand += _LAST
    return _COMPARE[operator](_by(number, "text"), operand)


def _times(operand: Any) -> list[TimeOperand]:
    """The times in `operand`, which Weaviate has as text and would compare letter by letter."""
    wanted = operand if isinstance(operand, list) else [operand]
    return [one for one in wanted if isinstance(one, TimeOperand) and one.moment]


def _days(number: int, time: TimeOperand) -> Any:
    sides = [_near(number, operator, time) for operator in ("gte", "lte")]
    return None if None in sides else queries().Filter.all_of(sides)


def _near(number: int, operator: str, time: TimeOperand) -> Any:
    """What keeps every text that may be as far on as `time`, whatever the zones; None where no day can say."""
    around, by = time.days_around(), _by(number, "text")
    if around is None:
        return None
    return by.greater_or_equal(around[0]) if operator in ("gte", "gt") else by.less_than(around[1])


def _by(number: int, kind: str) -> Any:
    return queries().Filter.by_property(field_property(number, kind))


_COMPARE: dict[str, Any] = {
    "gte": lambda by, value: by.greater_or_equal(value),
    "gt": lambda by, value: by.greater_than(value),
    "lte": lambda by, value: by.less_or_equal(value),
    "lt": lambda by, value: by.less_than(value),
}
