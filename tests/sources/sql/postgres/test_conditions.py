"""How filters are written for PostgreSQL (R2, R10); `tests/search/test_engines_filter.py` tells what they keep."""

from __future__ import annotations

import pytest
from filtered_engines import postgres_engine
from sqlalchemy import literal_column, select
from sqlalchemy.dialects import postgresql

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.location import ServerAddress
from groundgraph.sources.sql.postgres.conditions import where
from groundgraph.sources.sql.postgres.database import PostgresDatabase
from groundgraph.sources.sql.postgres.introspect import read_row, selected
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.shape import Column, TableShape, Wanted
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


@pytest.mark.parametrize("spelled", [str.upper, lambda token: f"{{{token}}}", lambda token: token.replace("-", "")])
def test_a_uuid_that_is_written_otherwise_is_refused_as_it_would_find_nothing(spelled):
    token = "0f0e0d0c-0000-4000-8000-000000000001"
    with pytest.raises(FilterInvalid, match=token):
        sql(column("token", "uuid"), {"not": spelled(token)})
    assert "CAST" in sql(column("token", "uuid"), [token, "x"])[0]


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


@pytest.mark.covers("R2", "fault 60")
@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "condition"),
    [
        *(("exact", {"contains": text}) for text in (0, ".", "e", "1.1")),
        *(("told", text) for text in ("1.1", "1.10", "1", "0.5")),
        *(("part", text) for text in ("1", "1.0", "1.5")),
        *((name, text) for name in ("jsons", "data") for text in ("1", "1.0", 1, "0.1", "0.10", "b", {"not": "1"})),
        *(
            (name, text)
            for name in ("numbers", "smalls", "exacts")
            for text in (1, "1", 4, {"not": 4}, {"contains": 2})
        ),
        *((name, text) for name in ("smalls", "exacts") for text in ("1.0", "1.1", "1.10", "nan", "x")),
        *(("tags", text) for text in ("a", "d", {"not": "d"}, "{a,b}")),
    ],
)
def test_what_is_shown_with_other_digits_or_in_lists_of_lists_is_kept_as_matches_keeps_it(shown, name, condition):
    shape, database = shown
    schema = SourceSchema("t", {item.name: {"type": item.kind} for item in shape.columns})
    filters = check_filters(schema, {name: condition}, source="t")
    everything = select(*map(selected, shape.columns)).select_from(from_clause(shape))
    with database.reading() as reading:
        rows, kept = (
            [read_row(shape, row) for row in reading.execute(one)]
            for one in (everything, everything.where(where(shape, filters)))
        )
    assert [row["id"] for row in kept] == [row["id"] for row in rows if matches(filters, row)]


DIGITS = """
CREATE TABLE t (id INTEGER, exact NUMERIC, told NUMERIC, part FLOAT8, jsons JSON, data JSONB, numbers INT[],
    smalls REAL[], exacts NUMERIC[], tags TEXT[]);
INSERT INTO t VALUES
    (1, 1.10, 1.10, 1.5, '1.0', '1.0', '{{1,2},{3,4}}', '{{1,1.1},{3,4}}', '{{1.10,2},{3,4}}', '{{a,b},{c,d}}'),
    (2, 100, 1, 1, '[1.0, "b"]', '[1.0, "b"]', '{1}', '{1}', '{1.0}', '{a}'),
    (3, 0.000000001, 0.50, 1e20, '["1"]', '["1"]', '{4}', '{1.1}', '{1.1}', '{d}'),
    (4, 12345678901234567890, 1e3, 1e-7, '[[1, "b"]]', '[[1, "b"]]', '{}', '{NaN}', '{NaN}', '{}'),
    (5, 'NaN', 1.0, 10, '{"1": 1}', '{"1": 1}', NULL, NULL, NULL, NULL),
    (6, 0, 0, 0, '[[["b"]], 0.10]', '[[["b"]], 0.10]', '{{{4}}}', '{{{4}}}', '{{{4}}}', '{{{d}}}');
"""


@pytest.fixture(scope="module")
def shown(postgres):
    wanted = Wanted(["t"], fields={"told": {"type": "string"}, "part": {"type": "string"}})
    address = ServerAddress(postgres.database("digits", DIGITS).replace("://", "+psycopg://", 1))
    database = PostgresDatabase(address, source="t", wanted=wanted, options=PostgresOptions(), follow_rows=False)
    yield database.shapes(wanted)[0], database
    database.close()


@pytest.mark.covers("R2")
@pytest.mark.live
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_part_of_a_text_is_found_in_any_case_whatever_the_locale(postgres, locale):
    like = f"TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE '{locale}' LC_CTYPE '{locale}'"
    postgres.execute("DROP DATABASE IF EXISTS folds")
    postgres.execute(f"CREATE DATABASE folds {like}")
    postgres.execute("CREATE TABLE t (id INTEGER, word TEXT, code CHAR(20))", "folds")
    postgres.fill("folds", t=[(1, "Die ÖLPUMPE", "Äb"), (2, "насос ОБСЛУЖЕН", "ёж"), (3, "weiß İ", "Straße")])
    wanted = Wanted(["t"])
    address = ServerAddress(postgres.url("folds").replace("://", "+psycopg://", 1))
    database = PostgresDatabase(address, source="t", wanted=wanted, options=PostgresOptions(), follow_rows=False)
    [shape] = database.shapes(wanted)
    for name, part, kept in (
        ("word", "ölPump", [1]),
        ("word", "НАСОС обсл", [2]),
        ("word", "weiß İ", [3]),
        ("code", "äB", [1]),
        ("code", "Ёж", [2]),
        ("word", "olpumpe", []),
    ):
        found = select(literal_column("id")).select_from(from_clause(shape))
        with database.reading() as reading:
            assert list(reading.execute(found.where(where(shape, {name: {"contains": part}}))).scalars()) == kept
    database.close()
