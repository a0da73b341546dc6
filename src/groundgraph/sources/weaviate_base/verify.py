"""Looking for every chunk as a search would, and repairing what is not found.

A server that is killed may lose the entries of objects in its indexes while the objects themselves stay, and nothing in
Weaviate tells: the counts agree, and writing the same again changes nothing. Only looking for each chunk with its own
vector and words finds out. What is not found is removed and written again from what the object store holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import TenantUnknown
from groundgraph.core.knowledge_store import Verified
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, DOCUMENT_COLUMNS
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate.errors import TenantInactive
from groundgraph.sources.weaviate_base.collections import FLAGS, VECTOR, tenant_name
from groundgraph.sources.weaviate_base.insert import (
    NewObject,
    chunk_pages,
    new_object,
    not_searchable,
    raw_chunks,
    remake,
    remove_by_id,
    tenants_of,
)
from groundgraph.sources.weaviate_base.ledger import LedgerRow, all_rows, rows_by_id
from groundgraph.sources.weaviate_base.objects import document_id, version_of
from groundgraph.sources.weaviate_base.server import REQUEST_LIMIT, BaseServer, BaseState, objects_by_id
from groundgraph.sources.weaviate_base.writer import chunks_of, remove_documents, save

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# Documents whose stored texts are not those that were written: a version is a hash of all of them.

_CHUNKS_AT_ONCE = 8
_OF_CHUNK = [*CHUNK_COLUMNS, "matching_texts", "stems", "heading_stems"]


async def altered(server: BaseServer, state: BaseState, rows: Sequence[LedgerRow]) -> list[str]:
    """The names of those of `rows`, all of whose chunks are there, that do not hold what was written, sorted."""

    async def looked(some: Sequence[LedgerRow], client: WeaviateAsyncClient) -> list[str]:
        return await asyncio.gather(*(_version_now(server, client, state, row) for row in some))

    versions = await server.in_slices(rows, _CHUNKS_AT_ONCE, looked)
    return sorted(row.stored.name for row, now in zip(rows, versions, strict=True) if now != row.version)


async def _version_now(server: BaseServer, client: WeaviateAsyncClient, state: BaseState, row: LedgerRow) -> str:
    whole = await server.documents(client).query.fetch_object_by_id(row.id, return_properties=list(DOCUMENT_COLUMNS))
    objects = await objects_by_id(server.chunks(client, state.number, row.tenant), row.chunk_ids, _OF_CHUNK)
    if whole is None or len(objects) != len(row.chunk_ids):
        return ""
    chunks = sorted((one.properties for one in objects), key=lambda properties: int(properties["position"]))
    try:
        return version_of(_values(whole.properties, DOCUMENT_COLUMNS), [_chunk(one) for one in chunks])
    except (ValueError, TypeError):
        # A field that holds no JSON any more, or no list.
        return ""


def _chunk(properties: Mapping[str, Any]) -> tuple[list[Any], list[dict[str, Any]]]:
    texts = json.loads(properties["matching_texts"])
    above = properties["heading_stems"] or ""
    found_by = [
        {"ends_with_chunk": ends, "stems": stems, "heading_stems": above, "text": text}
        for (ends, text), stems in zip(texts, properties["stems"], strict=True)
    ]
    return list(_values(properties, CHUNK_COLUMNS).values()), found_by


def _values(properties: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The properties as they were written: Weaviate gives an empty text as none."""
    values: dict[str, Any] = {}
    for name, type_ in columns.items():
        value = properties[name]
        values[name] = bool(value) if name in FLAGS else int(value) if type_ == "INTEGER" else value or ""
    return values


# Searches under way at once.
_AT_ONCE = 16
# Neighbours among which a chunk finds itself: equal texts have equal vectors.
_AMONG = 10
_EXACT = 1e-4
_ROUNDS = 4


async def verify(server: BaseServer) -> Verified:
    """Verify and repair the base; the lock is held.

    Making objects anew may cut others off from the graph of their index, so the look is repeated until nothing is
    missing, `_ROUNDS` times at most.

    Raises:
        SourceError: the server cannot answer.
    """
    seen = last = await _verified(server, await server.state())
    for _ in range(_ROUNDS - 1):
        if not last.repaired:
            break
        last = await _verified(server, await server.state())
        seen.repaired += last.repaired
        seen.removed += last.removed
        seen.incomplete += last.incomplete
        seen.altered += last.altered
    return seen


def _chunks_by_tenant(rows: Iterable[LedgerRow]) -> dict[str, dict[str, LedgerRow]]:
    """By tenant, as the server calls it, the ids of its chunks and the row that names each."""
    wanted: dict[str, dict[str, LedgerRow]] = {}
    for row in rows:
        tenant = tenant_name(row.tenant) if row.tenant else ""
        wanted.setdefault(tenant, {}).update(dict.fromkeys(row.chunk_ids, row))
    return wanted


async def _verified(server: BaseServer, state: BaseState) -> Verified:
    """One look at the whole base."""
    rows = await server.call(lambda client: all_rows(server, client, state), limit=REQUEST_LIMIT)
    seen = Verified(documents=len(rows))
    wanted = _chunks_by_tenant(rows)
    missing: set[str] = set()
    for tenant in await tenants_of(server, state):
        missing |= await _verify_tenant(server, state, tenant, wanted.pop(tenant, {}), seen)
    missing |= {row.stored.name for of_tenant in wanted.values() for row in of_tenant.values()}
    seen.incomplete = sorted(missing)
    seen.altered = await altered(server, state, [row for row in rows if row.stored.name not in missing])
    if seen.taken_out:
        state, _ = await remove_documents(server, state, seen.taken_out)
    if seen.repaired or seen.removed:
        await save(server, replace(state, changes=state.changes + 1))
    return seen


