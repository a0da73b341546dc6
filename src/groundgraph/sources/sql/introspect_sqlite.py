"""The shapes of the tables of a SQLite database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, inspect

from groundgraph.sources.sql.introspect import ROWID_BITS, column_of, unique_columns
from groundgraph.sources.sql.shape import TableShape

_ROWIDS = ("rowid", "_rowid_", "oid")


def is_internal(connection: Connection, name: str) -> bool:
    """Whether `name` is an FTS table or one of its parts, or the list of tables that some tools keep."""
    kind = connection.exec_driver_sql(
        "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = :name", {"name": name}
    ).scalar()
    return name.startswith("_") or kind in ("virtual", "shadow")


def shape_of(connection: Connection, name: str, is_view: bool) -> TableShape:
    """The table alone, with what its columns are declared as."""
    found = inspect(connection)
    texts = _declared_as_string(connection, name)
    read = [column_of(item) for item in found.get_columns(name)]
    columns = tuple(replace(one, kind="any", stored_as="any") if one.name in texts else one for one in read)
    key, unique = ((), ()) if is_view else unique_columns(found, name)
    rowid = "" if is_view else _rowid(connection, name, [column.name for column in columns])
    return TableShape(name, columns, key, rowid, None, (), unique)


def _declared_as_string(connection: Connection, table: str) -> set[str]:
    """The columns declared STRING, which SQLite takes for a number's type and which hold texts all the same."""
    found = connection.exec_driver_sql("SELECT name FROM pragma_table_info(?) WHERE type LIKE '%STRING%'", (table,))
    return {row[0] for row in found}


def _rowid(connection: Connection, table: str, columns: Sequence[str]) -> str:
    """The name of the row number; empty without one, or when one is beyond what an index row's number can hold."""
    taken = {name.casefold() for name in columns}
    quoted = connection.dialect.identifier_preparer.quote_identifier(table)
    without = connection.exec_driver_sql(
        "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", (table,)
    ).scalar()
    name = next((name for name in _ROWIDS if name not in taken), "")
    if without or not name:
        return ""
    lowest, highest = connection.exec_driver_sql(f"SELECT min({name}), max({name}) FROM {quoted}").one()
    fits = lowest is None or (lowest >= 0 and highest < 1 << ROWID_BITS)
    return name if fits else ""
