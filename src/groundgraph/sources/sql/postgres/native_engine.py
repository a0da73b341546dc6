"""Answering with the full-text indexes of a PostgreSQL database. It blocks."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, literal_column, select, text

from groundgraph.core.errors import SchemaChanged
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded
from groundgraph.core.latest import Latest
from groundgraph.search.rank import Passage, Pool, Question, Scorer, by_seeds, rank, seeds_of
from groundgraph.sources.sql.any_database import Version
from groundgraph.sources.sql.engine import Asked, EngineUnfit, SqlEngine, Tables
from groundgraph.sources.sql.postgres.database import PostgresDatabase, escaped
from groundgraph.sources.sql.postgres.introspect import read_row
from groundgraph.sources.sql.postgres.lexemes import (
    Lexemes,
    Near,
    Term,
    Weighted,
    average_statement,
    candidates_statement,
    look_further,
    nearest_statement,
    some_rows,
)
from groundgraph.sources.sql.postgres.options import PostgresOptions, create_index, quoted
from groundgraph.sources.sql.search_rows import ROWS, TableWords, route_tables
from groundgraph.sources.sql.shape import KEY, TableShape, Wanted, header_stems, row_key, row_stems
from groundgraph.sources.sql.sql_dialect import from_clause, may_match
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import idf

# What an owner of the database should be told: rights that are too wide, indexes that are missing.

_WRITE = "INSERT, UPDATE, DELETE, TRUNCATE"


def advice(database: PostgresDatabase, wanted: Wanted, *, native: bool) -> Iterator[str]:
    """Each thing that the owner should change, as a sentence."""
    with database.reading() as connection:
        role, is_super = connection.execute(
            text("SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)")
        ).one()
    if is_super:
        yield (
            f"The role '{role}' is a superuser, and groundgraph only reads. Make it a role of its own: "
            "CREATE ROLE groundgraph LOGIN; GRANT SELECT ON ... TO groundgraph."
        )
    for shape in database.shapes(wanted):
        yield from _about(database, shape, role, is_super=bool(is_super), native=native)


def _about(database: PostgresDatabase, shape: TableShape, role: str, *, is_super: bool, native: bool) -> Iterator[str]:
    table = ".".join(map(quoted, (shape.namespace, shape.relation)))
    with database.reading() as connection:
        writes = connection.execute(
            text("SELECT has_table_privilege(:table, :rights)"), {"table": table, "rights": _WRITE}
        ).scalar_one()
    if writes and not is_super:
        yield f"The role '{role}' may write to '{shape.name}', and groundgraph only reads: REVOKE {_WRITE} ON {table}."
    if native and shape.estimated_rows < 0:
        yield f"'{shape.name}' was never analysed, so PostgreSQL guesses how common words are: ANALYZE {table}."
    if not native and (not shape.text_index or shape.unindexed):
        which = "full-text index of all that is searched" if shape.text_index else "full-text index"
        yield (
            f"'{shape.name}' has no {which}, so its rows are read into one on this machine. With one, "
            f"PostgreSQL searches itself: {create_index(shape, _sample(database, shape))}"
        )
    elif shape.unindexed:
        yield (
            f"The full-text index of '{shape.name}' does not hold {', '.join(map(repr, shape.unindexed))}: a row is "
            f"not found by words there. Make one that does, or name `text_search_fields`: "
            f"{create_index(shape, _sample(database, shape))}"
        )


def _sample(database: PostgresDatabase, shape: TableShape) -> str:
    own = [name for name in shape.search_fields if not any(name in dict(join.columns) for join in shape.joins)]
    columns = ", ".join(f"left({quoted(name)}::text, 500)" for name in own) or "''"
    table = ".".join(map(quoted, (shape.namespace, shape.relation)))
    with database.reading() as connection:
        rows = connection.execute(text(escaped(f"SELECT {columns} FROM {table} LIMIT 50"))).fetchall()
    return " ".join(str(value) for row in rows for value in row if value)


# Rows that PostgreSQL hands over for one search; BM25 over their texts chooses among them.
FETCHED = 64
# Rows that PostgreSQL ranks for one search, as far as the seeds let it choose; each costs it about two microseconds for
# each stem. In a trial on 100 000 rows more of them found nothing better.
RANKED_ROWS = 3_000
# Of the rows of a narrow filter. In a trial with 2 % of 100 000 rows the best three rows of each question stayed the
# same, and a question took 8 in place of 11.5 ms.
LEAST_RANKED_ROWS = 300
# Of a longer text only the beginning is ranked, so that a table of books does not stop a turn.
RANKED_CHARS = 20_000
MOST_KEPT_ROWS = 20_000
# A table that was never analysed may have any number of rows; to count so many takes a tenth of a second.
MOST_UNKNOWN_ROWS = 1_000_000
_SAMPLED_ROWS = 300
_KEPT_COUNTS = 256


@dataclass(frozen=True)
class _Row:
    """A row as PostgreSQL gave it, and its cosine where vectors are compared."""

    values: Mapping[str, Any]
    cosine: float | None


class NativeEngine(SqlEngine):
    """Finds rows with the database's own full-text index; their order is that of the other engines.

    Args:
        named: the name and the type of the source.
        database: the user's database.
        wanted: what the configuration says of the tables.
        max_tables: the most tables that one question searches.
        options: what only a server's source can be told.
    """

    def __init__(
        self,
        named: tuple[str, str],
        database: PostgresDatabase,
        wanted: Wanted,
        *,
        max_tables: int,
        options: PostgresOptions,
    ) -> None:
        super().__init__(named, database, wanted, max_tables=max_tables)
        self._server = database
        self._options = options
        self._lexemes: dict[str, Lexemes] = {}
        self._lengths: dict[tuple[str, Version | None], float] = {}
        self._counts: Latest[Any, int] = Latest(_KEPT_COUNTS)
        self._state = threading.Lock()

    def refresh(self) -> None:
        """Look at the tables."""
        self._checked()

    def _checked(self) -> Tables:
        tables = super()._checked()
        field = self._options.vector_field
        for shape in tables.shapes:
            if field and field not in shape.vector_fields:
                told = f"'{shape.name}' has no column '{field}' of the type vector any more."
                raise SchemaChanged(f"The source '{self._name}': {told}", field=field)
        without = next((one.name for one in tables.shapes if not self._options.is_served(one, self._wanted)), None)
        if without is not None:
            raise EngineUnfit(f"The source '{self._name}': '{without}' has no full-text index of its text any more.")
        return tables

    def advice(self) -> list[str]:
        """What the owner of the database should change."""
        return list(advice(self._server, self._wanted, native=True))

    def _routed_names(self, tables: Tables, question: str, limit: int) -> list[str]:
        with self._server.reading() as connection:
            return [shape.name for shape in self._routed_shapes(connection, tables, question)][:limit]

    def _routed_shapes(self, connection: Connection, tables: Tables, question: str) -> list[TableShape]:
        found = {}
        for shape in tables.shapes:
            df = {term.stem: term.df for term in self._terms(connection, shape, question, tables)}
            found[shape.name] = TableWords(df, header_stems(shape), self._rows(connection, shape, tables))
        order = route_tables(found, dict.fromkeys(stem for one in found.values() for stem in one.df))
        by_name = {shape.name: shape for shape in tables.shapes}
        return [by_name[name] for name in order]

    def _search(self, tables: Tables, asked: Asked) -> tuple[list[TableShape], list[SourceResult]]:
        todo = "".join(f" Its index may be missing: {create_index(shape)}" for shape in tables.shapes[:1])
        with self._server.reading(todo) as connection:
            searched = tables.shapes
            if len(searched) > 1:
                searched = self._routed_shapes(connection, tables, asked.text)
                searched = [shape for shape in searched if may_match(shape, asked.filters)][: self._max_tables]
            pools = [self._pool(connection, place, shape, tables, asked) for place, shape in enumerate(searched)]
        best = rank(pools, threshold=asked.least, top_k=asked.top_k)
        return searched, [self._result(*one.payload, relevance=one.relevance, score=one.score) for one in best]

    def _pool(self, connection: Connection, place: int, shape: TableShape, tables: Tables, asked: Asked) -> Pool:
        """What may be found in one table, which is searched as number `place`."""
        terms = self._terms(connection, shape, asked.text, tables)
        question = replace(self._question(connection, shape, tables, terms), names=code_name_stems(asked.text))
        scorer = Scorer(question, ROWS)
        near = Near(self._options.vector_field, asked.vector) if asked.vector else None
        kept = self._kept(connection, shape, tables, asked.filters) if asked.filters else None
        if kept == 0:
            return Pool([])

        def look(seeds: Sequence[str]) -> list[Passage]:
            rows = self._candidates(connection, shape, terms, question, seeds, asked, near)
            return [_passage(scorer, (place, number), shape, row) for number, row in enumerate(rows)]

        passages: Sequence[Passage] = []
        if question.df:
            seeds = seeds_of(question, kept, _worth_ranking(kept))
            passages = by_seeds(question, seeds, look, top_k=asked.top_k)
        if near is None:
            return Pool(passages)
        # Each row once.
        found = {row_key(*one.payload): one for one in passages}
        for number, row in enumerate(self._nearest(connection, shape, near, asked, kept), len(passages)):
            if (key := row_key(shape, row.values)) not in found:
                found[key] = _passage(scorer, (place, number), shape, row)
        average = self._average(connection, shape, tables, near)
        return Pool(list(found.values()), average, self._options.vector_weight)

    def _average(self, connection: Connection, shape: TableShape, tables: Tables, near: Near) -> float:
        """The mean cosine of rows of a table; 0 where none has a vector, which is told."""
        average: float | None = connection.execute(average_statement(shape, near, _SAMPLED_ROWS)).scalar_one()
        if average is None and self._rows(connection, shape, tables):
            degraded(self._name, "vectors", f"no row of '{shape.name}' has one in '{near.field}'")
        return average or 0.0

    def _question(self, connection: Connection, shape: TableShape, tables: Tables, terms: Sequence[Term]) -> Question:
        # The order is that of the question, which tells neighbouring words.
        df = {term.stem: term.df for term in sorted(terms, key=lambda term: (term.df, term.stem)) if term.df}
        # What is known of the rows may be older than what is known of the words.
        rows = max(self._rows(connection, shape, tables), 1, *df.values())
        return Question([term.stem for term in terms], df, rows, self._length(connection, shape, tables))

    def _nearest(
        self, connection: Connection, shape: TableShape, near: Near, asked: Asked, kept: int | None
    ) -> list[_Row]:
        """The rows with the nearest vectors, of which the filters keep `kept`. No index of pgvector may lose one that
        they keep: of few all are compared, and of many where the index gives too few."""
        limit = max(FETCHED, 2 * asked.top_k)

        def nearest(*, exact: bool) -> list[_Row]:
            statement = nearest_statement(shape, near, asked.filters, limit, exact=exact)
            return [_read_near(shape, row, near) for row in connection.execute(statement)]

        if kept is None:
            return nearest(exact=False)
        if kept < MOST_KEPT_ROWS:
            return nearest(exact=True)
        connection.execute(look_further(limit))
        found = nearest(exact=False)
        return found if len(found) == limit else nearest(exact=True)

    def _candidates(
        self,
        connection: Connection,
        shape: TableShape,
        terms: Sequence[Term],
        question: Question,
        seeds: Sequence[str],
        asked: Asked,
        near: Near | None,
    ) -> list[_Row]:
        by_stem = {term.stem: term for term in terms}
        words = [
            Weighted(by_stem[name].query, by_stem[name].beginning, idf(question.texts, df))
            for name, df in question.df.items()
        ]
        statement = candidates_statement(
            shape, words, [by_stem[name].query for name in seeds], asked.filters, max(FETCHED, 2 * asked.top_k), near
        )
        return [_read_near(shape, row, near) for row in connection.execute(statement)]

    def _terms(self, connection: Connection, shape: TableShape, question: str, tables: Tables) -> list[Term]:
        with self._state:
            config = self._options.text_config or shape.text_config
            lexemes = self._lexemes.setdefault(f"{shape.name} {config}", Lexemes(config))
        rows = self._rows(connection, shape, tables)
        return lexemes.terms(connection, shape, question, rows, tables.version)

    def _rows(self, connection: Connection, shape: TableShape, tables: Tables) -> int:
        """About how many rows the table has; counted, as far as it is worth, if it is small or was never analysed."""
        if shape.estimated_rows > MOST_KEPT_ROWS:
            return shape.estimated_rows
        return self._counted(connection, shape, tables, {}, MOST_UNKNOWN_ROWS)

    def _kept(self, connection: Connection, shape: TableShape, tables: Tables, filters: Mapping[str, Any]) -> int:
        """How many rows the filters keep, as far as it is worth counting."""
        return self._counted(connection, shape, tables, filters, MOST_KEPT_ROWS)

    def _counted(
        self, connection: Connection, shape: TableShape, tables: Tables, filters: Mapping[str, Any], most: int
    ) -> int:
        key = (shape.name, json.dumps(dict(filters), sort_keys=True), tables.version)

        def counted() -> int:
            inner: Any = select(literal_column("1").label("one")).select_from(from_clause(shape))
            inner = inner.where(self._server.condition(shape, filters)).limit(most)
            return int(connection.execute(select(func.count()).select_from(inner.subquery())).scalar_one())

        # Where there is none the first row may come any time, and would not be searched for.
        return self._counts.get_or_make(key, counted, keep=bool)

    def _length(self, connection: Connection, shape: TableShape, tables: Tables) -> float:
        """The mean number of stems of a row, from a sample; that of a table with fewer rows counts for one version."""
        lasting, passing = (shape.name, None), (shape.name, tables.version)
        with self._state:
            known = self._lengths.get(lasting) or self._lengths.get(passing)
        if known:
            return known
        sample = connection.execute(some_rows(shape, _SAMPLED_ROWS)).fetchall()
        lengths = [sum(map(len, row_stems(shape, _read(shape, row), RANKED_CHARS))) for row in sample]
        found = sum(lengths) / len(lengths) if lengths else 0.0
        with self._state:
            for key in [key for key in self._lengths if key[0] == shape.name]:
                del self._lengths[key]
            self._lengths[lasting if len(sample) == _SAMPLED_ROWS else passing] = found
        return found


def _worth_ranking(kept: int | None) -> int:
    """How many rows are ranked. Of those that a narrow filter keeps, the ones with the rarer words are enough, as they
    are without: PostgreSQL looks up a common word in the whole table, however few of its rows are kept."""
    return RANKED_ROWS if kept is None else min(RANKED_ROWS, max(LEAST_RANKED_ROWS, kept // 8))


def _read(shape: TableShape, row: Any) -> dict[str, Any]:
    values = read_row(shape, row)
    if not shape.primary_key:
        told = json.dumps(values, sort_keys=True, ensure_ascii=False, default=str)
        values[KEY] = hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return values


def _passage(scorer: Scorer, key: tuple[int, int], shape: TableShape, row: _Row) -> Passage:
    return scorer.passage(key, *row_stems(shape, row.values, RANKED_CHARS), row.cosine, (shape, row.values))


def _read_near(shape: TableShape, row: Any, near: Near | None) -> _Row:
    if near is None:
        return _Row(_read(shape, row), None)
    *values, cosine = row
    return _Row(_read(shape, values), cosine)
