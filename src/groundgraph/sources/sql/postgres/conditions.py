"""Checked filters as PostgreSQL's conditions with bound values.

They keep the rows that `core.filters.matches` keeps. Where a column is stored as its field is declared, the condition
is one that an index of the user's can serve. Equal means equal in every letter: types and collations that take
`ACME` for `acme` are compared as plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from math import nan
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    Float,
    Numeric,
    String,
    Text,
    and_,
    any_,
    case,
    cast,
    collate,
    column,
    false,
    func,
    literal,
    not_,
    or_,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import UserDefinedType

from groundgraph.core.filters import condition_of, matches
from groundgraph.core.time_operand import TimeOperand
from groundgraph.sources.sql.postgres.text_times import time_holds, utc_time
from groundgraph.sources.sql.postgres.values import TEXTS
from groundgraph.sources.sql.shape import Column, TableShape

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_INTEGER = 2**63 - 1
_LAST_CHARACTER = "\U0010ffff"
_TRUE, _FALSE = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")
# A text that reads as a number, with thousands separators or without; the same as `shape.number` takes.
_NUMBER = r"^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$"
_SEPARATOR = r"(?<=\d),(?=\d{3}(?!\d))"
Condition = ColumnElement[bool]


class _Named(UserDefinedType[Any]):
    """A type by its name, such as `uuid` or an enumeration's."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def where(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """The condition that the rows of `shape` with checked `filters` satisfy; a missing column only satisfies `not`."""
    parts: list[Condition] = []
    for name, condition in filters.items():
        found = shape.column(name)
        if found is None:
            parts.append(true() if matches({name: condition}, {}) else false())
        else:
            parts.append(_condition(found, condition))
    return and_(true(), *parts)


def as_number(found: Column) -> ColumnElement[Any]:
    """The value of a column as a number; NULL for a text that reads as none."""
    here: ColumnElement[Any] = column(found.name)
    if found.type == "float4":
        # As it is read and shown: taken as 8 bytes, 0.1 would be 0.100000001490116.
        return cast(cast(here, Text), Float(53))
    if found.stored_as in ("integer", "number"):
        return here
    if found.stored_as != "string":
        return cast(literal(None), Numeric)
    text = func.regexp_replace(func.btrim(_plain(found)), _SEPARATOR, "", "g")
    return case((text.op("~")(_NUMBER), cast(text, Numeric)), else_=None)


def _condition(found: Column, condition: Any) -> Condition:
    condition = condition_of(found.kind, condition)
    if not isinstance(condition, Mapping):
        return _any_of(found, condition)
    return and_(true(), *(_operator(found, operator, operand) for operator, operand in condition.items()))


def _operator(found: Column, operator: str, operand: Any) -> Condition:
    if operator == "not":
        return or_(column(found.name).is_(None), not_(func.coalesce(_any_of(found, operand), false())))
    if operator == "contains":
        return _contains(found, operand)
    if isinstance(operand, bool) or found.stored_as in ("array", "boolean", "blob"):
        return false()
    if isinstance(operand, str):
        return _ordered_text(found, operator, operand)
    if found.stored_as in ("integer", "number") or (found.stored_as == "string" and found.kind in _NUMBERS):
        return _compared_number(found, operator, operand)
    return false()


_NUMBERS = ("integer", "number")
_WITH_NAN = ("float4", "float8", "numeric")


def _compared_number(found: Column, operator: str, operand: float) -> Condition:
    here = as_number(found)
    compared = _compare(here, operator, _bound(operand))
    # What is no number is greater than all numbers for PostgreSQL, and neither less nor greater for anybody else.
    is_number = found.type in _WITH_NAN and operator in ("gt", "gte")
    return and_(compared, here != literal(nan, Float(53))) if is_number else compared


