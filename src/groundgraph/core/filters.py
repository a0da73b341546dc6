"""Filter conditions: checking them against a schema, and applying them to a row of values.

A condition is a scalar (equal), a list (any of) or a mapping of operators. A value that is itself a list, such as
tags, is equal to a scalar when it contains it, or a list in it does. A row without the field satisfies `not` and
nothing else.

On a field of type date or datetime, times compare as instants where they name a zone, and a time without one counts as
UTC when the other names one; a bare day in a condition is compared with the day as it is written in the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from operator import eq, ge, gt, le, lt
from typing import Any

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema, iso_form

# The days and times of conditions on fields of type date or datetime, and how a value compares with them.

_DAY_CHARS = len("2026-11-21")
_SHORTEST = len("2026-11-21T17:00")
# How far apart the written days of two times can be that are one instant: a zone is less than a day from UTC.
_APART = timedelta(days=2)


class TimeOperand(str):
    """An ISO day or time that a condition on a field of times names; JSON and SQL see nothing but the text.

    A string field can hold text that only looks like a time; whether it does is known where filters are checked, and
    this type carries it to where rows are compared.

    Attributes:
        moment: the time; None for a bare day.
    """

    __slots__ = ("moment",)
    moment: datetime | None

    def __new__(cls, text: str) -> TimeOperand:
        """The operand for `text`, which `iso_form` gave."""
        made = super().__new__(cls, text)
        made.moment = written_time(text)
        return made

    def compares(self, comparison: Callable[[Any, Any], bool], value: str) -> bool:
        """Whether `comparison` holds between `value` and this one.

        Two times that name a zone compare as instants; a time without one counts as UTC when the other names one. A
        value that is no time, such as a bare day, is compared as text.
        """
        theirs, ours = written_time(value), self.moment
        if theirs is None or ours is None:
            return comparison(value, self)
        if theirs.tzinfo is None and ours.tzinfo is not None:
            theirs = theirs.replace(tzinfo=UTC)
        elif ours.tzinfo is None and theirs.tzinfo is not None:
            ours = ours.replace(tzinfo=UTC)
        return comparison(theirs, ours)

    def days_around(self) -> tuple[str, str] | None:
        """The days between which a value compares otherwise than as text, the second excluded; None without any.

        A value that stands as text before the first is less, one from the second on is greater, whatever the zones.
        There is none for a bare day, nor at the ends of the calendar.
        """
        if self.moment is None:
            return None
        written = date.fromisoformat(self[:_DAY_CHARS])
        try:
            return (written - _APART).isoformat(), (written + _APART + timedelta(days=1)).isoformat()
        except OverflowError:
            return None


def written_time(text: str) -> datetime | None:
    """The time that `text` writes as a day, `T` or a space, and hours and minutes with colons; None for other text."""
    # Looked at first, for most texts are none, and Python reads more forms than that.
    if len(text) < _SHORTEST or text[10] not in "T " or text[13] != ":" or text[4] != "-" or text[7] != "-":
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


OPERATORS = ("gte", "gt", "lte", "lt", "contains", "not")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {"gte": ge, "gt": gt, "lte": le, "lt": lt}
_TIMES = ("date", "datetime")


def check_filters(schema: SourceSchema | None, filters: Mapping[str, Any], *, source: str) -> dict[str, Any]:
    """`filters` in their plain form: dates as ISO strings (`TimeOperand`), one-element mappings kept as they are.

    Raises:
        FilterInvalid: a field is not declared, an operator or a value is not allowed.
    """
    if filters and schema is None:
        raise FilterInvalid(
            f"The source '{source}' declares no schema, so the filter on {', '.join(map(repr, filters))} "
            "could not be enforced. Let its get_schema() declare the fields, or remove the filter."
        )
    return {name: _check_field(schema, name, value) for name, value in filters.items()} if schema else {}


def _check_field(schema: SourceSchema, name: str, value: Any) -> Any:
    spec = schema.fields.get(name)
    if spec is None:
        raise FilterInvalid(schema.lacks(str(name)))
    where = f"{schema.source_name}.{name}"
    if not isinstance(value, Mapping):
        return _check_values(where, spec, value)
    if not value or not set(value) <= set(OPERATORS):
        unknown = ", ".join(sorted(map(str, set(value) - set(OPERATORS)))) or "nothing"
        raise FilterInvalid(f"{where}: {unknown} is not an operator. Known: {', '.join(OPERATORS)}.")
    return {operator: _check_operand(where, spec, operator, operand) for operator, operand in value.items()}


def _check_operand(where: str, spec: Mapping[str, Any], operator: str, operand: Any) -> Any:
    if operator == "contains":
        if not isinstance(operand, str | int | float) or isinstance(operand, bool):
            instead = " Name the value alone, without an operator." if isinstance(operand, bool) else ""
            raise FilterInvalid(f"{where}: 'contains' takes one text or number, not {operand!r}.{instead}")
        return operand
    if operator in _COMPARE and spec.get("type") == "array":
        raise FilterInvalid(
            f"{where}: '{operator}' compares one value, and this field holds lists. Name a value of them."
        )
    if operator in _COMPARE:
        return _check_scalar(where, {**spec, "enum": None}, operand)
    return _check_values(where, spec, operand)


def _check_values(where: str, spec: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        if not value:
            raise FilterInvalid(f"{where}: an empty list allows nothing; remove the filter or name a value.")
        return [_check_scalar(where, spec, item) for item in value]
    return _check_scalar(where, spec, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str) or _is_number(value),
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, str | bool) or _is_number(value),
}


def _check_scalar(where: str, spec: Mapping[str, Any], value: Any) -> Any:
    kind = spec.get("type", "string")
    if kind in _TIMES:
        value = _iso(where, value)
    elif not _ACCEPTS[kind](value):
        raise FilterInvalid(f"{where}: {value!r} is not a value of type {kind}.")
    elif kind == "string":
        value = str(value)
    allowed = spec.get("enum")
    if allowed is not None and value not in allowed:
        hint = nearest(str(value), [str(item) for item in allowed])
        raise FilterInvalid(
            f"{where}: {value!r} is not an allowed value.{hint} Allowed: {', '.join(map(str, allowed))}."
        )
    return value


def _iso(where: str, value: Any) -> str:
    found = iso_form(value)
    if found is None:
        raise FilterInvalid(f"{where}: {value!r} is not a date in ISO 8601 form (2026-11-21).")
    return TimeOperand(found)


def with_times(schema: SourceSchema | None, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Checked `filters` that went through a checkpoint or JSON, with their times as `TimeOperand` again."""
    fields = schema.fields if schema else {}
    return {name: condition_of(fields.get(name, {}).get("type"), value) for name, value in filters.items()}


