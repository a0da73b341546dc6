"""The statement that finds the candidates for a question with PostgreSQL's full-text index.

The question goes in as OR over its stems. Only rows with one of the rarer stems (the seeds) are ranked, as everywhere
in groundgraph. PostgreSQL's own rank knows nothing of how rare a word is, so each stem is ranked alone and weighted
by its idf: close enough to BM25 that the best few dozen hold the best by BM25, which is computed from their texts.
Where the index is over an expression and no column holds the `tsvector`, ranking would make it anew for each row, which
takes a hundred times as long; there the rows are ranked by which of the words' beginnings their text has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    String,
    bindparam,
    case,
    cast,
    collate,
    column,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from groundgraph.sources.sql.from_clause import TEXT_INDEX, from_clause
from groundgraph.sources.sql.postgres.conditions import where
from groundgraph.sources.sql.postgres.values import selected
from groundgraph.sources.sql.shape import TableShape

_TEXT = "groundgraph_words"
# Characters of a row in which the beginnings of words are looked for.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class Weighted:
    """A word of a question.

    Attributes:
        query: the text of a `tsquery` for it.
        beginning: what all of its forms begin with, as far as the stem tells.
        weight: its idf.
    """

    query: str
    beginning: str
    weight: float


@dataclass(frozen=True)
class Near:
    """The vector of a question, and the column of vectors that it is compared with."""

    field: str
    vector: Sequence[float]

    def distance(self) -> ColumnElement[Any]:
        """The SQL of the cosine distance, 0 to 2."""
        written = "[" + ",".join(map(repr, self.vector)) + "]"
        return column(self.field).op("<=>")(literal(written, String).op("::")(literal_column("vector")))

    def cosine(self) -> ColumnElement[Any]:
        """The SQL of the cosine; NULL for a row without a vector."""
        return literal(1.0, Float(53)) - self.distance()


def tsquery(query: str) -> ColumnElement[Any]:
    """A bound text as a `tsquery`."""
    return cast(literal(query, String), TSQUERY)


def candidates_statement(
    shape: TableShape,
    words: Sequence[Weighted],
    seeds: Sequence[str],
    filters: Mapping[str, Any],
    limit: int,
    near: Near | None = None,
) -> Any:
    """Selects the columns of `shape` of at most `limit` rows, the likeliest first.

    Args:
        shape: the table, with its text index.
        words: the words of the question.
        seeds: those of their queries one of which a row must satisfy.
        filters: checked conditions.
        limit: the most rows.
        near: when given, the cosine of each row is selected behind its columns.
    """
    index = text_index(shape)
    found = _rows(shape, near)
    found = found.where(index.op("@@", is_comparison=True)(tsquery(" | ".join(f"({seed})" for seed in seeds))))
    found = found.where(where(shape, filters))
    if is_stored(shape):
        return found.order_by(_rank(index, words).desc(), *_tie_breakers(shape)).limit(bindparam("most", limit))
    return _by_beginnings(shape, found, words, limit)


def is_stored(shape: TableShape) -> bool:
    """Whether a column holds what the index is over."""
    return "(" not in shape.text_index


def _rank(index: ColumnElement[Any], words: Sequence[Weighted]) -> ColumnElement[Any]:
    score: ColumnElement[Any] = literal(0.0, Float(53))
    for word in words:
        score = score + func.ts_rank(index, tsquery(word.query)) * literal(word.weight, Float(53))
    return score


def _by_beginnings(shape: TableShape, found: Any, words: Sequence[Weighted], limit: int) -> Any:
    """The same, by the beginnings of words in the text itself."""
    fields = [selected(item) for item in shape.columns if item.name in shape.search_fields]
    text = func.lower(func.left(collate(func.concat_ws(" ", *fields), "default"), _LOOKED_AT)).label(_TEXT)
    ties = [tie.label(f"tie{number}") for number, tie in enumerate(_tie_breakers(shape))]
    # OFFSET keeps PostgreSQL from making the text again for each word.
    inner = found.add_columns(text, *ties).offset(0).subquery("found")
    score: ColumnElement[Any] = literal(0.0, Float(53))
    for word in words:
        held = func.strpos(inner.c[_TEXT], literal(word.beginning, String)) > 0
        score = score + case((held, literal(word.weight, Float(53))), else_=literal(0.0, Float(53)))
    kept = [item for item in inner.c if item.name != _TEXT and not item.name.startswith("tie")]
    order = [item for item in inner.c if item.name.startswith("tie")]
    return select(*kept).order_by(score.desc(), *order).limit(bindparam("most", limit))


def some_rows(shape: TableShape, limit: int) -> Any:
    """Selects the columns of `shape` of the first `limit` rows by the key."""
    return _rows(shape).order_by(*(column(name) for name in shape.primary_key)).limit(limit)


def nearest_statement(shape: TableShape, near: Near, filters: Mapping[str, Any], limit: int) -> Any:
    """Selects the columns and the cosine of the rows whose vectors are nearest; an index of pgvector serves it."""
    known = column(near.field).is_not(None)
    return _rows(shape, near).where(known, where(shape, filters)).order_by(near.distance()).limit(limit)


def average_statement(shape: TableShape, near: Near, sample: int) -> Any:
    """Selects the mean cosine of some rows: what a row gets that has nothing to do with the question."""
    some = select(near.cosine().label("cosine")).select_from(from_clause(shape))
    some = some.where(column(near.field).is_not(None)).limit(sample)
    return select(func.avg(some.subquery().c.cosine))


def _rows(shape: TableShape, near: Near | None = None) -> Any:
    columns: list[Any] = [selected(item).label(f"c{number}") for number, item in enumerate(shape.columns)]
    if near is not None:
        columns.append(near.cosine().label("cosine"))
    return select(*columns).select_from(from_clause(shape))


def text_index(shape: TableShape) -> ColumnElement[Any]:
    """The expression that the full-text index holds, as the statement can name it."""
    if shape.joins:
        return column(TEXT_INDEX)
    return literal_column(shape.text_index)


def _tie_breakers(shape: TableShape) -> list[ColumnElement[Any]]:
    """What makes the order of equally good rows the same each time."""
    if shape.primary_key:
        return [column(name) for name in shape.primary_key]
    return [] if shape.joins else [literal_column("ctid")]
