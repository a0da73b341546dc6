"""Making a base ready for writing: its collections, its identity, its fields, and what a killed writer left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.knowledge_store import BaseIdentity, Verified
from groundgraph.sources.knowledge_base.identity import check_model
from groundgraph.sources.weaviate_base.collections import add_field, make_chunks, make_ledger
from groundgraph.sources.weaviate_base.copy_chunks import copy_without_vectors, fill_fields
from groundgraph.sources.weaviate_base.insert import REQUEST_LIMIT
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.sources.weaviate_base.state import BaseState
from groundgraph.sources.weaviate_base.verify import mend_recent, verify
from groundgraph.sources.weaviate_base.writer import save, without_pending

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


async def ready_for_writing(
    server: BaseServer, identity: BaseIdentity, fields: Sequence[str], *, rebuild: bool
) -> tuple[BaseState, Verified]:
    """The state of the base once it is ready, and what had to be repaired for that; the lock is held.

    Raises:
        EmbeddingModelChanged: the base holds vectors of another model or dimension.
        ConfigurationError: the field that names the tenant was another one.
    """
    held = await server.find_state()
    state = held or BaseState(tenant_from=server.place.tenant_from)
    if state.tenant_from != server.place.tenant_from:
        raise ConfigurationError([Problem("knowledge_base.weaviate.tenant_from", _tenant_message(server, state))])
    state = await _rebuilt(server, state, identity) if rebuild and held else _settled(server, state, identity)
    await server.call(lambda client: _make_collections(server, client, state), limit=REQUEST_LIMIT)
    new = [name for name in fields if name not in state.fields]
    state = await _with_fields(server, state, new)
    state = await without_pending(server, state)
    repaired = Verified()
    if state.recent and state.number == (held or state).number:
        if await mend_recent(server, state):
            # The server was killed, and what it lost need not be all of the last writes.
            repaired = await verify(server)
            state = replace(state, changes=(await server.state()).changes + 1)
        state = replace(state, recent=())
    if state != held:
        # An ingest that finds nothing new writes nothing.
        await save(server, state)
    return state, repaired


def _settled(server: BaseServer, state: BaseState, wanted: BaseIdentity) -> BaseState:
    """The state with `wanted`; without a model there, the model of vectors that are there stays."""
    held = state.identity
    model, dimension = wanted.embedding_model, wanted.dimension
    if state.filled:
        check_model(server.place.told, held, model or held.embedding_model, dimension or None)
        model, dimension = held.embedding_model, held.dimension
    return replace(state, identity=BaseIdentity(model, dimension, {**held.chains, **wanted.chains}))


async def _rebuilt(server: BaseServer, state: BaseState, wanted: BaseIdentity) -> BaseState:
    """Every document counts as changed; where the model is another one, the vectors are dropped."""
    rebuilt = replace(state, rebuilt=state.rebuilt + 1, changes=state.changes + 1)
    identity = BaseIdentity(wanted.embedding_model, wanted.dimension, {**state.identity.chains, **wanted.chains})
    same = wanted.embedding_model == state.identity.embedding_model
    if state.filled and not (same and wanted.dimension in (0, state.identity.dimension)):
        # The size of a vector is fixed for a collection, so there is a new one.
        rebuilt = replace(rebuilt, number=state.number + 1, filled=False, identity=identity)
        await copy_without_vectors(server, state, rebuilt)
        await save(server, rebuilt)
        await server.call(lambda client: _drop_chunks(server, client, state.number), limit=REQUEST_LIMIT)
        return rebuilt
    return _settled(server, rebuilt, wanted)


async def _with_fields(server: BaseServer, state: BaseState, new: Sequence[str]) -> BaseState:
    """The state with numbers for the fields `new`; chunks that are there get their values."""
    if not new:
        return state
    first = max(state.fields.values(), default=0) + 1
    numbers = {name: number for number, name in enumerate(new, first)}

    async def added(client: WeaviateAsyncClient) -> None:
        for number in numbers.values():
            for collection in _chunk_collections(server, state.number):
                await add_field(client, collection, number)

    await server.call(added, limit=REQUEST_LIMIT)
    if state.changes:
        await fill_fields(server, state, numbers)
    return replace(state, fields={**state.fields, **numbers})


async def _make_collections(server: BaseServer, client: WeaviateAsyncClient, state: BaseState) -> None:
    await make_ledger(client, server.place)
    await make_chunks(client, server.place, state.number)


async def _drop_chunks(server: BaseServer, client: WeaviateAsyncClient, number: int) -> None:
    for collection in _chunk_collections(server, number):
        await client.collections.delete(collection)


def _chunk_collections(server: BaseServer, number: int) -> list[str]:
    place = server.place
    return [place.chunks(number), *([place.memory(number)] if place.tenant_from else [])]


def _tenant_message(server: BaseServer, state: BaseState) -> str:
    was = f"'{state.tenant_from}'" if state.tenant_from else "none"
    return f"the knowledge base {server.place.told} was made with {was}; ingest with another prefix to change that"
