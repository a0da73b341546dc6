"""Tables that show other rows to other sessions: none of their rows is kept in a file."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text

from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.sql.postgres.create_index import create_index
from groundgraph.sources.sql.shape import TableShape

# Views are followed to what they select from, but not materialized ones, whose rows are their own. For what a view
# reads, the rights of its owner may count, so any such table will do.
_FILTERED = text("""
WITH RECURSIVE used (oid, own) AS (
    SELECT c.oid, true FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :space AND c.relname = :name
    UNION
    SELECT d.refobjid, false FROM used u
    JOIN pg_class v ON v.oid = u.oid AND v.relkind = 'v'
    JOIN pg_rewrite r ON r.ev_class = u.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
        AND d.refobjid <> u.oid
)
SELECT bool_or(CASE WHEN own THEN row_security_active(c.oid) ELSE c.relrowsecurity END)
FROM used JOIN pg_class c USING (oid)
""")


def refuse_a_file(connection: Connection, shapes: Sequence[TableShape], source: str) -> None:
    """Refuse to keep the rows of `shapes` in a file.

    Raises:
        ConfigurationError: one of the tables, or one that belongs to its rows, has row-level security.
    """
    for shape in shapes:
        for one in (shape, *(join.other for join in shape.joins)):
            place = {"space": one.namespace, "name": one.relation}
            if connection.execute(_FILTERED, place).scalar_one():
                raise ConfigurationError(
                    f"The source '{source}': '{one.name}' has row-level security, so each session sees other rows, "
                    "and none are kept in an index file, which another session could read. Let PostgreSQL search "
                    f"itself: {create_index(shape)} Or set `index: ':memory:'`, which ends with the process."
                )