def _contains(found: Column, operand: Any) -> Condition:
    if found.stored_as == "array" and found.type not in ("json", "jsonb"):
        return _in_array(found, operand)
    text = str(operand)
    if "\0" in text:
        return false()
    # A collation that folds letters cannot search inside a text.
    here = _plain(found) if found.type in TEXTS else collate(_plain(found), "default")
    inside = func.strpos(func.lower(here), func.lower(literal(text, Text))) > 0
    if found.stored_as != "array":
        return inside
    is_list = func.jsonb_typeof(cast(column(found.name), JSONB)) == "array"
    return case((is_list, _in_json(found, operand)), else_=inside)


def _any_of(found: Column, condition: Any) -> Condition:
    wanted = condition if isinstance(condition, list) else [condition]
    wanted = [value for value in wanted if not (isinstance(value, str) and "\0" in value)]
    if not wanted:
        return false()
    if found.stored_as == "array":
        member = _in_json if found.type in ("json", "jsonb") else _in_array
        return or_(false(), *(member(found, value) for value in wanted))
    equal: Condition = _EQUAL.get(found.stored_as, _nothing)(found, wanted)
    return equal


def _nothing(found: Column, wanted: list[Any]) -> Condition:  # noqa: ARG001 - one of `_EQUAL`
    return false()


def _equal_texts(found: Column, wanted: list[Any]) -> Condition:
    if found.kind == "boolean":
        names = [name for value in wanted for name in (_TRUE if value else _FALSE)]
        return _member(_text(found), _texts(names))
    if found.kind in _NUMBERS:
        return _member(as_number(found), [_bound(value) for value in wanted])
    texts = [value for value in wanted if isinstance(value, str)]
    times = [value for value in texts if isinstance(value, TimeOperand) and value.moment]
    if times:
        others = _member(_text(found), _texts([value for value in texts if value not in times]))
        return or_(others, *(_text_time(found, "equal", time) for time in times))
    if found.type == "uuid":
        # As text no index would serve it; only the form that PostgreSQL itself writes is the same text.
        return _member(column(found.name), [cast(literal(v, String), _Named("uuid")) for v in texts if _is_uuid(v)])
    if found.labels:
        kept = [value for value in texts if value in found.labels]
        return _member(column(found.name), [cast(literal(v, String), _Named(found.type)) for v in kept])
    return _member(_text(found), _texts(texts))


def _equal_numbers(found: Column, wanted: list[Any]) -> Condition:
    if found.kind == "boolean":
        return _member(column(found.name), [_bound(int(value)) for value in wanted if found.stored_as == "integer"])
    numbers = [value for value in wanted if isinstance(value, int | float) and not isinstance(value, bool)]
    texts = [value for value in wanted if isinstance(value, str)]
    return or_(
        _member(as_number(found), [_bound(value) for value in numbers]),
        _member(_plain(found), _texts(texts)),
    )


def _equal_booleans(found: Column, wanted: list[Any]) -> Condition:
    return _member(column(found.name), [literal(value) for value in wanted if isinstance(value, bool)])


def _equal_dates(found: Column, wanted: list[Any]) -> Condition:
    days = [value for value in wanted if isinstance(value, str) and _day(value)]
    return _member(column(found.name), [literal(_day(value), Date) for value in days])


def _equal_moments(found: Column, wanted: list[Any]) -> Condition:
    moments = [_moment(found, value) for value in wanted if isinstance(value, str) and not _DAY.fullmatch(value)]
    return _member(column(found.name), [moment for moment in moments if moment is not None])


_EQUAL: dict[str, Any] = {
    "string": _equal_texts,
    "integer": _equal_numbers,
    "number": _equal_numbers,
    "boolean": _equal_booleans,
    "date": _equal_dates,
    "datetime": _equal_moments,
}


def _in_array(found: Column, value: Any) -> Condition:
    here: ColumnElement[Any] = column(found.name)
    is_bool = found.type == "_bool"
    if isinstance(value, bool) is not is_bool:
        return false()
    if is_bool:
        held: Condition = literal(value) == any_(here)
        return held
    if isinstance(value, str):
        if "\0" in value:
            return false()
        texts = here if found.type == "_text" else cast(here, ARRAY(Text))
        return texts.op("@>", is_comparison=True)(_array(value))
    if found.type == "_float4":
        here = cast(cast(here, ARRAY(Text)), ARRAY(Float(53)))
    numeric = found.type in ("_int2", "_int4", "_int8", "_float4", "_float8", "_numeric")
    return _bound(value) == any_(here) if numeric else false()


