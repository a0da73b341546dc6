"""What names a row of a table, in a database of any kind.

One column with whole numbers or texts names it as it is. Otherwise the values of several columns do, as a JSON list:
those of the primary key or, where there is none, of all columns that can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, column, false, or_

from groundgraph.core.evidence import jsonable
from groundgraph.sources.sql.portable.conditions import narrowed
from groundgraph.sources.sql.shape import Column, TableShape

# Keys in one statement; some databases allow two thousand bound values.
SOME = 200


def key_columns(shape: TableShape) -> list[Column]:
    """The columns whose values name a row."""
    named = (shape.column(name) for name in shape.key_columns)
    return [found for found in named if found and (shape.primary_key or found.stored_as not in ("blob", "array"))]


def only_key(shape: TableShape) -> ColumnElement[Any] | None:
    """The column that names a row alone; None when it takes several, or one of another type."""
    found = key_columns(shape)
    plain = len(found) == 1 and bool(shape.primary_key) and found[0].stored_as in ("integer", "string")
    return column(found[0].name) if plain else None


def key_of(shape: TableShape, values: Sequence[Any]) -> Any:
    """The key of a row with `values` in `key_columns`."""
    if only_key(shape) is not None:
        return values[0]
    return json.dumps(jsonable(list(values)), ensure_ascii=False)


def one_of(shape: TableShape, keys: Sequence[Any]) -> ColumnElement[bool]:
    """A condition that the rows with `keys` satisfy, and perhaps some others."""
    alone = only_key(shape)
    if alone is not None:
        return alone.in_(keys)
    names = [found.name for found in key_columns(shape)]
    return or_(false(), *(_named(shape, dict(zip(names, json.loads(key), strict=True))) for key in keys))


def _named(shape: TableShape, values: dict[str, Any]) -> ColumnElement[bool]:
    missing = [column(name).is_(None) for name, value in values.items() if value is None]
    return and_(narrowed(shape, {name: value for name, value in values.items() if value is not None}), *missing)
