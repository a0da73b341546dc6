"""Engines that filter, each filled with rows and asked which of them satisfy a filter."""

from __future__ import annotations

import asyncio
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from hypothesis import strategies as st
from plant_database import fill
from portable_dialect import NAME
from postgres_server import PostgresServer
from sqlalchemy import column, select
from sqlalchemy import table as table_clause
from written_times import ZONES, near_times

from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.location import OtherAddress, ServerAddress
from groundgraph.sources.sql.portable import PortableDatabase
from groundgraph.sources.sql.postgres import conditions as postgres_conditions
from groundgraph.sources.sql.postgres.database import PostgresDatabase
from groundgraph.sources.sql.postgres.introspect import read_row, selected
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.shape import Wanted, decode
from groundgraph.sources.sql.sql_dialect import from_clause, where

Row = dict[str, Any]
Rows = list[Row]
HOSTILE = ["'; DROP TABLE t; --", "%", "\\"]
WORDS = st.sampled_from(["a", "A", "b"]) | st.sampled_from(["aB", "ёж", "Ёж", "5", "", "a b", "a ", *HOSTILE])
# Often near to each other, and to the times of `near_times`.
DAYS = st.sampled_from(["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]) | st.dates(
    min_value=datetime(1000, 1, 1).date()
).map(str)
MOMENTS = st.datetimes(min_value=datetime(1000, 1, 1))
NUMBERS = st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 1))


