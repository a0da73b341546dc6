"""Answering from a full-text index that groundgraph keeps itself, or from an FTS5 table of the database. It blocks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, column, literal_column, select, text
from sqlalchemy import table as table_clause

from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.latest import Latest
from groundgraph.search.rank import Passage, Pool, Question, RankedPassage, Scorer, rank
from groundgraph.search.word_index import Kept, Words, WordsOutdated, WordsUnusable
from groundgraph.sources.sql.any_database import AnyDatabase, Version
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.engine import Asked, Filters, SqlEngine, Tables
from groundgraph.sources.sql.introspect import ROWID_BITS
from groundgraph.sources.sql.keep_index import IndexKeeper
from groundgraph.sources.sql.records import MemoryTable
from groundgraph.sources.sql.search_rows import CANDIDATES, ROWS, read_question, routed_slots, search_rows
from groundgraph.sources.sql.shape import TableShape, Wanted, row_stems
from groundgraph.sources.sql.sql_dialect import may_match, where
from groundgraph.text.words import query_stems, stop_words, words

# Searching an FTS5 table that the user's database already has.

_MOST_WORDS = 64


def search_user_fts(database: SqliteDatabase, shape: TableShape, fts: str, query: Asked) -> list[RankedPassage]:
    """The best rows for `query`, in the order of the table's BM25.

    The words go in as they are, since the tokenizer of the table is the user's. What it does to them (its stemming, if
    any) decides which rows are found; the relevance is by stems as everywhere.

    Raises:
        ConfigurationError: `shape` has no row numbers by which the text index could refer to its rows.
        SourceUnavailable: there is no such FTS5 table.
    """
    if not shape.rowid:
        raise ConfigurationError(
            f"The table '{shape.name}' has no row numbers, so the FTS5 table '{fts}' cannot name its rows."
        )
    skip = stop_words()
    asked = list(dict.fromkeys(word for word in words(query.text) if word not in skip)) or list(words(query.text))
    if not asked:
        return []
    with database.reading() as connection:
        quoted = connection.dialect.identifier_preparer.quote_identifier(fts)
        statement: Any = (
            select(literal_column("rowid"), literal_column(f"bm25({quoted})").label("score"))
            .select_from(table_clause(fts))
            .where(literal_column(quoted).op("MATCH")(bindparam("question")))
            .order_by(text("score"), literal_column("rowid"))
            .limit(max(CANDIDATES, query.top_k))
        )
        if query.filters:
            kept: Any = select(literal_column(shape.rowid)).select_from(
                table_clause(shape.name, *(column(item.name) for item in shape.columns))
            )
            # The unary plus keeps SQLite from searching the text index once for each row number.
            statement = statement.where(literal_column("+rowid").in_(kept.where(where(shape, query.filters))))
        match = " OR ".join(f'"{word}"' for word in asked[:_MOST_WORDS])
        found = {row[0]: -row[1] for row in connection.execute(statement, {"question": match})}
    passages = _passages(shape, query.text, found, database.fetch(shape, list(found), query.filters))
    return list(rank([Pool(passages)], threshold=query.least, top_k=query.top_k))


def _passages(
    shape: TableShape, question: str, scores: Mapping[Any, float], rows: Mapping[Any, Mapping[str, Any]]
) -> list[Passage]:
    # The order is the table's own, so that how common the stems are does not matter.
    scorer = Scorer(Question(query_stems(question), {}, 0, 0.0), ROWS)
    return [
        Passage((0, str(key)), scores[key], scorer.relevance(*row_stems(shape, values)), payload=key)
        for key, values in rows.items()
    ]


# How often a query looks for its index when another source takes the same file.
_TRIES = 5
_KEPT_FILTERS = 32


class IndexedEngine(SqlEngine):
    """Finds rows in an index of our own beside the database.

    Args:
        named: the name and the type of the source.
        database: the user's database.
        wanted: what the configuration says of the tables.
        keeper: keeps the index.
        max_tables: the most tables that one question searches.
        fts: an FTS5 table of the database that is searched instead.
        records: what the database was filled from, if it was.
        advice: tells what the owner of the database should change.
    """

    def __init__(
        self,
        named: tuple[str, str],
        database: AnyDatabase,
        wanted: Wanted,
        *,
        keeper: IndexKeeper,
        max_tables: int,
        fts: str | None = None,
        records: MemoryTable | None = None,
        advice: Callable[[], list[str]] | None = None,
    ) -> None:
        super().__init__(named, database, wanted, max_tables=max_tables)
        self._keeper = keeper
        self._fts = fts
        self._records = records
        self._advice = advice
        self._allowed: Latest[tuple[str, Version, int], Kept] = Latest(_KEPT_FILTERS)

    def refresh(self) -> None:
        """Bring the index up to date."""
        tables = self._checked()
        if self._fts is None:
            self._keeper.ensure(tables.version, tables.shapes, to_the_end=True)

    def advice(self) -> list[str]:
        """What the owner of the database should change."""
        return self._advice() if self._advice else []

    def _routed_names(self, tables: Tables, question: str, limit: int) -> list[str]:
        if self._fts is not None:
            return [shape.name for shape in tables.shapes][:limit]
        with self._ready_index(tables) as (index, _, _):
            names = dict(index.execute("SELECT slot, name FROM tables"))
            return [names[slot] for slot in routed_slots(index, read_question(index, question))[:limit]]

    def _search(self, tables: Tables, asked: Asked) -> tuple[list[TableShape], list[SourceResult]]:
        if self._fts is not None and isinstance(self._database, SqliteDatabase):
            shape = tables.shapes[0]
            hits = search_user_fts(self._database, shape, self._fts, asked)
            return [shape], self._results({0: shape}, hits, asked.filters, fresh=True)
        try:
            return self._search_index(tables, asked)
        except WordsUnusable:
            self._keeper.index.mend(anew=True)
            return self._search_index(tables, asked)

    def _search_index(self, tables: Tables, asked: Asked) -> tuple[list[TableShape], list[SourceResult]]:
        by_name = {shape.name: shape for shape in tables.shapes}
        with self._ready_index(tables) as (index, words, fresh):
            slots = {slot: by_name[name] for slot, name in index.execute("SELECT slot, name FROM tables")}
            question = read_question(index, asked.text)
            searched = list(slots)
            if len(slots) > 1:
                searched = self._fitting(index, slots, question, asked.filters)
            if not searched:
                return [], []
            allowed = self._allowed_rows(index, {slot: slots[slot] for slot in searched}, asked.filters, tables.version)
            narrowed = searched if len(searched) < len(slots) and allowed is None else ()
            hits = search_rows(
                index, words, question, slots=narrowed, allowed=allowed, top_k=asked.top_k, score_threshold=asked.least
            )
        return [slots[slot] for slot in searched], self._results(slots, hits, asked.filters, fresh=fresh)

    def _fitting(
        self, index: sqlite3.Connection, slots: Mapping[int, TableShape], question: Question, filters: Filters
    ) -> list[int]:
        """The slots of the tables that suit the question best and may hold what the filters ask for."""
        fitting = (slot for slot in routed_slots(index, question) if may_match(slots[slot], filters))
        return list(islice(fitting, self._max_tables))

    @contextmanager
    def _ready_index(self, tables: Tables) -> Iterator[tuple[sqlite3.Connection, Words, bool]]:
        """The index in one transaction with its full-text index, and whether it is up to date.

        Raises:
            SourceUnavailable: another source keeps building its own index in the same file.
        """
        for _ in range(_TRIES):
            fresh = self._keeper.ensure(tables.version, tables.shapes)
            with self._keeper.index.reading() as index:
                words = self._words(index)
                if words and self._keeper.is_for(index, tables.shapes):
                    yield index, words, fresh
                    return
            if words is None:
                self._keeper.index.mend()
        raise SourceUnavailable(
            f"The source '{self._name}': another source keeps its index in the same file. "
            "Give each a name of its own, or an `index` of its own."
        )

    def _words(self, index: sqlite3.Connection) -> Words | None:
        """The full-text index; None when it is behind or not there."""
        try:
            return self._keeper.index.words.at(index)
        except WordsOutdated:
            return None

    def _results(
        self, slots: Mapping[int, TableShape], ranked: Sequence[RankedPassage], filters: Filters, *, fresh: bool
    ) -> list[SourceResult]:
        keys: dict[int, list[Any]] = {}
        for one in ranked:
            keys.setdefault(one.key[0], []).append(one.payload)
        rows = {slot: self._database.fetch(slots[slot], wanted, filters) for slot, wanted in keys.items()}
        return [
            self._result(slots[slot], rows[slot][key], relevance=one.relevance, score=one.score, fresh=fresh)
            for one, slot, key in ((one, one.key[0], one.payload) for one in ranked)
            # A row that was deleted since the index saw it, or that the filters keep no more, is not there to be shown.
            if key in rows[slot]
        ]

    def _allowed_rows(
        self, index: sqlite3.Connection, slots: Mapping[int, TableShape], filters: Filters, version: Version
    ) -> Kept | None:
        """The index rows that the filters keep, remembered until database or index change; None without filters."""
        if not filters:
            return None
        # While an update runs, the index has not all of the rows that the database has in the same version.
        (changes,) = index.execute("SELECT changes FROM state").fetchone()
        key = (json.dumps([dict(filters), sorted(slots)], sort_keys=True), version, changes)

        def made() -> Kept:
            numbers = [
                number
                for slot, shape in slots.items()
                for number in _index_numbers(
                    index, slot, shape, self._database.keys(shape, filters, slot << ROWID_BITS)
                )
            ]
            return Kept((), numbers, len(numbers))

        return self._allowed.get_or_make(key, made)

    def close(self) -> None:
        """Close the database and its index."""
        self._keeper.close()
        super().close()
        if self._records is not None:
            self._records.close()


def _index_numbers(index: sqlite3.Connection, slot: int, shape: TableShape, keys: str) -> list[int]:
    """The numbers of the index rows with `keys`, a JSON array."""
    if shape.rowid:
        numbers: list[int] = json.loads(keys)
        return numbers
    found = index.execute(
        "SELECT number FROM rows WHERE number >= ? AND number < ? AND key IN (SELECT value FROM json_each(?))",
        (slot << ROWID_BITS, (slot + 1) << ROWID_BITS, keys),
    )
    return [number for (number,) in found]
