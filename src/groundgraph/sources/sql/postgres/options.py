"""What only a source on a PostgreSQL server can be told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundgraph.search.rank import query_vector, wants_vector
from groundgraph.sources.check_options import is_number, is_whole
from groundgraph.sources.sql.shape import TableShape, Wanted
from groundgraph.text.words import detect_language, language_data

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder


# The statement that gives a table a full-text index of PostgreSQL's own.


def text_search_of(sample: str) -> str:
    """How PostgreSQL calls its text search of the language of `sample`: as Snowball calls the stemmer."""
    return str(language_data(detect_language(sample), "stemmer"))


def create_index(shape: TableShape, sample: str = "") -> str:
    """The statement that gives `shape` a full-text index; `sample` is some of its text, which tells the language.

    PostgreSQL's rules for Russian treat words in Latin letters as English, so they serve texts of both languages.
    """
    config = text_search_of(sample)
    texts = {item.name for item in shape.own_columns if item.stored_as == "string"}
    fields = [f"coalesce({quoted(name)}, '')" for name in shape.search_fields if name in texts]
    columns = " || ' ' || ".join(fields) or "''"
    table = ".".join(quoted(part) for part in (shape.namespace, shape.relation) if part)
    return f"CREATE INDEX ON {table} USING gin (to_tsvector('{config}', {columns}));"


def quoted(name: str) -> str:
    """`name` as PostgreSQL reads it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


_LONGEST = 2_147_483
TEXT_INDEXES = ("auto", "database", "own")


@dataclass(frozen=True)
class PostgresOptions:
    """The options of a source on a server.

    Attributes:
        text_index: `database` searches with the full-text index of the database and refuses a table without one;
            `own` keeps an index in a file here, as for SQLite; `auto` takes the database's when every table has one
            that holds its text.
        text_config: the language rules of the index, such as `english`, where they cannot be read off it.
        pool_size: the most connections at once.
        statement_timeout: seconds after which the server ends a statement.
        vector_field: a column of the type `vector` (pgvector) to search by meaning as well.
        vector_weight: the share of nearness in the order of the rows, 0 to 1.
        embedder: makes the vectors of questions; without one `vector_field` is not used.
    """

    text_index: str = "auto"
    text_config: str = ""
    pool_size: int = 5
    statement_timeout: float = 10.0
    vector_field: str = ""
    vector_weight: float = 0.5
    embedder: Embedder | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], embedder: Embedder | None = None) -> PostgresOptions:
        """The options among `given` that are set."""
        own = {name: value for name, value in given.items() if name in OPTIONS and value is not None}
        return cls(**own, embedder=embedder)

    def is_served(self, shape: TableShape, wanted: Wanted) -> bool:
        """Whether the index of the database is the one to search. One that does not hold the text of the rows, or a
        column that the configuration names, would find nothing of that without a sign."""
        if not shape.text_index or self.text_index == "database" or self.vector_field:
            return bool(shape.text_index)
        return {shape.content_field, *wanted.search_fields}.isdisjoint(shape.unindexed)

    def problems(self) -> list[tuple[str, str]]:
        """What is wrong, as the name of the option and the reason."""
        found = []
        if self.text_index not in TEXT_INDEXES:
            found.append(("text_index", f"'{self.text_index}' is none of {', '.join(TEXT_INDEXES)}"))
        if not is_whole(self.pool_size) or self.pool_size < 2:
            found.append(("pool_size", "must be a number, 2 or more"))
        # PostgreSQL takes whole milliseconds in four bytes, and 0 for no limit at all.
        if not is_number(self.statement_timeout) or not 0.001 <= self.statement_timeout <= _LONGEST:
            found.append(("statement_timeout", f"must be a number of seconds above 0, 0.001 to {_LONGEST}"))
        if not is_number(self.vector_weight) or not 0 <= self.vector_weight <= 1:
            found.append(("vector_weight", "must be from 0 to 1"))
        return found


OPTIONS = ("text_index", "text_config", "pool_size", "statement_timeout", "vector_field", "vector_weight")


# The vectors of questions to a table with a column of vectors.


async def question_vectors(options: PostgresOptions, texts: Sequence[str], source: str) -> dict[str, list[float]]:
    """By text its unit vector; none for a text in a language that the model does not know.

    Where the model fails, which is told as a degradation of `source`, the words are searched alone.
    """
    embedder = options.embedder
    if embedder is None or not options.vector_field:
        return {}
    wanted = [text for text in dict.fromkeys(texts) if wants_vector(embedder, text)]
    made = await asyncio.gather(*(query_vector(embedder, text, source) for text in wanted))
    pairs = zip(wanted, made, strict=True)
    return {text: [float(value) for value in vector] for text, vector in pairs if vector is not None}