async def _verify_tenant(
    server: BaseServer, state: BaseState, tenant: str, wanted: dict[str, LedgerRow], seen: Verified
) -> set[str]:
    """The names of the documents of which chunks are not there."""
    there: set[str] = set()
    lost_for_good: set[str] = set()

    def collection_of(client: WeaviateAsyncClient) -> Any:
        return raw_chunks(server, client, state.number, tenant)

    async for page in chunk_pages(server, state.number, tenant, vectors=True):
        stray = [one.id for one in page if one.id not in wanted]
        await remove_by_id(server, collection_of, stray)
        own = [one for one in page if one.id in wanted]
        there.update(one.id for one in own)
        lost = await _not_found(server, collection_of, own)
        await remake(server, collection_of, lost)
        still = await not_searchable(server, collection_of, lost)
        lost_for_good |= still
        seen.chunks += len(own)
        seen.removed += len(stray)
        seen.repaired += len(lost) - len(still)
    return {row.stored.name for id_, row in wanted.items() if id_ not in there or id_ in lost_for_good}


async def mend_recent(server: BaseServer, state: BaseState) -> int:
    """Look for the documents that were written last, and repair those that an index has lost; how many chunks that was.

    A killed server loses what was written in its last moments, in whole or in part.
    """
    ids = [document_id(name) for name in state.recent]
    rows = await server.call(lambda client: rows_by_id(server, client, state, ids), limit=REQUEST_LIMIT)
    mended = 0
    for tenant in sorted({row.tenant for row in rows.values()}):
        wanted = [id_ for row in rows.values() if row.tenant == tenant for id_ in row.chunk_ids]
        try:
            mended += await _mend(server, chunks_of(server, state, tenant), wanted)
        except TenantInactive:
            # One tenant that is switched off must not keep everybody from writing.
            continue
        except TenantUnknown:
            # Somebody removed it with all that it held.
            mended += len(wanted)
    return mended


async def _mend(server: BaseServer, collection_of: Any, wanted: Sequence[str]) -> int:
    """Repair those of the chunks `wanted` that an index has lost; how many were not as they should be."""
    there = await _fetched(server, collection_of, wanted)
    lost = await _not_found(server, collection_of, there)
    await remake(server, collection_of, lost)
    await not_searchable(server, collection_of, lost)
    # One that is gone altogether, since its repair was cut off, makes its document incomplete.
    return len(lost) + len(wanted) - len(there)


async def _fetched(server: BaseServer, collection_of: Any, ids: Sequence[str]) -> list[NewObject]:
    async def fetched(some: Sequence[str], client: WeaviateAsyncClient) -> list[NewObject]:
        # One by one, which needs no index that may have lost them.
        query = collection_of(client).query
        given = await asyncio.gather(*(query.fetch_object_by_id(id_, include_vector=[VECTOR]) for id_ in some))
        return [new_object(one) for one in given if one is not None]

    return await server.in_slices(ids, 100, fetched)


async def _not_found(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> list[NewObject]:
    """Those of `objects` that do not find themselves by vector, or that the inverted index does not know."""
    known = await _in_inverted_index(server, collection_of, objects)

    async def looked(some: Sequence[NewObject], client: WeaviateAsyncClient) -> list[bool]:
        return await asyncio.gather(*(_finds_itself(collection_of(client), one) for one in some))

    found = await server.in_slices(objects, _AT_ONCE, looked)
    return [one for one, itself in zip(objects, found, strict=True) if not itself or one.id not in known]


async def _finds_itself(collection: Any, one: NewObject) -> bool:
    # Where each number of a vector is 0, it is near to nothing, itself included.
    rows = [row for row in (one.vector or {}).get(VECTOR, ()) if any(row)]
    return all([await _finds(collection, one.id, row) for row in rows])


async def _finds(collection: Any, id_: str, row: Sequence[float]) -> bool:
    given = await collection.query.near_vector(
        [list(row)],
        target_vector=VECTOR,
        limit=_AMONG,
        return_properties=[],
        return_metadata=queries().MetadataQuery(distance=True),
    )
    if any(str(one.uuid) == id_ for one in given.objects):
        return True
    # So many others are exactly as near that it need not be among them.
    own = -sum(number * number for number in row)
    return len(given.objects) == _AMONG and all(one.metadata.distance <= own + _EXACT for one in given.objects)


async def _in_inverted_index(server: BaseServer, collection_of: Any, objects: Sequence[NewObject]) -> set[str]:
    async def fetched(some: Sequence[str], client: WeaviateAsyncClient) -> list[str]:
        by = queries().Filter.by_property("version")
        given = await collection_of(client).query.fetch_objects(
            filters=by.contains_any(list(some)), limit=10_000, return_properties=[]
        )
        return [str(one.uuid) for one in given.objects]

    versions = sorted({str(one.properties["version"]) for one in objects})
    return set(await server.in_slices(versions, 50, fetched))
