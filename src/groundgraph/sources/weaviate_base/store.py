"""The writing side of a knowledge base in Weaviate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, Problem, SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, StoredDocument, Verified
from groundgraph.sources.knowledge_base.ledger import settled
from groundgraph.sources.weaviate.address import load_client_library
from groundgraph.sources.weaviate.client import WeaviateConnection
from groundgraph.sources.weaviate_base import ledger
from groundgraph.sources.weaviate_base.collections import (
    BasePlace,
    add_fields,
    make_chunks,
    make_ledger,
    make_state_collection,
)
from groundgraph.sources.weaviate_base.insert import copy_without_vectors, fill_fields
from groundgraph.sources.weaviate_base.lock import LEASE, writing
from groundgraph.sources.weaviate_base.objects import document_id
from groundgraph.sources.weaviate_base.server import REQUEST_LIMIT, BaseServer, BaseState
from groundgraph.sources.weaviate_base.verify import mend_recent, verify
from groundgraph.sources.weaviate_base.writer import (
    join_journals,
    remove_documents,
    save,
    without_pending,
    write_documents,
)

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# Making a base ready for writing: its collections, its identity, its fields, and what a killed writer left.


async def _mended(server: BaseServer, state: BaseState, *, lost: bool) -> tuple[BaseState, Verified]:
    """The state without its last writes, which are looked for, and what had to be repaired; `lost` if chunks are."""
    if not lost and not await mend_recent(server, state):
        return replace(state, recent=()), Verified()
    # The server was killed, and what it lost need not be all of the last writes.
    repaired = await verify(server)
    return replace(state, changes=(await server.state()).changes + 1, recent=()), repaired


async def ready_for_writing(
    server: BaseServer, identity: BaseIdentity, fields: Sequence[str], *, rebuild: bool
) -> tuple[BaseState, Verified]:
    """The state of the base once it is ready, and what had to be repaired for that; the lock is held.

    Raises:
        EmbeddingModelChanged: the base holds vectors of another model or dimension.
        ConfigurationError: the field that names the tenant was another one, or the state alone is gone.
    """
    held = await _held_state(server)
    state = held or BaseState(tenant_from=server.place.tenant_from)
    state = await _rebuilt(server, state, identity) if rebuild and held else _settled(server, state, identity)
    made = await server.call(lambda client: _make_collections(server, client, state), limit=REQUEST_LIMIT)
    # Somebody removed the chunks: without a look their documents would count as unchanged.
    lost = made and held is not None
    state = await _with_fields(server, state, fields)
    state = await without_pending(server, state)
    repaired = Verified()
    if (state.recent or lost) and state.number == (held or state).number:
        state, repaired = await _mended(server, state, lost=lost)
    if state != held:
        await _save_ready(server, state)
    return state, repaired


async def _held_state(server: BaseServer) -> BaseState | None:
    """The state that is there, None for a new base; one that must not be written to is refused."""
    held = await server.find_state()
    if held is not None and held.tenant_from != server.place.tenant_from:
        raise ConfigurationError([Problem("knowledge_base.weaviate.tenant_from", _tenant_message(server, held))])
    return held


async def _save_ready(server: BaseServer, state: BaseState) -> None:
    """Keep the state; an ingest that finds nothing new writes nothing."""
    await save(server, state)
    if state.sharded:
        await join_journals(server)


def _settled(server: BaseServer, state: BaseState, wanted: BaseIdentity) -> BaseState:
    """The state with `wanted`; without a model there, the model of vectors that are there stays."""
    return replace(state, identity=settled(server.place.told, state.identity, wanted, filled=state.filled))


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


async def _with_fields(server: BaseServer, state: BaseState, wanted: Sequence[str]) -> BaseState:
    """The state with numbers for all `wanted` fields; chunks that are there get the values of new ones."""
    new = [name for name in wanted if name not in state.fields]
    if not new:
        return state
    first = max(state.fields.values(), default=0) + 1
    numbers = {name: number for number, name in enumerate(new, first)}

    async def added(client: WeaviateAsyncClient) -> None:
        for collection in _chunk_collections(server, state.number):
            await add_fields(client, collection, numbers.values())

    await server.call(added, limit=REQUEST_LIMIT)
    if state.changes:
        await fill_fields(server, state, numbers)
    return replace(state, fields={**state.fields, **numbers})


async def _make_collections(server: BaseServer, client: WeaviateAsyncClient, state: BaseState) -> bool:
    """Make those that are not there; whether any of the chunks was not."""
    await make_ledger(client, server.place)
    made = await make_chunks(client, server.place, state.number)
    for collection in _chunk_collections(server, state.number):
        await add_fields(client, collection, state.fields.values())
    return made


async def _drop_chunks(server: BaseServer, client: WeaviateAsyncClient, number: int) -> None:
    for collection in _chunk_collections(server, number):
        await client.collections.delete(collection)


def _chunk_collections(server: BaseServer, number: int) -> list[str]:
    place = server.place
    return [place.chunks(number), *([place.memory(number)] if place.tenant_from else [])]


def _tenant_message(server: BaseServer, state: BaseState) -> str:
    was = f"'{state.tenant_from}'" if state.tenant_from else "none"
    return f"the knowledge base {server.place.told} was made with {was}; ingest with another prefix to change that"


LOCK_TIMEOUT = LEASE + 5.0


class WeaviateStore:
    """A `KnowledgeStore` in Weaviate; see there for the methods.

    A reader in any process always finds one version of a document; see `writer`. The methods that read work without
    `open`, and find nothing before the first ingest; the collections are created by `open` or the first `write`.

    Args:
        place: where the base is.
        fields: the fields that filters may name beside `document`.
        lock_timeout: seconds to wait for another process that writes.
        shard: the one to write to, of a base that `open_for_shards` made ready; None for the whole base.
        connection: see `BaseServer`.
    """

    def __init__(
        self,
        place: BasePlace,
        *,
        fields: Iterable[str] = (),
        lock_timeout: float = LOCK_TIMEOUT,
        shard: int | None = None,
        connection: WeaviateConnection | None = None,
    ) -> None:
        self.place = place
        self._fields = ("document", *fields)
        self._lock_timeout = lock_timeout
        self._server = BaseServer(place, shard, connection)
        self._state: BaseState | None = None
        # What opening the base had to repair, until somebody is told.
        self._repaired = Verified()
        self._closed = False
        self._turn = asyncio.Lock()

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:
        """See `KnowledgeStore.open`. What a killed writer left behind is removed.

        Raises:
            SourceError: the server cannot answer.
        """
        await self._opened(identity, rebuild=rebuild)
        repaired, self._repaired = self._repaired, Verified()
        return repaired.taken_out

    async def open_for_shards(self, identity: BaseIdentity) -> Sequence[str]:
        """As `open`, and lets other processes write to the shards of the base, each to one of its own.

        Args:
            identity: with the dimension of the vectors, which is fixed before any of them is written.
        """
        lost = await self.open(identity)
        async with self._writing() as state:
            ready = replace(state, sharded=True, filled=state.filled or bool(identity.dimension))
            if ready != state:
                await save(self._server, ready)
        return lost

    async def stored(self, names: Iterable[str]) -> dict[str, StoredDocument]:
        """See `KnowledgeStore.stored`."""
        ids = [document_id(name) for name in names]
        state = await self._read()
        if state is None:
            return {}
        rows = await self._server.call(
            lambda client: ledger.rows_by_id(self._server, client, state, ids), limit=REQUEST_LIMIT
        )
        return {row.stored.name: row.stored for row in rows.values()}

    async def names_from_files(self) -> list[str]:
        """See `KnowledgeStore.names_from_files`."""
        return [row.name for row in await self.documents() if row.from_file]

    async def write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        """See `KnowledgeStore.write`.

        Raises:
            EmbeddingModelChanged: the vectors are not of the dimension of the base, or missing where it has vectors.
            StorageLocked: another process is writing.
            SourceError: the server cannot answer; writing the same again goes on where it stopped.
        """
        async with self._writing() as state:
            self._state, failed = await write_documents(self._server, state, batch)
        return failed

    async def remove(self, names: Iterable[str]) -> int:
        """See `KnowledgeStore.remove`."""
        wanted = list(names)
        if await self._read() is None:
            return 0
        async with self._writing() as state:
            self._state, removed = await remove_documents(self._server, state, wanted)
        return removed

    async def documents(self) -> list[StoredDocument]:
        """See `KnowledgeStore.documents`.

        Raises:
            SourceError: the server cannot answer; also raised by the other methods that read.
        """
        state = await self._read()
        if state is None:
            return []
        rows = await self._server.call(lambda client: ledger.all_rows(self._server, client, state), limit=REQUEST_LIMIT)
        return [row.stored for row in rows]

    async def document(self, name: str) -> Document | None:
        """See `KnowledgeStore.document`."""
        state = await self._read()
        if state is None:
            return None
        found = await self._server.call(lambda client: ledger.document(self._server, client, state, name))
        return found[1] if found else None

    async def chunks(self, name: str) -> list[PreparedChunk]:
        """See `KnowledgeStore.chunks`."""
        state = await self._read()
        if state is None:
            return []
        return await self._server.call(
            lambda client: ledger.chunks(self._server, client, state, name), limit=REQUEST_LIMIT
        )

    async def tidy(self) -> None:
        """Nothing: Weaviate keeps its indexes in order by itself."""

    async def verify(self) -> Verified:
        """Look for every chunk as a search would, and repair what is not found; see `verify`. What opening the base for
        this had to repair is part of the result.

        Raises:
            StorageLocked: another process is writing.
            SourceError: the server cannot answer.
        """
        async with self._writing():
            found = await verify(self._server)
        before, self._repaired = self._repaired, Verified()
        found.repaired += before.repaired
        found.removed += before.removed
        found.incomplete = sorted({*before.incomplete, *found.incomplete})
        found.altered = sorted({*before.altered, *found.altered})
        return found

    async def close(self) -> None:
        """See `KnowledgeStore.close`; closing twice is harmless."""
        self._closed = True
        await self._server.close()

    async def _read(self) -> BaseState | None:
        self._check_open()
        return await self._server.find_state()

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[BaseState]:
        """The state of the base, with other writers kept out."""
        self._check_open()
        if self._state is None:
            await self._opened(BaseIdentity())
        async with self._turn, writing(self._server, self._lock_timeout):
            # Another writer may have changed it since, and one may have been cut off, here or elsewhere.
            yield await without_pending(self._server, await self._server.state())

    async def _opened(self, identity: BaseIdentity, *, rebuild: bool = False) -> None:
        self._check_open()
        await load_client_library()
        await self._server.call(lambda client: make_state_collection(client, self.place), limit=REQUEST_LIMIT)
        async with self._turn, writing(self._server, self._lock_timeout):
            if self._server.shard is None:
                self._state, self._repaired = await ready_for_writing(
                    self._server, identity, self._fields, rebuild=rebuild
                )
            else:
                state = await self._server.state()
                _settled(self._server, state, identity)
                self._state = await without_pending(self._server, state)

    def _check_open(self) -> None:
        if self._closed:
            raise SourceUnavailable(f"The store over the knowledge base {self.place.told} is closed.")
