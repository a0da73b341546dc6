"""Going over all chunks of a base: into another collection, or to give them the values of new fields."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import SourceError
from groundgraph.sources.weaviate_base.collections import VECTOR, add_field, make_chunks
from groundgraph.sources.weaviate_base.insert import REQUEST_LIMIT, NewObject, insert
from groundgraph.sources.weaviate_base.objects import field_properties
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.sources.weaviate_base.state import BaseState

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

PAGE = 200


async def copy_without_vectors(server: BaseServer, old: BaseState, new: BaseState) -> None:
    """Copy every chunk from the collections of `old` to those of `new`, which are created."""

    async def made(client: WeaviateAsyncClient) -> None:
        place = server.place
        for collection in (place.chunks(new.number), place.memory(new.number)):
            # What an earlier rebuild left, which was killed.
            await client.collections.delete(collection)
        await make_chunks(client, place, new.number)
        for number in old.fields.values():
            await add_field(client, place.chunks(new.number), number)
            if place.tenant_from:
                await add_field(client, place.memory(new.number), number)

    await server.call(made, limit=REQUEST_LIMIT)
    for tenant in await tenants_of(server, old):
        if tenant:
            await _make_tenant(server, new.number, tenant)
        async for page in chunk_pages(server, old.number, tenant):
            objects = [NewObject(one.id, one.properties) for one in page]
            await _written(server, new.number, tenant, objects)


async def fill_fields(server: BaseServer, state: BaseState, numbers: Mapping[str, int]) -> None:
    """Give every chunk the values of fields that were not known when it was written."""
    for tenant in await tenants_of(server, state):
        async for page in chunk_pages(server, state.number, tenant, vectors=True):
            objects = [
                NewObject(
                    one.id,
                    {**one.properties, **field_properties(json.loads(one.properties["values"]), numbers)},
                    one.vector,
                )
                for one in page
            ]
            await _written(server, state.number, tenant, objects)


async def tenants_of(server: BaseServer, state: BaseState) -> list[str]:
    """The names of all tenants as Weaviate has them, and the empty one for what is everybody's."""
    if not state.tenant_from:
        return [""]

    async def named(client: WeaviateAsyncClient) -> list[str]:
        return sorted(await client.collections.use(server.place.memory(state.number)).tenants.get())

    return ["", *await server.call(named, limit=REQUEST_LIMIT)]


def raw_chunks(server: BaseServer, client: WeaviateAsyncClient, number: int, tenant: str) -> Any:
    """The collection of the chunks of a tenant by the tenant's own name."""
    if not tenant:
        return server.chunks(client, number)
    return client.collections.use(server.place.memory(number)).with_tenant(tenant)


async def chunk_pages(
    server: BaseServer, number: int, tenant: str, *, vectors: bool = False, only: list[str] | None = None
) -> AsyncIterator[list[NewObject]]:
    """All chunks in the object store, page by page, also those that no index knows.

    Args:
        server: of the base.
        number: of its collections.
        tenant: as `tenants_of` gives it.
        vectors: whether they come with their vectors.
        only: the properties to bring; all when None.
    """
    after: str | None = None
    while True:

        async def fetched(client: WeaviateAsyncClient, after: str | None = after) -> list[Any]:
            found = await raw_chunks(server, client, number, tenant).query.fetch_objects(
                limit=PAGE,
                after=after or "00000000-0000-0000-0000-000000000000",
                include_vector=[VECTOR] if vectors else False,
                return_properties=only,
            )
            return list(found.objects)

        page = await server.call(fetched, limit=REQUEST_LIMIT)
        if not page:
            return
        after = str(page[-1].uuid)
        yield [new_object(one) for one in page]


def new_object(found: Any) -> NewObject:
    """An object that was fetched, as it is written again."""
    properties = {
        # The client gives ids as objects of its own class.
        name: str(value) if name in ("document_id", "version") else value
        for name, value in found.properties.items()
        if value is not None
    }
    vector = found.vector.get(VECTOR) if found.vector else None
    return NewObject(str(found.uuid), properties, {VECTOR: vector} if vector else None)


async def _make_tenant(server: BaseServer, number: int, tenant: str) -> None:
    async def made(client: WeaviateAsyncClient) -> None:
        from weaviate.classes.tenants import Tenant

        await client.collections.use(server.place.memory(number)).tenants.create([Tenant(name=tenant)])

    await server.call(made, limit=REQUEST_LIMIT)


async def _written(server: BaseServer, number: int, tenant: str, objects: list[NewObject]) -> None:
    refused = await insert(server, lambda client: raw_chunks(server, client, number, tenant), objects)
    if refused:
        raise SourceError(f"Weaviate refused {len(refused)} chunks: {next(iter(refused.values()))}")
