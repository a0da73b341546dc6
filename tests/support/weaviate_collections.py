"""Collections as a user of Weaviate has them, made with the client alone and never by groundgraph."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import weaviate
from langchain_core.embeddings import Embeddings
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.classes.data import DataObject
from weaviate_server import WeaviateServer

from groundgraph.core.embedder import Embedder
from groundgraph.sources.weaviate.address import Address, address_of
from groundgraph.testing import NgramEmbeddings

DIMENSION = 64
INDEXED_WITHIN = 120.0
ARTICLES = [
    ("pumps", 0, "Coolant pump", ["Service"], "The coolant pump is serviced every 90 days by two technicians.", 2024),
    ("pumps", 1, "Coolant pump", ["Service"], "A pump whose seal leaks is taken out of service at once.", 2024),
    ("pumps", 2, "Coolant pump", ["Parts"], "Seals for the coolant pump are kept in store room four.", 2025),
    ("belts", 0, "Drive belt", ["Service"], "The drive belt is replaced after 2000 hours under full load.", 2023),
    ("belts", 1, "Drive belt", ["Faults"], "Uneven wear of a belt points to poor alignment of its wheels.", 2025),
    ("насосы", 0, "Насос", ["Обслуживание"], "Насос обслуживается каждые девяносто дней.", 2025),
]


def address(server: WeaviateServer) -> Address:
    """Where the source finds the server."""
    return address_of(server.url, grpc_port=server.grpc_port)


def embedder(dimension: int = DIMENSION) -> Embedder:
    """A model of the tests; vectors of texts with words in common are near."""
    return Embedder(NgramEmbeddings(dimension), f"ngram-{dimension}")


def client(server: WeaviateServer, **options: Any) -> weaviate.WeaviateAsyncClient:
    """A client of the user's own."""
    return weaviate.use_async_with_custom(
        http_host="127.0.0.1",
        http_port=server.ports["http"],
        http_secure=False,
        grpc_host="127.0.0.1",
        grpc_port=server.grpc_port,
        grpc_secure=False,
        skip_init_checks=True,
        **options,
    )


def properties() -> list[Property]:
    """Those of `ARTICLES`, named as somebody else would."""
    exact: Any = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    return [
        Property(name="body", data_type=DataType.TEXT),
        Property(name="headline", data_type=DataType.TEXT),
        Property(name="path", data_type=DataType.TEXT_ARRAY),
        Property(name="slug", **exact),
        Property(name="manual", **exact),
        Property(name="paragraph", data_type=DataType.INT, index_range_filters=True),
        Property(name="year", data_type=DataType.INT, index_range_filters=True),
        Property(name="price", data_type=DataType.NUMBER),
        Property(name="day", data_type=DataType.DATE),
        Property(name="seen", data_type=DataType.DATE),
        Property(name="public", data_type=DataType.BOOL),
        Property(name="tags", data_type=DataType.TEXT_ARRAY, tokenization=Tokenization.FIELD),
        Property(name="sizes", data_type=DataType.INT_ARRAY),
        Property(name="customer", **exact),
        Property(name="link", data_type=DataType.TEXT, index_searchable=False, index_filterable=False),
    ]


def article(number: int) -> dict[str, Any]:
    """The properties of one article."""
    manual, paragraph, title, path, body, year = ARTICLES[number]
    return {
        "body": body,
        "headline": title,
        "path": path,
        "slug": f"{manual}/{paragraph}",
        "manual": manual,
        "paragraph": paragraph,
        "year": year,
        "price": year / 10,
        "day": f"{year}-03-31T17:00:00Z",
        "seen": f"{year}-03-31T17:00:00Z",
        "public": number % 2 == 0,
        "tags": ["all", manual],
        "sizes": [number, number + 10],
        "customer": "Acme" if number < 3 else "acme",
        "link": f"https://example.org/{manual}#{paragraph}",
    }


MAPPING = {"text": "body", "id": "slug", "title": "headline", "headings": "path", "document": "manual",
           "order": "paragraph", "url": "link"}  # fmt: skip
# Those by which they can be filtered.
FIELDS: dict[str, Any] = {
    "manual": {"type": "string"},
    "year": {"type": "integer"},
    "price": {"type": "number"},
    "day": {"type": "date"},
    "seen": {"type": "datetime"},
    "public": {"type": "boolean"},
    "tags": {"type": "array"},
    "sizes": {"type": "array"},
    "owner": {"type": "string", "property": "customer"},
}


async def make(
    server: WeaviateServer,
    name: str,
    *,
    objects: list[dict[str, Any]] | None = None,
    own_properties: list[Property] | None = None,
    tenants: tuple[str, ...] = (),
    vectors: Any = None,
    model: Embeddings | None = None,
    **options: Any,
) -> None:
    """Make the collection anew; with `tenants` each gets all objects."""
    given = [article(number) for number in range(len(ARTICLES))] if objects is None else objects
    using = model or NgramEmbeddings(DIMENSION)
    async with client(server) as own:
        await own.collections.delete(name)
        made = await own.collections.create(
            name,
            properties=own_properties or properties(),
            vector_config=vectors
            or Configure.Vectors.self_provided(
                vector_index_config=Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE)
            ),
            multi_tenancy_config=Configure.multi_tenancy(enabled=bool(tenants)),
            **options,
        )
        if tenants:
            await made.tenants.create(list(tenants))
        for place in [made.with_tenant(tenant) for tenant in tenants] or [made]:
            await fill(place, given, using)


async def fill(collection: Any, objects: list[dict[str, Any]], model: Embeddings, *, vector: str = "default") -> None:
    """Insert, and wait until each object is found by its vector."""
    if not objects:
        return
    vectors = model.embed_documents([str(one.get("body") or " ") for one in objects])
    rows = [DataObject(properties=one, vector={vector: own}) for one, own in zip(objects, vectors, strict=True)]
    done = await collection.data.insert_many(rows)
    assert not done.has_errors, done.errors
    await until_indexed(collection, vectors[0], len(objects), vector)


async def until_indexed(collection: Any, vector: Any, count: int, name: str = "default") -> None:
    """Vectors are indexed after the insert was acknowledged."""
    ends_at = time.monotonic() + INDEXED_WITHIN
    while time.monotonic() < ends_at:
        found = await collection.query.near_vector(
            vector, limit=count, target_vector=None if name == "default" else name, return_properties=False
        )
        if len(found.objects) == count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{len(found.objects)} of {count} objects are found by their vectors")
