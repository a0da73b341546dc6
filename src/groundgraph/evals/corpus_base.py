"""A corpus as what is searched, kept from one evaluation to the next: a knowledge base, of outlines and in Weaviate as
well, or tables of a database."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Chunk, Document, Part
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, IngestError, Problem
from groundgraph.evals.dataset import Corpus
from groundgraph.graph.ingest import Progress, ingest_documents
from groundgraph.graph.knowledge_base_files import move_base
from groundgraph.ingest.builtin_chains import ContentAsMatchingText, ContentAsQualifyingText
from groundgraph.ingest.chunkers import Above, WholeTextChunker, chunk_of, trimmed
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.settings import Settings
from groundgraph.sources import knowledge_base
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.sources.sql.postgres.options import text_search_of
from groundgraph.sources.weaviate_base import BasePlace, WeaviateStore
from groundgraph.text import words as text

# A corpus whose titles are heading paths ("Guide > Setup > Linux") as one document with these headings.
#
# So a topic index can be measured on it. The passages stay the chunks: what is found is the same as without headings.

SEPARATOR = " > "
# The field of a chunk's metadata that names its passage.
PASSAGE = "passage"
_GAP = "\n\n"


@dataclass(frozen=True)
class PassageChunker:
    """Makes one chunk of each part, under the headings of its passage."""

    headings: Mapping[str, tuple[str, ...]] = field(repr=False)
    signature: str = "passages under headings 1"

    def __call__(self, document: Document, /) -> list[Chunk]:
        """The chunks of `document`, one for each passage."""
        return [
            chunk_of(document, part, number, trimmed(document.text, part), Above(self.headings[part.metadata[PASSAGE]]))
            for number, part in enumerate(document.parts)
        ]


def outline_document(corpus: Corpus) -> tuple[Document, PassageChunker]:
    """`corpus` as a document, passages in the order of the file, and what cuts it into them again."""
    passages = [passage for passage in corpus.passages if passage.text.strip()]
    parts: list[Part] = []
    start = 0
    for passage in passages:
        parts.append(Part(start, start + len(passage.text), {PASSAGE: passage.id}))
        start += len(passage.text) + len(_GAP)
    text = _GAP.join(passage.text for passage in passages)
    headings = {passage.id: _headings(passage.text, passage.body) for passage in passages}
    return Document(corpus.name, text, parts=tuple(parts)), PassageChunker(headings)


def _headings(text: str, body: str) -> tuple[str, ...]:
    # A passage is title, space, body.
    title = text.removesuffix(body).strip()
    return tuple(title.split(SEPARATOR)) if title else ()


# A corpus in Weaviate, for a configuration whose knowledge base is there.


def weaviate_prefix(settings: Settings, base: Path) -> str | None:
    """What the collections of the corpus whose embedded base is the file `base` are called; None without Weaviate."""
    if settings.knowledge_base is None or settings.knowledge_base.backend != "weaviate":
        return None
    return f"{settings.knowledge_base.weaviate.prefix}Evaluate_{re.sub('[^A-Za-z0-9]', '_', base.stem)}"


async def corpus_in_weaviate(settings: Settings, base: Path) -> None:
    """Move the embedded base in the file `base` into Weaviate, when the configuration's is there.

    Raises:
        IngestError: a passage cannot be written.
        SourceError: the server cannot answer.
    """
    prefix = weaviate_prefix(settings, base)
    if prefix is None or settings.knowledge_base is None:
        return
    embedded = EmbeddedStore(base)
    store = WeaviateStore(BasePlace.of(settings.knowledge_base.weaviate, prefix))
    try:
        moved = await move_base(embedded, store)
    finally:
        await embedded.close()
        await store.close()
    if moved.failed:
        name, reason = next(iter(moved.failed.items()))
        raise IngestError(f"passage '{name}' cannot be written into Weaviate: {reason}")


# A passage is one chunk, found by itself: title, space, text.
CHAINS = IngestChains(WholeTextChunker(), ContentAsQualifyingText(), ContentAsMatchingText())


async def corpus_base(
    corpus: Corpus,
    folder: Path,
    on_progress: Progress | None = None,
    embedder: Embedder | None = None,
    *,
    outline: bool = False,
) -> Path:
    """The file of the knowledge base with one chunk per passage of `corpus`, made in `folder` when it is not there.

    With `outline` the passages stand in one document under the headings that their titles name. The file gets its name
    only when it is complete, so an interrupted evaluation leaves nothing half done.

    Raises:
        IngestError: a passage cannot be taken in.
    """
    documents, chains = _documents(corpus), CHAINS
    if outline:
        document, chunker = outline_document(corpus)
        documents, chains = iter([document]), replace(CHAINS, chunker=chunker)
    path = folder / f"{corpus.file.stem}-{_key(corpus, embedder, chains)}.sqlite"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder))
    try:
        made = workshop / "base.sqlite"
        report = await ingest_documents(made, documents, chains=chains, embedder=embedder, on_progress=on_progress)
        if report.failed:
            first = report.failed[0]
            raise IngestError(f"{corpus.file}: passage '{first['document']}' cannot be taken in: {first['reason']}")
        made.replace(path)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return path


def _documents(corpus: Corpus) -> Iterator[Document]:
    """The passages with a text; the others cannot be found anyway."""
    return (Document(passage.id, passage.text) for passage in corpus.passages if passage.text.strip())


def _key(corpus: Corpus, embedder: Embedder | None, chains: IngestChains) -> str:
    """What the base depends on: the content of the file, its vectors, and the code that stems and writes it."""
    parts = [corpus.digest, chains.signature, embedder.name if embedder else "", version("PyStemmer"), _code()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _code() -> str:
    files = [Path(str(text.__file__)), *sorted(Path(knowledge_base.__path__[0]).glob("*.py"))]
    return "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


# A corpus in a table of a SQL database, which a SQL source then searches.

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
    name = f"groundgraph_evaluate_{_table_key(corpus, embedder if with_vectors else None)}"
    vectors = await _vectors(corpus, embedder) if embedder and with_vectors else None
    await run_blocking(_write, address, shown, name, corpus, vectors)
    return SqlCorpus(url if isinstance(where, Address) else address, name, has_vectors=with_vectors)


def _table_key(corpus: Corpus, embedder: Embedder | None) -> str:
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

    from groundgraph.sources.sql.portable import typed_errors as typed_errors_of_files
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
