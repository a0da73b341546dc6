"""A user's PostgreSQL database, opened read-only. Every method blocks and may be called from any thread."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, cast, column, func, literal_column, make_url, select, text
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError
from groundgraph.core.exact_number import read_decimal
from groundgraph.sources.sql.any_database import ComputingDatabase, Version, with_commas
from groundgraph.sources.sql.location import ServerAddress
from groundgraph.sources.sql.postgres.conditions import as_number_alone, where
from groundgraph.sources.sql.postgres.connect import CHANGED, current, make_engine, state_of, typed_errors
from groundgraph.sources.sql.postgres.introspect import (
    TEXTS,
    read_shapes,
    read_value,
    refuse_a_file,
    selected,
)
from groundgraph.sources.sql.postgres.options import PostgresOptions, quoted
from groundgraph.sources.sql.shape import Column, TableShape, Wanted
from groundgraph.sources.sql.sql_dialect import from_clause

# What libpq calls the parts of an address.
_PLACE = ("host", "hostaddr", "port", "dbname", "user")
_INTEGERS = ("int2", "int4", "int8")
# With writers on the server all the time, a look at all rows that takes longer than this many seconds may take a tenth
# of the time.
_QUICK = 0.02
_SHARE = 10
# The catalogue is read again, and what is known of the values is forgotten, after so many seconds with writers.
_CATALOGUE_SECONDS = 1.0
_VALUES_SECONDS = 30.0


class PostgresDatabase(ComputingDatabase):
    """Reads tables of one PostgreSQL database.

    Args:
        address: where it is.
        source: the name of the source, for messages.
        wanted: what the configuration says of the tables.
        options: the options of the source.
        follow_rows: whether `version` must change with every row; needed for an index of our own.

    Attributes:
        in_file: whether that index is a file, which must hold no rows behind row-level security.
    """

    def __init__(
        self,
        address: ServerAddress,
        *,
        source: str,
        wanted: Wanted,
        options: PostgresOptions,
        follow_rows: bool = True,
    ) -> None:
        super().__init__(source, f"'{address.shown}'")
        self._address = address
        self._wanted = wanted
        self._options = options
        self.follow_rows = follow_rows
        self.in_file = False
        self._engine: Any = None
        self._seen: _Seen | None = None
        self._looking = threading.Lock()

    @cached_property
    def identity(self) -> str:
        """See `AnyDatabase`. The server is asked for the role: the environment or a pooler may have chosen it."""
        with self.reading() as connection:
            roles = connection.execute(text("SELECT session_user::text, current_user::text")).one()
            driver: Any = connection.connection.driver_connection
            place = driver.info.get_parameters()
        options = make_url(self._address.url).query.get("options", "")
        return json.dumps([[place.get(name) for name in _PLACE], list(roles), options])

    def version(self) -> Version:
        """The present `Version`.

        PostgreSQL tells by its snapshot whether any transaction of the whole server wrote since. Only then, or where
        rows come from elsewhere, are the catalogue and, for an index of our own, the numbers of the transactions that
        wrote the rows looked at. With writers on the server all the time, that is done for a second or less in ten, so
        a change of the tables, or of very many rows, may be seen that much later.

        Raises:
            SourceUnavailable: the server does not answer.
            ConfigurationError: a table with row-level security would be kept in a file.
        """
        with self._looking:
            return self._look().version

    def look_again(self) -> None:
        """Forget the tables as they were."""
        with self._looking:
            self._seen = None

    @override
    def has_changed(self, error: GroundGraphError) -> bool:
        if state_of(error) not in CHANGED:
            return False
        self.look_again()
        return True

    def shapes(self, wanted: Wanted) -> list[TableShape]:  # noqa: ARG002 - the same as at construction
        """The shapes of the wanted tables."""
        with self._looking:
            return self._look().shapes

    def _look(self) -> _Seen:
        seen = self._seen
        with self.reading() as connection:
            snapshot = str(connection.execute(text("SELECT pg_current_snapshot()::text")).scalar_one())
            if seen and (seen.tells_all(snapshot) or time.monotonic() < seen.again):
                return seen
            started = time.monotonic()
            shapes = read_shapes(connection, self._wanted, source=self._source, where=self.where)
            if self.in_file:
                refuse_a_file(connection, shapes, self._source)
            rows, age, foreign, pause = 0, int(started // _VALUES_SECONDS), False, _CATALOGUE_SECONDS
            if self.follow_rows:
                read = _relations(connection, shapes)
                rows, age, foreign = self._rows_digest(connection, read), 0, any(one.foreign for one in read)
                took = time.monotonic() - started
                pause = _SHARE * took if took > _QUICK else 0.0
        if seen and list(map(_lasting, shapes)) == list(map(_lasting, seen.shapes)):
            shapes = seen.shapes
        version = Version((_digest_of(shapes), rows), age)
        self._seen = _Seen(snapshot, started + pause, shapes, version, foreign=foreign)
        return self._seen

    def _rows_digest(self, connection: Connection, relations: Sequence[_Relation]) -> int:
        """A number that changes with every row of the tables, by the transactions that wrote them."""
        parts = []
        for one in relations:
            table = ".".join(map(quoted, one.place))
            # A view or a foreign table has no transaction numbers; all of its rows are hashed.
            numbered = one.kind in ("r", "p", "m") and not one.foreign
            mark = "xmin::text::bigint" if numbered else "hashtextextended(groundgraph_row::text, 0)"
            told = f"count(*), coalesce(sum({mark}), 0), coalesce(max({mark}), 0)"
            parts.append(f"SELECT {told} FROM {table} AS groundgraph_row")
        # exec_driver_sql would read a percent sign in a name as a parameter.
        found = [tuple(connection.execute(text(escaped(part))).one()) for part in parts]
        return int.from_bytes(hashlib.blake2b(repr(found).encode(), digest_size=7).digest(), "big")

    @override
    def read(self, found: Column, value: Any) -> Any:
        return read_value(found, value)

    @override
    def _goes_on(self, shape: TableShape) -> bool:
        return _only_key(shape) is not None

    @override
    def _key(self, shape: TableShape) -> ColumnElement[Any]:
        """What tells rows apart: the only key column, else all of the key as SQL literals, else a hash of the whole
        row."""
        only = _only_key(shape)
        if only is not None:
            return column(only.name)
        if not shape.primary_key:
            values = [cast(column(item.name), Text) for item in shape.columns]
            return func.md5(cast(func.row(*values), Text)) if values else literal_column("''")
        return with_commas([func.quote_nullable(cast(column(name), Text)) for name in shape.primary_key])

    @override
    def _selected(self, found: Column) -> ColumnElement[Any]:
        return selected(found)

    @override
    def keys(self, shape: TableShape, filters: Mapping[str, Any], base: int) -> str:
        statement = select(self._key(shape)).select_from(from_clause(shape)).where(where(shape, filters))
        with self.reading() as connection:
            return json.dumps([row[0] for row in connection.execute(statement)], ensure_ascii=False)

    @override
    def values(self, shape: TableShape, field: str, filters: Mapping[str, Any], most: int) -> list[Any]:
        found = shape.column(field)
        if found is None or found.stored_as in ("array", "blob"):
            return []
        statement = select(selected(found)).select_from(from_clause(shape))
        statement = statement.where(where(shape, filters), column(field).is_not(None)).distinct().limit(most + 1)
        with self.reading() as connection:
            values = [self.read(found, row[0]) for row in connection.execute(statement)]
        return sorted(values, key=str) if len(values) <= most else []

    @override
    def condition(self, shape: TableShape, filters: Mapping[str, Any]) -> ColumnElement[bool]:
        return where(shape, filters)

    @override
    def as_number(self, found: Column) -> ColumnElement[Any]:
        return as_number_alone(found)

    @override
    def one(self, statement: Any) -> tuple[Any, ...]:
        return tuple(map(_plain, super().one(statement)))

    @override
    def some(self, statement: Any) -> list[tuple[Any, ...]]:
        return [tuple(map(_plain, row)) for row in super().some(statement)]

    @contextmanager
    def reading(self, todo: str = "") -> Iterator[Connection]:
        """A connection in a read-only transaction; `todo` is added to the message when a statement takes too long.

        Raises:
            SourceUnavailable: the server does not answer.
            ConfigurationError: it refuses the login, or lets the role not read.
            SourceTimeout: a statement ran into its limit.
        """
        running = current.get()
        engine = self._pool()
        before = engine.pool
        try:
            with typed_errors(self._source, self._address.shown, todo), engine.connect() as connection:
                driver = connection.connection.driver_connection
                with running.using(driver) if running else nullcontext():
                    yield connection
        finally:
            if self._closed:
                # Its pool may have been emptied before it came back, and nobody else would close it.
                for pool in (before, engine.pool):
                    pool.dispose()

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()

    def _pool(self) -> Any:
        with self._guard:
            self._require_open()
            if self._engine is None:
                self._engine = make_engine(
                    self._address,
                    source=self._source,
                    pool_size=self._options.pool_size,
                    statement_timeout=self._options.statement_timeout,
                )
            return self._engine


class _Seen:
    """What the last look at the database found, and when the next one may come."""

    def __init__(
        self, snapshot: str, again: float, shapes: list[TableShape], version: Version, *, foreign: bool
    ) -> None:
        self._snapshot = snapshot
        self._foreign = foreign
        self.again = again
        self.shapes = shapes
        self.version = version

    def tells_all(self, snapshot: str) -> bool:
        """Whether nothing was written since; rows of another server or of a file change without a sign here."""
        return self._snapshot == snapshot and not self._foreign


@dataclass(frozen=True)
class _Relation:
    """A table or view that is read: schema and name, PostgreSQL's letter for its kind, and whether any of its rows come
    from a foreign table."""

    place: tuple[str, str]
    kind: str
    foreign: bool


# Views are followed to what they select from, and tables to their partitions and children.
_KIND = text("""
WITH RECURSIVE used (oid) AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :space AND c.relname = :name
    UNION
    SELECT below.oid FROM used u CROSS JOIN LATERAL (
        SELECT d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d
            ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
        WHERE r.ev_class = u.oid
        UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = u.oid
    ) AS below
)
SELECT (SELECT c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :space AND c.relname = :name), bool_or(c.relkind = 'f') FROM used JOIN pg_class c USING (oid)
""")


def _relations(connection: Connection, shapes: Sequence[TableShape]) -> list[_Relation]:
    """The tables behind `shapes`, their partners among them."""
    found = []
    for place in dict.fromkeys((item.namespace, item.relation) for shape in shapes for item in shape.with_partners):
        kind, foreign = connection.execute(_KIND, {"space": place[0], "name": place[1]}).one()
        found.append(_Relation(place, kind, foreign))
    return found


def _lasting(shape: TableShape) -> str:
    told = [shape.name, shape.columns, shape.primary_key, shape.unique, shape.text_index, shape.text_config]
    return repr([*told, *shape.vector_fields])


def _digest_of(shapes: Sequence[TableShape]) -> int:
    told = repr([(_lasting(shape), [_lasting(join.other) for join in shape.joins]) for shape in shapes])
    return int.from_bytes(hashlib.blake2b(told.encode(), digest_size=7).digest(), "big")


def escaped(statement: str) -> str:
    """`text()` takes a colon before a name for a parameter, but not a doubled one or one behind a backslash."""
    return statement.replace("::", "\0").replace(":", "\\:").replace("\0", "::")


def _plain(value: Any) -> Any:

    if isinstance(value, Decimal):
        return read_decimal(value)
    return value.isoformat() if isinstance(value, date) else value


def _only_key(shape: TableShape) -> Column | None:
    """The column of a key of one column that can be compared as it is."""
    only = shape.column(shape.primary_key[0]) if len(shape.primary_key) == 1 else None
    return only if only and only.type in (*TEXTS, *_INTEGERS) else None
