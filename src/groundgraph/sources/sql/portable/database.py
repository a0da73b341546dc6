"""A user's database of any dialect, of which nothing is known but that SQLAlchemy can read it.

Every method blocks and may be called from any thread. Statements are plain selects with bound values.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from datetime import time as time_of_day
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Connection, column, func, select

from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.core.filters import matches
from groundgraph.sources.sql.all_rows import MOST_ROWS_HERE, PIECE, by_key, by_number, once_each
from groundgraph.sources.sql.any_database import ComputingDatabase
from groundgraph.sources.sql.from_clause import from_clause
from groundgraph.sources.sql.introspect import Wanted, read_shapes
from groundgraph.sources.sql.location import OtherAddress
from groundgraph.sources.sql.portable import introspect
from groundgraph.sources.sql.portable.conditions import narrowed
from groundgraph.sources.sql.portable.connect import Connections, open_connections, typed_errors
from groundgraph.sources.sql.portable.keys import SOME, key_columns, key_of, one_of, only_key
from groundgraph.sources.sql.postgres.values import read_decimal
from groundgraph.sources.sql.shape import Column, TableShape, decode
from groundgraph.sources.sql.version import Version

T = TypeVar("T")
# No database tells cheaply that a row was changed in place, so all rows are read again after so many seconds.
REREAD_SECONDS = 60
# With many questions at once, the rows are counted once in so many seconds.
_LOOK_SECONDS = 1.0
# Reading all rows takes a tenth of the time at the most.
_SHARE = 10
_KEY = "\0key"


class PortableDatabase:
    """Reads tables of one database.

    Args:
        address: where it is.
        source: the name of the source, for messages.
        wanted: what the configuration says of the tables.
    """

    def __init__(self, address: OtherAddress, *, source: str, wanted: Wanted) -> None:
        self._address = address
        self._source = source
        self._wanted = wanted
        self._rows_took = 0.0
        self._connections: Connections | None = None
        self._seen: tuple[float, Version] | None = None
        self._shapes: list[TableShape] = []
        self._guard = threading.Lock()
        self._closed = False

    @property
    def where(self) -> str:
        """What the database is called in messages."""
        return f"'{self._address.shown}'"

    @cached_property
    def identity(self) -> str:
        """See `AnyDatabase`. Elsewhere the password may be all that tells two users apart, so it counts; such a hash
        takes too long to guess at passwords with."""
        return hashlib.scrypt(self._address.url.encode(), salt=b"groundgraph", n=2**14, r=8, p=1, dklen=16).hex()

    def computing(self) -> ComputingDatabase | None:
        """None: what a database of any kind takes for equal is not known, so nothing is counted in it."""
        return None

    def version(self) -> Version:
        """The present `Version`: how many rows the tables have, their last keys, and the minute.

        A row that is added or removed is seen within a second, one that is changed in place within a minute, or
        within ten times as long as it takes to read all rows.

        Raises:
            ConfigurationError: a table has more than `MOST_ROWS_HERE` rows.
        """
        with self._guard:
            if self._seen and time.monotonic() < self._seen[0]:
                return self._seen[1]
            shapes = self._shapes
        shapes = shapes or self.shapes(self._wanted)
        told = self._run(lambda connection: [_extent(connection, shape) for shape in shapes])
        for shape, (rows, *_) in zip(shapes, told, strict=True):
            if rows > MOST_ROWS_HERE:
                raise ConfigurationError(
                    f"The source '{self._source}': '{shape.name}' has {rows} rows, and at most {MOST_ROWS_HERE} are "
                    "read into an index on this machine. Give the source a view of fewer rows."
                )
        digest = int.from_bytes(hashlib.blake2b(repr(told).encode(), digest_size=7).digest(), "big")
        found = Version((digest, int(time.time() // max(REREAD_SECONDS, _SHARE * self._rows_took))), 0)
        with self._guard:
            self._seen = (time.monotonic() + _LOOK_SECONDS, found)
        return found

    def shapes(self, wanted: Wanted) -> list[TableShape]:
        """The shapes of the wanted tables; see `read_shapes` for the errors."""
        found = self._run(
            lambda connection: read_shapes(
                connection, wanted, source=self._source, where=self.where, dialect=introspect
            )
        )
        with self._guard:
            self._shapes = found
        return found

    def rows(self, shape: TableShape, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Every row as its key and the values of `fields`, in pieces; rows of one key are given once."""
        named = [item.name for item in key_columns(shape)]
        statement: Any = select(*map(column, (*named, *fields))).select_from(from_clause(shape))
        here = only_key(shape)
        if here is not None:
            rows = by_key(statement, here, self._rows, PIECE)
        else:
            rows = by_number(statement.order_by(*map(column, named)), self._rows, PIECE)
        started = time.monotonic()
        yield from once_each((key_of(shape, row[: len(named)]), *map(_plain, row[len(named) :])) for row in rows)
        self._rows_took = time.monotonic() - started

    def read(self, found: Column, value: Any) -> Any:
        """A value of `rows`, decoded as the field is declared."""
        return decode(found.kind, value)

    def fetch(
        self, shape: TableShape, keys: Sequence[Any], filters: Mapping[str, Any] | None = None
    ) -> dict[Any, dict[str, Any]]:
        """The rows with `keys` that satisfy checked `filters`, by their key; those that are gone are left out.

        Each row maps column names to decoded values, and `\\0key` to its key.
        """
        names = [item.name for item in shape.columns]
        statement: Any = (
            select(*map(column, names)).select_from(from_clause(shape)).where(narrowed(shape, filters or {}))
        )
        found: dict[Any, dict[str, Any]] = {}
        wanted = set(keys)
        for start in range(0, len(keys), SOME):
            for row in self._rows(statement.where(one_of(shape, keys[start : start + SOME]))):
                stored = dict(zip(names, row, strict=True))
                key = key_of(shape, [stored[item.name] for item in key_columns(shape)])
                values = _decoded(shape.columns, row)
                if key in wanted and matches(filters or {}, values):
                    found[key] = {**values, _KEY: key}
        return found

    def keys(self, shape: TableShape, filters: Mapping[str, Any], base: int) -> str:  # noqa: ARG002 - no row numbers
        """The keys of the rows that satisfy checked `filters`, as a JSON array.

        The database leaves out what it can; the values of the filtered columns of the other rows are looked at here.
        """
        named = key_columns(shape)
        asked = [item for name in filters if (item := shape.column(name))]
        statement: Any = select(*(column(item.name) for item in (*named, *asked))).select_from(from_clause(shape))
        kept: dict[Any, None] = {}
        for row in self._rows(statement.where(narrowed(shape, filters))):
            if matches(filters, _decoded(asked, row[len(named) :])):
                kept[key_of(shape, row[: len(named)])] = None
        return json.dumps(list(kept), ensure_ascii=False)

    def has_changed(self, error: SourceUnavailable) -> bool:  # noqa: ARG002 - every query looks at the tables
        """See `AnyDatabase`."""
        return False

    def close(self) -> None:
        """Close all connections."""
        with self._guard:
            self._closed = True
            connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

    def _rows(self, statement: Any) -> list[tuple[Any, ...]]:
        return self._run(lambda connection: [tuple(row) for row in connection.execute(statement)])

    def _run(self, work: Callable[[Connection], T]) -> T:
        with typed_errors(self._source, self.where):
            with self._guard:
                if self._closed:
                    raise SourceUnavailable(f"The source '{self._source}' is closed.")
                self._connections = self._connections or open_connections(self._address.url)
                connections = self._connections
            return connections.run(work)


def _extent(connection: Connection, shape: TableShape) -> tuple[Any, ...]:
    """How many rows there are, and the greatest key where that is one column."""
    last = only_key(shape)
    counted = [func.count(), func.max(last)] if last is not None else [func.count()]
    return tuple(connection.execute(select(*counted).select_from(from_clause(shape))).one())


def _decoded(columns: Sequence[Column], row: Sequence[Any]) -> dict[str, Any]:
    return {item.name: decode(item.kind, _plain(value)) for item, value in zip(columns, row, strict=True)}


def _plain(value: Any) -> Any:
    """A value as the rest of groundgraph knows it, whatever the driver made of the column."""
    if isinstance(value, Decimal):
        return read_decimal(value)
    if isinstance(value, date | time_of_day):
        return value.isoformat()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    known = value is None or isinstance(value, str | int | float | bytes | list | dict)
    return value if known else str(value)
