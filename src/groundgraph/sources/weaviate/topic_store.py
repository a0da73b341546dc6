"""The headings and vectors of a collection, for a topic index.

Weaviate tells no time of the last change of a collection, so what was read of it counts until the number of its
objects changes, an object that it names is gone, or `KEPT_SECONDS` have passed. Whatever a user sees is fetched
anew, with the filters of the turn: what was kept only decides which objects are asked for.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import matches
from groundgraph.search.rank import RankedPassage, query_vector, wants_vector
from groundgraph.search.topics import Place, Row, SharedReadings, Topics
from groundgraph.sources.topic_index.cluster import MAX_VECTORS
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate.filters import as_filter
from groundgraph.sources.weaviate.reader import Checked, SearchedCollection, heading_path, result_of
from groundgraph.sources.weaviate.search import together
from groundgraph.sources.weaviate.statistics import KEPT_SECONDS

MAX_OBJECTS = 200_000
# A server that is written to all the time is read, and asked for its count, at most a tenth of the time.
PAUSE = 10
_PAGE = 1_000
_VECTOR_PAGE = 250
# What Weaviate gives to one filtered request at most, and how many UUIDs one request names.
_MOST = 10_000
_NAMED = 5_000
_AT_ONCE = 4
_FIRST = "00000000-0000-0000-0000-000000000000"


@dataclass
class _State:
    """What is known of a collection, or of one tenant.

    Attributes:
        number: the revision.
        count: how many objects there were.
        ends_at: when it is read anew whatever the count is.
        looks_at: when the objects are counted again.
        settles_at: before this it is not read anew at all.
    """

    number: int
    count: int
    ends_at: float
    looks_at: float = 0.0
    settles_at: float = 0.0


class WeaviateTopicStore(Topics[str]):
    """A `TopicStore`; see there for the methods. The keys are UUIDs.

    Args:
        source: reads and searches the collection.
        tenant: whose objects these are, where the collection keeps tenants apart.
        readings, numbers: of all tenants.
    """

    def __init__(
        self,
        source: SearchedCollection,
        tenant: str | None = None,
        readings: SharedReadings | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        super().__init__(source.name, tenant, readings)
        self._source = source
        # A store that is made anew must not wait for what its predecessor reads.
        self._numbers = numbers or itertools.count(1)
        self._state: _State | None = None

    @property
    def embeds(self) -> bool:
        """Whether the source has an embedding model for its vectors."""
        return self._source.embedder is not None and self._source.wanted.by_vector

    def part(self, filters: Mapping[str, Any]) -> Self:
        """See `PartedTopicStore.part`; the store itself where there are no tenants.

        Raises:
            ScopeMissing: `filters` name no tenant.
        """
        tenant = self._source.tenant_of(filters)
        if tenant is None:
            return self
        return self._parts.get_or_make(tenant, lambda: type(self)(self._source, tenant, self._readings, self._numbers))

    async def revision(self) -> int:
        """See `TopicStore.revision`."""
        return (await self._current()).number

    async def present(self) -> int:
        """See `Topics.present`: what was seen last, for each look is a request."""
        return (self._state or await self._current()).number

    async def has_vectors(self) -> bool:
        """See `Topics.has_vectors`."""
        return await self._source.read(self._tenant, _index) is not None

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`; the server filters, and what it gives is checked once more."""
        conditions = self._source.without_tenant(filters)
        if not conditions:
            return frozenset(await self._uuids())
        wanted = self._source.wanted
        names = [*([wanted.mapping.id] if wanted.mapping.id else []), *(wanted.properties[one] for one in conditions)]
        results = map(self._result, await self._filtered(conditions, names))
        return frozenset(one.source_id for one in results if matches(conditions, one.metadata))

    async def seeds(
        self, question: str, *, limit: int, filters: Mapping[str, Any], by_vector: bool
    ) -> list[SourceResult]:
        """See `TopicStore.seeds`."""
        found = (await self._source.search([question], filters, top_k=limit, by_vector=by_vector))[0]
        return [replace(one, relevance=one.scores["match"]) if by_vector else one for one in found]

    async def question_vector(self, question: str) -> Any:
        """See `TopicStore.question_vector`.

        Raises:
            EmbeddingModelChanged: it is of another size than the vectors that were read.
        """
        embedder = self._source.embedder
        if embedder is None or not wants_vector(embedder, question):
            return None
        vector = await query_vector(embedder, question, self._source.name)
        known = self._known.get(True)
        if vector is not None and known is not None and known.keys:
            self._source.check_dimension(known.content.rows.shape[1], len(vector))
        return vector

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`."""
        state = self._state or await self._current()
        conditions, uuids = self._source.without_tenant(filters), self._read_uuids(state)
        asked = {one: uuids[one] for one in ids if one in uuids}
        found = map(self._result, await self._named(list(asked.values()), conditions))
        results = {one.source_id: one for one in found if one.source_id in asked and matches(conditions, one.metadata)}
        if len(results) < len(ids):
            # Gone, or stored again under another UUID.
            state.ends_at = state.looks_at = 0.0
        return results

    async def _current(self) -> _State:
        state, started = self._state, time.monotonic()
        if state is not None and started < state.looks_at:
            return state
        count = await self._source.read(self._tenant, _count)
        now = time.monotonic()
        # Another turn may have looked meanwhile.
        state = self._state
        if state is None or (now >= state.settles_at and (count != state.count or now >= state.ends_at)):
            state = self._state = _State(next(self._numbers), count, now + KEPT_SECONDS)
        state.looks_at = now + PAUSE * (now - started)
        return state

    def too_many(self, count: int, *, vectors: bool) -> str:
        """See `Topics.too_many`."""
        most, what = (MAX_VECTORS, "clustered") if vectors else (MAX_OBJECTS, "read for headings")
        if count <= most:
            return ""
        return (
            f"the collection '{self._source.wanted.collection}' holds {count} objects, and at most {most} can be "
            f"{what}. Keep its parts in collections or tenants of their own, or leave `topic_index` out."
        )

    async def pages(self, *, vectors: bool) -> AsyncGenerator[list[Row[str]], None]:
        """See `Topics.pages`; by UUID, and each page is a request with a time limit of its own."""
        state, started = self._state or await self._current(), time.monotonic()
        self.check_count(state.count, vectors=vectors)
        index = (await self._source.read(self._tenant, _index)) if vectors else None
        mapping, after, limit = self._source.wanted.mapping, _FIRST, _VECTOR_PAGE if vectors else _PAGE
        named = (mapping.id,) if vectors else (mapping.id, mapping.document, mapping.order, mapping.headings)
        names, vector = list(filter(None, named)), index.name if index else ""
        state.settles_at = math.inf
        try:
            while True:
                page = await self._source.read(self._tenant, _page(after, limit, names, vector))
                yield [self._row(one, vector) for one in page]
                if len(page) < limit:
                    return
                after = str(page[-1].uuid)
        finally:
            now = time.monotonic()
            state.settles_at = now + PAUSE * (now - started)

    def _read_uuids(self, state: _State) -> dict[str, str]:
        """Those that were read in this state, by id."""
        readings = [one for one in self._known.values() if one.content.revision == state.number]
        return {name: uuid for one in readings for name, uuid in one.keys.items()}

    async def _uuids(self) -> Mapping[str, str]:
        """By id; the outline is read where nothing is."""
        state = self._state or await self._current()
        return self._read_uuids(state) or (await self.reading(vectors=False)).keys

    async def _filtered(self, conditions: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
        """All objects that satisfy `conditions`, as far as the server can tell."""
        given = await self._source.read(self._tenant, _matching(conditions, names, None))
        if len(given) < _MOST:
            return given
        # It gives no more to one request and has no cursor with a filter, so they are asked for by name.
        return await self._named(list((await self._uuids()).values()), conditions, names)

    async def _named(
        self, uuids: Sequence[str], conditions: Mapping[str, Any], names: Sequence[str] | None = None
    ) -> list[Any]:
        """Those of `uuids` that are there and satisfy `conditions`; with all that results bring unless `names`."""
        size = _PAGE if names is None else _NAMED
        batches = [uuids[start : start + size] for start in range(0, len(uuids), size)]
        found: list[Any] = []
        for start in range(0, len(batches), _AT_ONCE):
            work = [_matching(conditions, names, batch) for batch in batches[start : start + _AT_ONCE]]
            for given in await together(*(self._source.read(self._tenant, one) for one in work)):
                found += given
        return found

    def _result(self, found: Any) -> SourceResult:
        return result_of(RankedPassage(found.uuid, payload=found), self._source.wanted, self._tenant)

    def _row(self, found: Any, vector: str) -> Row[str]:
        mapping, values, uuid = self._source.wanted.mapping, found.properties, str(found.uuid)
        own = values.get(mapping.id) if mapping.id else None
        # An object without a document is one of its own, so that no heading of another holds it.
        document, order = str(values.get(mapping.document) or uuid), values.get(mapping.order)
        place = Place(uuid if own in (None, "") else str(own), document, heading_path(values.get(mapping.headings)))
        return Row(place, (math.inf if order is None else float(order), uuid), uuid, found.vector.get(vector) or None)


async def _count(collection: Any, _checked: Checked) -> int:
    return (await collection.aggregate.over_all(total_count=True)).total_count or 0


async def _index(_collection: Any, checked: Checked) -> Any:
    return checked.search.index


def _page(after: str, limit: int, names: Sequence[str], vector: str) -> Callable[[Any, Checked], Awaitable[list[Any]]]:
    async def page(collection: Any, _checked: Checked) -> list[Any]:
        given: Any = await collection.query.fetch_objects(
            limit=limit,
            after=after,
            return_properties=list(names) or False,
            include_vector=[vector] if vector else False,
        )
        return list(given.objects)

    return page


def _matching(
    conditions: Mapping[str, Any], names: Sequence[str] | None, uuids: Sequence[str] | None
) -> Callable[[Any, Checked], Awaitable[list[Any]]]:
    async def matching(collection: Any, checked: Checked) -> list[Any]:
        named = None if uuids is None else queries().Filter.by_id().contains_any(list(uuids))
        parts = [one for one in (as_filter(conditions, checked.properties), named) if one is not None]
        given: Any = await collection.query.fetch_objects(
            limit=_MOST if uuids is None else len(uuids),
            filters=queries().Filter.all_of(parts),
            return_properties=list(checked.search.properties if names is None else names) or False,
        )
        return list(given.objects)

    return matching
