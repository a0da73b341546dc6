"""Checked filters as PostgreSQL's conditions with bound values.

They keep the rows that `core.filters.matches` keeps. Where a column is stored as its field is declared, the condition
is one that an index of the user's can serve. Equal means equal in every letter: types and collations that take
`ACME` for `acme` are compared as plain text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from math import inf
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    Float,
    Integer,
    Interval,
    Numeric,
    String,
    Text,
    and_,
    any_,
    case,
    cast,
    collate,
    column,
    exists,
    false,
    func,
    literal,
    or_,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

from groundgraph.core.exact_number import read_decimal
from groundgraph.core.filters import TimeOperand
from groundgraph.search.push_down import Pushed, Times, uuid_text
from groundgraph.sources.check_options import is_number
from groundgraph.sources.sql.postgres.introspect import TEXTS
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import MOST_INTEGER, Condition, SqlDialect, exact_condition, ordered

# Times in PostgreSQL's conditions: bound ones, and those that a column of text writes in ISO form.
#
# A cast would fail on the first text that is no time, so a pattern lets only texts through that it takes: the form that
# `core.time_operand.written_time` reads, on a day that the calendar has.

_LEAP_YEAR = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_ANY_YEAR = "(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31"
_DAY = f"(?!0000)([0-9]{{4}}-({_ANY_YEAR})|{_LEAP_YEAR}-02-29)"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
_OFFSET = "[+-]([01][0-9]|2[0-3])(:?[0-5][0-9](:?[0-5][0-9])?)?"
_TIME = f"^{_DAY}[T ]{_CLOCK}(Z|{_OFFSET})?$"
# Python reads no more of a fraction, and PostgreSQL would round the rest.
_LOCAL = "^.{16}(?::[0-9]{2}(?:[.,][0-9]{1,6})?)?"
_WRITTEN_OFFSET = "[+-][0-9:]+$"
_CLOCK_FROM = len("2026-11-21T")
_COMPARE: dict[str, Any] = {
    "equal": lambda left, right: left == right,
    "gte": lambda left, right: left >= right,
    "gt": lambda left, right: left > right,
    "lte": lambda left, right: left <= right,
    "lt": lambda left, right: left < right,
}


def time_holds(
    text: ColumnElement[Any], operator: str, operand: TimeOperand, *, spaced: bool = False
) -> ColumnElement[bool]:
    """Whether a time that `text` writes stands to `operand` as `operator` says; other text is compared as text.

    Args:
        text: a column.
        operator: of a condition, or `equal`.
        operand: a time, no bare day.
        spaced: a space behind the day is read as a T, as it is in a field of type datetime.
    """
    assert operand.moment is not None
    compare = _COMPARE[operator]
    as_time = compare(_written(text), utc_time(operand.moment, with_zone=False))
    shown = func.regexp_replace(text, "^(.{10}) ", r"\1T") if spaced else text
    as_text = compare(collate(shown, "C"), literal(str(operand), Text))
    return case((text.op("~", is_comparison=True)(_TIME), as_time), else_=as_text)


def utc_time(moment: datetime, *, with_zone: bool) -> ColumnElement[Any]:
    """`moment` bound as a time in UTC; one without a zone counts as UTC."""
    written = moment.replace(tzinfo=None).isoformat() + ("+00:00" if with_zone else "")
    bound: ColumnElement[Any] = cast(literal(written, String), TIMESTAMP(timezone=with_zone))
    offset = moment.utcoffset() or timedelta()
    # Python's calendar ends where an offset can still be taken away for PostgreSQL.
    if offset > timedelta():
        return bound - literal(offset, Interval)
    return bound + literal(-offset, Interval) if offset else bound


def _written(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The time in UTC that `text` writes."""
    local = cast(func.replace(func.substring(text, _LOCAL), ",", "."), TIMESTAMP(timezone=False))
    clock = func.substr(text, _CLOCK_FROM)
    # As a number of the form hhmmss, with its sign.
    digits = func.rpad(func.replace(func.coalesce(func.substring(clock, _WRITTEN_OFFSET), "+0"), ":", ""), 7, "0")
    offset = cast(digits, Integer)
    hours, minutes, seconds = offset // 10_000, offset // 100 % 100, offset % 100
    return local - func.make_interval(0, 0, 0, 0, hours, minutes, seconds)


