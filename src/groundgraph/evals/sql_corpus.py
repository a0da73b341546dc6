"""A corpus in a table of a SQL database, which a SQL source then searches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.evals.dataset import Corpus
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.sql.postgres.options import text_search_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

# The columns of the table. `document` is the name under which a result tells its passage.
DOCUMENT, BODY, VECTOR = "document", "body", "vector"
_ID_CHARS = 255
_INSERTED = 500


@dataclass(frozen=True)
class SqlCorpus:
    """Where a corpus is.

    Attributes:
        url: of the database, as for a SQL source.
        table: with a row for each passage.
        has_vectors: whether the table holds the vectors of the passages (pgvector).
    """

    url: str
    table: str
    has_vectors: bool = False

    def options(self) -> dict[str, Any]:
        """The options of a SQL source over it."""
        found: dict[str, Any] = {"url": self.url, "table": self.table, "index": ":memory:"}
        found |= {"content_field": BODY, "text_search_fields": [BODY]}
        return {**found, "vector_field": VECTOR} if self.has_vectors else found


async def corpus_in_sql(url: str, corpus: Corpus, folder: Path, embedder: Embedder | None = None) -> SqlCorpus:
    """Put `corpus` into a table of its own in the database at `url`, unless it is there.

    On PostgreSQL the table gets a full-text index, and with an `embedder` and pgvector the vectors of the passages;
    without pgvector, and on any other database, it is searched by words alone.

    Args:
        url: `postgresql://user@host/database`, or `sqlite:///file.db`.
        corpus: the passages.
        folder: that a relative path starts from.
        embedder: the embedding model.

    Raises:
        ConfigurationError: `url` names no such database.
        SourceUnavailable: the database does not answer, or refuses.
    """
    from groundgraph.sources.sql.location import Address, OtherAddress, ServerAddress, locate

    where = locate(url, folder, "--sql")
    if isinstance(where, OtherAddress):
        raise ConfigurationError([Problem("--sql", f"'{where.shown}' is neither on PostgreSQL nor a SQLite file")])
    on_server = isinstance(where, ServerAddress)
    address, shown = (where.url, where.shown) if isinstance(where, Address) else (f"sqlite:///{where}", str(where))
    with_vectors = on_server and embedder is not None and await run_blocking(_has_pgvector, address, shown)
    name = f"groundgraph_evaluate_{_key(corpus, embedder if with_vectors else None)}"
    vectors = await _vectors(corpus, embedder) if embedder and with_vectors else None
    await run_blocking(_write, address, shown, name, corpus, vectors)
    return SqlCorpus(url if isinstance(where, Address) else address, name, has_vectors=with_vectors)


def _key(corpus: Corpus, embedder: Embedder | None) -> str:
    parts = [corpus.digest, embedder.name if embedder else ""]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def _vectors(corpus: Corpus, embedder: Embedder) -> list[str]:
    """The vector of each passage, as pgvector reads it."""
    texts = [passage.text for passage in corpus.passages]
    size = embedder.batch_size
    batches = [await embedder.embed_texts(texts[start : start + size]) for start in range(0, len(texts), size)]
    return ["[" + ",".join(map(repr, map(float, row))) + "]" for rows in batches for row in rows]


@contextmanager
def _connected(address: str, shown: str) -> Iterator[Connection]:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    from groundgraph.sources.sql.portable.connect import typed_errors as typed_errors_of_files
    from groundgraph.sources.sql.postgres.connect import typed_errors as typed_errors_of_servers

    typed_errors = typed_errors_of_files if address.startswith("sqlite") else typed_errors_of_servers
    with typed_errors("--sql", shown), create_engine(address, poolclass=NullPool).connect() as connection:
        yield connection


def _has_pgvector(address: str, shown: str) -> bool:
    from sqlalchemy import text

    with _connected(address, shown) as connection:
        return bool(connection.execute(text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")).scalar())


def _write(address: str, shown: str, name: str, corpus: Corpus, vectors: list[str] | None) -> None:
    """Make the table in one transaction; a table with as many rows is this one, complete."""
    from sqlalchemy import Column, MetaData, String, Table, Text, func, inspect, select

    table = Table(name, MetaData(), Column(DOCUMENT, String(_ID_CHARS), primary_key=True), Column(BODY, Text))
    with _connected(address, shown) as connection:
        if inspect(connection).has_table(name):
            if connection.execute(select(func.count()).select_from(table)).scalar_one() == len(corpus.passages):
                return
            table.drop(connection)
        table.create(connection)
        rows = [{DOCUMENT: one.id, BODY: one.text.replace("\0", "")} for one in corpus.passages]
        for start in range(0, len(rows), _INSERTED):
            connection.execute(table.insert(), rows[start : start + _INSERTED])
        if connection.dialect.name == "postgresql":
            _index(connection, table, corpus, vectors)
        connection.commit()
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"ANALYZE {name}")
            connection.commit()


def _index(connection: Connection, table: Table, corpus: Corpus, vectors: list[str] | None) -> None:
    """Give a table of PostgreSQL its full-text index, and its vectors."""
    from sqlalchemy import text

    config = text_search_of(" ".join(one.text for one in corpus.passages[:50]))
    # A generated column, so that PostgreSQL ranks by what the index holds.
    made = f"GENERATED ALWAYS AS (to_tsvector('{config}', {BODY})) STORED"
    connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD words tsvector {made}")
    connection.exec_driver_sql(f"CREATE INDEX ON {table.name} USING gin (words)")
    if vectors:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD {VECTOR} vector({vectors[0].count(',') + 1})")
        statement = text(f"UPDATE {table.name} SET {VECTOR} = CAST(:vector AS vector) WHERE {DOCUMENT} = :document")
        given = zip(corpus.passages, vectors, strict=True)
        connection.execute(statement, [{"vector": vector, "document": one.id} for one, vector in given])
