"""Bringing a value that someone wrote into a file or a record to the type that its field declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from groundgraph.core.registry import nearest

_SWITCHES = {"true": True, "false": False}


def typed_value(spec: Mapping[str, Any], value: Any) -> Any:
    """`value` as a field with `spec` holds it: one JSON value, or a list of them when `value` is a list.

    `spec` is that of `SourceSchema.fields`. Dates become ISO strings, a number in a string field becomes text, and text
    that spells a number becomes one.

    Raises:
        ValueError: it is no value of the type, or not one of `enum`; the message says so without naming the field.
    """
    kind = str(spec.get("type", "string"))
    if isinstance(value, list | tuple):
        return [_checked(spec, kind, item) for item in value]
    typed = _checked(spec, kind, value)
    return [typed] if kind == "array" else typed


def _checked(spec: Mapping[str, Any], kind: str, value: Any) -> Any:
    typed = _READERS[kind](value)
    if typed is None:
        raise ValueError(f"{value!r} is not a value of type {kind}")
    allowed = spec.get("enum")
    if allowed is not None and typed not in allowed:
        known = [str(item) for item in allowed]
        raise ValueError(f"{value!r} is not an allowed value.{nearest(str(value), known)} Allowed: {', '.join(known)}.")
    return typed


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else _day_or_time(value)


def _day_or_time(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, date) else None


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else _day_or_time(value)


def _integer(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _number(value: Any) -> float | int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = float(value) if isinstance(value, str | float) else math.nan
    except ValueError:
        return None
    # What is no number, or an endless one, compares with nothing, and JSON does not hold it.
    return number if math.isfinite(number) else None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _SWITCHES.get(str(value).strip().lower())


def iso_form(value: Any) -> str | None:
    """A day, or a day with a time, in the one form that compares as text; None for anything else."""
    if isinstance(value, date):
        return value.isoformat()
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(value).isoformat()
        except (TypeError, ValueError):
            continue
    return None


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _switch,
    "date": iso_form,
    "datetime": iso_form,
    "array": _scalar,
}
