"""Knowledge bases in Weaviate for tests: one of its own for each test, and what lies in its collections."""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import Any

from weaviate_server import WeaviateServer

from groundgraph.sources.weaviate import address_of
from groundgraph.sources.weaviate_base import BasePlace
from groundgraph.sources.weaviate_base.server import BaseServer

_numbers = itertools.count(1)


def new_prefix() -> str:
    """A prefix that no other test of this machine has."""
    return f"Test{os.getpid()}_{next(_numbers)}"


def place_on(server: WeaviateServer, **options: Any) -> BasePlace:
    """A new base on `server`."""
    options.setdefault("prefix", new_prefix())
    return BasePlace(address_of(server.url, grpc_port=server.grpc_port), **options)


def weaviate_section(server: WeaviateServer, **options: Any) -> dict[str, Any]:
    """The keys of `knowledge_base:` for a new base on `server`."""
    where = {"url": server.url, "grpc_port": server.grpc_port, "prefix": new_prefix(), **options}
    return {"backend": "weaviate", "weaviate": where}


async def objects_of(place: BasePlace, collection: str, tenant: str = "", vector: bool = False) -> dict[str, Any]:
    """Everything in a collection, by id, straight from its object store."""
    server = BaseServer(place)

    async def fetched(client: Any) -> dict[str, Any]:
        used = client.collections.use(collection)
        used = used.with_tenant(tenant) if tenant else used
        return {str(one.uuid): one async for one in used.iterator(include_vector=vector)}

    try:
        return await server.call(fetched, limit=60)
    finally:
        await server.close()


def object_ids(place: BasePlace, collection: str) -> list[str]:
    """The ids of everything in a collection."""
    return sorted(asyncio.run(objects_of(place, collection)))
