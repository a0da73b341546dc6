"""A base in Weaviate as what a source searches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groundgraph.core.chain import Match
from groundgraph.core.document import Document
from groundgraph.core.errors import FilterInvalid, SchemaChanged, TenantUnknown
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.knowledge_base.chained_source import OWN_METADATA, Search
from groundgraph.sources.knowledge_base.ledger import check_model
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, chunk_of
from groundgraph.sources.knowledge_base.searcher import match_of
from groundgraph.sources.weaviate.address import load_client_library
from groundgraph.sources.weaviate.errors import TenantInactive
from groundgraph.sources.weaviate.search import together
from groundgraph.sources.weaviate_base.collections import BasePlace
from groundgraph.sources.weaviate_base.ledger import rows_by_id
from groundgraph.sources.weaviate_base.objects import chunk_id, document_id
from groundgraph.sources.weaviate_base.search import ATTEMPTS, Candidate, ChunkSearch, Part, candidate_of
from groundgraph.sources.weaviate_base.server import BaseServer, BaseState, objects_by_id

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

_SHOWN = ["document_id", "version", *CHUNK_COLUMNS]


class WeaviateSearcher:
    """A `BaseSearcher` over a base in Weaviate.

    Args:
        place: where the base is.
        source_name: the name that results carry.
    """

    def __init__(self, place: BasePlace, source_name: str) -> None:
        self.place = place.told
        self.server = BaseServer(place)
        self._source_name = source_name
        self._search = ChunkSearch(self.server)

    async def vector_identity(self) -> BaseIdentity | None:
        """See `BaseSearcher.vector_identity`."""
        state = await self.server.state()
        return state.identity if state.filled else None

    async def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """See `BaseSearcher.run`.

        Raises:
            SourceUnavailable: nothing was ever ingested, or the server cannot be reached.
            SourceTimeout: it did not answer in time.
            FilterInvalid: a condition on the tenant's field does not name one tenant.
            TenantUnknown: the server has the tenant switched off.
        """
        await load_client_library()
        try:
            return await self._run(await self.server.state(), searches)
        except SchemaChanged:
            # A rebuild may have put the chunks into another collection meanwhile.
            return await self._run(await self.server.state(), searches)

    async def metadata_fields(self) -> set[str]:
        """See `BaseSearcher.metadata_fields`."""
        return {*OWN_METADATA, *(await self.server.state()).names}

    async def counts(self) -> dict[str, int]:
        """See `BaseSearcher.counts`."""
        await self.server.state()

        async def counted(client: WeaviateAsyncClient) -> dict[str, int]:
            from weaviate.classes.query import Metrics

            found = await self.server.documents(client).aggregate.over_all(
                total_count=True, return_metrics=Metrics("chunks").integer(sum_=True)
            )
            return {"documents": found.total_count or 0, "chunks": int(found.properties["chunks"].sum_ or 0)}

        return await self.server.call(counted)

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `BaseSearcher.texts_between`; known of chunks that follow each other."""
        places = [_following(*pair) for pair in pairs]
        names = {place[0] for place in places if place}
        if not names:
            return [None] * len(pairs)
        state = await self.server.state()

        async def fetched(client: WeaviateAsyncClient) -> list[str | None]:
            rows = await rows_by_id(self.server, client, state, map(document_id, sorted(names)))
            ids: dict[tuple[str, int], str] = {}
            by_tenant: dict[str, list[str]] = {}
            for place in filter(None, places):
                if row := rows.get(document_id(place[0])):
                    ids[place] = chunk_id(row.version, place[1])
                    by_tenant.setdefault(row.tenant, []).append(ids[place])
            gaps: dict[str, str] = {}
            for tenant, some in by_tenant.items():
                for one in await self._objects(client, Part(state, tenant, {}), some, ["gap"]):
                    gaps[str(one.uuid)] = json.loads(one.properties["gap"] or "null")
            return [gaps.get(ids[place]) if place in ids else None for place in places]

        return await self.server.call(fetched)

    async def fetch(self, ids: Sequence[str], tenant: str) -> list[tuple[dict[str, Any], Match]]:
        """Those of the chunks `ids` that belong to `tenant`, each with the values that filters are about.

        Args:
            ids: as results name them, `document#position`.
            tenant: a value of the tenant's field; empty for what is everybody's.
        """
        await load_client_library()
        state = await self.server.state()
        try:
            return await self.server.call(lambda client: self._fetched(client, state, ids, tenant))
        except TenantInactive:
            raise
        except TenantUnknown:
            return []

    async def recovered(self) -> bool:
        """Whether a server that failed is ready again."""
        return await self.server.connection.recovered()

    async def close(self) -> None:
        """See `BaseSearcher.close`."""
        await self.server.close()

    async def _run(self, state: BaseState, searches: Sequence[Search]) -> list[list[Match]]:
        for search in searches:
            if search.vector is not None and state.filled:
                check_model(self.place, state.identity, search.model, len(search.vector))
        parts = [part_of(state, search.filters) for search in searches]

        async def searched(client: WeaviateAsyncClient) -> list[list[Match]]:
            return list(await together(*(self._one(client, *pair) for pair in zip(parts, searches, strict=True))))

        try:
            return await self.server.call(searched, model=state.identity.embedding_model)
        except TenantInactive:
            raise
        except TenantUnknown:
            if len(searches) == 1:
                # Nothing was written for this tenant yet.
                return [[]]
            return [(await self._run(state, [search]))[0] for search in searches]

    async def _fetched(
        self, client: WeaviateAsyncClient, state: BaseState, ids: Sequence[str], tenant: str
    ) -> list[tuple[dict[str, Any], Match]]:
        parted = (one.rpartition("#") for one in ids)
        wanted = [(document_id(name), int(position)) for name, _, position in parted if position.isdecimal()]
        rows = await rows_by_id(self.server, client, state, dict(wanted))
        own = {document: row for document, row in rows.items() if row.tenant == tenant}
        names = [chunk_id(own[document].version, position) for document, position in wanted if document in own]
        return [
            (one.filter_values, match_of(RankedPassage(one.key), _chunk(one, shown.properties), self._source_name))
            for shown in await self._objects(client, Part(state, tenant, {}), names, _SHOWN)
            if (one := candidate_of(shown, own)) is not None
        ]

    async def _objects(
        self, client: WeaviateAsyncClient, part: Part, ids: Sequence[str], properties: Sequence[str]
    ) -> list[Any]:
        """The chunks with `ids` that are there, with `properties`."""
        return await objects_by_id(self.server.chunks(client, part.state.number, part.tenant), ids, properties)

    async def _one(self, client: WeaviateAsyncClient, part: Part, search: Search) -> list[Match]:
        for _ in range(ATTEMPTS):
            found = await self._search.find(client, part, search)
            given = await self._objects(client, part, [one.payload.id for one in found], _SHOWN) if found else []
            shown = {str(one.uuid): one.properties for one in given}
            if len(shown) == len(found):
                # What was replaced between the two looks is found again, as it is now.
                break
        return [
            match_of(one, _chunk(one.payload, shown[one.payload.id]), self._source_name)
            for one in found
            # One that was removed in this moment is gone.
            if one.payload.id in shown
        ]


def part_of(state: BaseState, conditions: Mapping[str, Any]) -> Part:
    """What is searched under `conditions`: what belongs to the tenant that they name, else what is everybody's."""
    condition = conditions.get(state.tenant_from) if state.tenant_from else None
    if condition is None:
        return Part(state, "", conditions)
    value = condition[0] if isinstance(condition, list) and len(condition) == 1 else condition
    if not isinstance(value, str) or not value:
        raise FilterInvalid(f"'{state.tenant_from}' names whose data is searched, so it takes one text, not {value!r}.")
    return Part(state, value, conditions)


def _following(one: str, other: str) -> tuple[str, int] | None:
    """The document of two chunks and the place of the second; None when they do not follow each other."""
    (name, _, first), (same, _, second) = one.rpartition("#"), other.rpartition("#")
    if name != same or not (first.isdigit() and second.isdigit()) or int(second) != int(first) + 1:
        return None
    return name, int(second)


def _chunk(candidate: Candidate, values: Mapping[str, Any]) -> PreparedChunk:
    stored = candidate.row.stored
    return chunk_of(Document(stored.name, "", metadata=stored.metadata, kind=stored.kind), values)
