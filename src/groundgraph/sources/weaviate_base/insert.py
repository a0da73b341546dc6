"""Writing objects, and waiting until a search finds them.

With asynchronous indexing, as crash safety needs it, an object that was taken is found by its vector about a second
later. A reader must never lose a document to that, so the ledger is switched only when all chunks are found.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import SourceError
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate.errors import MAYBE_NOT_READY, OUTAGES, fault_of
from groundgraph.sources.weaviate.search import NO_DISTANCE
from groundgraph.sources.weaviate_base.collections import CHUNK, VECTOR, add_fields, is_own, make_chunks
from groundgraph.sources.weaviate_base.objects import field_properties
from groundgraph.sources.weaviate_base.server import REQUEST_LIMIT, BaseServer, BaseState

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# Objects, and about how many characters and numbers, of one request.
_OBJECTS, _SIZE = 200, 4_000_000
INDEXED_WITHIN = 120.0
# An object that was taken before, and then lost by the index when the server was killed, is never indexed again by
# itself: after so long without progress it is made anew.
_STUCK_AFTER = 5.0
_LOOK_EVERY = 0.05


@dataclass(frozen=True)
class NewObject:
    """An object to be written.

    Attributes:
        id: its id.
        properties: its properties.
        vector: its vectors by name; None without.
    """

    id: str
    properties: Mapping[str, Any]
    vector: Any = None

    @property
    def size(self) -> int:
        """About how large it is."""
        texts = sum(len(str(value)) for value in self.properties.values())
        return texts + sum(8 * len(row) for row in (self.vector or {}).get(VECTOR, ()))


async def insert(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> dict[str, str]:
    """Write `objects`, each in place of the one of its id.

    Args:
        server: of the base.
        collection_of: gives the collection for a client.
        objects: what to write.

    Returns:
        by id, why an object was refused.
    """
    refused: dict[str, str] = {}
    for some in _requests(objects):

        async def sent(client: WeaviateAsyncClient, some: Sequence[NewObject] = some) -> dict[str, str]:
            return await _insert(collection_of(client), some)

        refused |= await server.call(sent, limit=REQUEST_LIMIT)
    return refused


async def _insert(collection: Any, objects: Sequence[NewObject]) -> dict[str, str]:
    from weaviate.classes.data import DataObject
    from weaviate.exceptions import WeaviateInsertManyAllFailedError

    given = [DataObject(uuid=one.id, properties=dict(one.properties), vector=one.vector) for one in objects]
    try:
        done = await collection.data.insert_many(given)
    except WeaviateInsertManyAllFailedError as error:
        refused = {one.id: str(error) for one in objects}
    else:
        refused = {objects[place].id: error.message for place, error in done.errors.items()}
    for reason in refused.values():
        # That too few nodes answer, or that the server is starting, says nothing of an object.
        if fault_of(RuntimeError(reason)).kind in OUTAGES | MAYBE_NOT_READY:
            raise RuntimeError(reason)
    return refused


def _requests(objects: Sequence[NewObject]) -> Iterator[list[NewObject]]:
    some: list[NewObject] = []
    size = 0
    for one in objects:
        if some and (len(some) >= _OBJECTS or size + one.size > _SIZE):
            yield some
            some, size = [], 0
        some.append(one)
        size += one.size
    if some:
        yield some


async def not_searchable(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> set[str]:
    """The ids of those of `objects`, just written, that no search finds within `INDEXED_WITHIN` seconds."""
    wanted = {one.id: one for one in objects}
    ends_at = time.monotonic() + INDEXED_WITHIN
    progress, mended = time.monotonic(), False
    while wanted:
        found = await _searchable(server, collection_of, list(wanted.values()))
        now = time.monotonic()
        if found:
            progress = now
            wanted = {id_: one for id_, one in wanted.items() if id_ not in found}
        elif now > ends_at:
            break
        elif now - progress > _STUCK_AFTER and not mended:
            await remake(server, collection_of, list(wanted.values()))
            mended = True
        if wanted:
            await asyncio.sleep(_LOOK_EVERY)
    return set(wanted)


async def remake(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> dict[str, str]:
    """Remove `objects` and write them again, which makes every index take them anew; what was refused, by id.

    Writing them again alone does not help: Weaviate leaves out its indexes when nothing changed.
    """
    await remove_by_id(server, collection_of, [one.id for one in objects])
    return await insert(server, collection_of, objects)


async def remove_by_id(server: BaseServer, collection_of: Any, ids: Sequence[str]) -> None:
    """Remove objects one by one, which finds also those that the indexes have lost."""

    async def removed(some: Sequence[str], client: WeaviateAsyncClient) -> list[Any]:
        return await asyncio.gather(*(collection_of(client).data.delete_by_id(id_) for id_ in some))

    await server.in_slices(ids, 50, removed)


async def _searchable(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> set[str]:
    """The ids of those of `objects` that are in the indexes."""

    async def near(some: Sequence[NewObject], client: WeaviateAsyncClient) -> list[str]:
        given = await collection_of(client).query.near_vector(
            [some[0].vector[VECTOR][0]],
            target_vector=VECTOR,
            limit=len(some),
            filters=_only(some),
            return_properties=[],
            return_metadata=queries().MetadataQuery(distance=True),
        )
        return [str(one.uuid) for one in given.objects if one.metadata.distance < NO_DISTANCE]

    async def there(some: Sequence[NewObject], client: WeaviateAsyncClient) -> list[str]:
        given = await collection_of(client).query.fetch_objects(
            limit=len(some), filters=_only(some), return_properties=[]
        )
        return [str(one.uuid) for one in given.objects]

    by_vector = await server.in_slices([one for one in objects if one.vector], 1000, near)
    return {*by_vector, *await server.in_slices([one for one in objects if not one.vector], 1000, there)}


def _only(objects: Sequence[NewObject]) -> Any:
    """A filter for `objects` by what the inverted index knows of them, not by their ids."""
    positions: dict[str, list[int]] = {}
    for one in objects:
        positions.setdefault(str(one.properties["version"]), []).append(int(one.properties["position"]))
    by = queries().Filter.by_property
    if all(len(places) == max(places) + 1 for places in positions.values()):
        return by("version").contains_any(list(positions))
    parts = [
        queries().Filter.all_of([by("version").equal(version), by("position").contains_any(places)])
        for version, places in positions.items()
    ]
    return queries().Filter.any_of(parts)


# Going over all chunks of a base: into another collection, or to give them the values of new fields.

PAGE = 200


async def copy_without_vectors(server: BaseServer, old: BaseState, new: BaseState) -> None:
    """Copy every chunk from the collections of `old` to those of `new`, which are created."""

    async def made(client: WeaviateAsyncClient) -> None:
        place = server.place
        for collection in (place.chunks(new.number), place.memory(new.number)):
            if await is_own(client, place, collection, CHUNK):
                # What an earlier rebuild left, which was killed.
                await client.collections.delete(collection)
        await make_chunks(client, place, new.number)
        await add_fields(client, place.chunks(new.number), old.fields.values())
        if place.tenant_from:
            await add_fields(client, place.memory(new.number), old.fields.values())

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
