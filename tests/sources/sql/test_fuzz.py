"""Any name is an identifier, any text a question or a value, and SQL keeps the same rows as `matches` (R2, R3)."""

from __future__ import annotations

import asyncio
import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import fill
from written_times import near_times

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.core.text import query_stems, stems
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.conditions import where
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.introspect import Wanted
from groundgraph.sources.sql.shape import decode

# SQLite stores any text but a NUL character and halves of surrogate pairs.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAME = TEXT.filter(lambda name: name.strip() and not name.startswith(("_", "sqlite_")))
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.guard
@QUICK
@given(table=NAME, column=NAME, value=TEXT, question=TEXT)
def test_r3_any_name_is_an_identifier_and_any_text_a_value(table, column, value, question):
    async def ask(path: Path) -> None:
        source = SqlSource(path, table=table, name="fuzz", index=":memory:")
        await source.query(RetrievalIntent([question, value]))
        found = await source.query(RetrievalIntent(["needle"], {"fuzz": {column: value}}), top_k=3)
        assert [result.metadata[column] for result in found] == [value]
        for hostile in ("'; DROP TABLE x; --", f"{quoted(table)}; --", "%", "\\"):
            await source.query(RetrievalIntent(["needle"], {"fuzz": {column: {"contains": hostile}}}))
        await source.close()

    with tempfile.TemporaryDirectory() as folder:
        script = f"CREATE TABLE {quoted(table)} ({quoted(column)} TEXT, {quoted(column + '2')} TEXT)"
        other = value + "x"
        rows = {table.replace('"', '""'): [(value, "needle"), (other, "needle")]}
        asyncio.run(ask(fill(Path(folder) / "fuzz.db", script, **rows)))


COLUMNS = {
    "word": "string",
    "whole": "integer",
    "part": "number",
    "day": "date",
    "moment": "datetime",
    "yes": "boolean",
}
DAYS = st.dates().map(str)
MOMENTS = st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds"))
WORDS = st.sampled_from(["a", "A", "b", "aB", "ёж", "Ёж", "5", "", "a b"])
NUMBERS = st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 1))
VALUES = {
    "word": WORDS,
    "whole": st.integers(-9, 9),
    "part": NUMBERS,
    "day": DAYS | near_times(),
    "moment": MOMENTS | DAYS | near_times(),
    "yes": st.booleans(),
}
# SQLite keeps any value in any column: seconds since 1970 among days, a word among numbers.
ROW = st.fixed_dictionaries({name: st.none() | values | st.integers(-9, 9) | WORDS for name, values in VALUES.items()})


def conditions(values):
    some = values | st.lists(values, min_size=1, max_size=3)
    operators = st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt", "not"]), values, min_size=1, max_size=2)
    return some | operators | st.builds(lambda text: {"contains": text}, WORDS)


@pytest.mark.guard
@settings(parent=QUICK, max_examples=150)
@given(
    rows=st.lists(ROW, max_size=6),
    wanted=st.fixed_dictionaries({}, optional={n: conditions(v) for n, v in VALUES.items()}),
)
def test_r2_sql_keeps_the_rows_that_matches_keeps(rows, wanted):
    from sqlalchemy import column, select
    from sqlalchemy import table as table_clause

    schema = SourceSchema("fuzz", {name: {"type": kind} for name, kind in COLUMNS.items()})
    try:
        filters = check_filters(schema, wanted, source="fuzz")
    except FilterInvalid:
        return
    types = {"string": "TEXT", "integer": "INTEGER", "number": "REAL"}
    script = f"CREATE TABLE t ({', '.join(f'{name} {types.get(kind, kind)}' for name, kind in COLUMNS.items())})"
    with tempfile.TemporaryDirectory() as folder:
        stored = [tuple(row[name] for name in COLUMNS) for row in rows]
        path = fill(Path(folder) / "fuzz.db", script, **({"t": stored} if stored else {}))
        database = SqliteDatabase(path, source="fuzz")
        (shape,) = database.shapes(Wanted(["t"]))
        statement = select(*(column(name) for name in COLUMNS)).select_from(table_clause("t"))
        with database.reading() as connection:
            everything = [tuple(row) for row in connection.execute(statement)]
            kept = [tuple(row) for row in connection.execute(statement.where(where(shape, filters)))]
        database.close()
    decoded = [{n: decode(kind, v) for (n, kind), v in zip(COLUMNS.items(), row, strict=True)} for row in everything]
    assert kept == [row for row, values in zip(everything, decoded, strict=True) if matches(filters, values)]


TOKENS = st.lists(st.sampled_from(["pump", "valve", "leak", "seal", "hall", "red", "the"]), max_size=5).map(" ".join)


@QUICK
@given(rows=st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=12), question=TOKENS.filter(query_stems))
def test_r3_relevance_and_order_are_as_defined_for_any_rows(rows, question):
    records = [{"id": str(n), "title": title, "body": body or "-"} for n, (title, body) in enumerate(rows)]
    asked = query_stems(question)
    expected = {}
    for record in records:
        content, other = set(stems(record["body"])), set(stems(record["title"]))
        held = [1.0 if stem in content else 0.5 if stem in other else 0.0 for stem in asked]
        if any(held):
            expected[f"fuzz/{record['id']}"] = sum(held) / len(asked)

    async def ask():
        source = SqlSource.from_records(records, name="fuzz", content_field="body", text_search_fields=["title"])
        found = await source.query(RetrievalIntent([question]), top_k=20)
        await source.close()
        return found

    found = asyncio.run(ask())
    assert {r.source_id: r.relevance for r in found} == {name: max(0.05, value) for name, value in expected.items()}
    places = [(r.score, r.relevance) for r in found]
    assert places == sorted(places, reverse=True)


@pytest.mark.guard
@QUICK
@given(name=st.text(string.printable, min_size=1, max_size=60))
def test_r3_any_name_of_a_source_is_a_file_name_of_its_index(name):
    from groundgraph.sources.sql.index_place import default_index

    path = default_index(Path("base"), name, "somewhere")
    assert path.parent == Path("base/.groundgraph/index")
    assert "/" not in path.name
    assert path.suffix == ".sqlite"