def condition_of(kind: str | None, condition: Any) -> Any:
    """One condition of `with_times`, on a field of type `kind`."""
    if kind not in _TIMES:
        return condition
    if isinstance(condition, Mapping):
        return {name: one if name == "contains" else condition_of(kind, one) for name, one in condition.items()}
    if isinstance(condition, list):
        return [condition_of(kind, one) for one in condition]
    return TimeOperand(condition) if isinstance(condition, str) else condition


def matches(filters: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a row with `values` satisfies every checked condition.

    Times compare as instants (see `TimeOperand`) where the conditions come from `check_filters` or `with_times`; in
    others every text is plain text.
    """
    return all(_holds(condition, _plain(values.get(name))) for name, condition in filters.items())


def _plain(value: Any) -> Any:
    """A date as the ISO string that conditions hold; str() of a datetime has a space for the T."""
    return value.isoformat() if isinstance(value, date) else value


def _holds(condition: Any, value: Any) -> bool:
    if isinstance(condition, Mapping):
        return all(_operator_holds(operator, operand, value) for operator, operand in condition.items())
    return _is_any_of(condition, value)


def _is_any_of(condition: Any, value: Any) -> bool:
    wanted = condition if isinstance(condition, list) else [condition]
    return any(_equal(item, allowed) for item in items_of(value) for allowed in wanted)


def items_of(value: Any) -> list[Any]:
    """What a list and the lists in it hold, in any order; of another value itself."""
    if not isinstance(value, list | tuple):
        return [value]
    found: list[Any] = []
    left: list[Any] = [value]
    while left:
        for item in left.pop():
            (left if isinstance(item, list | tuple) else found).append(item)
    return found


def _equal(left: Any, right: Any) -> bool:
    if left is None or isinstance(left, bool) is not isinstance(right, bool):
        return False
    if left == right:
        return True
    if isinstance(left, str):
        return isinstance(right, TimeOperand) and right.compares(eq, left)
    return isinstance(right, str) and str(left) == right


def _operator_holds(operator: str, operand: Any, value: Any) -> bool:
    if operator == "not":
        return not _is_any_of(operand, value)
    if value is None:
        return False
    if operator == "contains":
        if isinstance(value, list | tuple):
            return _is_any_of(operand, value)
        return str(operand).casefold() in str(value).casefold()
    return _ordered_holds(operator, operand, value)


def _ordered_holds(operator: str, operand: Any, value: Any) -> bool:
    if isinstance(operand, str):
        # A number has no place among days: as a text, seconds since 1970 would stand before the year 2000.
        if not isinstance(value, str):
            return False
        if isinstance(operand, TimeOperand) and operand.moment is not None:
            return operand.compares(_COMPARE[operator], value)
        # A day includes every time on it: "lte 2026-03-31" holds for 2026-03-31T17:00.
        value = value[:10] if _DAY.fullmatch(operand) else value
    elif not _is_number(value):
        return False
    return bool(_COMPARE[operator](value, operand))