class Engine(ABC):
    """One way to keep and filter rows.

    Attributes:
        kinds: the declared type of each field.
        operands: for each field what conditions compare it with.
        rows: what the engine is filled with.
    """

    kinds: Mapping[str, str]
    operands: Mapping[str, st.SearchStrategy[Any]]
    rows: st.SearchStrategy[Rows]

    @abstractmethod
    def filtered(self, rows: Rows, filters: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """`rows` as the engine gives them, and those of them that it keeps, in the same order.

        Raises:
            FilterInvalid: it refuses such filters.
        """

    def checked(self, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """`conditions` as sources are handed them."""
        schema = SourceSchema("rows", {name: {"type": kind} for name, kind in self.kinds.items()})
        return check_filters(schema, conditions, source="rows")


def some(values: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Rows]:
    """A few rows with `values`, each of which may be missing."""
    return st.lists(
        st.fixed_dictionaries({name: st.none() | own for name, own in values.items()}), min_size=3, max_size=8
    )


class Sqlite(Engine):
    """SQLite, which keeps any value in any column: seconds since 1970 among days, a word among numbers."""

    kinds: Mapping[str, str] = {
        "word": "string", "whole": "integer", "part": "number", "day": "date", "moment": "datetime", "yes": "boolean",
    }  # fmt: skip
    columns: Mapping[str, str] = {"string": "TEXT", "integer": "INTEGER", "number": "REAL"}
    operands: Mapping[str, st.SearchStrategy[Any]] = {
        "word": WORDS,
        "whole": st.integers(-9, 9),
        "part": NUMBERS,
        "day": DAYS | near_times(),
        "moment": MOMENTS.map(lambda moment: moment.isoformat(timespec="seconds")) | DAYS | near_times(),
        "yes": st.booleans(),
    }
    rows = some({name: values | st.integers(-9, 9) | WORDS for name, values in operands.items()})

    def filtered(self, rows: Rows, filters: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """See `Engine.filtered`."""
        declared = ", ".join(f"{name} {self.columns.get(kind, kind)}" for name, kind in self.kinds.items())
        with tempfile.TemporaryDirectory() as folder:
            stored = [tuple(row[name] for name in self.kinds) for row in rows]
            path = fill(Path(folder) / "rows.db", f"CREATE TABLE t ({declared})", **({"t": stored} if stored else {}))
            database = SqliteDatabase(path, source="rows")
            (shape,) = database.shapes(Wanted(["t"]))
            statement = select(*(column(name) for name in self.kinds)).select_from(table_clause("t"))
            with database.reading() as connection:
                both = [
                    [self._decoded(tuple(row)) for row in connection.execute(one)]
                    for one in (statement, statement.where(where(shape, filters)))
                ]
            database.close()
        return both[0], both[1]

    def _decoded(self, stored: tuple[Any, ...]) -> Row:
        return {name: decode(kind, value) for (name, kind), value in zip(self.kinds.items(), stored, strict=True)}


class Portable(Engine):
    """A database whose dialect nobody knows, and which folds letters."""

    kinds: Mapping[str, str] = Sqlite.kinds
    columns: Mapping[str, str] = {"string": "TEXT COLLATE NOCASE", "integer": "INTEGER", "number": "REAL"}
    values: Mapping[str, st.SearchStrategy[Any]] = {
        "word": WORDS,
        "whole": st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)]),
        "part": NUMBERS,
        "day": DAYS,
        "moment": (MOMENTS | near_times(zones=()).map(datetime.fromisoformat)).map(
            lambda moment: moment.isoformat(timespec="seconds")
        ),
        "yes": st.booleans(),
    }
    operands: Mapping[str, st.SearchStrategy[Any]] = {
        **values,
        "day": Sqlite.operands["day"],
        "moment": Sqlite.operands["moment"],
    }
    rows = some(values)

    def filtered(self, rows: Rows, filters: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """See `Engine.filtered`; what is fetched by key and what is found are the same."""
        declared = ", ".join(f"{name} {self.columns.get(kind, kind)}" for name, kind in self.kinds.items())
        with tempfile.TemporaryDirectory() as folder:
            stored = [(number, *self._stored(row)) for number, row in enumerate(rows)]
            script = f"CREATE TABLE t (id INTEGER PRIMARY KEY, {declared})"
            path = fill(Path(folder) / "rows.db", script, **({"t": stored} if stored else {}))
            database = PortableDatabase(OtherAddress(f"{NAME}:///{path}"), source="rows", wanted=Wanted(["t"]))
            (shape,) = database.shapes(Wanted(["t"]))
            keys = sorted(json.loads(database.keys(shape, filters, 0)))
            assert keys == sorted(database.fetch(shape, list(range(len(rows))), filters))
            database.close()
        return rows, [rows[key] for key in keys]

    def _stored(self, row: Row) -> list[Any]:
        return [row[name].replace("T", " ") if name == "moment" and row[name] else row[name] for name in self.kinds]


UUIDS = st.sampled_from(["0f0e0d0c-0000-4000-8000-000000000001", "0f0e0d0c-0000-4000-8000-000000000002"])
ZONED = MOMENTS.filter(lambda moment: moment.year > 1000).map(lambda moment: moment.replace(tzinfo=UTC).isoformat())
NO_TIMES = ["2026-02-29T12:00:00Z", "2100-02-29 12:00", "2026-03-01T24:00", "2026-03-01 noon", "2026-03-01T12", "x", ""]
WRITTEN = MOMENTS.map(datetime.isoformat)


class Postgres(Engine):
    """PostgreSQL with columns of many types, two of them declared as something else.

    Attributes:
        database, shape, connection: of the table `t`, for tests that ask it themselves.
    """

    columns: Mapping[str, str] = {
        "word": "text", "code": "citext_like", "padded": "char(4)", "mood": "mood", "token": "uuid",
        "whole": "integer", "big": "bigint", "exact": "numeric", "part": "double precision", "small": "real",
        "day": "date", "moment": "timestamp", "zoned": "timestamptz", "yes": "boolean", "tags": "text[]",
        "numbers": "integer[]", "smalls": "real[]", "data": "jsonb", "said": "text", "count_text": "text",
        "day_text": "text",
    }  # fmt: skip
    script = """
    CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE DOMAIN citext_like AS text COLLATE folded;
    CREATE TYPE mood AS ENUM ('good', 'bad', 'so so');
    """
    declared: Mapping[str, Mapping[str, str]] = {"count_text": {"type": "integer"}, "day_text": {"type": "datetime"}}
    values: Mapping[str, st.SearchStrategy[Any]] = {
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
        "moment": WRITTEN | near_times(zones=()),
        "zoned": ZONED | near_times(zones=ZONES),
        "yes": st.booleans(),
        "tags": st.lists(WORDS, max_size=3),
        "numbers": st.lists(st.integers(-3, 3), max_size=3),
        "smalls": st.lists(st.floats(-9, 9).map(lambda number: round(number, 1)), max_size=3),
        "data": st.lists(WORDS | st.integers(-3, 3) | st.booleans(), max_size=3),
        "said": WORDS,
        "count_text": st.sampled_from(["7", "-3", "1,234", "0.5", "many", "1,23", "x7", "1e2"]),
        "day_text": WRITTEN
        | DAYS
        | WRITTEN.map(lambda text: text.replace("T", " "))
        | near_times()
        | st.sampled_from(NO_TIMES),
    }
    operands: Mapping[str, st.SearchStrategy[Any]] = {
        **values,
        "token": UUIDS | UUIDS.map(str.upper) | WORDS,
        "tags": WORDS | st.integers(-3, 3),
        "numbers": st.integers(-3, 3) | st.sampled_from(["1", "2", "x"]),
        "smalls": NUMBERS,
        "data": WORDS | st.integers(-3, 3) | st.booleans(),
        "day": DAYS | WRITTEN,
        "moment": WRITTEN | DAYS | near_times(),
        "zoned": ZONED | DAYS | WRITTEN | near_times(),
        "count_text": st.sampled_from([7, -3, 1234, 0, 100]),
        "big": st.integers(-3, 3) | st.just(2**70) | st.integers(-(2**62), 2**62),
    }
    rows = some(values)

    def __init__(self, url: str, connection: psycopg.Connection[Any]) -> None:
        wanted = Wanted(["t"], fields=self.declared)
        address = ServerAddress(url.replace("://", "+psycopg://", 1))
        self.connection = connection
        self.database = PostgresDatabase(
            address, source="rows", wanted=wanted, options=PostgresOptions(), follow_rows=False
        )
        (self.shape,) = self.database.shapes(wanted)
        self.kinds = {item.name: item.kind for item in self.shape.columns}

    def filtered(self, rows: Rows, filters: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """See `Engine.filtered`."""
        self.connection.execute("TRUNCATE t")
        marks = ", ".join(["%s"] * len(self.columns))
        for row in rows:
            stored = {**row, "data": json.dumps(row["data"]) if row["data"] is not None else None}
            self.connection.execute(f"INSERT INTO t VALUES ({marks})", [stored[name] for name in self.columns])
        statement = select(*map(selected, self.shape.columns)).select_from(from_clause(self.shape))
        kept = statement.where(postgres_conditions.where(self.shape, filters))
        with self.database.reading() as reading:
            both = [[read_row(self.shape, row) for row in reading.execute(one)] for one in (statement, kept)]
        return both[0], both[1]


@contextmanager
def postgres_engine(server: PostgresServer) -> Iterator[Postgres]:
    """PostgreSQL with a table of its own."""
    declared = ", ".join(f"{name} {kind}" for name, kind in Postgres.columns.items())
    url = server.database("filtered", f"{Postgres.script} CREATE TABLE t ({declared})")
    with psycopg.connect(url, autocommit=True) as connection:
        engine = Postgres(url, connection)
        yield engine
        engine.database.close()


class Searched(Engine):
    """What a source holds, all of which a question finds; the rows are the metadata of its results.

    Args:
        source: it must have a schema.
        question: finds everything.
        operands: see `Engine`.
        runner: of the loop that the source lives on.
    """

    def __init__(
        self,
        source: GroundedSource,
        question: str,
        operands: Mapping[str, st.SearchStrategy[Any]],
        runner: asyncio.Runner,
    ) -> None:
        schema = source.get_schema()
        self.source, self.question, self.operands, self.runner = source, question, operands, runner
        self.kinds = {name: spec.get("type", "string") for name, spec in schema.fields.items()}
        self.everything = self._found({})
        self.rows = st.just(list(self.everything.values()))

    def filtered(self, rows: Rows, filters: Mapping[str, Any]) -> tuple[Rows, Rows]:
        """See `Engine.filtered`."""
        kept = self._found(filters)
        assert kept.keys() <= self.everything.keys()
        return rows, [row for name, row in self.everything.items() if name in kept]

    def _found(self, filters: Mapping[str, Any]) -> dict[str, Row]:
        intent = RetrievalIntent([self.question], {self.source.name: dict(filters)} if filters else {})
        results = self.runner.run(self.source.query(intent, top_k=200))
        return {result.source_id: result.metadata for result in results}
