"""A user's SQLite database, opened read-only. Every method blocks and may be called from any thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, column, create_engine, func, literal_column, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool
from typing_extensions import override

from groundgraph.core.errors import FilterInvalid, SourceUnavailable
from groundgraph.sources.sql.any_database import ComputingDatabase, Version, with_commas
from groundgraph.sources.sql.introspect import SqliteIntrospection, read_shapes
from groundgraph.sources.sql.shape import Column, TableShape, Wanted, number
from groundgraph.sources.sql.sql_dialect import MATCHES, from_clause, value_matches, where

LOCK_TIMEOUT = 5.0
NUMBER = "groundgraph_number"
# The pool keeps this many connections between queries; one more opens when they are all in use.
_KEPT = 8


class SqliteDatabase(ComputingDatabase):
    """Reads tables of one SQLite database.

    Args:
        location: the file, or `file:...?mode=memory&cache=shared` for a database that Python holds.
        source: the name of the source, for messages.
    """

    def __init__(self, location: str | Path, *, source: str) -> None:
        self._path = None if isinstance(location, str) else location
        super().__init__(source, f"'{self._path.absolute()}'" if self._path else "in memory")
        self._uri = location if isinstance(location, str) else ""
        self._engine: Engine | None = None
        self._file: tuple[int, ...] = ()
        self._probe: sqlite3.Connection | None = None

    @property
    def identity(self) -> str:
        """See `AnyDatabase`."""
        return self.where

    def version(self) -> Version:
        """The present `Version`: two `stat` calls and a pragma.

        Raises:
            SourceUnavailable: the file is not there or is no database.
        """
        file = self._stat()
        with self._guard, self._typed_errors():
            self._require_open()
            if file[:2] != self._file[:2] or (file != self._file and self._is_in_closed_folder()):
                # Open connections do not notice that another file took the place of the old one; and those to a
                # folder that cannot be written to may have been told that the file never changes.
                self._release()
            self._file = file
            self._probe = self._probe or self._connect()
            data: int = self._probe.execute("PRAGMA data_version").fetchone()[0]
        return Version(file, data, has_time=len(file) > 2)

    def shapes(self, wanted: Wanted) -> list[TableShape]:
        """The shapes of the wanted tables; see `read_shapes` for the errors."""
        with self.reading() as connection:
            return read_shapes(connection, wanted, source=self._source, where=self.where, dialect=SqliteIntrospection())

    @override
    def _goes_on(self, shape: TableShape) -> bool:
        return bool(shape.rowid)

    @override
    def _key(self, shape: TableShape) -> ColumnElement[Any]:
        """The row number or the only key column, else all of the key as SQL literals, which no two rows share."""
        if shape.rowid:
            return literal_column(shape.rowid)
        only = shape.column(shape.key_columns[0]) if len(shape.primary_key) == 1 else None
        if only and only.stored_as not in ("any", "blob"):
            return column(only.name)
        return with_commas([func.quote(column(name)) for name in shape.key_columns])

    @override
    def keys(self, shape: TableShape, filters: Mapping[str, Any], base: int) -> str:
        key = self._key(shape) + base if shape.rowid else self._key(shape)
        statement = select(func.json_group_array(key)).select_from(from_clause(shape)).where(where(shape, filters))
        with self.reading() as connection:
            return str(connection.execute(statement).scalar_one())

    @override
    def values(self, shape: TableShape, field: str, filters: Mapping[str, Any], most: int) -> list[Any]:
        here: ColumnElement[Any] = column(field)
        statement = select(here).select_from(from_clause(shape)).where(where(shape, filters), here.is_not(None))
        with self.reading() as connection:
            found = [row[0] for row in connection.execute(statement.distinct().limit(most + 1))]
        return found if len(found) <= most else []

    @override
    def condition(self, shape: TableShape, filters: Mapping[str, Any]) -> ColumnElement[bool]:
        return where(shape, filters)

    @override
    def as_number(self, found: Column) -> ColumnElement[Any]:
        value: ColumnElement[Any] = getattr(func, NUMBER)(column(found.name))
        return value

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection from the pool.

        Raises:
            SourceUnavailable: the database cannot be read.
        """
        with self._guard:
            self._require_open()
            # Parameters have names: SQLAlchemy takes a column called `%(` for the beginning of one without.
            self._engine = self._engine or create_engine(
                "sqlite://", creator=self._connect, poolclass=QueuePool, pool_size=_KEPT, max_overflow=-1,
                paramstyle="named",
            )  # fmt: skip
            engine = self._engine
        with self._typed_errors(), engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""
        with self._guard:
            self._closed = True
            self._release()

    def _release(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
        if self._probe is not None:
            self._probe.close()
        self._engine = self._probe = None

    def _stat(self) -> tuple[int, ...]:
        if self._path is None:
            return (0, 0)
        try:
            file = self._path.stat()
        except OSError:
            raise SourceUnavailable(
                f"The source '{self._source}': there is no database file '{self._path}'. "
                "Check its url; relative paths start at the folder of the configuration file."
            ) from None
        found = [file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns]
        try:
            log = Path(f"{self._path}-wal").stat()
        except OSError:
            return tuple(found)
        return (*found, log.st_size, log.st_mtime_ns) if log.st_size else tuple(found)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file_uri(), uri=True, timeout=LOCK_TIMEOUT, check_same_thread=False)
        try:
            connection.execute("PRAGMA query_only = 1")
            connection.create_function(MATCHES, 3, value_matches, deterministic=True)
            connection.create_function(NUMBER, 1, number, deterministic=True)
            # Text that is not UTF-8 must not keep all other rows from being read.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        except BaseException:
            connection.close()
            raise
        return connection

    def _file_uri(self) -> str:
        if self._path is None:
            return self._uri
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        if self._is_in_closed_folder() and _has_log(self._path) and not Path(f"{self._path}-wal").exists():
            # A reader of a WAL database writes beside it, which a read-only folder does not allow.
            uri += "&immutable=1"
        return uri

    def _is_in_closed_folder(self) -> bool:
        return self._path is not None and not os.access(self._path.absolute().parent, os.W_OK)

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise SourceUnavailable(
                f"The source '{self._source}': the database {self.where} cannot be read: {reason}."
            ) from error
        except UnicodeEncodeError as error:
            raise FilterInvalid(f"The source '{self._source}': a value holds no valid text: {error}.") from error


def _has_log(path: Path) -> bool:
    """Whether the header of the file says that it is kept with a write-ahead log."""
    try:
        with path.open("rb") as file:
            return file.read(20)[18:] == b"\2\2"
    except OSError:
        return False
