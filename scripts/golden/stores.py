"""Every kind of source over the same records: each function fills its store, gives the source, and closes it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from typing import Any

import yaml

from golden import project, weaviate_server
from golden.records import Records
from golden.workshop import CannotRun, Workshop

Store = Callable[[Workshop, Records], AbstractAsyncContextManager[Any]]
_SQL_TYPES = {"string": "TEXT", "date": "DATE", "integer": "INTEGER", "number": "REAL", "boolean": "BOOLEAN"}


@asynccontextmanager
async def configured(settings: Mapping[str, Any], name: str, vectors: Any) -> AsyncIterator[Any]:
    """The source called `name` of a configuration."""
    graph = project.turn_graph(project.load_settings(dict(settings)), embeddings=vectors)
    try:
        yield project.sources_of(graph)[name]
    finally:
        await project.close(graph)


@asynccontextmanager
async def memory(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """The source over records that Python holds."""
    del workshop
    rows = [{**row, "content": row["body"]} for row in records.rows]
    schema = project.SourceSchema("memory", {name: dict(spec) for name, spec in records.fields.items()})
    yield project.InMemorySource(rows, name="memory", schema=schema if records.fields else None)


def knowledge_base_settings(records: Records, **section: Any) -> dict[str, Any]:
    """A configuration whose knowledge base holds each record as one chunk, with the text as it is."""
    fields = {"key": {"type": "string"}, "body": {"type": "text"}, **records.fields}
    schema = {"fields": fields, "content": ["body"], "id": "key"}
    whole = dict.fromkeys(("chunker", "matching_text", "qualifying_text"), "identity")
    base = {"file": str(records.file("base", "sqlite")), "schemas": {"passages": schema}, **section}
    return {"knowledge_base": base, "chains": {"passages": whole}}


async def _fill(settings: Mapping[str, Any], records: Records) -> None:
    base = project.KnowledgeBase.open(project.load_settings(dict(settings)), embeddings=records.vectors)
    rows = [{"key": row["id"], **{name: row[name] for name in ("body", *records.fields)}} for row in records.rows]
    report = await base.aadd_records("passages", rows)
    if report.failed:
        raise RuntimeError(f"a passage of {records.name} was not taken in: {report.failed[0]}")


@asynccontextmanager
async def knowledge_base(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """The embedded knowledge base, by words alone where the records have no vectors."""
    del workshop
    settings = knowledge_base_settings(records)
    await _fill(settings, records)
    async with configured(settings, "knowledge_base", records.vectors) as source:
        yield source


@asynccontextmanager
async def base_in_weaviate(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """The same base in Weaviate."""
    url, grpc_port = workshop.weaviate
    prefix = f"GoldenBase_{records.name}{'_vectors' if records.vectors else ''}_"
    await weaviate_server.remove(url, grpc_port, prefix)
    where = {"url": url, "grpc_port": grpc_port, "prefix": prefix}
    settings = knowledge_base_settings(records, backend="weaviate", weaviate=where)
    await _fill(settings, records)
    await weaviate_server.until_indexed(url, grpc_port)
    async with configured(settings, "knowledge_base", records.vectors) as source:
        yield source


@asynccontextmanager
async def collection(workshop: Workshop, records: Records, **options: Any) -> AsyncIterator[Any]:
    """A collection of Weaviate that somebody else filled; `options` are further ones of the source."""
    url, grpc_port = workshop.weaviate
    name = f"Golden_{records.name}{'_vectors' if records.vectors else ''}"
    tenant_from = options.get("tenant_from", "")
    await weaviate_server.fill(url, grpc_port, name, records, tenant_from)
    entry = {
        **{"type": "weaviate", "name": "weaviate", "url": url, "grpc_port": grpc_port, "collection": name},
        **{"mapping": {"text": "body", "id": "key"}, "fields": dict(records.fields), "metadata": list(records.fields)},
        **({} if records.vectors else {"vector_weight": 0}),
        **options,
    }
    async with configured({"sources": [entry]}, "weaviate", records.vectors) as source:
        yield source


def columns(records: Records) -> str:
    """The columns of a table that holds them."""
    own = (f", {name} {_SQL_TYPES[str(spec['type'])]}" for name, spec in records.fields.items())
    return "document TEXT PRIMARY KEY, body TEXT" + "".join(own)


def table_rows(records: Records) -> list[tuple[Any, ...]]:
    """Their rows in the order of `columns`."""
    return [tuple(row[name] for name in ("id", "body", *records.fields)) for row in records.rows]


def sql_entry(records: Records, url: str, **more: Any) -> dict[str, Any]:
    """A source over the table `golden_NAME`, which declares the fields."""
    found = {"type": "sql", "name": "sql", "url": url, "table": f"golden_{records.name}", "content_field": "body"}
    schema = {"schema": {"fields": dict(records.fields)}} if records.fields else {}
    return {**found, "text_search_fields": ["body"], **schema, **more}


@asynccontextmanager
async def sqlite(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """A table of a SQLite file, through our index."""
    del workshop
    file = records.file("table", "sqlite")
    with closing(sqlite3.connect(file)) as database, database:
        rows = table_rows(records)
        database.execute(f"CREATE TABLE golden_{records.name} ({columns(records)})")
        database.executemany(f"INSERT INTO golden_{records.name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    entry = sql_entry(records, f"sqlite:///{file}", index=":memory:")
    async with configured({"sources": [entry]}, "sql", None) as source:
        yield source


@asynccontextmanager
async def postgres(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """A table of PostgreSQL with an index of its own, and with pgvector where the records have vectors."""
    table, url = f"golden_{records.name}", workshop.postgres
    await _fill_postgres(url, table, records)
    entry = sql_entry(records, url, **({"vector_field": "vector"} if records.vectors else {}))
    async with configured({"sources": [entry]}, "sql", records.vectors) as source:
        yield source


@asynccontextmanager
async def postgres_own_index(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """A table of PostgreSQL through our index."""
    url = workshop.postgres
    await _fill_postgres(url, f"golden_{records.name}", records)
    entry = sql_entry(records, url, text_index="own", index=":memory:")
    async with configured({"sources": [entry]}, "sql", None) as source:
        yield source


async def _fill_postgres(url: str, table: str, records: Records) -> None:
    import psycopg

    rows = table_rows(records)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as server:
        words = "words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED"
        await server.execute(f"DROP TABLE IF EXISTS {table}")
        await server.execute(f"CREATE TABLE {table} ({columns(records).replace('REAL', 'double precision')}, {words})")
        await server.execute(f"CREATE INDEX ON {table} USING gin (words)")
        async with server.cursor() as cursor:
            await cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
            if records.vectors:
                try:
                    await server.execute("CREATE EXTENSION IF NOT EXISTS vector")
                except psycopg.Error as error:
                    raise CannotRun(f"PostgreSQL has no pgvector ({error})") from error
                made = records.vectors.embed_documents([str(row["body"]) for row in records.rows])
                await server.execute(f"ALTER TABLE {table} ADD vector vector({len(made[0])})")
                pairs = [(str(vector), row["id"]) for vector, row in zip(made, records.rows, strict=True)]
                await cursor.executemany(f"UPDATE {table} SET vector = %s WHERE document = %s", pairs)
        await server.execute(f"ANALYZE {table}")


@asynccontextmanager
async def cascade(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """A cascade over one category, a section for each record; the meaning counts where there are vectors."""
    del workshop
    file = records.file("cascade", "yaml")
    sections = {str(row["id"]): {"facts": [row["body"]], "title": row["body"].split()[0]} for row in records.rows}
    file.write_text(yaml.safe_dump({"category": "all", "sections": sections}, allow_unicode=True), "utf-8")
    entry = {"type": "cascade", "name": "cascade", "path": str(file), "use_embeddings": records.vectors is not None,
             "vectors": str(records.file("cascade", "sqlite"))}  # fmt: skip
    async with configured({"sources": [entry]}, "cascade", records.vectors) as source:
        yield source


@asynccontextmanager
async def langchain(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """The adapter over LangChain's vector store in memory, with the fields as metadata."""
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    del workshop
    if records.vectors is None:
        raise ValueError("a vector store needs vectors")
    store = InMemoryVectorStore(records.vectors)
    store.add_documents(
        [
            Document(row["body"], id=row["id"], metadata={name: row[name] for name in ("id", *records.fields)})
            for row in records.rows
        ]
    )
    fields = {name: dict(spec) for name, spec in records.fields.items()}
    schema = project.SourceSchema("langchain", fields) if fields else None
    yield project.LangChainSource(store, name="langchain", schema=schema, id_field="id")


@asynccontextmanager
async def table_of_wtq(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """Two hundred tables of one SQLite file, of which a question is routed to a few."""
    file = records.file("tables", "sqlite")
    file.write_bytes((workshop.data("wtq") / "tables.sqlite").read_bytes())
    entry = {"type": "sql", "name": "sql", "url": f"sqlite:///{file}", "tables": sorted(str(row["id"]) for row in
             records.rows), "index": ":memory:"}  # fmt: skip
    async with configured({"sources": [entry]}, "sql", None) as source:
        yield source
