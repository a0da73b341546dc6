"""Conditions as Weaviate's filters, which only ever hold values and never query syntax.

A filter may keep a little more than the condition says, never less on purpose: Weaviate drops the white space around a
text, and compares times that are stored as text letter by letter. So each result is checked once more against the
conditions themselves.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.time_operand import TimeOperand
from groundgraph.sources.weaviate.client_library import queries

_DAY_CHARS = len("2026-11-21")
# Weaviate takes numbers as 64-bit floating point; beyond this not every whole number is one.
_LARGEST = 2.0**53
# Weaviate compares times as 64-bit nanoseconds since 1970; what lies beyond would come out at the other end.
_EARLIEST, _LATEST = datetime(1677, 9, 22, tzinfo=UTC), datetime(2262, 4, 11, tzinfo=UTC)
_NO_OBJECT = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class FilteredProperty:
    """A property that is filtered by.

    Attributes:
        name: of the property.
        kind: the declared type of the field.
        type: Weaviate's type of the property.
    """

    name: str
    kind: str
    type: str

    @property
    def is_time(self) -> bool:
        """Whether values are days or times."""
        return self.kind in ("date", "datetime")


def as_filter(conditions: Mapping[str, Any], properties: Mapping[str, FilteredProperty]) -> Any:
    """One filter for all checked `conditions`, by field; None without any.

    Raises:
        FilterInvalid: Weaviate cannot decide a condition.
    """
    parts = [
        part
        for name, condition in conditions.items()
        for part in _parts(properties[name], condition if isinstance(condition, Mapping) else {"equal": condition})
    ]
    return queries().Filter.all_of(parts) if parts else None


def _parts(property_: FilteredProperty, operators: Mapping[str, Any]) -> list[Any]:
    parts = (_OPERATORS[operator](property_, operand) for operator, operand in operators.items())
    return [part for part in parts if part is not None]


def _equal(property_: FilteredProperty, operand: Any) -> Any:
    wanted = operand if isinstance(operand, list) else [operand]
    by = queries().Filter.by_property(property_.name)
    if property_.is_time:
        parts = [_within(property_, value) for value in wanted]
        return None if None in parts else _any_of(parts)
    values = [value for value in map(_stored(property_), wanted) if value is not None]
    if not values:
        return _never()
    return by.equal(values[0]) if len(values) == 1 else by.contains_any(values)


def _not(property_: FilteredProperty, operand: Any) -> Any:
    wanted = operand if isinstance(operand, list) else [operand]
    by_days = property_.is_time and (property_.type == "text" or property_.kind == "date")
    if by_days and any(len(value) > _DAY_CHARS for value in wanted):
        # What is kept for a time is a few days, or times that are given as days; not all of them are the time.
        return None
    return queries().Filter.not_(_equal(property_, operand))


def _contains(property_: FilteredProperty, operand: Any) -> Any:
    if property_.type.endswith("[]"):
        return _equal(property_, operand)
    if property_.type != "text":
        raise FilterInvalid(
            f"'{property_.name}' is of type {property_.type} there, and 'contains' works on texts and lists only."
        )
    by, text = queries().Filter.by_property(property_.name), clean_text(str(operand))
    # Weaviate's pattern minds capital letters where the condition does not.
    spellings = dict.fromkeys([text, text.lower(), text.upper(), text.capitalize(), text.title(), text.casefold()])
    return _any_of([by.like(f"*{spelling}*") for spelling in spellings])


def _compared(operator: str) -> Callable[[FilteredProperty, Any], Any]:
    def compared(property_: FilteredProperty, operand: Any) -> Any:
        by = queries().Filter.by_property(property_.name)
        if isinstance(operand, str):
            return _compared_text(property_, operator, operand)
        if property_.type.startswith("int"):
            # An integer property refuses fractions; the nearest whole number on the right side says the same.
            operand = _whole(operand, math.ceil if operator in ("gte", "lt") else math.floor)
        elif property_.type.startswith("number"):
            operand = float(max(-sys.float_info.max, min(sys.float_info.max, operand)))
        return _COMPARE[operator](by, operand)

    return compared


def _compared_text(property_: FilteredProperty, operator: str, operand: str) -> Any:
    by = queries().Filter.by_property(property_.name)
    if not property_.is_time:
        return _COMPARE[operator](by, clean_text(operand))
    if len(operand) > _DAY_CHARS and property_.type == "text":
        return _near(property_, operator, TimeOperand(operand))
    if len(operand) > _DAY_CHARS and property_.kind == "date":
        # Its values are given as days, and as text a day stands before every time on it.
        operator, operand = {"gte": "gt", "lt": "lte"}.get(operator, operator), operand[:_DAY_CHARS]
    first, after = _span(operand)
    # A day includes every time on it, so what is compared with is its beginning or that of the next day.
    bound = {"gte": first, "lt": first, "gt": after, "lte": after}[operator]
    bound = max(_EARLIEST, min(bound, _LATEST)) if property_.type == "date" else bound
    if len(operand) == _DAY_CHARS:
        operator = {"gt": "gte", "lte": "lt"}.get(operator, operator)
    return _COMPARE[operator](by, _moment(property_, bound))


def _near(property_: FilteredProperty, operator: str, operand: TimeOperand) -> Any:
    """What keeps every text that may be as far on as `operand`, whatever the zones; None where no day can say."""
    around = operand.days_around()
    by = queries().Filter.by_property(property_.name)
    if around is None:
        return None
    return by.greater_or_equal(around[0]) if operator in ("gte", "gt") else by.less_than(around[1])


def _within(property_: FilteredProperty, value: str) -> Any:
    if len(value) > _DAY_CHARS and property_.type == "text":
        sides = [_near(property_, operator, TimeOperand(value)) for operator in ("gte", "lte")]
        return None if None in sides else queries().Filter.all_of(sides)
    by, (first, after) = queries().Filter.by_property(property_.name), _span(value)
    if first == after or property_.type == "text":
        return by.equal(value if property_.type == "text" else _moment(property_, first))
    return queries().Filter.all_of(
        [by.greater_or_equal(_moment(property_, first)), by.less_than(_moment(property_, after))]
    )


def _span(value: str) -> tuple[datetime, datetime]:
    """The first moment of an ISO day and that of the next; twice the same for a moment. Without a zone it is UTC."""
    if len(value) == _DAY_CHARS:
        first = datetime.combine(date.fromisoformat(value), datetime.min.time(), UTC)
        # "For ever" is often written as the last day that there is, behind which there is no other.
        return first, first + timedelta(days=1) if first.date() < date.max else datetime.max.replace(tzinfo=UTC)
    moment = datetime.fromisoformat(value)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment, moment


def _moment(property_: FilteredProperty, moment: datetime) -> Any:
    if property_.type == "date":
        return moment
    midnight = moment.time() == datetime.min.time()
    return moment.date().isoformat() if midnight else moment.replace(tzinfo=None).isoformat()


def _stored(property_: FilteredProperty) -> Callable[[Any], Any]:
    """Turns a value into one of the property's type; None for one that no object can hold."""
    kind = property_.type.removesuffix("[]")

    def stored(value: Any) -> Any:
        if kind in ("text", "uuid"):
            return clean_text(value) if isinstance(value, str) else None
        if kind == "boolean":
            return value if isinstance(value, bool) else None
        number = _number(value)
        if number is None or kind == "number":
            return number
        return int(number) if number.is_integer() and abs(number) <= _LARGEST else None

    return stored


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(number: float, towards: Callable[[float], int]) -> int:
    """A whole number beside `number` that an integer property can be compared with."""
    return towards(max(-_LARGEST, min(_LARGEST, number)))


def _never() -> Any:
    return queries().Filter.by_id().equal(_NO_OBJECT)


def _any_of(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else queries().Filter.any_of(parts)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "gte": lambda by, value: by.greater_or_equal(value),
    "gt": lambda by, value: by.greater_than(value),
    "lte": lambda by, value: by.less_or_equal(value),
    "lt": lambda by, value: by.less_than(value),
}
_OPERATORS: dict[str, Callable[[FilteredProperty, Any], Any]] = {
    "equal": _equal,
    "not": _not,
    "contains": _contains,
    **{operator: _compared(operator) for operator in _COMPARE},
}
