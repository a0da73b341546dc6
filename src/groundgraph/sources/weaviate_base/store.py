"""The writing side of a knowledge base in Weaviate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from groundgraph.core.document import Document
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, StoredDocument, Verified
from groundgraph.sources.weaviate.client_library import load_client_library
from groundgraph.sources.weaviate_base import ledger
from groundgraph.sources.weaviate_base.collections import make_state_collection
from groundgraph.sources.weaviate_base.insert import REQUEST_LIMIT
from groundgraph.sources.weaviate_base.lock import LEASE, writing
from groundgraph.sources.weaviate_base.objects import document_id
from groundgraph.sources.weaviate_base.place import BasePlace
from groundgraph.sources.weaviate_base.prepare import ready_for_writing
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.sources.weaviate_base.state import BaseState
from groundgraph.sources.weaviate_base.verify import verify
from groundgraph.sources.weaviate_base.writer import remove_documents, without_pending, write_documents

LOCK_TIMEOUT = LEASE + 5.0


class WeaviateStore:
    """A `KnowledgeStore` in Weaviate; see there for the methods.

    A reader in any process always finds one version of a document; see `writer`. The methods that read work without
    `open`, and find nothing before the first ingest; the collections are created by `open` or the first `write`.

    Args:
        place: where the base is.
        fields: the fields that filters may name beside `document`.
        lock_timeout: seconds to wait for another process that writes.
    """

    def __init__(self, place: BasePlace, *, fields: Iterable[str] = (), lock_timeout: float = LOCK_TIMEOUT) -> None:
        self.place = place
        self._fields = ("document", *fields)
        self._lock_timeout = lock_timeout
        self._server = BaseServer(place)
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
            self._state, self._repaired = await ready_for_writing(self._server, identity, self._fields, rebuild=rebuild)

    def _check_open(self) -> None:
        if self._closed:
            raise SourceUnavailable(f"The store over the knowledge base {self.place.told} is closed.")
