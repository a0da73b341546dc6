"""The shapes of tables, by what SQLAlchemy can tell of any database."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, Enum, inspect

from groundgraph.sources.sql.introspect import column_of, unique_columns
from groundgraph.sources.sql.shape import TableShape


def is_internal(connection: Connection, name: str) -> bool:  # noqa: ARG001 - as for other databases
    """Whether `name` is the list of tables that some tools keep."""
    return name.startswith("_")


def shape_of(connection: Connection, name: str, is_view: bool) -> TableShape:
    """The table alone, with what its columns are declared as."""
    found = inspect(connection)
    columns = []
    for item in found.get_columns(name):
        labels = tuple(item["type"].enums) if isinstance(item["type"], Enum) else ()
        columns.append(replace(column_of(item), labels=labels))
    key, unique = ((), ()) if is_view else unique_columns(found, name)
    return TableShape(name, tuple(columns), key, "", None, (), unique, quoted=False)
