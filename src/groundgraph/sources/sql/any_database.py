"""What the rest of this package asks of a database, whichever it is."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any

from sqlalchemy import ColumnElement, Connection, column, select
from typing_extensions import override

from groundgraph.core.errors import GroundGraphError, SourceUnavailable
from groundgraph.sources.sql.shape import KEY, Column, TableShape, Wanted, decode
from groundgraph.sources.sql.sql_dialect import from_clause

# Telling whether a database was written to.

# A file's time has the grain of the file system: written again at once, it may look the same.
_SETTLED = 2.0


@dataclass(frozen=True)
class Version:
    """What a cheap look tells of the state of a database; two equal ones mean that nothing was written.

    Attributes:
        file: what also means something to another process: of SQLite device, inode, size and time of the file and of
            its write-ahead log; of PostgreSQL a digest of the tables' rows and columns.
        data: what only means something to this process: SQLite's own count of changes.
        has_time: whether the last number of `file` is a time, in nanoseconds.
    """

    file: tuple[int, ...]
    data: int
    has_time: bool = False

    def is_settled(self) -> bool:
        """Whether a later process may rely on `file`: a write in the same instant would not have changed it."""
        return not self.has_time or time.time_ns() - self.file[-1] > _SETTLED * 1e9


# Reading every row of a table.

# Rows of one statement.
PIECE = 2_000
# Beyond this many rows reading them all into an index here is no good idea any more.
MOST_ROWS_HERE = 1_000_000
Fetch = Callable[[Any], Sequence[Any]]


def by_key(statement: Any, key: Any, fetch: Fetch, size: int = PIECE) -> Iterator[tuple[Any, ...]]:
    """The rows of `statement`, in pieces that begin behind the last key of the one before.

    Between the pieces no lock is held: whoever writes to the database must not wait for an index.

    Args:
        statement: selects `key` first.
        key: the column, or the expression, that tells rows apart and can be compared.
        fetch: gives the rows of a statement.
        size: of a piece.
    """
    piece = statement.order_by(key).limit(size)
    after = None
    while True:
        rows = fetch(piece if after is None else piece.where(key > after))
        yield from map(tuple, rows)
        if len(rows) < size:
            return
        after = rows[-1][0]


def by_number(statement: Any, fetch: Fetch, size: int = PIECE) -> Iterator[tuple[Any, ...]]:
    """The rows of `statement`, which has an order, in pieces that begin at a number. What is written meanwhile may
    make a row come twice, or not at all."""
    for number in count():
        rows = fetch(statement.limit(size).offset(number * size))
        yield from map(tuple, rows)
        if len(rows) < size:
            return


def once_each(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """`rows` without those whose key, the first value, came before."""
    seen: set[Any] = set()
    for row in rows:
        if row[0] not in seen:
            seen.add(row[0])
            yield tuple(row)


def with_commas(parts: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
    """The SQL of all `parts` in one text."""
    return reduce(lambda key, part: key.concat(",").concat(part), parts)


class AnyDatabase(ABC):
    """A user's database, opened read-only. Every method blocks and may be called from any thread.

    Args:
        source: the name of the source, for messages.
        where: what the database is called in messages.

    Raises:
        SourceUnavailable: from every method, when the database cannot be read.
    """

    def __init__(self, source: str, where: str) -> None:
        self.where = where
        self._source = source
        self._guard = threading.Lock()
        self._closed = False

    def _require_open(self) -> None:
        """Raise what a source that was closed says."""
        if self._closed:
            raise SourceUnavailable(f"The source '{self._source}' is closed.")

    @property
    @abstractmethod
    def identity(self) -> str:
        """Where the database is, who reads it and with which options: sessions that differ in it may see other rows, so
        they share no index. It holds no password, and may have to ask the database once."""

    def computing(self) -> ComputingDatabase | None:
        """The same database where it can be trusted to compute over the rows that a filter keeps."""
        return None

    @abstractmethod
    def version(self) -> Version:
        """The state of the data."""

    @abstractmethod
    def shapes(self, wanted: Wanted) -> list[TableShape]:
        """The shapes of the wanted tables."""

    @abstractmethod
    def rows(self, shape: TableShape, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Every row as its key and the values of `fields`, read in pieces where there is a key to go on from; rows of
        one key are given once. What changes meanwhile makes another `Version`."""

    def read(self, found: Column, value: Any) -> Any:
        """A value of `rows`, decoded as the field is declared."""
        return decode(found.kind, value)

    @abstractmethod
    def fetch(
        self, shape: TableShape, keys: Sequence[Any], filters: Mapping[str, Any] | None = None
    ) -> dict[Any, dict[str, Any]]:
        """The rows with `keys` that satisfy checked `filters`, by their key; those that are gone are left out.

        Each row maps column names to decoded values, and `KEY` to its key.
        """

    @abstractmethod
    def keys(self, shape: TableShape, filters: Mapping[str, Any], base: int) -> str:
        """The keys of the rows that satisfy checked `filters`, as a JSON array; `base` is added to row numbers."""

    def has_changed(self, error: GroundGraphError) -> bool:  # noqa: ARG002 - where every query looks at the tables
        """Whether `error` says that the tables are not those that were looked at last; they are looked at anew then."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""


class ComputingDatabase(AnyDatabase):
    """One that decides in SQL what `core.filters.matches` decides, so that it can count rows, and compute over them."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for statements that only read."""

    @abstractmethod
    def values(self, shape: TableShape, field: str, filters: Mapping[str, Any], most: int) -> list[Any]:
        """The different values of a column in the rows that satisfy `filters`; none when there are more than `most`."""

    @abstractmethod
    def condition(self, shape: TableShape, filters: Mapping[str, Any]) -> ColumnElement[bool]:
        """The SQL of checked `filters`."""

    @abstractmethod
    def as_number(self, found: Column) -> ColumnElement[Any]:
        """The SQL of a column's value as a number; NULL for a value that is none."""

    @abstractmethod
    def _key(self, shape: TableShape) -> ColumnElement[Any]:
        """What tells rows apart."""

    @abstractmethod
    def _goes_on(self, shape: TableShape) -> bool:
        """Whether the rows behind a key can be asked for."""

    def _selected(self, found: Column) -> ColumnElement[Any]:
        """What is selected of a column, so that `read` knows it."""
        return column(found.name)

    @override
    def computing(self) -> ComputingDatabase:
        return self

    @override
    def rows(self, shape: TableShape, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        here = self._key(shape)
        columns = [found for name in fields if (found := shape.column(name))]
        statement = select(here, *map(self._selected, columns)).select_from(from_clause(shape))
        if self._goes_on(shape):
            yield from by_key(statement, here, self._fetched)
            return
        with self.reading() as connection:
            yield from once_each(connection.execution_options(stream_results=True).execute(statement))

    def _fetched(self, statement: Any) -> Sequence[Any]:
        with self.reading() as connection:
            return connection.execute(statement).fetchall()

    @override
    def fetch(
        self, shape: TableShape, keys: Sequence[Any], filters: Mapping[str, Any] | None = None
    ) -> dict[Any, dict[str, Any]]:
        here = self._key(shape)
        found = self._fetched(self._whole(shape).where(here.in_(list(keys)), self.condition(shape, filters or {})))
        return {row[0]: {**self._decoded(shape, row[1:]), KEY: row[0]} for row in found}

    def first(self, shape: TableShape, filters: Sequence[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
        """The first `most` rows by their key that satisfy all of the checked `filters`, as those of `fetch`."""
        kept = [self.condition(shape, conditions) for conditions in filters]
        found = self._fetched(self._whole(shape).where(*kept).order_by(self._key(shape)).limit(most))
        return [{**self._decoded(shape, row[1:]), KEY: row[0]} for row in found]

    def _whole(self, shape: TableShape) -> Any:
        columns = [self._key(shape), *map(self._selected, shape.columns)]
        return select(*columns).select_from(from_clause(shape))

    def _decoded(self, shape: TableShape, values: Sequence[Any]) -> dict[str, Any]:
        return {item.name: self.read(item, value) for item, value in zip(shape.columns, values, strict=True)}

    def one(self, statement: Any) -> tuple[Any, ...]:
        """The only row of `statement`."""
        with self.reading() as connection:
            return tuple(connection.execute(statement).one())

    def some(self, statement: Any) -> list[tuple[Any, ...]]:
        """The rows of `statement`, which limits their number."""
        return [tuple(row) for row in self._fetched(statement)]
