"""Reading the shape of a user's tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Inspector, inspect, types
from typing_extensions import override

from groundgraph.core.errors import ConfigurationError, SchemaChanged
from groundgraph.core.registry import nearest
from groundgraph.sources.sql.shape import CONTENT_NAMES, Column, ForeignKey, TableShape, Wanted, with_relations

# An index row's number is the table's slot and the row number in one; see `index_file`.
ROWID_BITS = 40
_ROWIDS = ("rowid", "_rowid_", "oid")
_KINDS: tuple[tuple[type[Any], str], ...] = (
    (types.Boolean, "boolean"),
    (types.DateTime, "datetime"),
    (types.Date, "date"),
    (types.Integer, "integer"),
    (types.Numeric, "number"),
    (types.Float, "number"),
    (types.String, "string"),
    (types.JSON, "array"),
    (types.LargeBinary, "blob"),
)


class TablesMissing(ConfigurationError):
    """Tables that are wanted are not there, or may not be read; `table` names the first, and is empty when the
    configuration names none."""

    def __init__(self, message: str, table: str = "") -> None:
        self.table = table
        super().__init__(message)

    @classmethod
    def of(cls, message: str, wanted: Wanted, present: Collection[str]) -> TablesMissing:
        """The error where only the tables `present` can be read."""
        return cls(message, next((name for name in wanted.tables if name not in present), ""))


class Introspection:
    """How a database tells of its tables: by what SQLAlchemy knows of any."""

    def is_internal(self, connection: Connection, name: str) -> bool:  # noqa: ARG002 - others ask
        """Whether `name` is a table that is none of the user's, such as the list of tables that some tools keep."""
        return name.startswith("_")

    def shape_of(self, connection: Connection, name: str, is_view: bool) -> TableShape:
        """The table alone, with what its columns are declared as."""
        found = inspect(connection)
        columns = []
        for item in found.get_columns(name):
            labels = tuple(item["type"].enums) if isinstance(item["type"], types.Enum) else ()
            columns.append(replace(column_of(item), labels=labels))
        key, unique = ((), ()) if is_view else unique_columns(found, name)
        foreign = () if is_view else foreign_keys(found, name)
        return TableShape(name, tuple(columns), key, "", None, (), unique, quoted=False, foreign_keys=foreign)


class SqliteIntrospection(Introspection):
    """The same for SQLite, whose tables have row numbers, and columns of which the type tells little."""

    @override
    def is_internal(self, connection: Connection, name: str) -> bool:
        kind = connection.exec_driver_sql(
            "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = :name", {"name": name}
        ).scalar()
        # An FTS table or one of its parts.
        return super().is_internal(connection, name) or kind in ("virtual", "shadow")

    @override
    def shape_of(self, connection: Connection, name: str, is_view: bool) -> TableShape:
        found = inspect(connection)
        texts = _declared_as_string(connection, name)
        read = [column_of(item) for item in found.get_columns(name)]
        columns = tuple(replace(one, kind="any", stored_as="any") if one.name in texts else one for one in read)
        key, unique = ((), ()) if is_view else unique_columns(found, name)
        rowid = "" if is_view else _rowid(connection, name, [column.name for column in columns])
        return TableShape(name, columns, key, rowid, None, (), unique, foreign_keys=foreign_keys(found, name))


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


def read_shapes(
    connection: Connection, wanted: Wanted, *, source: str, where: str, dialect: Introspection
) -> list[TableShape]:
    """The shapes of the wanted tables.

    Args:
        connection: to the user's database.
        wanted: what the configuration says.
        source: the name of the source, for messages.
        where: what the database is called in messages.
        dialect: asks this kind of database.

    Raises:
        TablesMissing: a table is not there, or there is none at all.
    """
    found = inspect(connection)
    tables, views = found.get_table_names(), found.get_view_names()
    known = [name for name in [*tables, *views] if not dialect.is_internal(connection, name)]
    present = {*known, *tables}
    if told := missing_tables(wanted, known, present):
        raise TablesMissing.of(f"The source '{source}': the database {where} {told}", wanted, present)
    shapes = {name: dialect.shape_of(connection, name, name in views) for name in wanted.tables or known}

    def shape_of(name: str) -> TableShape | None:
        return shapes.get(name) or (dialect.shape_of(connection, name, name in views) if name in known else None)

    served = list(shapes.values())
    joined = (with_relations(shape, wanted.relations, shape_of, source, served) for shape in served)
    return [described(shape, wanted) for shape in joined]