def _array(value: str) -> ColumnElement[Any]:
    return cast(literal([value], ARRAY(Text)), ARRAY(Text))


def _in_json(found: Column, value: Any) -> Condition:
    here = cast(column(found.name), JSONB)
    forms = [json.dumps(value, ensure_ascii=False)]
    if isinstance(value, str):
        if "\0" in value:
            return false()
        if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", value):
            forms.append(value)  # a number that reads like the text that is asked for
    return or_(*(here.op("@>", is_comparison=True)(cast(literal(form, Text), JSONB)) for form in forms))


def _ordered_text(found: Column, operator: str, operand: str) -> Condition:
    if "\0" in operand:
        return false()
    if found.stored_as == "date":
        return _ordered_date(found, operator, operand)
    if found.stored_as == "datetime":
        return _ordered_moment(found, operator, operand)
    if found.stored_as != "string" or found.kind in _NUMBERS:
        return false()
    if isinstance(operand, TimeOperand) and operand.moment:
        return _text_time(found, operator, operand)
    here: ColumnElement[Any] = collate(_plain(found), "C")
    if _DAY.fullmatch(operand) and operator in ("gt", "lte"):
        # A day includes every time on it.
        operator, operand = ("gte" if operator == "gt" else "lt"), operand + _LAST_CHARACTER
    return _compare(here, operator, literal(operand, Text))


def _text_time(found: Column, operator: str, operand: TimeOperand) -> Condition:
    return time_holds(_plain(found), operator, operand, spaced=found.kind == "datetime")


def _ordered_date(found: Column, operator: str, operand: str) -> Condition:
    day = _day(operand[:10])
    if day is None:
        return false()
    if len(operand) > 10:
        # As text a day stands before every time on it.
        operator = {"gte": "gt", "lt": "lte"}.get(operator, operator)
    return _compare(column(found.name), operator, literal(day, Date))


def _ordered_moment(found: Column, operator: str, operand: str) -> Condition:
    if _DAY.fullmatch(operand):
        day = _day(operand)
        if day is None:
            return false()
        if operator in ("gt", "lte"):
            operator, day = ("gte" if operator == "gt" else "lt"), day + timedelta(days=1)
        operand = f"{day.isoformat()}T00:00:00"
    moment = _moment(found, operand)
    return false() if moment is None else _compare(column(found.name), operator, moment)


def _moment(found: Column, operand: str) -> ColumnElement[Any] | None:
    """A time as the column has it; what has no zone, the time or the column, counts as UTC when the other has one."""
    try:
        read = datetime.fromisoformat(operand)
    except ValueError:
        return None
    return utc_time(read, with_zone=found.type == "timestamptz")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _compare(left: ColumnElement[Any], operator: str, right: ColumnElement[Any]) -> Condition:
    comparisons: dict[str, Condition] = {
        "gte": left >= right,
        "gt": left > right,
        "lte": left <= right,
        "lt": left < right,
    }
    return comparisons[operator]


def _text(found: Column) -> ColumnElement[Any]:
    """The column as text, compared letter by letter; as it is where an index can then serve it."""
    if found.type in TEXTS:
        return column(found.name)
    return collate(cast(column(found.name), Text), "C")


def _plain(found: Column) -> ColumnElement[Any]:
    """The column as text."""
    return column(found.name) if found.type in TEXTS else cast(column(found.name), Text)


def _member(here: ColumnElement[Any], values: list[ColumnElement[Any]]) -> Condition:
    return here.in_(values) if values else false()


def _texts(values: list[str]) -> list[ColumnElement[Any]]:
    return [literal(value, Text) for value in values]


def _bound(value: Any) -> ColumnElement[Any]:
    """A number as a bound value of a type that holds it."""
    if isinstance(value, int):
        return literal(value, BigInteger if abs(value) <= _MOST_INTEGER else Numeric)
    return literal(value, Float(53))


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
