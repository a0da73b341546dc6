"""A user's database of any dialect, of which nothing is known but that SQLAlchemy can read it.

Every method blocks and may be called from any thread. Statements are plain selects with bound values.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import Context
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol, TypeVar, TypeVarTuple, Unpack

from sqlalchemy import (
    ColumnElement,
    Connection,
    Date,
    DateTime,
    and_,
    column,
    create_engine,
    false,
    func,
    make_url,
    or_,
    select,
    true,
)
from typing_extensions import override

from groundgraph.core.errors import ConfigurationError, FilterInvalid, SourceTimeout, SourceUnavailable
from groundgraph.core.evidence import jsonable
from groundgraph.core.exact_number import read_decimal
from groundgraph.core.filters import matches
from groundgraph.search.push_down import Pushed
from groundgraph.sources.sql.any_database import (
    MOST_ROWS_HERE,
    PIECE,
    AnyDatabase,
    Version,
    by_key,
    by_number,
    once_each,
)
from groundgraph.sources.sql.introspect import Introspection, read_shapes
from groundgraph.sources.sql.location import OtherAddress
from groundgraph.sources.sql.shape import KEY, Column, TableShape, Wanted, decode
from groundgraph.sources.sql.sql_dialect import (
    LONGEST_LIST,
    MOST_INTEGER,
    Condition,
    SqlDialect,
    from_clause,
    ordered,
    pushed,
)

# Connections through any dialect of SQLAlchemy, with a driver that blocks or one that is asynchronous.
#
# Nothing is ever committed: each piece of work runs in a transaction that is rolled back.

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# An asynchronous driver is told to stop after so many seconds; one that blocks cannot be.
STATEMENT_SECONDS = 60.0
_CLOSE_SECONDS = 5.0


class Connections(Protocol):
    """Runs work on a connection. Its methods block."""

    def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns for a connection whose transaction is then rolled back."""

    def close(self) -> None:
        """Close all connections."""


def open_connections(url: str) -> Connections:
    """The connections to the database at `url`; none is opened yet."""
    is_async = make_url(url).get_dialect().is_async
    return _Asynchronous(url) if is_async else _Blocking(url)


