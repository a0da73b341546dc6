"""A tenant never sees a row of another: every source, every intent mode (R13; fault 60; done-when 3 of issue 6)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filled_base import fill as fill_base
from filled_base import prepared
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from plant_database import fill as fill_database
from portable_dialect import NAME
from postgres_fixture import postgres  # noqa: F401 - a fixture
from weaviate_bases import place_on
from weaviate_collections import MAPPING, address, article, client, embedder, fill, make

from groundgraph import Context, InMemorySource, LangChainSource, load_settings, open_graph
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import ScopeMissing
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.core.schema import SourceSchema
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.topic_index import TopicIndexSource
from groundgraph.sources.weaviate import WeaviateSource
from groundgraph.sources.weaviate_base import WeaviateBaseSource, WeaviateStore
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

TENANTS = ["acme", "Acme", "acme-corp", "acme corp", "acmecorp", "acme corp ltd"]
FIELDS: dict[str, dict[str, Any]] = {"tenant": {"type": "string"}}
QUESTION = "What is the shared budget of the pump of acme, Acme, acme-corp or acme corp ltd?"
ROWS = "CREATE TABLE notes (id INTEGER PRIMARY KEY, tenant TEXT {}, title TEXT, body TEXT)"
OTHER = {"notes": {"tenant": "acme"}}
TEMPLATE = "text_queries: ['shared budget pump']\nfilters: {notes: {tenant: acme}}\n"
MODES: dict[str, tuple[dict[str, Any], Any]] = {
    "static": ({"mode": "static", "text_queries": ["pump"], "include_message_as_query": True}, None),
    "static with a filter on another": ({"mode": "static", "filters": OTHER}, None),
    "template": ({"mode": "template", "template": "text_queries: ['{{ message }}', pump]"}, None),
    "template that names another": ({"mode": "template", "template": TEMPLATE}, None),
    "message": ({"mode": "extract"}, None),
    "extract": ({"mode": "extract"}, "shared budget\npump of acme"),
    "extract that names another": ({"mode": "extract"}, {"text_queries": ["shared budget"], "filters": OTHER}),
    "extraction that names another": (
        {"mode": "extract"},
        {"text_queries": ["shared budget"], "filters": {"notes": {"tenant": {"not": "nobody"}}}},
    ),
}


@dataclass(frozen=True)
class Servers:
    """Where a source may be: a folder, and what starts a server when it is asked for."""

    folder: Path
    fixture: Callable[[str], Any]


def text_of(tenant: str) -> str:
    return f"The shared budget of the pump of {tenant}."


async def in_memory(_: Servers) -> GroundedSource:
    rows = [{"id": tenant, "content": text_of(tenant), "tenant": tenant} for tenant in TENANTS]
    return InMemorySource(rows, name="notes", schema=SourceSchema("notes", FIELDS))


async def langchain(_: Servers) -> GroundedSource:
    store = InMemoryVectorStore(NgramEmbeddings())
    store.add_documents([LangChainDocument(text_of(one), id=one, metadata={"tenant": one}) for one in TENANTS])
    return LangChainSource(store, name="notes", schema=SourceSchema("notes", FIELDS))


def documents() -> list[Document]:
    return [
        Document(f"{n}.md", f"# Budget\n\n{text_of(one)}", MARKDOWN, {"tenant": one}) for n, one in enumerate(TENANTS)
    ]


async def knowledge_base(servers: Servers) -> GroundedSource:
    assert await fill_base(servers.folder / "kb.sqlite", documents()) == {}
    return KnowledgeBaseSource(servers.folder / "kb.sqlite", name="notes", fields=FIELDS)


async def topic_index(servers: Servers) -> GroundedSource:
    return TopicIndexSource(await knowledge_base(servers), TopicIndexSettings(type="heading_tree"))


def sqlite_file(servers: Servers) -> Path:
    rows = [(n, tenant, "Budget", text_of(tenant)) for n, tenant in enumerate(TENANTS)]
    return fill_database(servers.folder / "notes.db", ROWS.format("COLLATE NOCASE"), notes=rows)


async def sqlite(servers: Servers) -> GroundedSource:
    return SqlSource(sqlite_file(servers), name="notes", table="notes", index=":memory:")


async def any_dialect(servers: Servers) -> GroundedSource:
    return SqlSource(f"{NAME}+aiosqlite:///{sqlite_file(servers)}", name="notes", table="notes", index=":memory:")


def postgres_url(servers: Servers) -> str:
    server = servers.fixture("postgres")
    url: str = server.database("tenants", ROWS.format(""))
    server.fill("tenants", notes=[(n, tenant, "Budget", text_of(tenant)) for n, tenant in enumerate(TENANTS)])
    return url


async def postgresql(servers: Servers) -> GroundedSource:
    return SqlSource(postgres_url(servers), name="notes", table="notes", index=":memory:")


async def postgresql_indexed(servers: Servers) -> GroundedSource:
    url = postgres_url(servers)
    servers.fixture("postgres").execute("CREATE INDEX ON notes USING gin (to_tsvector('english', body))", "tenants")
    return SqlSource(url, name="notes", table="notes", content_field="body", text_search_fields=["body"])


async def weaviate_base(servers: Servers, tenant_from: str = "") -> GroundedSource:
    place = place_on(servers.fixture("weaviate_server"), tenant_from=tenant_from)
    store = WeaviateStore(place, fields=FIELDS)
    await store.open(BaseIdentity())
    assert await store.write([await prepared(one) for one in documents()]) == {}
    await store.close()
    return WeaviateBaseSource(place, name="notes", fields=FIELDS)


async def weaviate_base_of_tenants(servers: Servers) -> GroundedSource:
    return await weaviate_base(servers, "tenant")


async def weaviate_topics(servers: Servers) -> GroundedSource:
    return TopicIndexSource(await weaviate_base(servers, "tenant"), TopicIndexSettings(type="heading_tree"))


async def weaviate_collection(servers: Servers) -> GroundedSource:
    server = servers.fixture("weaviate_server")
    await make(server, "GraphTenants", objects=[])
    async with client(server) as own:
        rows = [{**article(0), "slug": one, "customer": one, "body": text_of(one)} for one in TENANTS]
        await fill(own.collections.use("GraphTenants"), rows, NgramEmbeddings(64))
    fields = {"tenant": {"type": "string", "property": "customer"}}
    given: dict[str, Any] = {"mapping": MAPPING, "fields": fields, "embedder": embedder()}
    return WeaviateSource("GraphTenants", name="notes", address=address(server), **given)


HERE: list[Callable[[Servers], Awaitable[GroundedSource]]] = [in_memory, langchain, knowledge_base, sqlite]
# Over one of those, or with the same statements.
LIKE_THEM: list[Callable[[Servers], Awaitable[GroundedSource]]] = [topic_index, any_dialect]
LIVE: list[Callable[[Servers], Awaitable[GroundedSource]]] = [
    postgresql, postgresql_indexed, weaviate_base, weaviate_base_of_tenants, weaviate_topics, weaviate_collection
]  # fmt: skip


@pytest.mark.covers("R13", "fault 60")
@pytest.mark.parametrize(
    "made",
    [
        *HERE,
        *(pytest.param(one, marks=pytest.mark.slow) for one in LIKE_THEM),
        *(pytest.param(one, marks=pytest.mark.live) for one in LIVE),
    ],
)
async def test_no_row_of_another_tenant_in_any_intent_mode(made, tmp_path, request):
    source = await made(Servers(tmp_path, request.getfixturevalue))
    for mode, (intent, reply) in MODES.items():
        settings = load_settings(
            {
                "intent": intent,
                "synthesis": {"style": "structured"},
                "retrieval": {
                    "score_threshold": 0.0,
                    "top_k": 20,
                    "scope_filters": {"notes": {"tenant": "context.tenant"}},
                },
                "checkpointer": {"type": "memory"},
                "store": {"type": "memory"},
            }
        )
        text = reply if isinstance(reply, str) else json.dumps(reply)
        model = ScriptedChatModel([text] * 2 * len(TENANTS)) if reply else None
        passed = {"extractor" if mode.startswith("extraction") else "query_model": model} if model else {}
        async with AsyncExitStack() as stack:
            graph = await stack.enter_async_context(open_graph(settings, sources=[source], **passed))
            for tenant in TENANTS:
                context = Context(scope={"tenant": tenant})
                thread = {"configurable": {"thread_id": tenant}}
                output = await graph.ainvoke({"question": QUESTION}, thread, context=context)
                told = output["provenance"]
                assert told["sources"]["notes"]["status"] == "ok", (mode, told["sources"])
                texts = [row["text"] for row in told["results"]]
                assert texts, (mode, tenant)
                assert [text for text in texts if text_of(tenant) not in text] == [], (mode, tenant)
            with pytest.raises(ScopeMissing):
                await graph.ainvoke({"question": QUESTION}, {"configurable": {"thread_id": "none"}})
    await source.close()
