"""How filters are written for PostgreSQL (R2, R10); `tests/search/test_engines_filter.py` tells what they keep."""

from __future__ import annotations

import pytest
from filtered_engines import postgres_engine
from sqlalchemy import literal_column, select
from sqlalchemy.dialects import postgresql

from groundgraph.sources.sql.postgres.conditions import where
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import from_clause


@pytest.fixture(scope="module")
def engine(postgres):
    with postgres_engine(postgres) as made:
        yield made


def column(name, type_name, stored="string", kind=None, labels=()):
    return Column(name, kind or stored, stored, type_name, labels)


def sql(found, condition):
    shape = TableShape("t", (found,), (), "", None, ())
    compiled = where(shape, {found.name: condition}).compile(dialect=postgresql.dialect())
    return str(compiled), list(compiled.params.values())


HOSTILE = "'; DROP TABLE incidents; --"


@pytest.mark.covers("fault 58")
@pytest.mark.parametrize("condition", [HOSTILE, [HOSTILE], {"not": HOSTILE}, {"contains": HOSTILE}, {"gte": HOSTILE}])
@pytest.mark.parametrize("type_name", ["text", "citext", "mood", "uuid", "jsonb", "_text"])
def test_a_value_is_only_ever_bound(type_name, condition):
    stored = "array" if type_name in ("jsonb", "_text") else "string"
    statement, _ = sql(column("c", type_name, stored, labels=("good",) if type_name == "mood" else ()), condition)
    assert "DROP" not in statement


@pytest.mark.covers("R13")
def test_a_text_column_is_compared_as_it_is_so_that_an_index_serves_it():
    statement, values = sql(column("tenant", "text"), "acme")
    assert "COLLATE" not in statement
    assert "CAST" not in statement
    assert values == [["acme"]] or values == ["acme"]


@pytest.mark.covers("fault 60")
@pytest.mark.parametrize("type_name", ["citext", "folded", "name", "bpchar"])
def test_types_that_fold_letters_are_compared_letter_by_letter(type_name):
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


@pytest.mark.covers("R2")
@pytest.mark.live
@pytest.mark.parametrize("name", ["exact", "part", "small"])
@pytest.mark.parametrize(
    ("condition", "kept"), [({"gt": 5}, ["7"]), ({"gte": 0.1}, ["0.1", "7"]), ({"lte": 0.1}, ["0.1"]), (0.1, ["0.1"])]
)
def test_what_is_no_number_is_not_greater_than_one(engine, name, condition, kept):
    shape, connection = engine.shape, engine.connection
    connection.execute("TRUNCATE t")
    connection.execute(f"INSERT INTO t (word, {name}) VALUES ('0.1', 0.1), ('7', 7), ('none', 'NaN')")
    statement = select(literal_column("word")).select_from(from_clause(shape)).where(where(shape, {name: condition}))
    with engine.database.reading() as reading:
        assert sorted(reading.execute(statement).scalars()) == kept
