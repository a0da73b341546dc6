"""What an owner of the database should be told: rights that are too wide, indexes that are missing."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import text

from groundgraph.sources.sql.introspect import Wanted
from groundgraph.sources.sql.postgres.create_index import create_index, quoted
from groundgraph.sources.sql.postgres.database import PostgresDatabase
from groundgraph.sources.sql.shape import TableShape

_WRITE = "INSERT, UPDATE, DELETE, TRUNCATE"


def advice(database: PostgresDatabase, wanted: Wanted, *, native: bool) -> Iterator[str]:
    """Each thing that the owner should change, as a sentence."""
    with database.reading() as connection:
        role, is_super = connection.execute(
            text("SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)")
        ).one()
    if is_super:
        yield (
            f"The role '{role}' is a superuser, and groundgraph only reads. Make it a role of its own: "
            "CREATE ROLE groundgraph LOGIN; GRANT SELECT ON ... TO groundgraph."
        )
    for shape in database.shapes(wanted):
        yield from _about(database, shape, role, is_super=bool(is_super), native=native)


def _about(database: PostgresDatabase, shape: TableShape, role: str, *, is_super: bool, native: bool) -> Iterator[str]:
    table = ".".join(map(quoted, (shape.namespace, shape.relation)))
    with database.reading() as connection:
        writes = connection.execute(
            text("SELECT has_table_privilege(:table, :rights)"), {"table": table, "rights": _WRITE}
        ).scalar_one()
    if writes and not is_super:
        yield f"The role '{role}' may write to '{shape.name}', and groundgraph only reads: REVOKE {_WRITE} ON {table}."
    if native and shape.estimated_rows < 0:
        yield f"'{shape.name}' was never analysed, so PostgreSQL guesses how common words are: ANALYZE {table}."
    if not shape.text_index:
        yield (
            f"'{shape.name}' has no full-text index, so its rows are read into one on this machine. With one, "
            f"PostgreSQL searches itself: {create_index(shape, _sample(database, shape))}"
        )


def _sample(database: PostgresDatabase, shape: TableShape) -> str:
    own = [name for name in shape.search_fields if not any(name in dict(join.columns) for join in shape.joins)]
    columns = ", ".join(f"left({quoted(name)}::text, 500)" for name in own) or "''"
    table = ".".join(map(quoted, (shape.namespace, shape.relation)))
    with database.reading() as connection:
        statement = f"SELECT {columns} FROM {table} LIMIT 50".replace("::", "\0").replace(":", "\\:")
        rows = connection.execute(text(statement.replace("\0", "::"))).fetchall()
    return " ".join(str(value) for row in rows for value in row if value)
