"""Writing documents so that a reader always finds one version of each.

First the new chunks are written beside the old ones; readers leave them out, because the ledger still names the old
version. When all are found by searches, the ledger is switched, one object per document, and then the old chunks are
removed. The names of the documents under way stand in the base's state, so that whoever opens it for writing after a
process was killed removes what that left behind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import TenantUnknown
from groundgraph.core.knowledge_store import BaseIdentity, PreparedDocument
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.knowledge_base.ledger import check_model
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate_base.collections import tenant_name
from groundgraph.sources.weaviate_base.insert import (
    INDEXED_WITHIN,
    NewObject,
    insert,
    not_searchable,
    remove_by_id,
)
from groundgraph.sources.weaviate_base.ledger import LedgerRow, rows_by_id
from groundgraph.sources.weaviate_base.objects import DocumentObjects, document_id, document_objects, ids_of_all
from groundgraph.sources.weaviate_base.server import (
    REQUEST_LIMIT,
    BaseServer,
    BaseState,
    objects_by_id,
    slices,
    write_state,
)

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

# How many documents are looked for when the base is opened again: a few batches.
RECENT = 256
CollectionOf = Callable[["WeaviateAsyncClient"], Any]


async def write_documents(
    server: BaseServer, state: BaseState, batch: Sequence[PreparedDocument]
) -> tuple[BaseState, dict[str, str]]:
    """Write `batch`; the state of the base afterwards, and by name why a document could not be written.

    Raises:
        EmbeddingModelChanged: the vectors are not of the dimension of the base; nothing is written.
        SourceError: the server cannot answer; what was written of the batch is cleaned up with the next write.
    """
    failed: dict[str, str] = {}
    objects: dict[str, DocumentObjects] = {}
    for prepared in batch:
        try:
            made = await run_blocking(document_objects, prepared, state.fields, state.tenant_from)
            objects[made.name] = made
        except (ValueError, TypeError) as error:
            failed[prepared.document.name] = f"it cannot be stored: {error}"
    state = _with_dimension(server, state, list(objects.values()))
    if not objects:
        return state, failed
    old = await server.call(
        lambda client: rows_by_id(server, client, state, map(document_id, objects)), limit=REQUEST_LIMIT
    )
    state = await _announced(server, state, objects)
    refused = await _write_chunks(server, state, list(objects.values()))
    kept = [made for made in objects.values() if made.name not in refused]
    refused |= await _switch(server, state, kept)
    await _remove_others(server, state, objects, refused, old)
    return await _finished(server, state, objects, refused), {**failed, **refused}


async def remove_documents(server: BaseServer, state: BaseState, names: Iterable[str]) -> tuple[BaseState, int]:
    """Remove documents with their chunks; the state of the base afterwards, and how many were there."""
    old = await server.call(
        lambda client: rows_by_id(server, client, state, map(document_id, names)), limit=REQUEST_LIMIT
    )
    if not old:
        return state, 0
    tenants = tuple(sorted({row.tenant for row in old.values()} - {""}))
    pending = replace(state, pending=tuple(row.stored.name for row in old.values()), pending_tenants=tenants)
    await save(server, pending)
    await remove_by_id(server, server.documents, list(old))
    await clean_up(server, pending, pending.pending, old.values())
    state = replace(state, changes=state.changes + 1)
    await save(server, state)
    return state, len(old)


async def without_pending(server: BaseServer, state: BaseState) -> BaseState:
    """The state when what a writer left that was cut off is removed; the lock is held."""
    if not state.pending:
        return state
    await clean_up(server, state, state.pending)
    # It may have come as far as to switch some of its documents, which readers do not know yet.
    settled = replace(state, pending=(), pending_tenants=(), changes=state.changes + 1)
    await save(server, settled)
    if server.shard is None and state.sharded:
        await join_journals(server)
    return settled


async def clean_up(server: BaseServer, state: BaseState, names: Sequence[str], old: Collection[LedgerRow] = ()) -> None:
    """Remove all chunks of the documents called `names` that the ledger does not name."""
    ids = list(map(document_id, names))
    rows = await server.call(lambda client: rows_by_id(server, client, state, ids), limit=REQUEST_LIMIT)
    tenants = {row.tenant for row in (*rows.values(), *old)} | {"", *state.pending_tenants}
    there = set(chain.from_iterable(row.chunk_ids for row in rows.values()))
    for tenant in sorted(tenants):
        # What is left in a tenant that is switched off is named by no row, so nobody ever finds it.
        with contextlib.suppress(TenantUnknown):
            for some in slices(ids, 100):
                others = [_others(id_, rows.get(id_), tenant) for id_ in some]
                await _delete_where(server, chunks_of(server, state, tenant), others)
            # An index that lost a chunk when the server was killed does not find it for the removal above.
            gone = [id_ for row in old if row.tenant == tenant for id_ in row.chunk_ids if id_ not in there]
            left = await _still_there(server, chunks_of(server, state, tenant), gone)
            await remove_by_id(server, chunks_of(server, state, tenant), left)


def chunks_of(server: BaseServer, state: BaseState, tenant: str) -> CollectionOf:
    """Gives the collection of the chunks of `tenant` for a client."""
    return lambda client: server.chunks(client, state.number, tenant)


async def save(server: BaseServer, state: BaseState) -> None:
    """Write the state of the base."""
    await server.call(lambda client: write_state(server.state_of(client), state, server.shard))


async def join_journals(server: BaseServer) -> None:
    """Remove the journals of the shards, whose contents the state holds that was written; the lock is held."""
    await remove_by_id(server, server.state_of, ids_of_all("state"))


def _with_dimension(server: BaseServer, state: BaseState, objects: Sequence[DocumentObjects]) -> BaseState:
    for made in objects:
        if not made.chunks:
            continue
        held = state.identity
        if state.filled:
            check_model(server.place.told, held, held.embedding_model if made.dimension else "", made.dimension)
        elif made.dimension:
            identity = BaseIdentity(held.embedding_model, made.dimension, held.chains)
            state = replace(state, identity=identity, filled=True)
    return state


async def _announced(server: BaseServer, state: BaseState, objects: Mapping[str, DocumentObjects]) -> BaseState:
    tenants = sorted({made.tenant for made in objects.values()} - {""})
    if tenants:
        await server.call(lambda client: _make_tenants(server, client, state, tenants), limit=REQUEST_LIMIT)
    names = {*state.names}.union(*(made.names for made in objects.values()))
    announced = replace(state, pending=tuple(objects), pending_tenants=tuple(tenants), names=tuple(sorted(names)))
    await save(server, announced)
    return announced


async def _make_tenants(
    server: BaseServer, client: WeaviateAsyncClient, state: BaseState, values: Sequence[str]
) -> None:
    from weaviate.classes.tenants import Tenant

    # Those that are there stay as they are.
    tenants = client.collections.use(server.place.memory(state.number)).tenants
    await tenants.create([Tenant(name=tenant_name(value)) for value in values])


async def _write_chunks(server: BaseServer, state: BaseState, objects: Sequence[DocumentObjects]) -> dict[str, str]:
    """By name, why the chunks of a document are not all there."""
    refused: dict[str, str] = {}
    for tenant in sorted({made.tenant for made in objects}):
        mine = [made for made in objects if made.tenant == tenant]
        refused |= await _write_some(server, chunks_of(server, state, tenant), mine)
    return refused


async def _write_some(
    server: BaseServer, collection_of: CollectionOf, objects: Sequence[DocumentObjects]
) -> dict[str, str]:
    refused: dict[str, str] = {}
    new = list(chain.from_iterable(map(_new_chunks, objects)))
    names = {id_: made.name for made in objects for id_ in made.chunk_ids}
    for id_, reason in (await insert(server, collection_of, new)).items():
        refused.setdefault(names[id_], f"Weaviate refused a chunk: {reason}")
    told = f"a chunk was written, but no search found it within {INDEXED_WITHIN:g} s"
    for id_ in await not_searchable(server, collection_of, [one for one in new if names[one.id] not in refused]):
        refused.setdefault(names[id_], told)
    return refused


def _new_chunks(made: DocumentObjects) -> list[NewObject]:
    return [NewObject(id_, *chunk) for id_, chunk in zip(made.chunk_ids, made.chunks, strict=True)]


async def _switch(server: BaseServer, state: BaseState, objects: Sequence[DocumentObjects]) -> dict[str, str]:
    """Let the ledger name the new versions; by name, why it does not."""
    names = {document_id(made.name): made.name for made in objects}
    rows = [NewObject(document_id(made.name), {**made.row, "rebuilt": state.rebuilt}) for made in objects]
    refused = await insert(server, server.documents, rows)
    return {names[id_]: f"Weaviate refused it: {reason}" for id_, reason in refused.items()}


async def _remove_others(
    server: BaseServer,
    state: BaseState,
    objects: Mapping[str, DocumentObjects],
    refused: Mapping[str, str],
    old: Mapping[str, LedgerRow],
) -> None:
    """Remove the old versions, and the new ones that were refused."""
    # Only where something can be left: a new document that was written has no other chunks.
    changed = [name for name in objects if name in refused or document_id(name) in old]
    if changed:
        await clean_up(server, state, changed, [old[id_] for id_ in map(document_id, changed) if id_ in old])


async def _finished(
    server: BaseServer, state: BaseState, objects: Mapping[str, DocumentObjects], refused: Mapping[str, str]
) -> BaseState:
    changes = state.changes + (len(refused) < len(objects))
    written = [name for name in objects if name not in refused]
    recent = tuple(dict.fromkeys([*state.recent, *written]))[-RECENT:]
    finished = replace(state, pending=(), pending_tenants=(), recent=recent, changes=changes)
    await save(server, finished)
    return finished


def _others(id_: str, row: LedgerRow | None, tenant: str) -> Any:
    """A filter for the chunks of a document that its row does not name."""
    filters, by = queries().Filter, queries().Filter.by_property
    own = by("document_id").equal(id_)
    if row is None or row.tenant != tenant:
        return own
    other = filters.any_of([by("version").not_equal(row.version), by("position").greater_or_equal(row.stored.chunks)])
    return filters.all_of([own, other])


async def _delete_where(server: BaseServer, collection_of: CollectionOf, any_of: Sequence[Any]) -> None:
    async def deleted(client: WeaviateAsyncClient) -> int:
        where = any_of[0] if len(any_of) == 1 else queries().Filter.any_of(list(any_of))
        done = await collection_of(client).data.delete_many(where)
        return int(done.successful)

    # One call removes ten thousand objects at most.
    left = len(any_of)
    while left:
        left = await server.call(deleted, limit=REQUEST_LIMIT)


async def _still_there(server: BaseServer, collection_of: CollectionOf, ids: Sequence[str]) -> list[str]:
    found = await server.call(lambda client: objects_by_id(collection_of(client), ids, []), limit=REQUEST_LIMIT)
    return [str(one.uuid) for one in found]
