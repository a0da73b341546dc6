"""How PostgreSQL's types are read, and values as the rest of groundgraph knows them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, column, func, literal
from sqlalchemy.dialects.postgresql import ARRAY

from groundgraph.sources.sql.shape import Column, TableShape, decode

STORED_AS = {
    "bool": "boolean",
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "number"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamptz"), "datetime"),
    **dict.fromkeys(("json", "jsonb"), "array"),
    "bytea": "blob",
}
# Of no use to a reader, or not comparable to anything that a filter can say.
SKIPPED = frozenset(["tsvector", "tsquery", "vector", "halfvec", "sparsevec", "geometry", "geography", "raster"])
TEXTS = frozenset(["text", "varchar"])
# Types that psycopg reads as the values that are wanted; all others are read as PostgreSQL writes them.
_READ = frozenset([*TEXTS, "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "json", "jsonb"])
_READ_ARRAYS = frozenset(f"_{name}" for name in (*TEXTS, "bool", "int2", "int4", "int8", "float4", "float8", "numeric"))
_FRACTION = re.compile(r"(?<=:\d\d)\.(\d{1,6})")
_ZONE = re.compile(r"([+-]\d\d)$")


def stored_as(type_name: str) -> str:
    """The kind of field for a type of PostgreSQL, by its name in `pg_type`."""
    return "array" if type_name.startswith("_") else STORED_AS.get(type_name, "string")


def selected(found: Column) -> ColumnElement[Any]:
    """What to select for a column, so that `read_row` gets a value that it knows."""
    here: ColumnElement[Any] = column(found.name)
    if found.type == "bytea":
        return literal("<").concat(cast(func.octet_length(here), Text)).concat(" bytes>")
    if found.type in _READ or found.type in _READ_ARRAYS:
        return here
    return cast(here, ARRAY(Text)) if found.type.startswith("_") else cast(here, Text)


def read_value(found: Column, value: Any) -> Any:
    """A selected value, decoded as the field is declared."""
    if isinstance(value, Decimal):
        value = read_decimal(value)
    if isinstance(value, list):
        return [read_decimal(item) if isinstance(item, Decimal) else item for item in value]
    if found.stored_as == "datetime" and isinstance(value, str):
        value = iso_moment(value)
    return decode(found.kind, value)


def read_decimal(value: Decimal) -> Any:
    """A number as JSON knows it; text for `NaN` and `Infinity`."""
    if not value.is_finite():
        return str(value)
    return int(value) if value == value.to_integral_value() and abs(value) < 2**63 else float(value)


def iso_moment(written: str) -> str:
    """`2026-03-01 10:00:00.5+00` as Python writes it: `2026-03-01T10:00:00.500000+00:00`."""
    text = written.replace(" ", "T", 1)
    text = _FRACTION.sub(lambda found: "." + found[1].ljust(6, "0"), text)
    return _ZONE.sub(r"\1:00", text) if ":" in text else text


def read_row(shape: TableShape, values: Any) -> dict[str, Any]:
    """The decoded values of a row by column; `values` come in the order of `shape.columns`."""
    return {item.name: read_value(item, value) for item, value in zip(shape.columns, values, strict=True)}
