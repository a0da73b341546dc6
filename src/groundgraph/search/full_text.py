"""Contentless FTS5 indexes over stems, kept beside the stems themselves: what the base and the index of rows share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundgraph.search.scorer import MAX_STEMS, Question


def any_of(stems: Iterable[str]) -> str:
    """The text query for one of `stems`: of letters and digits only, so that quoting makes every question legal."""
    return " OR ".join(f'"{stem}"' for stem in stems)


def best_rows(
    index: str,
    question: Question,
    seeds: Sequence[str],
    conditions: Mapping[str, Mapping[str, Any]],
    *,
    above_weight: int,
    limit: int,
) -> tuple[str, dict[str, Any]]:
    """A statement, with its values, that selects `id` of the best rows of `index` by its BM25.

    Args:
        index: an FTS5 table of two columns, the body and what stands above it.
        question: the stems that order.
        seeds: those of which a row holds one.
        conditions: SQL on `rowid`, each with its values.
        above_weight: what a word above counts.
        limit: the most rows.
    """
    asked = list(question.df)[:MAX_STEMS]
    values: dict[str, Any] = {"stems": any_of(asked), "above_weight": above_weight, "limit": limit}
    holding = [f"{index} MATCH :stems"]
    # The unary plus keeps SQLite from searching the index once for each row number.
    if len(seeds) < len(asked):
        holding.append(f"+rowid IN (SELECT rowid FROM {index} WHERE {index} MATCH :seeds)")
        values["seeds"] = any_of(seeds)
    for condition, given in conditions.items():
        holding.append(condition)
        values |= given
    statement = (
        f"SELECT rowid AS id, bm25({index}, 1.0, :above_weight) AS score FROM {index} "
        f"WHERE {' AND '.join(holding)} ORDER BY score, id LIMIT :limit"
    )
    return statement, values


def add_frequencies(connection: sqlite3.Connection, key: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Add to `df` of the table `terms`; what is in no text any more is taken out.

    Args:
        connection: within a transaction.
        key: the columns of its primary key.
        rows: values of `key`, each with how many texts more hold it, less when negative.
    """
    columns, places = ", ".join(key), ", ".join("?" * len(key))
    connection.executemany(
        f"INSERT INTO terms ({columns}, df) VALUES ({places}, ?) "
        f"ON CONFLICT ({columns}) DO UPDATE SET df = df + excluded.df",
        rows,
    )
    same = " AND ".join(f"{column} = ?" for column in key)
    gone = [row[:-1] for row in rows if row[-1] < 0]
    connection.executemany(f"DELETE FROM terms WHERE {same} AND df <= 0", gone)
