"""The headings of the rows of one table, for a topic index."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from groundgraph.core.errors import Problem, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.search.topics import Outline, PassageVectors, Place, Reading, Row, outline_reading, unusable
from groundgraph.sources.check_options import unknown_names
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.shape import KEY, TableShape, row_key

if TYPE_CHECKING:
    from groundgraph.sources.sql.any_database import Version
    from groundgraph.sources.sql.engine import SqlEngine, Tables


# Which columns of a table say where a row stands in a document, for a topic index.

NAMES = ("document", "order", "headings")
_BETWEEN = " > "


@dataclass(frozen=True)
class TopicColumns:
    """The option `topic_columns`.

    Attributes:
        document: the column with the name of the document that a row is from.
        order: the column by which the rows of one document are ordered.
        headings: the column with the titles above a row, the outermost first: a JSON list, or a text joined by " > ".
    """

    document: str
    order: str
    headings: str

    @classmethod
    def of(cls, given: Any, key: str) -> TopicColumns:
        """The columns that `given`, a mapping, names.

        Args:
            given: the value of the option.
            key: where it stands, for messages.

        Raises:
            ConfigurationError: it is no mapping of `NAMES` to columns.
        """
        refuse_any(option_problems(given, key))
        return cls(**given)

    @property
    def names(self) -> list[str]:
        """All three."""
        return [self.document, self.order, self.headings]


def option_problems(given: Any, key: str) -> list[Problem]:
    """What is wrong with `given`, the value of the option at `key`."""
    if not isinstance(given, Mapping):
        return [Problem(key, f"maps {', '.join(NAMES)} to columns of the table")]
    missing = [
        Problem(f"{key}.{name}", "must be the name of a column")
        for name in NAMES
        if not (isinstance(given.get(name), str) and given[name])
    ]
    return [*unknown_names(given, NAMES, key, "is not known"), *missing]


def table_problems(tables: Sequence[str], server: PostgresOptions | None, key: str) -> list[Problem]:
    """Why a source cannot have `topic_columns`.

    Args:
        tables: those that the configuration names.
        server: the options of a source on a server.
        key: where the option stands, for messages.
    """
    problems = []
    if len(tables) != 1:
        problems.append(Problem(key, "are the columns of one `table`; name it"))
    # Only an index here looks at every change of a row, which headings that are kept in memory need as well.
    if server and server.text_index == "database":
        told = "work with `text_index: own`, and not with the full-text index of the database"
        problems.append(Problem(key, told))
    if server and server.vector_field:
        told = "cannot be had together with `vector_field`: a topic index reads no vectors of a SQL source"
        problems.append(Problem(key, told))
    return problems


def heading_path(value: Any) -> tuple[str, ...]:
    """The titles in a value of the headings column, the outermost first; empty ones are left out."""
    titles = _listed(value)
    if titles is None:
        titles = str(value).split(_BETWEEN) if value is not None else []
    return tuple(title for one in titles if one is not None and (title := str(one).strip()))


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None  # a title may begin with a bracket
    return value if isinstance(value, list) else None


T = TypeVar("T")
# The headings of all rows are kept in memory, with those of an earlier state: some hundred megabytes at the most.
MOST_ROWS = 100_000
MOST_CHARS = 20_000_000
# What the metadata of a passage hold beside its columns.
PLACE_METADATA = ("document", "headings")


class EngineOfSource(Protocol):
    """The source of the table, as far as its topic store needs it."""

    @property
    def name(self) -> str:
        """Of the source."""

    async def with_engine(self, work: Callable[[SqlEngine], T]) -> T:
        """The result of `work`, called in a thread with what answers the queries."""


class SqlTopicStore:
    """A `TopicStore`; see there for the methods. It has no vectors.

    The outline is read again when the database was written to. Filters are conditions of SQL with bound values in
    every read, as in the queries of the source.

    Args:
        source: of the table.
        columns: which columns hold what.
    """

    def __init__(self, source: EngineOfSource, columns: TopicColumns) -> None:
        self._source = source
        self._columns = columns
        self._known: Reading[Outline, Any] | None = None
        self._refused: tuple[Version, str] | None = None
        self._reading = threading.Lock()

    @property
    def embeds(self) -> bool:
        """No: the rows have no vectors to compare a question with."""
        return False

    async def revision(self) -> Version:
        """See `TopicStore.revision`."""
        return await self._source.with_engine(lambda engine: self._tables(engine).version)

    async def outline(self) -> Outline:
        """See `TopicStore.outline`.

        Raises:
            SourceUnavailable: there are more than `MOST_ROWS` rows, or headings of more than `MOST_CHARS` characters.
            SchemaChanged: a column of `topic_columns` is not there.
        """
        return await self._source.with_engine(lambda engine: self._rows(engine).content)

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`."""

        def read(engine: SqlEngine) -> frozenset[str]:
            shape, conditions = self._conditions(engine, filters)
            kept = set(json.loads(engine.database.keys(shape, conditions, 0)))
            return frozenset(one for one, key in self._rows(engine).keys.items() if key in kept)

        return await self._source.with_engine(read)

    async def seeds(
        self,
        question: str,
        *,
        limit: int,
        filters: Mapping[str, Any],
        by_vector: bool,  # noqa: ARG002 - of the contract
    ) -> list[SourceResult]:
        """See `TopicStore.seeds`; by words in any case, since the rows have no vectors."""

        def read(engine: SqlEngine) -> list[SourceResult]:
            return engine.found(question, filters, limit)

        return await self._source.with_engine(read)

    async def question_vector(self, question: str) -> None:
        """See `TopicStore.question_vector`."""

    async def vectors(self) -> PassageVectors | None:
        """See `TopicStore.vectors`."""
        return None

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`; their metadata hold `document`, `headings` and `section` beside the columns."""

        def read(engine: SqlEngine) -> dict[str, SourceResult]:
            shape, conditions = self._conditions(engine, filters)
            keys = self._rows(engine).keys
            rows = engine.database.fetch(shape, [keys[one] for one in ids if one in keys], conditions)
            results = [self._with_headings(engine.shown(shape, values), values) for values in rows.values()]
            return {result.source_id: result for result in results}

        return await self._source.with_engine(read)

    def _with_headings(self, result: SourceResult, values: Mapping[str, Any]) -> SourceResult:
        titles = heading_path(values.get(self._columns.headings))
        own: dict[str, Any] = {"document": _text(values.get(self._columns.document)), "headings": list(titles)}
        if titles:
            own["section"] = " > ".join(titles)
        # Another column of such a name keeps its value.
        taken = set(values) - set(self._columns.names)
        return replace(result, metadata={**result.metadata, **{name: own[name] for name in own if name not in taken}})

    def _tables(self, engine: SqlEngine) -> Tables:
        tables = engine.tables()
        engine.check_columns(tables, self._columns.names)
        return tables

    def _conditions(self, engine: SqlEngine, filters: Mapping[str, Any]) -> tuple[TableShape, dict[str, Any]]:
        """The table, and `filters` as they may be asked of it."""
        shapes = self._tables(engine).shapes
        return shapes[0], engine.checked_filters(filters, shapes)

    def _rows(self, engine: SqlEngine) -> Reading[Outline, Any]:
        """The rows as they are; read once for each version of the database."""
        tables = self._tables(engine)
        with self._reading:
            if self._refused and self._refused[0] == tables.version:
                raise unusable(self._source.name, self._refused[1])
            if self._known is None or self._known.content.revision != tables.version:
                # What is written meanwhile belongs to another version, for which all is read again.
                self._known = self._read(engine, tables)
            return self._known

    def _read(self, engine: SqlEngine, tables: Tables) -> Reading[Outline, Any]:
        shape, columns = tables.shapes[0], self._columns
        rows: list[Row[Any]] = []
        paths: dict[tuple[str, ...], tuple[str, ...]] = {}
        chars = 0
        for values in _values(engine, shape, columns):
            path = heading_path(values[columns.headings])
            chars += sum(map(len, path)) if path not in paths else 0
            name = f"{shape.name}/{row_key(shape, values)}"
            place = Place(name, _text(values[columns.document]), paths.setdefault(path, path))
            rows.append(Row(place, (_order(values[columns.order]), name), values[KEY]))
            if len(rows) > MOST_ROWS or chars > MOST_CHARS:
                told = (
                    f"'{shape.name}' has more than {MOST_ROWS} rows, or headings of more than {MOST_CHARS} characters. "
                    "Give the source a view of fewer rows, or leave `topic_index` out."
                )
                # So that the next turns do not read so many rows in vain.
                self._refused = (tables.version, told)
                raise unusable(self._source.name, told)
        return outline_reading(tables.version, rows)


def _values(engine: SqlEngine, shape: TableShape, columns: TopicColumns) -> Iterator[dict[str, Any]]:
    """Of each row the values that its place and its id are made of, and its key as `row_key` wants it."""
    names = list(dict.fromkeys([*columns.names, *shape.primary_key]))
    read = [item for name in names if (item := shape.column(name))]
    for key, *values in engine.database.rows(shape, names):
        decoded = {item.name: engine.database.read(item, value) for item, value in zip(read, values, strict=True)}
        yield {**decoded, KEY: key}


def _order(value: Any) -> tuple[int, float, str]:
    """By what rows are sorted: numbers before texts, and a row without a value last."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return 2, 0.0, ""
    return (0, value, "") if isinstance(value, int | float) else (1, 0.0, str(value))


def _text(value: Any) -> str:
    return "" if value is None else str(value)
