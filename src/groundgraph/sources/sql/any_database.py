"""What the rest of this package asks of a database, whichever it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.version import Version

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from groundgraph.sources.sql.introspect import Wanted


class AnyDatabase(Protocol):
    """A user's database, opened read-only. Every method blocks and may be called from any thread.

    Raises:
        SourceUnavailable: from every method, when the database cannot be read.
    """

    @property
    def where(self) -> str:
        """What the database is called in messages."""

    @property
    def identity(self) -> str:
        """Where the database is, who reads it and with which options: sessions that differ in it may see other rows, so
        they share no index. It holds no password, and may have to ask the database once."""

    def computing(self) -> ComputingDatabase | None:
        """The same database where it can be trusted to compute over the rows that a filter keeps (R15)."""

    def version(self) -> Version:
        """The state of the data."""

    def shapes(self, wanted: Wanted) -> list[TableShape]:
        """The shapes of the wanted tables."""

    def rows(self, shape: TableShape, fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Every row as its key and the values of `fields`; rows of one key are given once."""

    def read(self, found: Column, value: Any) -> Any:
        """A value of `rows`, decoded as the field is declared."""

    def fetch(
        self, shape: TableShape, keys: Sequence[Any], filters: Mapping[str, Any] | None = None
    ) -> dict[Any, dict[str, Any]]:
        """The rows with `keys` that satisfy checked `filters`, by their key, as decoded values by column."""

    def keys(self, shape: TableShape, filters: Mapping[str, Any], base: int) -> str:
        """The keys of the rows that satisfy checked `filters`, as a JSON array; `base` is added to row numbers."""

    def has_changed(self, error: SourceUnavailable) -> bool:
        """Whether `error` says that the tables are not those that were looked at last; they are looked at anew then."""

    def close(self) -> None:
        """Close all connections; one that is in use is closed when its work ends."""


class ComputingDatabase(AnyDatabase, Protocol):
    """One that decides in SQL what `core.filters.matches` decides, so that it can count rows, and compute over them."""

    def values(self, shape: TableShape, field: str, filters: Mapping[str, Any], most: int) -> list[Any]:
        """The different values of a column in the rows that satisfy `filters`; none when there are more than `most`."""

    def condition(self, shape: TableShape, filters: Mapping[str, Any]) -> ColumnElement[bool]:
        """The SQL of checked `filters`."""

    def as_number(self, found: Column) -> ColumnElement[Any]:
        """The SQL of a column's value as a number; NULL for a value that is none."""

    def one(self, statement: Any) -> tuple[Any, ...]:
        """The only row of `statement`."""
