"""Searching an FTS5 table that the user's database already has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, column, literal_column, select, text
from sqlalchemy import table as table_clause

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.text import query_stems, stop_words, words
from groundgraph.search.passage import Passage, Pool
from groundgraph.search.question import Question
from groundgraph.search.rank import RankedPassage, rank
from groundgraph.search.scorer import Scorer
from groundgraph.sources.sql.conditions import where
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.engine import Asked
from groundgraph.sources.sql.search_rows import CANDIDATES, ROWS
from groundgraph.sources.sql.shape import TableShape, row_stems

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
