"""The headings and vectors of a knowledge base in Weaviate, for a topic index.

The state of the base says how often it was written to, so what was read of it counts until that changes. Only the
version of a document that the ledger names counts, and what a user sees is fetched anew with the filters of the turn.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from groundgraph.core.blocking import run_blocking
from groundgraph.core.errors import SchemaChanged, SourceUnavailable, TenantUnknown
from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import matches
from groundgraph.core.latest import Latest
from groundgraph.core.topic_store import Outline, PassageVectors, Place
from groundgraph.sources.knowledge_base.chained_topic_store import ChainedTopicStore
from groundgraph.sources.knowledge_base.identity import check_model
from groundgraph.sources.topic_index.leader_clusters import MAX_VECTORS
from groundgraph.sources.weaviate.errors import TenantInactive
from groundgraph.sources.weaviate.shared_readings import SharedReadings
from groundgraph.sources.weaviate_base.collections import VECTOR
from groundgraph.sources.weaviate_base.copy_chunks import chunk_pages
from groundgraph.sources.weaviate_base.insert import REQUEST_LIMIT, NewObject
from groundgraph.sources.weaviate_base.ledger import LedgerRow, all_rows
from groundgraph.sources.weaviate_base.place import tenant_name
from groundgraph.sources.weaviate_base.searcher import WeaviateSearcher, part_of
from groundgraph.sources.weaviate_base.state import BaseState

if TYPE_CHECKING:
    from groundgraph.sources.knowledge_base.chained_source import ChainedSource

MAX_CHUNKS = 200_000
_KEPT_TENANTS = 16
_PLACED = ["document_id", "version", "position"]
_OUTLINED = [*_PLACED, "headings", "values"]


@dataclass(frozen=True)
class _Chunks:
    """The chunks of one revision: their outline, and by id the values that filters are about, as JSON."""

    outline: Outline
    values: Mapping[str, str] = field(repr=False)


class BaseTopicStore(ChainedTopicStore):
    """A `TopicStore`; see there for the methods.

    Args:
        source: searches the base with its chains.
        searcher: reads the base.
        tenant: whose chunks these are, a value of the tenant's field; those of everybody when empty.
    """

    def __init__(self, source: ChainedSource, searcher: WeaviateSearcher, tenant: str = "") -> None:
        super().__init__(source)
        self._searcher = searcher
        self._server = searcher.server
        self._tenant = tenant
        self._parts: Latest[str, BaseTopicStore] = Latest(_KEPT_TENANTS)
        self._readings = SharedReadings()
        self._chunks: _Chunks | None = None
        self._vectors: PassageVectors | None = None

    def part(self, filters: Mapping[str, Any]) -> BaseTopicStore:
        """See `PartedTopicStore.part`; without a tenant in `filters` what is everybody's, as in a search.

        Raises:
            FilterInvalid: the condition on the tenant's field does not name one tenant.
        """
        tenant = part_of(BaseState(tenant_from=self._server.place.tenant_from), filters).tenant
        if tenant == self._tenant:
            return self
        return self._parts.get_or_make(tenant, lambda: BaseTopicStore(self._source, self._searcher, tenant))

    async def revision(self) -> Hashable:
        """See `TopicStore.revision`."""
        return _revision(await self._server.state())

    async def outline(self) -> Outline:
        """See `TopicStore.outline`.

        Raises:
            SourceUnavailable: there are more than `MAX_CHUNKS` chunks.
        """
        return (await self._current()).outline

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`."""
        values = (await self._current()).values

        def checked() -> frozenset[str]:
            return frozenset(one for one, written in values.items() if matches(filters, json.loads(written)))

        return await run_blocking(checked) if filters else frozenset(values)

    async def vectors(self) -> PassageVectors | None:
        """See `TopicStore.vectors`; that of a chunk with several matching texts is their mean.

        Raises:
            EmbeddingModelChanged: they are of another model than the source's.
            SourceUnavailable: there are more than can be clustered.
        """
        state = await self._server.state()
        if not state.filled:
            return None
        if self._source.embedder:
            check_model(self._searcher.place, state.identity, self._source.embedder.name, None)
        if self._vectors is None or self._vectors.revision != _revision(state):
            self._vectors = await self._readings.once("vectors", lambda: self._again(_read_vectors))
        return self._vectors

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`."""
        found = await self._searcher.fetch(ids, self._tenant)
        return {one.result.source_id: one.result for values, one in found if matches(filters, values)}

    async def close(self) -> None:
        """End what is being read on this event loop."""
        for store in (self, *self._parts.values()):
            await store._readings.close()

    async def _current(self) -> _Chunks:
        revision = await self.revision()
        if self._chunks is None or self._chunks.outline.revision != revision:
            self._chunks = await self._readings.once("outline", lambda: self._again(_read_chunks))
        return self._chunks

    async def _again(self, read: Any) -> Any:
        """What `read` gives; a rebuild may put the chunks into another collection meanwhile."""
        try:
            return await read(self, await self._server.state())
        except SchemaChanged:
            return await read(self, await self._server.state())

    async def rows(self, state: BaseState) -> dict[tuple[str, str], LedgerRow]:
        """The documents of this part by their ids and versions."""
        rows = await self._server.call(lambda client: all_rows(self._server, client, state), limit=REQUEST_LIMIT)
        return {(row.id, row.version): row for row in rows if row.tenant == self._tenant}

    async def read(
        self, state: BaseState, only: list[str], *, most: int, to_do: str, vectors: bool = False
    ) -> list[NewObject]:
        """All chunks in the collection of this part, those of versions that no longer count among them."""
        tenant = tenant_name(self._tenant) if self._tenant else ""
        found: list[NewObject] = []
        try:
            async for page in chunk_pages(self._server, state.number, tenant, only=only, vectors=vectors):
                found += page
                if len(found) > most:
                    raise SourceUnavailable(
                        f"The topic index of '{self._source.name}' cannot be used: the base holds more than {most} "
                        f"chunks, too many to be {to_do}. Leave `topic_index` out, or divide the base."
                    )
        except TenantInactive:
            raise
        except TenantUnknown:
            return []  # nothing was written for this tenant yet
        return found


def _revision(state: BaseState) -> Hashable:
    return state.number, state.rebuilt, state.changes


async def _read_chunks(store: BaseTopicStore, state: BaseState) -> _Chunks:
    rows = await store.rows(state)
    objects = await store.read(state, _OUTLINED, most=MAX_CHUNKS, to_do="read for headings")
    return await run_blocking(_outlined, _revision(state), rows, objects)


def _outlined(revision: Hashable, rows: Mapping[tuple[str, str], LedgerRow], objects: Sequence[NewObject]) -> _Chunks:
    paths: dict[str, tuple[str, ...]] = {}
    found: list[tuple[str, int, Place, str]] = []
    for name, position, values in _counting(rows, objects):
        headings = values["headings"]
        if headings not in paths:
            paths[headings] = tuple(json.loads(headings))
        found.append((name, position, Place(f"{name}#{position}", name, paths[headings]), values["values"]))
    found.sort(key=lambda one: one[:2])
    places = [place for _, _, place, _ in found]
    return _Chunks(Outline(revision, places), {place.id: values for _, _, place, values in found})


async def _read_vectors(store: BaseTopicStore, state: BaseState) -> PassageVectors:
    rows = await store.rows(state)
    objects = await store.read(state, _PLACED, most=MAX_VECTORS, to_do="clustered", vectors=True)
    return await run_blocking(_stacked, _revision(state), rows, objects)


def _stacked(
    revision: Hashable, rows: Mapping[tuple[str, str], LedgerRow], objects: Sequence[NewObject]
) -> PassageVectors:
    import numpy as np

    found = {
        f"{name}#{position}": np.asarray(values[VECTOR], dtype=np.float32).mean(axis=0)
        for name, position, values in _counting(rows, objects)
        if VECTOR in values
    }
    matrix = np.stack(list(found.values())) if found else np.zeros((0, 0), dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return PassageVectors(revision, list(found), matrix / np.where(lengths > 0, lengths, 1))


def _counting(
    rows: Mapping[tuple[str, str], LedgerRow], objects: Sequence[NewObject]
) -> list[tuple[str, int, dict[str, Any]]]:
    """The name of the document, the position and the properties, with the vectors, of each chunk that counts."""
    found = []
    for one in objects:
        row = rows.get((one.properties["document_id"], one.properties["version"]))
        position = int(one.properties["position"])
        if row is not None and position < row.stored.chunks:
            found.append((row.stored.name, position, {**one.properties, **(one.vector or {})}))
    return found
