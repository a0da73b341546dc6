"""Conditions as Weaviate's filters, which only ever hold values and never query syntax.

A filter may keep a little more than the condition says, never less on purpose: Weaviate drops the white space around a
text, and compares times that are stored as text letter by letter. So each result is checked once more against the
conditions themselves. What is excluded by `not` keeps out what differs from it in such white space alone: left to
the check behind the search, it would crowd out the candidates.
"""

from __future__ import annotations

import math
import re
import sys
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any, TypeVar

from typing_extensions import override

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import matches
from groundgraph.search.push_down import Dialect, Pushed, Times, moment_bound, push_down, uuid_text
from groundgraph.sources.weaviate.address import queries

F = TypeVar("F")
# Weaviate takes numbers as 64-bit floating point; beyond this not every whole number is one.
_LARGEST = 2.0**53
# Integers have 64 bits there.
_NO_INTEGER = 2.0**63
# Weaviate compares times as 64-bit nanoseconds since 1970; what lies beyond comes out somewhere between these.
_EARLIEST, _LATEST = datetime(1677, 9, 22, tzinfo=UTC), datetime(2262, 4, 11, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * 10**9
# "Since ever" and "for ever" are often written as the first and the last day that there are.
_ENDS = (date.min, date.max)
# Letters of a part of a text that are asked for in each case; each more doubles the patterns.
_SPELLED = 3
_DOUBLE_S = re.compile("ss|ß", re.IGNORECASE)
_NO_OBJECT = "00000000-0000-0000-0000-000000000000"
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "gte": lambda by, value: by.greater_or_equal(value),
    "gt": lambda by, value: by.greater_than(value),
    "lte": lambda by, value: by.less_or_equal(value),
    "lt": lambda by, value: by.less_than(value),
}


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
    def holds(self) -> str:
        """The type of one value."""
        return self.type.removesuffix("[]")


def as_filter(conditions: Mapping[str, Any], properties: Mapping[str, FilteredProperty]) -> Any:
    """One filter for all checked `conditions`, by field; None without any.

    Raises:
        FilterInvalid: Weaviate cannot decide a condition.
    """
    dialect = PropertyDialect()
    parts = [
        _with_ends(push_down({name: condition}, properties, dialect).condition, condition, properties.get(name))
        for name, condition in conditions.items()
    ]
    asked = [part for part in parts if part is not None]
    return dialect.all_of(asked) if len(asked) > 1 else next(iter(asked), None)


def _with_ends(asked: Any, condition: Any, field: FilteredProperty | None) -> Any:
    """What is `asked` of a property, or one of the days at the ends of the calendar where they satisfy `condition`."""
    if asked is None or field is None or field.type != "date":
        return asked
    times = ("",) if field.kind == "date" else ("T00:00:00", "T23:59:59")
    kept = [day for day in _ENDS if any(matches({"": condition}, {"": f"{day.isoformat()}{time}"}) for time in times)]
    return queries().Filter.any_of([asked, *(_around(field.name, day) for day in kept)]) if kept else asked


