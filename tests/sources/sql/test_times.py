"""Times in filters on SQLite: instants where zones are named, served by an index, and text where the schema says so."""

from __future__ import annotations

import sqlite3

import pytest
from plant_database import fill
from sqlalchemy import column, select, table
from sqlalchemy.dialects import sqlite as sqlite_dialect

from groundgraph.core.filters import check_filters
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import MATCHES, value_matches, where

SCRIPT = "CREATE TABLE log (id INTEGER PRIMARY KEY, body TEXT, at DATETIME, note TEXT)"
ROWS = [
    (1, "pump", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
    (2, "pump", "2026-03-01 12:00:00.000+02:00", "x"),
    (3, "pump", "2026-03-01 10:00", "x"),
    (4, "pump", "2026-03-01T09:59:59Z", "x"),
    (5, "pump", "2026-03-02T00:30:00+14:00", "x"),
    (6, "pump", "soon", "x"),
    (7, "pump", 1772359200, "x"),
    (8, "pump", None, "x"),
]
NOON = "2026-03-01T12:00:00+02:00"


@pytest.mark.covers("R13")
@pytest.mark.parametrize("condition", [NOON, {"gte": NOON}, {"lt": NOON}, ["2026-03-01", NOON]], ids=str)
def test_an_index_serves_the_days_around_a_time(tmp_path, condition):
    path = fill(tmp_path / "log.db", f"{SCRIPT}; CREATE INDEX log_at ON log (at)", log=ROWS)
    shape = TableShape("log", (Column("at", "datetime", "datetime"),), (), "", None, ())
    schema = SourceSchema("log", {"at": {"type": "datetime"}})
    statement = select(column("id")).select_from(table("log"))
    statement = statement.where(where(shape, check_filters(schema, {"at": condition}, source="log")))
    written = statement.compile(dialect=sqlite_dialect.dialect(), compile_kwargs={"literal_binds": True})
    connection = sqlite3.connect(path)
    connection.create_function(MATCHES, 3, value_matches)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {written}")]
    connection.close()
    assert any("USING" in line and "INDEX log_at (at" in line for line in plan), plan


def test_a_long_list_of_times_is_one_condition():
    shape = TableShape("log", (Column("at", "datetime", "datetime"),), (), "", None, ())
    wanted = [f"2026-03-01T12:{n // 60:02}:{n % 60:02}Z" for n in range(400)]
    checked = check_filters(SourceSchema("log", {"at": {"type": "datetime"}}), {"at": wanted}, source="log")
    assert str(where(shape, checked).compile(dialect=sqlite_dialect.dialect())).count(MATCHES) == 1
