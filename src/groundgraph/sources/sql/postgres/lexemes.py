"""The words of a question as PostgreSQL's index has them, and in how many rows each is."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from sqlalchemy import Connection, func, literal_column, select, text

from groundgraph.core.latest import Latest
from groundgraph.core.text import WORD, stem, stop_words, words
from groundgraph.sources.sql.from_clause import from_clause
from groundgraph.sources.sql.postgres.search_statement import tsquery
from groundgraph.sources.sql.shape import TableShape

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
    """By stem, the words of `question` in the spellings that an index may have: ours, and the one that was written.

    Ours is folded (`cafe` for `café`, `е` for `ё`), which PostgreSQL does not do. Stop words are left out, unless
    there is nothing else.
    """
    skip = stop_words()
    found: dict[str, list[str]] = {}
    common: dict[str, list[str]] = {}
    for written in WORD.findall(unicodedata.normalize("NFKC", question).casefold()):
        for word in words(written):
            forms = (common if word in skip else found).setdefault(stem(word), [])
            forms += [form for form in (word, written) if form not in forms]
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
        queries = self._looked_up(connection, [word for group in forms.values() for word in group])
        with self._guard:
            if version != self._version:
                self._version, self._common = version, None
                self._counted.clear()
        kept = {key: group for key, group in forms.items() if any(queries[form] != "" for form in group)}
        asked = {key: list(dict.fromkeys(filter(None, map(queries.get, group)))) for key, group in kept.items()}
        frequencies = self._frequencies(connection, shape, [one for group in asked.values() for one in group], rows)
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
        known: dict[str, str | None] = {form: None for form in forms if not _fits(form, connection)}
        kept = {form: self._queries.get(form) for form in forms if form not in known}
        known |= {form: query for form, query in kept.items() if query is not None}
        unknown = [form for form in dict.fromkeys(forms) if form not in known]
        if unknown:
            config = self._config or connection.execute(text("SHOW default_text_search_config")).scalar_one()
            for word, query in connection.execute(_TO_LEXEMES, {"config": config, "words": unknown}):
                known[word] = query
        for form in unknown:
            if (query := known.get(form)) is not None:
                self._queries.put(form, query)
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
        if unknown:
            counts = connection.execute(_counts(shape, unknown)).one()
            found |= dict(zip(unknown, counts, strict=True))
        for query in unknown:
            # A word that no row has yet may come any time, and would never be searched for.
            if found[query]:
                self._counted.put(query, found[query])
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


def _common_beginning(stemmed: str, written: str) -> str:
    same = (left == right for left, right in zip(stemmed, written, strict=False))
    return stemmed[: sum(takewhile(bool, same))] or stemmed