def _around(name: str, day: date) -> Any:
    """The times at which Weaviate has those on `day`, in whatever zone, which it cannot hold."""
    first = (day.toordinal() - _EPOCH.toordinal() - 1) * _DAY
    at = (_EPOCH + timedelta(microseconds=((one + 2**63) % 2**64 - 2**63) // 1000) for one in (first, first + 3 * _DAY))
    by = queries().Filter.by_property(name)
    return by.greater_or_equal(next(at)) & by.less_than(next(at))


class FilterDialect(Dialect[F, Any], ABC):
    """How Weaviate's filters are put together."""

    @property
    @override
    def never(self) -> Any:
        return queries().Filter.by_id().equal(_NO_OBJECT)

    @override
    def all_of(self, conditions: Sequence[Any]) -> Any:
        return queries().Filter.all_of(list(conditions))

    @override
    def any_of(self, conditions: Sequence[Any]) -> Any:
        return queries().Filter.any_of(list(conditions))

    @override
    def negated(self, _field: F, condition: Any) -> Any:
        return queries().Filter.not_(condition)


class PropertyDialect(FilterDialect[FilteredProperty]):
    """Weaviate's filters on the properties of a collection."""

    def times(self, field: FilteredProperty) -> Times:
        """See `Dialect.times`; a property of type date whose field is a day is given as one."""
        if field.type == "date":
            return Times.DAYS if field.kind == "date" else Times.MOMENTS
        return Times.TEXT if field.holds == "text" else Times.NONE

    def equal(self, field: FilteredProperty, values: Sequence[Any]) -> Pushed[Any]:
        """See `Dialect.equal`; texts are equal as Weaviate compares them."""
        if field.type == "date":
            held = all(isinstance(value, datetime) or _is_held(value) for value in values)
            return Pushed(self.any_of([self._at(field, value) for value in values]), exact=held)
        stored = [one for value in values if (one := _stored(field, value)) is not None]
        if not stored:
            return Pushed(self.never, exact=True)
        by = queries().Filter.by_property(field.name)
        condition = by.equal(stored[0]) if len(stored) == 1 else by.contains_any(stored)
        # White space around a text is dropped, and how a number is written is not kept.
        return Pushed(condition, exact=all(_is_same(field.holds, value) for value in values))

    def compared(self, field: FilteredProperty, operator: str, operand: Any) -> Pushed[Any]:
        """See `Dialect.compared`; of a list one value is enough."""
        if isinstance(operand, date):
            if not isinstance(operand, datetime):
                operator, operand = moment_bound(operator, operand)
            operand = max(_EARLIEST, min(_in_utc(operand), _LATEST))
        elif isinstance(operand, bool) or isinstance(operand, str) is not (field.holds in ("text", "uuid")):
            return Pushed(self.never, exact=True)
        elif isinstance(operand, str):
            if field.holds == "uuid" and uuid_text(field.name, operand) is None:
                # What lies on which side of it is told by the check behind the search.
                return Pushed(None, exact=False)
            operand = clean_text(operand)
        elif field.holds == "int" and _holds_nearly_all(operator, operand):
            return Pushed(None, exact=False)
        else:
            operand = _bound(field, operator, operand)
        return compared(field.name, operator, operand)

    @override
    def contains(self, field: FilteredProperty, operand: Any) -> Pushed[Any]:
        if field.type.endswith("[]"):
            return self.equal(field, [operand])
        if field.type != "text":
            raise FilterInvalid(
                f"'{field.name}' is of type {field.type} there, and 'contains' works on texts and lists only."
            )
        text = clean_text(str(operand)).strip()
        if not text:
            return Pushed(None, exact=False)
        by = queries().Filter.by_property(field.name)
        return Pushed(self.any_of(list(map(by.like, _patterns(text)))), exact=False)

    def _at(self, field: FilteredProperty, value: date) -> Any:
        if isinstance(value, datetime):
            return queries().Filter.by_property(field.name).equal(_in_utc(value))
        if not _is_held(value):
            return _around(field.name, value)
        return self.all_of([self.compared(field, side, value).condition for side in ("gte", "lte")])


def compared(name: str, operator: str, bound: Any) -> Pushed[Any]:
    """The property called `name` beside `bound`; not exact, as texts are kept there without white space at their ends.

    So a text may be as far on as one that it is kept as, and nothing is asked where white space would decide.
    """
    if isinstance(bound, str):
        if bound != bound.strip():
            return Pushed(None, exact=False)
        operator = "gte" if operator == "gt" else operator
    return Pushed(_COMPARED[operator](queries().Filter.by_property(name), bound), exact=False)


def _bound(field: FilteredProperty, operator: str, number: float) -> float:
    """The number that a numeric property can be compared with and that keeps the same on the side `operator`."""
    if field.holds != "int":
        return float(max(-sys.float_info.max, min(sys.float_info.max, number)))
    # An integer property refuses fractions; the nearest whole number on the right side says the same.
    towards = math.ceil if operator in ("gte", "lt") else math.floor
    return towards(max(-_LARGEST, min(_LARGEST, number)))


def _holds_nearly_all(operator: str, bound: float) -> bool:
    """Whether nearly all whole numbers are on the side `operator` of a `bound` that is beyond what is compared."""
    return abs(bound) > _LARGEST and (operator in ("lte", "lt")) is (bound > 0)


def _patterns(text: str) -> list[str]:
    """Weaviate's patterns, of which one fits where `text` stands in capital letters, small ones or both.

    They mind capitals, so some letters are spelled in each way, and the others are any character.
    """
    # Two letters of one and one of two are the same without regard to case.
    pieces = _DOUBLE_S.sub("*", text)
    cased = [place for place, letter in enumerate(pieces) if letter.lower() != letter.upper()]
    spelled = set(cased[:: max(1, len(cased) // _SPELLED)][:_SPELLED])
    ways = [
        dict.fromkeys((letter, letter.lower(), letter.upper()))
        if place in spelled
        else "?"
        if place in cased
        else letter
        for place, letter in enumerate(pieces)
    ]
    return [f"*{''.join(letters)}*" for letters in product(*ways)]


def _is_held(day: date) -> bool:
    return _EARLIEST.date() < day < _LATEST.date()


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _stored(field: FilteredProperty, value: Any) -> Any:
    """A value as one of the property's type; None for one that no object can hold."""
    kind = field.holds
    if kind == "uuid":
        # Weaviate refuses a request that compares one with another text, and a turn would tell that as an outage.
        return uuid_text(field.name, value)
    if kind == "text":
        return clean_text(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    number = _number(value)
    if number is None or kind == "number":
        return number
    return int(number) if number.is_integer() and abs(number) < _NO_INTEGER else None


def _is_same(kind: str, value: Any) -> bool:
    """Whether what is equal to `value` for Weaviate is so for anybody else."""
    if isinstance(value, str):
        return kind in ("text", "uuid") and value == value.strip()
    return isinstance(value, bool) or _number(value) == value


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
