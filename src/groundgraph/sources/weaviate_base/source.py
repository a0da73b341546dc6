"""The source over a knowledge base in Weaviate, and the headings and vectors of the base, for a topic index.

The state of the base says how often it was written to, so what was read of it counts until that changes. Only the
version of a document that the ledger names counts, and what a user sees is fetched anew with the filters of the turn.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Hashable, Iterator, Mapping, Sequence
from typing import Any, Self, Unpack

from groundgraph.core.errors import TenantUnknown
from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import matches
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.topics import Place, Row, SharedReadings, Topics
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base.chained_source import DEFAULT_NAME, ChainedOptions, ChainedSource
from groundgraph.sources.knowledge_base.ledger import check_model
from groundgraph.sources.knowledge_base.source import ChainedTopicStore, arguments_of
from groundgraph.sources.topic_index.cluster import MAX_VECTORS
from groundgraph.sources.weaviate.address import load_client_library
from groundgraph.sources.weaviate.errors import TenantInactive
from groundgraph.sources.weaviate_base.collections import VECTOR, BasePlace, tenant_name
from groundgraph.sources.weaviate_base.insert import NewObject, chunk_pages
from groundgraph.sources.weaviate_base.ledger import LedgerRow, all_rows
from groundgraph.sources.weaviate_base.searcher import WeaviateSearcher, part_of
from groundgraph.sources.weaviate_base.server import REQUEST_LIMIT, BaseState

MAX_CHUNKS = 200_000
_PLACED = ["document_id", "version", "position"]
_OUTLINED = [*_PLACED, "headings", "values"]


class BaseTopicStore(ChainedTopicStore, Topics[str]):
    """A `TopicStore`; see there for the methods. The keys are the values that filters are about, as JSON.

    Args:
        source: searches the base with its chains.
        searcher: reads the base.
        tenant: whose chunks these are, a value of the tenant's field; those of everybody when empty.
        readings: those of all tenants.
    """

    _tenant: str

    def __init__(
        self,
        source: ChainedSource,
        searcher: WeaviateSearcher,
        tenant: str = "",
        readings: SharedReadings | None = None,
    ) -> None:
        ChainedTopicStore.__init__(self, source)
        Topics.__init__(self, source.name, tenant, readings)
        self._searcher = searcher
        self._server = searcher.server

    def part(self, filters: Mapping[str, Any]) -> Self:
        """See `PartedTopicStore.part`; without a tenant in `filters` what is everybody's, as in a search.

        Raises:
            FilterInvalid: the condition on the tenant's field does not name one tenant.
        """
        tenant = part_of(BaseState(tenant_from=self._server.place.tenant_from), filters).tenant
        if tenant == self._tenant:
            return self
        return self._parts.get_or_make(tenant, lambda: type(self)(self._source, self._searcher, tenant, self._readings))

    async def revision(self) -> Hashable:
        """See `TopicStore.revision`."""
        state = await self._server.state()
        return state.number, state.rebuilt, state.changes

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`."""
        values = (await self.reading(vectors=False)).keys

        def checked() -> frozenset[str]:
            return frozenset(one for one, written in values.items() if matches(filters, json.loads(written)))

        return await run_blocking(checked) if filters else frozenset(values)

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`."""
        found = await self._searcher.fetch(ids, self._tenant)
        return {one.result.source_id: one.result for values, one in found if matches(filters, values)}

    async def has_vectors(self) -> bool:
        """See `Topics.has_vectors`."""
        state = await self._server.state()
        if state.filled and self._source.embedder:
            check_model(self._searcher.place, state.identity, self._source.embedder.name, None)
        return state.filled

    def too_many(self, count: int, *, vectors: bool) -> str:
        """See `Topics.too_many`."""
        most, what = (MAX_VECTORS, "clustered") if vectors else (MAX_CHUNKS, "read for headings")
        if count <= most:
            return ""
        return (
            f"the base holds more than {most} chunks, too many to be {what}. Leave `topic_index` out, or divide the "
            "base."
        )

    async def pages(self, *, vectors: bool) -> AsyncGenerator[list[Row[str]], None]:
        """See `Topics.pages`; chunks of versions that no longer count are left out."""
        state = await self._server.state()
        rows = await self._server.call(lambda client: all_rows(self._server, client, state), limit=REQUEST_LIMIT)
        counting = {(row.id, row.version): row for row in rows if row.tenant == self._tenant}
        tenant = tenant_name(self._tenant) if self._tenant else ""
        only = _PLACED if vectors else _OUTLINED
        paths: dict[str, tuple[str, ...]] = {}
        try:
            async for page in chunk_pages(self._server, state.number, tenant, only=only, vectors=vectors):
                yield list(_rows(counting, page, paths))
        except TenantInactive:
            raise
        except TenantUnknown:
            return  # nothing was written for this tenant yet


def _rows(
    counting: Mapping[tuple[str, str], LedgerRow], page: Sequence[NewObject], paths: dict[str, tuple[str, ...]]
) -> Iterator[Row[str]]:
    """Those of a page that count; `paths` holds the headings that were read already, which are one object each."""
    for one in page:
        values = one.properties
        row, position = counting.get((values["document_id"], values["version"])), int(values["position"])
        if row is not None and position < row.stored.chunks:
            name, headings = row.stored.name, values.get("headings", "[]")
            if headings not in paths:
                paths[headings] = tuple(json.loads(headings))
            place = Place(f"{name}#{position}", name, paths[headings])
            yield Row(place, position, values.get("values", ""), (one.vector or {}).get(VECTOR))


# The source over a knowledge base in Weaviate.


class WeaviateBaseSource(ChainedSource):
    """The chunks that an ingest wrote into Weaviate; see `ChainedSource` for the other arguments.

    Results, their order and their relevance are those of an embedded base with the same documents. Where the place has
    tenants, what belongs to one is only searched with a filter that names it, and then nothing else is.

    Args:
        place: where the base is.
    """

    _topics: BaseTopicStore

    def __init__(self, place: BasePlace, **options: Unpack[ChainedOptions]) -> None:
        self._weaviate = WeaviateSearcher(place, options.get("name", DEFAULT_NAME))
        super().__init__(self._weaviate, **options)
        self._topics = BaseTopicStore(self, self._weaviate)

    async def load(self) -> None:
        """Load the client library, which takes a second and is no part of the server's answer."""
        await load_client_library()

    async def recovered(self) -> bool:
        """See `GroundedSource.recovered`: whether the server says that it is ready."""
        return await self._weaviate.recovered()

    async def close(self) -> None:
        """Close the connection; what a topic index reads of the base is given up."""
        await self._topics.close()
        await super().close()


# A knowledge base in Weaviate as an entry of `sources:`.

_OPTIONS = ("prefix", "fields", "description", "vector_weight")


def weaviate_base_from_options(entry: SourceOptions, place: BasePlace) -> WeaviateBaseSource:
    """`type: knowledge_base` without a `path`, where the back end is Weaviate.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    return WeaviateBaseSource(place, **arguments_of(entry, _OPTIONS))