class _Blocking:
    def __init__(self, url: str) -> None:
        self._engine = create_engine(url, pool_pre_ping=True)

    def run(self, work: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection:
            return work(connection)

    def close(self) -> None:
        self._engine.dispose()


class _Loop(asyncio.SelectorEventLoop):
    """Drops what is reported behind its end: a driver whose connecting was cancelled goes on in a thread of its own."""

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        except RuntimeError:
            if not self.is_closed():
                raise
            return asyncio.Handle(callback, args, self, context)


class _Asynchronous:
    """The connections belong to an event loop in a thread of its own, whichever loop asks."""

    def __init__(self, url: str) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(url, pool_pre_ping=True)
        self._closed = False
        self._guard = threading.Lock()
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="groundgraph-sql", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[Connection], T]) -> T:
        async def once() -> T:
            async with asyncio.timeout(STATEMENT_SECONDS), self._engine.connect() as connection:
                return await connection.run_sync(work)

        with self._guard:
            # Behind the end of the loop nothing would ever run it, and whoever waits would wait for ever.
            if self._closed:
                raise CancelledError
            running = asyncio.run_coroutine_threadsafe(once(), self._loop)
        return running.result()

    def close(self) -> None:
        with self._guard:
            self._closed = True

        async def ended() -> None:
            # Whoever waits for one of these would wait for ever.
            running = asyncio.all_tasks() - {asyncio.current_task()}
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self._engine.dispose()

        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(ended(), self._loop).result(_CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


@contextmanager
def typed_errors(source: str, where: str) -> Iterator[None]:
    """Raises what goes wrong as an error of ours.

    Raises:
        SourceUnavailable: the database does not answer, or refuses.
        SourceTimeout: it took longer than `STATEMENT_SECONDS`.
        FilterInvalid: a value holds no valid text.
    """
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except UnicodeEncodeError as error:
        raise FilterInvalid(f"The source '{source}': a value holds no valid text: {error}.") from error
    except CancelledError as error:
        raise SourceUnavailable(f"The source '{source}' was closed while {where} was read.") from error
    except TimeoutError as error:
        told = f"The source '{source}': {where} did not answer within {STATEMENT_SECONDS:g} seconds."
        raise SourceTimeout(told) from error
    except (SQLAlchemyError, OSError) as error:
        reason: Any = error.orig if isinstance(error, DBAPIError) else error
        told = f"The source '{source}': the database {where} cannot be read: {' '.join(str(reason).split())}."
        raise SourceUnavailable(told) from error


# What of checked filters any database can decide: enough to leave out most rows, and never one that they keep.
#
# Databases differ in what they take for equal: many fold case or drop accents, some keep only seven digits of a number.
# So a condition here keeps every row that `core.filters.matches` keeps, and that decides among those.

# Of a value: more than a number of four bytes loses.
_SLACK = 1e-5
# More than two time zones are apart.
_DAYS = timedelta(days=2)
_UNDECIDED: Pushed[Condition] = Pushed(None, exact=False)
# Kinds whose values a list of bound ones finds, and the types of those of a time.
_ALIKE: dict[str, type[Any]] = {"string": str, "integer": int}
_TIMES: dict[str, Any] = {"date": Date(), "datetime": DateTime()}


def narrowed(shape: TableShape, filters: Mapping[str, Any]) -> Condition:
    """A condition that every row satisfies which satisfies `filters`."""
    condition = pushed(shape, filters, PortableDialect()).condition
    return true() if condition is None else and_(true(), condition)


class PortableDialect(SqlDialect):
    """Any database; nothing is exact."""

    @override
    def equal(self, field: Column, values: Sequence[Any]) -> Pushed[Condition]:
        if len(values) > LONGEST_LIST or field.kind != field.stored_as:
            return _UNDECIDED
        if kind := _ALIKE.get(field.stored_as):
            usable = all(_is_plain(value, kind) for value in values)
            return Pushed(column(field.name).in_(values), exact=False) if usable else _UNDECIDED
        ranges = [one for value in values if (one := self._around(field, value)) is not None]
        return Pushed(self.any_of(ranges), exact=False) if len(ranges) == len(values) else _UNDECIDED

    def _around(self, field: Column, value: Any) -> Condition | None:
        """What every value close to `value` satisfies."""
        lower, upper = (self.compared(field, side, value).condition for side in ("gte", "lte"))
        return None if lower is None or upper is None else and_(lower, upper)

    def compared(self, field: Column, operator: str, operand: Any) -> Pushed[Condition]:
        """See `Dialect.compared`; the limit is set a little further out."""
        side, outwards = ("gte", -1) if operator in ("gte", "gt") else ("lte", 1)
        limit = _limit(field.stored_as, operand, outwards)
        if limit is None or field.kind != field.stored_as:
            return _UNDECIDED
        here: ColumnElement[Any] = column(field.name, _TIMES.get(field.stored_as))
        return Pushed(ordered(here, side, limit), exact=False)

    @override
    def contains(self, field: Column, operand: Any) -> Pushed[Condition]:
        return _UNDECIDED


def _limit(kind: str, operand: Any, outwards: int) -> Any:
    """`operand` moved in the direction of `outwards` by more than databases differ; None when that is not known."""
    if kind in ("integer", "number"):
        usable = not isinstance(operand, bool | str) and _fits(operand)
        return operand + outwards * (abs(operand) * _SLACK + _SLACK) if usable else None
    day = _day(operand) if kind in _TIMES and isinstance(operand, str) else None
    if day is None:
        return None
    return datetime.combine(day + outwards * _DAYS, time_of_day()) if kind == "datetime" else day + outwards * _DAYS


def _is_plain(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and _fits(value)


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= MOST_INTEGER


def _day(written: str) -> date | None:
    """The day of an ISO date or time; None near the ends of the calendar, where nothing can be added."""
    try:
        day = date.fromisoformat(written[:10])
    except ValueError:
        return None
    return day if 1 < day.year < 9999 else None


# What names a row of a table, in a database of any kind.
#
# One column with whole numbers or texts names it as it is. Otherwise the values of several columns do, as a JSON list:
# those of the primary key or, where there is none, of all columns that can be compared.

# Keys in one statement; some databases allow two thousand bound values.
SOME = 200


def key_columns(shape: TableShape) -> list[Column]:
    """The columns whose values name a row."""
    named = (shape.column(name) for name in shape.key_columns)
    return [found for found in named if found and (shape.primary_key or found.stored_as not in ("blob", "array"))]


def only_key(shape: TableShape) -> ColumnElement[Any] | None:
    """The column that names a row alone; None when it takes several, or one of another type."""
    found = key_columns(shape)
    plain = len(found) == 1 and bool(shape.primary_key) and found[0].stored_as in ("integer", "string")
    return column(found[0].name) if plain else None


def key_of(shape: TableShape, values: Sequence[Any]) -> Any:
    """The key of a row with `values` in `key_columns`."""
    if only_key(shape) is not None:
        return values[0]
    return json.dumps(jsonable(list(values)), ensure_ascii=False)


def one_of(shape: TableShape, keys: Sequence[Any]) -> ColumnElement[bool]:
    """A condition that the rows with `keys` satisfy, and perhaps some others."""
    alone = only_key(shape)
    if alone is not None:
        return alone.in_(keys)
    names = [found.name for found in key_columns(shape)]
    return or_(false(), *(_named(shape, dict(zip(names, json.loads(key), strict=True))) for key in keys))


def _named(shape: TableShape, values: dict[str, Any]) -> ColumnElement[bool]:
    missing = [column(name).is_(None) for name, value in values.items() if value is None]
    return and_(narrowed(shape, {name: value for name, value in values.items() if value is not None}), *missing)


# No database tells cheaply that a row was changed in place, so all rows are read again after so many seconds.
REREAD_SECONDS = 60
# With many questions at once, the rows are counted once in so many seconds.
_LOOK_SECONDS = 1.0
# Reading all rows takes a tenth of the time at the most.
_SHARE = 10


class PortableDatabase(AnyDatabase):
    """Reads tables of one database; what it takes for equal is not known, so nothing is computed in it.

    Args:
        address: where it is.
        source: the name of the source, for messages.
        wanted: what the configuration says of the tables.
    """

    def __init__(self, address: OtherAddress, *, source: str, wanted: Wanted) -> None:
        super().__init__(source, f"'{address.shown}'")
        self._address = address
        self._wanted = wanted
        self._rows_took = 0.0
        self._connections: Connections | None = None
        self._seen: tuple[float, Version] | None = None
        self._shapes: list[TableShape] = []

    @cached_property
    def identity(self) -> str:
        """See `AnyDatabase`. Elsewhere the password may be all that tells two users apart, so it counts; such a hash
        takes too long to guess at passwords with."""
        return hashlib.scrypt(self._address.url.encode(), salt=b"groundgraph", n=2**14, r=8, p=1, dklen=16).hex()

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
                connection, wanted, source=self._source, where=self.where, dialect=Introspection()
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

    def fetch(
        self, shape: TableShape, keys: Sequence[Any], filters: Mapping[str, Any] | None = None
    ) -> dict[Any, dict[str, Any]]:
        """The rows with `keys` that satisfy checked `filters`, by their key; those that are gone are left out.

        Each row maps column names to decoded values, and `KEY` to its key.
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
                    found[key] = {**values, KEY: key}
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
                self._require_open()
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
