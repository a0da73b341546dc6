"""Writing objects, and waiting until a search finds them.

With asynchronous indexing, as crash safety needs it, an object that was taken is found by its vector about a second
later. A reader must never lose a document to that, so the ledger is switched only when all chunks are found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate.errors import MAYBE_NOT_READY, OUTAGES, fault_of
from groundgraph.sources.weaviate.search import NO_DISTANCE
from groundgraph.sources.weaviate_base.collections import VECTOR
from groundgraph.sources.weaviate_base.ledger import slices
from groundgraph.sources.weaviate_base.server import BaseServer

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

# Objects, and about how many characters and numbers, of one request.
_OBJECTS, _SIZE = 200, 4_000_000
REQUEST_LIMIT = 120.0
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
    for some in slices(ids, 50):

        async def removed(client: WeaviateAsyncClient, some: Sequence[str] = some) -> None:
            await asyncio.gather(*(collection_of(client).data.delete_by_id(id_) for id_ in some))

        await server.call(removed, limit=REQUEST_LIMIT)


async def _searchable(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> set[str]:
    """The ids of those of `objects` that are in the indexes."""
    found: set[str] = set()
    for some in slices([one for one in objects if one.vector], 1000):
        vector = some[0].vector[VECTOR][0]

        async def near(
            client: WeaviateAsyncClient, some: Sequence[NewObject] = some, vector: Any = vector
        ) -> list[str]:
            given = await collection_of(client).query.near_vector(
                [vector],
                target_vector=VECTOR,
                limit=len(some),
                filters=_only(some),
                return_properties=[],
                return_metadata=queries().MetadataQuery(distance=True),
            )
            return [str(one.uuid) for one in given.objects if one.metadata.distance < NO_DISTANCE]

        found.update(await server.call(near, limit=REQUEST_LIMIT))
    for some in slices([one for one in objects if not one.vector], 1000):

        async def there(client: WeaviateAsyncClient, some: Sequence[NewObject] = some) -> list[str]:
            given = await collection_of(client).query.fetch_objects(
                limit=len(some), filters=_only(some), return_properties=[]
            )
            return [str(one.uuid) for one in given.objects]

        found.update(await server.call(there, limit=REQUEST_LIMIT))
    return found


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