def missing_tables(
    wanted: Wanted, usual: Sequence[str], present: Collection[str], others: Sequence[str] = (), *, suffix: str = ""
) -> str:
    """What is wrong with the tables of a database; empty when nothing is.

    Args:
        wanted: what the configuration says.
        usual: the names of the tables that are read when it names none.
        present: every name under which a table can be read.
        others: more names to tell of.
        suffix: what is said behind the names of those that are not there.
    """
    missing = [name for name in wanted.tables if name not in present]
    if not missing and (usual or wanted.tables):
        return ""
    known = list(dict.fromkeys([*usual, *others]))
    names = ", ".join(map(repr, missing))
    told = f"has no table {names}{suffix}.{nearest(missing[0], known)}" if missing else "has no tables."
    return f"{told} Tables: {', '.join(known[:20]) or 'none'}."


def check_columns(shapes: Sequence[TableShape], named: Sequence[str], source: str, where: str) -> None:
    """Refuse to go on without a column that the configuration names.

    Raises:
        SchemaChanged: no table has it.
    """
    present = [column.name for shape in shapes for column in shape.columns]
    for name in named:
        if name not in present:
            tables = ", ".join(f"'{shape.name}'" for shape in shapes[:5])
            raise SchemaChanged(
                f"The source '{source}' is configured with the field '{name}', which no column of {tables} in {where} "
                f"has any more.{nearest(name, present)} Columns: {', '.join(dict.fromkeys(present))}.",
                field=name,
            )


def described(shape: TableShape, wanted: Wanted) -> TableShape:
    """`shape` with what the configuration says of its columns, and what follows for the text of a row."""
    columns = tuple(
        replace(column, kind=_kind(column, wanted), declared=column.name in wanted.fields) for column in shape.columns
    )
    names = [column.name for column in columns]
    content = wanted.content_field if wanted.content_field in names else _content_field(wanted, columns)
    searched = [field for field in wanted.search_fields if field in names] or _searchable(columns)
    if content is not None and content not in searched:
        searched.insert(0, content)
    return replace(shape, columns=columns, content_field=content, search_fields=tuple(searched))


def _searchable(columns: Sequence[Column]) -> list[str]:
    """The columns with texts; without one, all that can be searched at all."""
    texts = [column.name for column in columns if column.stored_as in ("string", "array", "any")]
    return texts or [column.name for column in columns if column.kind != "blob"]


def _kind(column: Column, wanted: Wanted) -> str:
    own = "string" if column.stored_as == "any" else column.stored_as
    return str(wanted.fields.get(column.name, {}).get("type") or own)


def _content_field(wanted: Wanted, columns: Sequence[Column]) -> str | None:
    if wanted.content_field is not None:
        return None  # it belongs to another table of the same source
    texts = {column.name.casefold(): column.name for column in columns if column.stored_as == "string"}
    return next((texts[name] for name in CONTENT_NAMES if name in texts), None)


def column_of(item: Mapping[str, Any]) -> Column:
    """A column as SQLAlchemy's inspector describes it."""
    stored = next((kind for type_, kind in _KINDS if isinstance(item["type"], type_)), "any")
    return Column(item["name"], stored, stored)


def foreign_keys(found: Inspector, table: str) -> tuple[ForeignKey, ...]:
    """The keys of other tables that `table` declares to hold."""
    return tuple(
        ForeignKey(tuple(key["constrained_columns"]), key["referred_table"], tuple(key["referred_columns"]))
        for key in found.get_foreign_keys(table)
    )


def unique_columns(found: Inspector, table: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns of the primary key of `table`, and every set of columns that no two rows share."""
    key = tuple(found.get_pk_constraint(table)["constrained_columns"] or ())
    others = [item["column_names"] for item in found.get_unique_constraints(table)]
    return key, tuple(tuple(column or "" for column in columns) for columns in ([key] if key else []) + others)
