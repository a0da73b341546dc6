"""The words of a question as PostgreSQL's index has them, and in how many rows each is."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
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
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from groundgraph.core.latest import Latest
from groundgraph.sources.sql.postgres.conditions import where
from groundgraph.sources.sql.postgres.introspect import selected
from groundgraph.sources.sql.shape import TableShape
from groundgraph.sources.sql.sql_dialect import TEXT_INDEX, from_clause
from groundgraph.text.words import WORD, normalized, spelled_forms, stem, stop_words, words

# The statement that finds the candidates for a question with PostgreSQL's full-text index.
#
# The question goes in as OR over its stems. Only rows with one of the rarer stems (the seeds) are ranked, as
# everywhere in groundgraph. PostgreSQL's own rank knows nothing of how rare a word is, so each stem is ranked alone
# and weighted by its idf: close enough to BM25 that the best few dozen hold the best by BM25, which is computed from
# their texts. Where the index is over an expression and no column holds the `tsvector`, ranking would make it anew for
# each row, which takes a hundred times as long; there the rows are ranked by which of the words' beginnings their text
# has.

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


def nearest_statement(
    shape: TableShape, near: Near, filters: Mapping[str, Any], limit: int, *, exact: bool = False
) -> Any:
    """Selects the columns and the cosine of the rows whose vectors are nearest.

    An index of pgvector serves it, unless it is to be `exact`: such an index gives the rows that are about nearest of
    the whole table, and those that `filters` keep may be none of them.
    """
    known = column(near.field).is_not(None)
    # No index serves the order of a sum.
    order = near.distance() + literal(0.0, Float(53)) if exact else near.distance()
    return _rows(shape, near).where(known, where(shape, filters)).order_by(order).limit(limit)


# pgvector's largest.
_MOST_LOOKED_AT = 1_000


def look_further(limit: int) -> Any:
    """Has an HNSW index give `limit` rows, which are 40 by default, until the transaction ends; what the owner of the
    database set is never lessened."""
    now = func.coalesce(func.nullif(func.current_setting("hnsw.ef_search", True), ""), "0")
    most = func.greatest(cast(now, Integer), min(limit, _MOST_LOOKED_AT))
    return select(func.set_config("hnsw.ef_search", cast(most, String), True))


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


# A word in more rows than this is common enough; counting further would cost more than it tells.
MOST_COUNTED = 20_000
MAX_STEMS = 64
_KEPT = 20_000

_TO_LEXEMES = text(
    "SELECT word, plainto_tsquery(CAST(CAST(:config AS text) AS regconfig), word)::text "
    "FROM unnest(CAST(:words AS text[])) AS word"
)
_COMMON = text(
    "SELECT elem, freq FROM pg_stats s, "
    "unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) AS common (elem, freq) "
    "WHERE s.schemaname = :space AND s.tablename = ANY (CAST(:tables AS text[])) AND elem IS NOT NULL"
)
_INDEXES = text(
    "SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :space AND c.relname = :name"
)


@dataclass(frozen=True)
class Term:
    """One stem of a question.

    Attributes:
        stem: as in `core.text`.
        query: the text of a `tsquery` for it.
        df: in about how many rows it is.
        beginning: what the stem and the word that was written have in common: `happ` of `happy`, whose stem is `happi`.
    """

    stem: str
    query: str
    df: int
    beginning: str = ""


def spellings(question: str) -> dict[str, list[str]]:
    """By stem, the words of `question` in the spellings that an index may have: ours, and, the last, the one that was
    written.

    Ours is folded (`cafe` for `café`, `е` for `ё`), which PostgreSQL does not do, and in a database of the locale C it
    leaves the capitals of other letters than a to z as they are; elsewhere they are the same word to it. Stop words are
    left out, unless there is nothing else.
    """
    skip = stop_words()
    found: dict[str, list[str]] = {}
    common: dict[str, list[str]] = {}
    for written in WORD.findall(normalized("NFKC", question).casefold()):
        # Once, and none twice: a text without spaces is one such, and has as many words as letters.
        upper = () if written.isascii() else dict.fromkeys((written.capitalize(), written.upper()))
        capitals = [form for form in upper if form != written]
        for word in words(written):
            forms = (common if word in skip else found).setdefault(stem(word), [])
            told = (*spelled_forms(word)[1:], *capitals, word, written)
            forms += [form for form in dict.fromkeys(told) if form not in forms]
    return found or common


class Lexemes:
    """What is known of the words of one table's index. Its methods block."""

    def __init__(self, config: str) -> None:
        self._config = config
        self._queries: Latest[str, str] = Latest(_KEPT)
        self._counted: Latest[str, int] = Latest(_KEPT)
        self._common: Mapping[str, float] | None = None
        self._version: Any = None
        self._guard = threading.Lock()

    def terms(self, connection: Connection, shape: TableShape, question: str, rows: int, version: Any) -> list[Term]:
        """The stems of `question` that PostgreSQL's rules keep, in order.

        How common a word is comes from the statistics that ANALYZE gathers; rarer ones are counted in the index.
        What was counted is kept until `version` changes.
        """
        forms = dict(list(spellings(question).items())[:MAX_STEMS])
        queries = self._looked_up(connection, list(chain.from_iterable(forms.values())))
        with self._guard:
            if version != self._version:
                self._version, self._common = version, None
                self._counted.clear()
        asked = {
            key: list(dict.fromkeys(filter(None, map(queries.get, group))))
            for key, group in forms.items()
            if any(queries[form] != "" for form in group)
        }
        frequencies = self._frequencies(connection, shape, list(chain.from_iterable(asked.values())), rows)
        return [
            Term(
                key,
                " | ".join(f"({one})" for one in group),
                sum(frequencies[one] for one in group),
                _common_beginning(key, forms[key][-1]),
            )
            for key, group in asked.items()
        ]

    def _looked_up(self, connection: Connection, forms: Sequence[str]) -> dict[str, str | None]:
        """By word its query, empty for one that the rules leave out; None for one that no row can hold."""
        fitting = [form for form in dict.fromkeys(forms) if _fits(form, connection)]
        known = {**dict.fromkeys(forms), **{form: self._queries.get(form) for form in fitting}}
        unknown = [form for form in fitting if known[form] is None]
        if unknown:
            config = self._config or connection.execute(text("SHOW default_text_search_config")).scalar_one()
            for word, query in connection.execute(_TO_LEXEMES, {"config": config, "words": unknown}):
                known[word] = query
                self._queries.put(word, query)
        return known

    def _frequencies(
        self, connection: Connection, shape: TableShape, queries: Sequence[str], rows: int
    ) -> dict[str, int]:
        common = self._common_words(connection, shape)
        found = {query: count for query in queries if (count := self._counted.get(query))}
        for query in queries:
            if query not in found and query.strip("'") in common:
                found[query] = max(1, round(common[query.strip("'")] * rows))
        unknown = [query for query in dict.fromkeys(queries) if query not in found]
        return found | (self._count(connection, shape, unknown) if unknown else {})

    def _count(self, connection: Connection, shape: TableShape, queries: Sequence[str]) -> dict[str, int]:
        counts = connection.execute(_counts(shape, queries)).one()
        found = dict(zip(queries, counts, strict=True))
        for query, count in found.items():
            # A word that no row has yet may come any time, and would never be searched for.
            if count:
                self._counted.put(query, count)
        return found

    def _common_words(self, connection: Connection, shape: TableShape) -> Mapping[str, float]:
        common = self._common
        if common is None:
            place = {"space": shape.namespace, "name": shape.relation}
            # The statistics of an index over an expression stand under the name of the index.
            names = [shape.relation, *(row[0] for row in connection.execute(_INDEXES, place))]
            given = {"space": shape.namespace, "tables": names}
            common = self._common = {row[0]: float(row[1]) for row in connection.execute(_COMMON, given)}
        return common


def _counts(shape: TableShape, queries: Sequence[str]) -> Any:
    """One statement that counts the rows of each query, as far as `MOST_COUNTED`."""
    alone = TableShape(shape.name, shape.columns, (), "", None, (), namespace=shape.namespace, relation=shape.relation)
    parts = []
    for query in queries:
        index: Any = literal_column(shape.text_index)
        limited = (
            select(literal_column("1").label("one"))
            .select_from(from_clause(alone))
            .where(index.op("@@", is_comparison=True)(tsquery(query)))
            .limit(MOST_COUNTED)
            .subquery()
        )
        parts.append(select(func.count()).select_from(limited).scalar_subquery())
    return select(*parts)


def _fits(word: str, connection: Connection) -> bool:
    """Whether the encoding of the database, such as LATIN1, has all letters of `word`."""
    driver: Any = connection.connection.driver_connection
    try:
        word.encode(driver.info.encoding)
    except UnicodeEncodeError:
        return False
    return True


# With fewer letters very many words begin.
_BEGINNING = 3


def _common_beginning(stemmed: str, written: str) -> str:
    same = sum(takewhile(bool, (left == right for left, right in zip(stemmed, written, strict=False))))
    return stemmed[:same] if same >= _BEGINNING else stemmed