_TRUE, _FALSE = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")
# A text that reads as a number, with thousands separators or without; the same as `shape.number` takes.
_NUMBER = r"^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$"
_SEPARATOR = r"(?<=\d),(?=\d{3}(?!\d))"
_NUMBERS = ("integer", "number")
_WITH_NAN = ("float4", "float8", "numeric")
_FLOATS = ("float4", "float8", "_float4", "_float8")
# From here on PostgreSQL writes a float with an exponent.
_WRITTEN_OUT = 1e15
# Escapes of letters that json keeps and jsonb refuses: NUL, and one half of a pair of surrogates.
_EVEN, _HEX = r"(?<!\\)((?:\\\\)*)\\u", "[0-9a-fA-F]{2}"
_HIGH, _LOW = f"[dD][89abAB]{_HEX}", f"[dD][c-fC-F]{_HEX}"
_NO_LETTERS = (rf"{_EVEN}(?:0000|{_HIGH}(?!\\u{_LOW}))", rf"(?<!\\u{_HIGH}){_EVEN}{_LOW}")
# Lists within lists of json are looked into so far; for an index each depth is a condition of its own.
_DEPTH = 3
_NUMBER_ARRAYS = ("_int2", "_int4", "_int8", "_float4", "_float8", "_numeric")


class _Named(UserDefinedType[Any]):
    """A type by its name, such as `uuid` or an enumeration's."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def where(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """The condition that the rows of `shape` with checked `filters` satisfy, and no others."""
    return exact_condition(shape, filters, PostgresDialect())


class PostgresDialect(SqlDialect):
    """PostgreSQL, whose columns hold values of one type each, so that everything is exact."""

    @override
    def times(self, field: Column) -> Times:
        if field.stored_as == "string":
            return Times.NONE if field.kind in (*_NUMBERS, "boolean") else Times.TEXT
        return {"date": Times.DAYS, "datetime": Times.MOMENTS}.get(field.stored_as, Times.NONE)

    @override
    def equal(self, field: Column, values: Sequence[Any]) -> Pushed[Condition]:
        values = [value for value in values if not _has_nul(value)]
        if field.stored_as == "array":
            return _exact(or_(false(), *(_in_list(field, value) for value in values)))
        return _exact(_EQUAL.get(field.stored_as, _nothing)(field, values))

    @override
    def compared(self, field: Column, operator: str, operand: Any) -> Pushed[Condition]:
        here: ColumnElement[Any] = column(field.name)
        if isinstance(operand, datetime):
            return _exact(ordered(here, operator, _moment(field, operand)))
        if isinstance(operand, date):
            return _exact(ordered(here, operator, literal(operand, Date)))
        if isinstance(operand, str):
            if field.stored_as != "string" or field.kind in _NUMBERS or _has_nul(operand):
                return _exact(false())
            return _exact(ordered(collate(_plain(field), "C"), operator, literal(operand, Text)))
        if isinstance(operand, bool) or not _has_numbers(field):
            return _exact(false())
        number = as_number(field)
        bound = _bound(operand, field)
        # What is no number is greater than all numbers for PostgreSQL, and neither less nor greater for anybody else.
        return _exact(and_(ordered(number, operator, bound), _is_a_number(field, number)))

    @override
    def contains(self, field: Column, operand: Any) -> Pushed[Condition]:
        if field.stored_as == "array" and field.type not in ("json", "jsonb"):
            return _exact(_in_array(field, operand))
        text = str(operand)
        if _has_nul(text):
            return _exact(false())
        # A collation that folds letters cannot search inside a text.
        here = _plain(field) if field.type in TEXTS else collate(_shown(field), "default")
        inside = func.strpos(_folded(here, text), _folded(literal(text, Text), text)) > 0
        if field.stored_as != "array":
            return _exact(inside)
        is_list = func.jsonb_typeof(_as_jsonb(field)) == "array"
        return _exact(case((is_list, _in_json(field, operand)), else_=inside))

    @override
    def decided(self, field: Column, operator: str, times: Sequence[TimeOperand]) -> Pushed[Condition]:
        spaced = field.kind == "datetime"
        return _exact(or_(*(time_holds(_plain(field), operator, time, spaced=spaced) for time in times)))


def _folded(here: ColumnElement[Any], asked: str) -> ColumnElement[Any]:
    """`here` with the letters of `asked` in lower case: in a database of the locale C the server folds a to z alone."""
    letters = {letter.upper(): letter.lower() for letter in asked if not letter.isascii()}
    pairs = {upper: lower for upper, lower in letters.items() if len(upper) == len(lower) == 1 and upper != lower}
    lower = func.lower(here)
    return func.translate(lower, "".join(pairs), "".join(pairs.values())) if pairs else lower


def _has_numbers(field: Column) -> bool:
    """Whether the values are numbers, or texts that are declared as such."""
    return field.stored_as in _NUMBERS or (field.stored_as == "string" and field.kind in _NUMBERS)


def as_number(field: Column) -> ColumnElement[Any]:
    """The value of a column as a number; NULL for a text that reads as none."""
    here: ColumnElement[Any] = column(field.name)
    if field.type == "float4":
        # As it is read and shown: taken as 8 bytes, 0.1 would be 0.100000001490116.
        return cast(cast(here, Text), Float(53))
    if field.stored_as in _NUMBERS:
        return here
    if field.stored_as != "string":
        return cast(literal(None), Numeric)
    text = func.regexp_replace(func.btrim(_plain(field)), _SEPARATOR, "", "g")
    return case((text.op("~")(_NUMBER), cast(text, Numeric)), else_=None)


def as_number_alone(field: Column) -> ColumnElement[Any]:
    """The same, and NULL for what is no number (NaN) too, which would be the largest and every sum it is in."""
    number = as_number(field)
    return case((_is_a_number(field, number), number), else_=None) if field.type in _WITH_NAN else number


def _is_a_number(field: Column, number: ColumnElement[Any]) -> ColumnElement[Any]:
    if field.type not in _WITH_NAN:
        return true()
    # A numeric may be beyond all floats, and would not be compared with one.
    return number != cast(literal("NaN", String), Numeric if field.type == "numeric" else Float(53))


def _shown(field: Column) -> ColumnElement[Any]:
    """The column as the text that a reader sees: a time as `introspect.iso_moment` writes it, a float as Python, and
    1.10 as 1.1."""
    here: ColumnElement[Any] = column(field.name)
    if field.type == "numeric":
        plain = _plain(field)
        without_zeros = func.rtrim(func.rtrim(plain, "0"), ".")
        return case((func.strpos(plain, ".") > 0, without_zeros), else_=plain)
    if field.type in _FLOATS:
        is_whole = and_(func.trunc(as_number(field)) == as_number(field), func.abs(here) < _WRITTEN_OUT)
        return _plain(field).concat(case((is_whole, ".0"), else_=""))
    if field.stored_as != "datetime":
        return _plain(field)
    has_fraction = func.to_char(here, "US") != "000000"
    fraction = case((has_fraction, func.to_char(here, ".US")), else_="")
    zone = "+00:00" if field.type == "timestamptz" else ""
    written = func.to_char(here, 'YYYY-MM-DD"T"HH24:MI:SS').concat(fraction).concat(zone)
    return case((func.isfinite(here), written), else_=_plain(field))


def _exact(condition: Condition) -> Pushed[Condition]:
    return Pushed(condition, exact=True)


def _equal_texts(field: Column, values: Sequence[Any]) -> Condition:
    if field.kind == "boolean":
        names = [name for value in values for name in (_TRUE if value else _FALSE)]
        return _member(_text(field), _texts(names))
    if field.kind in _NUMBERS:
        return _member(as_number(field), map(_bound, values))
    texts = _only_texts(values)
    if field.type == "uuid":
        # As text no index would serve it.
        return _member(column(field.name), _named("uuid", filter(None, map(partial(uuid_text, field.name), texts))))
    if field.labels:
        return _member(column(field.name), _named(field.type, (value for value in texts if value in field.labels)))
    return _member(_text(field), _texts(texts))


def _equal_numbers(field: Column, values: Sequence[Any]) -> Condition:
    if field.kind == "boolean":
        return _member(column(field.name), [_bound(int(value)) for value in values if field.stored_as == "integer"])
    numbers = [value for value in values if is_number(value) and not _is_beyond(value, field)]
    return or_(_member(as_number(field), map(_bound, numbers)), _member(_shown(field), _texts(_only_texts(values))))


def _equal_booleans(field: Column, values: Sequence[Any]) -> Condition:
    return _member(column(field.name), [literal(value) for value in values if isinstance(value, bool)])


def _equal_days(field: Column, values: Sequence[Any]) -> Condition:
    return _member(column(field.name), [literal(day, Date) for day in values])


def _equal_moments(field: Column, values: Sequence[Any]) -> Condition:
    return _member(column(field.name), [_moment(field, value) for value in values])


def _nothing(_field: Column, _values: Sequence[Any]) -> Condition:
    return false()


_EQUAL: dict[str, Callable[[Column, Sequence[Any]], Condition]] = {
    "string": _equal_texts,
    "integer": _equal_numbers,
    "number": _equal_numbers,
    "boolean": _equal_booleans,
    "date": _equal_days,
    "datetime": _equal_moments,
}


def _in_list(field: Column, value: Any) -> Condition:
    return _in_json(field, value) if field.type in ("json", "jsonb") else _in_array(field, value)


def _in_array(field: Column, value: Any) -> Condition:
    here: ColumnElement[Any] = column(field.name)
    is_bool = field.type == "_bool"
    if isinstance(value, bool) is not is_bool or _has_nul(value):
        return false()
    if is_bool:
        held: Condition = literal(value) == any_(here)
        return held
    if isinstance(value, str):
        return _text_in_array(field, value)
    if field.type == "_float4":
        here = cast(cast(here, ARRAY(Text)), ARRAY(Float(53)))
    if field.type not in _NUMBER_ARRAYS or _is_beyond(value, field):
        return false()
    return _bound(value) == any_(here)


def _text_in_array(field: Column, text: str) -> Condition:
    if field.type in ("_float4", "_float8", "_numeric"):
        # As text the server writes a float 1.0 as 1, and a numeric 1.10 as it is.
        number = _number_shown_as(field, text)
        return false() if number is None else _in_array(field, number)
    here: ColumnElement[Any] = column(field.name)
    texts = here if field.type == "_text" else cast(here, ARRAY(Text))
    return texts.op("@>", is_comparison=True)(cast(literal([text], ARRAY(Text)), ARRAY(Text)))


def _number_shown_as(field: Column, text: str) -> float | None:
    """What a reader of an array of numbers sees as `text`; None when that is nothing."""
    try:
        number = read_decimal(Decimal(text)) if field.type == "_numeric" else float(text)
    except (ValueError, ArithmeticError):
        return None
    return number if str(number) == text and not isinstance(number, str) else None


def _in_json(field: Column, value: Any) -> Condition:
    if _has_nul(value):
        return false()
    here = _as_jsonb(field)
    held = _holds_json(here, json.dumps(value, ensure_ascii=False))
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", value) and str(json.loads(value)) == value:
        return or_(held, and_(_holds_json(here, value), _is_written(here, value)))
    return held


def _holds_json(here: ColumnElement[Any], form: str) -> Condition:
    """Whether it is the value that `form` writes, or a list with it, or with lists with it."""
    nested = (form, *("[" * depth + form + "]" * depth for depth in range(2, _DEPTH + 1)))
    return or_(*(here.op("@>", is_comparison=True)(cast(literal(one, Text), JSONB)) for one in nested))


def _is_written(here: ColumnElement[Any], number: str) -> Condition:
    """Whether one of those that equal `number` has a fraction as it has: 1.0 equals 1, and is another text."""
    item = func.jsonb_path_query(here, cast(literal("$" + "[*]" * _DEPTH, String), _Named("jsonpath"))).column_valued(
        "item"
    )
    has_point = func.strpos(cast(item, Text), ".") > 0
    return exists().where(item == cast(literal(number, Text), JSONB), has_point == literal("." in number))


def _as_jsonb(field: Column) -> ColumnElement[Any]:
    here: ColumnElement[Any] = column(field.name)
    if field.type == "json":
        here = cast(here, Text)
        for escape in _NO_LETTERS:
            here = func.regexp_replace(here, escape, r"\1\\ufffd", "g")
    return cast(here, JSONB)


def _moment(field: Column, moment: datetime) -> ColumnElement[Any]:
    """A time as the column has it; what has no zone, the time or the column, counts as UTC when the other has one."""
    return utc_time(moment, with_zone=field.type == "timestamptz")


def _text(field: Column) -> ColumnElement[Any]:
    """The column as text, compared letter by letter; as it is where an index can then serve it."""
    if field.type in TEXTS:
        return column(field.name)
    return collate(cast(column(field.name), Text), "C")


def _plain(field: Column) -> ColumnElement[Any]:
    """The column as text."""
    return column(field.name) if field.type in TEXTS else cast(column(field.name), Text)


def _member(here: ColumnElement[Any], values: Iterable[ColumnElement[Any]]) -> Condition:
    members = list(values)
    return here.in_(members) if members else false()


def _texts(values: Iterable[str]) -> list[ColumnElement[Any]]:
    return [literal(value, Text) for value in values]


def _named(name: str, values: Iterable[str]) -> list[ColumnElement[Any]]:
    return [cast(literal(value, String), _Named(name)) for value in values]


def _bound(value: Any, field: Column | None = None) -> ColumnElement[Any]:
    """A number as a bound value of a type that holds it; beside floats, one that is beyond all of them is infinite."""
    if field and _is_beyond(value, field):
        value = inf if value > 0 else -inf
    if isinstance(value, int):
        return literal(value, BigInteger if abs(value) <= MOST_INTEGER else Numeric)
    return literal(value, Float(53))


def _is_beyond(value: float, field: Column) -> bool:
    """Whether the field has floats, and it is a whole number that none is near to: PostgreSQL refuses to compare it."""
    return field.type in _FLOATS and isinstance(value, int) and abs(value) > sys.float_info.max


def _only_texts(values: Sequence[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _has_nul(value: Any) -> bool:
    """Whether it is a text that PostgreSQL cannot hold."""
    return isinstance(value, str) and "\0" in value
