"""Filters on PostgreSQL keep the rows that `matches` keeps, whatever the types (R2, R10)."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import literal_column, select
from sqlalchemy.dialects import postgresql
from written_times import ZONES, near_times

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.from_clause import from_clause
from groundgraph.sources.sql.introspect import Wanted
from groundgraph.sources.sql.location import ServerAddress
from groundgraph.sources.sql.postgres.conditions import where
from groundgraph.sources.sql.postgres.database import PostgresDatabase
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.postgres.values import read_row, selected
from groundgraph.sources.sql.shape import Column, TableShape

QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
COLUMNS = {
    "word": "text",
    "code": "citext_like",
    "padded": "char(4)",
    "mood": "mood",
    "token": "uuid",
    "whole": "integer",
    "big": "bigint",
    "exact": "numeric",
    "part": "double precision",
    "small": "real",
    "day": "date",
    "moment": "timestamp",
    "zoned": "timestamptz",
    "yes": "boolean",
    "tags": "text[]",
    "numbers": "integer[]",
    "smalls": "real[]",
    "data": "jsonb",
    "said": "text",
    "count_text": "text",
    "day_text": "text",
}
DECLARED = {"count_text": {"type": "integer"}, "day_text": {"type": "datetime"}}
SCRIPT = """
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN citext_like AS text COLLATE folded;
CREATE TYPE mood AS ENUM ('good', 'bad', 'so so');
"""
WORDS = st.sampled_from(["a", "A", "b", "aB", "ёж", "Ёж", "5", "", "a b", "'; DROP TABLE t; --", "%", "\\"])
UUIDS = st.sampled_from(["0f0e0d0c-0000-4000-8000-000000000001", "0f0e0d0c-0000-4000-8000-000000000002"])
DAYS = st.dates(min_value=datetime(1000, 1, 1).date()).map(str)
MOMENTS = st.datetimes(min_value=datetime(1000, 1, 1)).map(lambda moment: moment.isoformat())
ZONED = st.datetimes(min_value=datetime(1000, 1, 2)).map(lambda moment: moment.replace(tzinfo=UTC).isoformat())
NO_TIMES = ["2026-02-29T12:00:00Z", "2100-02-29 12:00", "2026-03-01T24:00", "2026-03-01 noon", "2026-03-01T12", "x", ""]
NUMBERS = st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 1))
VALUES = {
    "word": WORDS,
    "code": WORDS,
    "padded": st.sampled_from(["a", "A", "abcd"]),
    "mood": st.sampled_from(["good", "bad", "so so"]),
    "token": UUIDS,
    "whole": st.integers(-9, 9),
    "big": st.integers(-(2**62), 2**62) | st.integers(-3, 3),
    "exact": NUMBERS,
    "part": NUMBERS,
    "small": NUMBERS,
    "day": DAYS,
    "moment": MOMENTS | near_times(zones=()),
    "zoned": ZONED | near_times(zones=ZONES),
    "yes": st.booleans(),
    "tags": st.lists(WORDS, max_size=3),
    "numbers": st.lists(st.integers(-3, 3), max_size=3),
    "smalls": st.lists(st.floats(-9, 9).map(lambda number: round(number, 1)), max_size=3),
    "data": st.lists(WORDS | st.integers(-3, 3) | st.booleans(), max_size=3),
    "said": WORDS,
    "count_text": st.sampled_from(["7", "-3", "1,234", "0.5", "many", "1,23", "x7", "1e2"]),
    "day_text": MOMENTS
    | DAYS
    | MOMENTS.map(lambda text: text.replace("T", " "))
    | near_times()
    | st.sampled_from(NO_TIMES),
}
WANTED = {
    **VALUES,
    "token": UUIDS | UUIDS.map(str.upper) | WORDS,
    "tags": WORDS | st.integers(-3, 3),
    "numbers": st.integers(-3, 3) | st.sampled_from(["1", "2", "x"]),
    "smalls": NUMBERS,
    "data": WORDS | st.integers(-3, 3) | st.booleans(),
    "day": DAYS | MOMENTS,
    "moment": MOMENTS | DAYS | near_times(),
    "zoned": ZONED | DAYS | MOMENTS | near_times(),
    "count_text": st.sampled_from([7, -3, 1234, 0, 100]),
    "big": st.integers(-3, 3) | st.just(2**70) | st.integers(-(2**62), 2**62),
}
ROW = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})


def conditions(values):
    some = values | st.lists(values, min_size=1, max_size=3)
    operators = st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt", "not"]), values, min_size=1, max_size=2)
    return some | operators | st.builds(lambda text: {"contains": text}, WORDS)


def open_database(url, **wanted):
    found = Wanted(["t"], fields=DECLARED, **wanted)
    return PostgresDatabase(ServerAddress(url.replace("://", "+psycopg://", 1)), source="fuzz", wanted=found,
                            options=PostgresOptions(), follow_rows=False), found  # fmt: skip


@pytest.fixture(scope="module")
def fuzzed(request, postgres):
    declared = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    url = postgres.database("fuzz", f"{SCRIPT} CREATE TABLE t ({declared})")
    database, wanted = open_database(url)
    (shape,) = database.shapes(wanted)
    with psycopg.connect(url, autocommit=True) as connection:
        yield database, shape, connection
    database.close()


@pytest.mark.live
@settings(parent=QUICK)
@given(
    rows=st.lists(ROW, max_size=6),
    wanted=st.fixed_dictionaries({}, optional={name: conditions(values) for name, values in WANTED.items()}),
)
def test_r2_postgresql_keeps_the_rows_that_matches_keeps(fuzzed, rows, wanted):
    database, shape, connection = fuzzed
    fields = {column.name: {"type": column.kind} for column in shape.columns}
    try:
        filters = check_filters(SourceSchema("fuzz", fields), wanted, source="fuzz")
    except FilterInvalid:
        return
    connection.execute("TRUNCATE t")
    marks = ", ".join(["%s"] * len(COLUMNS))
    for row in rows:
        stored = {**row, "data": json.dumps(row["data"]) if row["data"] is not None else None}
        values = [stored[name] for name in COLUMNS]
        connection.execute(f"INSERT INTO t VALUES ({marks})", values)
    statement = select(*map(selected, shape.columns)).select_from(from_clause(shape))
    with database.reading() as reading:
        everything = [read_row(shape, row) for row in reading.execute(statement)]
        kept = [read_row(shape, row) for row in reading.execute(statement.where(where(shape, filters)))]
    assert kept == [values for values in everything if matches(filters, values)]


def column(name, type_name, stored="string", kind=None, labels=()):
    return Column(name, kind or stored, stored, type_name, labels)


def sql(found, condition):
    shape = TableShape("t", (found,), (), "", None, ())
    compiled = where(shape, {found.name: condition}).compile(dialect=postgresql.dialect())
    return str(compiled), list(compiled.params.values())


HOSTILE = "'; DROP TABLE incidents; --"


@pytest.mark.parametrize("condition", [HOSTILE, [HOSTILE], {"not": HOSTILE}, {"contains": HOSTILE}, {"gte": HOSTILE}])
@pytest.mark.parametrize("type_name", ["text", "citext", "mood", "uuid", "jsonb", "_text"])
def test_fault_58_a_value_is_only_ever_bound(type_name, condition):
    stored = "array" if type_name in ("jsonb", "_text") else "string"
    statement, _ = sql(column("c", type_name, stored, labels=("good",) if type_name == "mood" else ()), condition)
    assert "DROP" not in statement


def test_r13_a_text_column_is_compared_as_it_is_so_that_an_index_serves_it():
    statement, values = sql(column("tenant", "text"), "acme")
    assert "COLLATE" not in statement
    assert "CAST" not in statement
    assert values == [["acme"]] or values == ["acme"]


@pytest.mark.parametrize("type_name", ["citext", "folded", "name", "bpchar"])
def test_fault_60_types_that_fold_letters_are_compared_letter_by_letter(type_name):
    statement, _ = sql(column("tenant", type_name), "acme")
    assert 'COLLATE "C"' in statement


def test_an_enumeration_without_the_value_is_no_error_of_the_server():
    statement, _ = sql(column("mood", "public.mood", labels=("good", "bad")), "furious")
    assert "false" in statement
    assert "CAST" in sql(column("mood", "public.mood", labels=("good", "bad")), "good")[0]


def test_no_day_stands_behind_the_last_one():
    statement, values = sql(column("at", "timestamp", "datetime"), {"lte": "9999-12-31"})
    assert "at < " in statement
    assert values == ["9999-12-31T23:59:59.999999"]


def test_a_value_with_a_nul_that_postgresql_cannot_hold_matches_nothing():
    assert "false" in sql(column("c", "text"), "a\0b")[0]
    assert "false" in sql(column("c", "text"), {"contains": "a\0b"})[0]


@pytest.mark.live
@pytest.mark.parametrize("name", ["exact", "part", "small"])
@pytest.mark.parametrize(
    ("condition", "kept"), [({"gt": 5}, ["7"]), ({"gte": 0.1}, ["0.1", "7"]), ({"lte": 0.1}, ["0.1"]), (0.1, ["0.1"])]
)
def test_r2_what_is_no_number_is_not_greater_than_one(fuzzed, name, condition, kept):
    database, shape, connection = fuzzed
    connection.execute("TRUNCATE t")
    connection.execute(f"INSERT INTO t (word, {name}) VALUES ('0.1', 0.1), ('7', 7), ('none', 'NaN')")
    statement = select(literal_column("word")).select_from(from_clause(shape)).where(where(shape, {name: condition}))
    with database.reading() as reading:
        assert sorted(reading.execute(statement).scalars()) == kept
