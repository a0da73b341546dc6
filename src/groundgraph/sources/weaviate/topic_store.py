"""The headings and vectors of a collection, for a topic index.

Weaviate tells no time of the last change of a collection, so what was read of it counts until the number of its
objects changes, an object that it names is gone, or `KEPT_SECONDS` have passed. Whatever a user sees is fetched
anew, with the filters of the turn: what was kept only decides which objects are asked for.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groundgraph.core.blocking import run_blocking
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import matches
from groundgraph.core.latest import Latest
from groundgraph.core.query_vector import query_vector, wants_vector
from groundgraph.core.topic_store import Outline, PassageVectors, Place
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.topic_index.leader_clusters import MAX_VECTORS
from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate.filters import as_filter
from groundgraph.sources.weaviate.reader import Checked
from groundgraph.sources.weaviate.results import heading_path, result_of
from groundgraph.sources.weaviate.search import together
from groundgraph.sources.weaviate.searched_collection import SearchedCollection
from groundgraph.sources.weaviate.shared_readings import SharedReadings
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
_KEPT_TENANTS = 16
_FIRST = "00000000-0000-0000-0000-000000000000"


@dataclass
class _State:
    """What was read of a collection, or of one tenant.

    Attributes:
        number: the revision.
        count: how many objects there were.
        ends_at: when it is read anew whatever the count is.
        looks_at: when the objects are counted again.
        settles_at: before this it is not read anew at all.
        outline, vectors: None before they are read.
        has_vectors: False when the collection turned out to have none.
        uuids: by `source_id`.
    """

    number: int
    count: int
    ends_at: float
    looks_at: float = 0.0
    settles_at: float = 0.0
    outline: Outline | None = None
    vectors: PassageVectors | None = None
    has_vectors: bool = True
    uuids: dict[str, str] = field(default_factory=dict)


class WeaviateTopicStore:
    """A `TopicStore`; see there for the methods.

    Args:
        source: reads and searches the collection.
        tenant: whose objects these are, where the collection keeps tenants apart.
    """

    def __init__(self, source: SearchedCollection, tenant: str | None = None) -> None:
        self._source = source
        self._tenant = tenant
        self._parts: Latest[str, WeaviateTopicStore] = Latest(_KEPT_TENANTS)
        self._readings = SharedReadings()
        self._numbers = itertools.count(1)
        self._state: _State | None = None

    @property
    def embeds(self) -> bool:
        """Whether the source has an embedding model for its vectors."""
        return self._source.embedder is not None and self._source.wanted.by_vector

    def part(self, filters: Mapping[str, Any]) -> WeaviateTopicStore:
        """See `PartedTopicStore.part`; the store itself where there are no tenants.

        Raises:
            ScopeMissing: `filters` name no tenant.
        """
        tenant = self._source.tenant_of(filters)
        if tenant is None:
            return self
        found = self._parts.get_or_make(tenant, lambda: WeaviateTopicStore(self._source, tenant))
        # Numbers are shared as well: a store that is made anew must not wait for what its predecessor reads.
        found._readings, found._numbers = self._readings, self._numbers
        return found

    async def revision(self) -> int:
        """See `TopicStore.revision`."""
        return (await self._current()).number

    async def outline(self) -> Outline:
        """See `TopicStore.outline`.

        Raises:
            SourceUnavailable: there are more than `MAX_OBJECTS`.
        """
        state = self._state or await self._current()
        if state.outline is None:
            await self._once(state, "outline", self._read_outline)
        assert state.outline is not None
        return state.outline

    async def vectors(self) -> PassageVectors | None:
        """See `TopicStore.vectors`; that of an object with a multi-vector is the mean of its rows.

        Raises:
            SourceUnavailable: there are more than can be clustered.
        """
        state = self._state or await self._current()
        if state.vectors is None and state.has_vectors:
            await self._once(state, "vectors", self._read_vectors)
        return state.vectors

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`; the server filters, and what it gives is checked once more."""
        conditions = self._source.without_tenant(filters)
        if not conditions:
            state = self._state or await self._current()
            return frozenset(state.uuids or (place.id for place in (await self.outline()).places))
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
        stored = self._state.vectors if self._state else None
        if vector is not None and stored is not None and len(stored.ids):
            self._source.check_dimension(stored.rows.shape[1], len(vector))
        return vector

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`."""
        state = self._state or await self._current()
        conditions = self._source.without_tenant(filters)
        asked = {one: state.uuids[one] for one in ids if one in state.uuids}
        found = map(self._result, await self._named(list(asked.values()), conditions))
        results = {one.source_id: one for one in found if one.source_id in asked and matches(conditions, one.metadata)}
        if len(results) < len(ids):
            # Gone, or stored again under another UUID.
            state.ends_at = state.looks_at = 0.0
        return results

    async def close(self) -> None:
        """End what is being read on this event loop."""
        await self._readings.close()

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

    async def _once(self, state: _State, what: str, read: Callable[[_State], Awaitable[None]]) -> None:
        await self._readings.once((self._tenant, state.number, what), lambda: _timed(state, read))

    async def _read_outline(self, state: _State) -> None:
        self._check_count(state.count, MAX_OBJECTS, "read for headings")
        mapping = self._source.wanted.mapping
        names = [name for name in (mapping.id, mapping.document, mapping.order, mapping.headings) if name]
        rows: list[tuple[str, float, str, Place]] = []
        async for objects in self._pages(names):
            rows += [self._row(one) for one in objects]
            self._check_count(len(rows), MAX_OBJECTS, "read for headings")
        state.outline, uuids = await run_blocking(_outline, state.number, rows)
        state.uuids |= uuids

    async def _read_vectors(self, state: _State) -> None:
        index = await self._source.read(self._tenant, _index)
        if index is None:
            state.has_vectors = False
            return
        self._check_count(state.count, MAX_VECTORS, "clustered")
        mapping, uuids, parts = self._source.wanted.mapping, dict[str, str](), list[Any]()
        async for objects in self._pages([mapping.id] if mapping.id else [], index.name):
            named = {self._result(one).source_id: one for one in objects if one.vector.get(index.name)}
            fresh = {name: one for name, one in named.items() if name not in uuids}
            uuids |= {name: str(one.uuid) for name, one in fresh.items()}
            parts.append(await run_blocking(_unit_rows, [one.vector[index.name] for one in fresh.values()]))
            self._check_count(len(uuids), MAX_VECTORS, "clustered")
        state.vectors = PassageVectors(state.number, list(uuids), await run_blocking(_stacked, parts))
        state.uuids |= uuids

    def _check_count(self, count: int, most: int, what: str) -> None:
        if count > most:
            raise SourceUnavailable(
                f"The topic index of '{self._source.name}' cannot be used: the collection "
                f"'{self._source.wanted.collection}' holds {count} objects, and at most {most} can be {what}. Keep "
                "its parts in collections or tenants of their own, or leave `topic_index` out."
            )

    async def _pages(self, names: Sequence[str], vector: str = "") -> AsyncIterator[Sequence[Any]]:
        """All objects, by UUID. Each page is a request with a time limit of its own."""
        after, limit = _FIRST, _VECTOR_PAGE if vector else _PAGE
        while True:
            given = await self._source.read(self._tenant, _page(after, limit, names, vector))
            if given:
                yield given
            if len(given) < limit:
                return
            after = str(given[-1].uuid)

    async def _filtered(self, conditions: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
        """All objects that satisfy `conditions`, as far as the server can tell."""
        given = await self._source.read(self._tenant, _matching(conditions, names, None))
        if len(given) < _MOST:
            return given
        # It gives no more to one request and has no cursor with a filter, so they are asked for by name.
        state = self._state or await self._current()
        if not state.uuids:
            await self.outline()
        return await self._named(list(state.uuids.values()), conditions, names)

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

    def _row(self, found: Any) -> tuple[str, float, str, Place]:
        mapping, values, uuid = self._source.wanted.mapping, found.properties, str(found.uuid)
        own = values.get(mapping.id) if mapping.id else None
        named = uuid if own in (None, "") else str(own)
        # An object without a document is one of its own, so that no heading of another holds it.
        document = str(values.get(mapping.document) or uuid)
        order = values.get(mapping.order)
        place = Place(named, document, heading_path(values.get(mapping.headings)))
        return document, math.inf if order is None else float(order), uuid, place


async def _timed(state: _State, read: Callable[[_State], Awaitable[None]]) -> None:
    started, state.settles_at = time.monotonic(), math.inf
    try:
        await read(state)
    finally:
        now = time.monotonic()
        state.settles_at = now + PAUSE * (now - started)


def _outline(number: int, rows: list[tuple[str, float, str, Place]]) -> tuple[Outline, dict[str, str]]:
    places: dict[str, Place] = {}
    uuids: dict[str, str] = {}
    for _, _, uuid, place in sorted(rows, key=lambda row: row[:3]):
        if place.id not in places:
            places[place.id], uuids[place.id] = place, uuid
    return Outline(number, list(places.values())), uuids


def _unit_rows(vectors: Sequence[Any]) -> Any:
    """The mean of each of `vectors`, or the vector itself, as unit rows of a float32 array."""
    import numpy as np

    if not vectors:
        return None
    rows = np.stack([np.atleast_2d(np.asarray(one, dtype=np.float32)).mean(axis=0) for one in vectors])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _stacked(parts: Sequence[Any]) -> Any:
    import numpy as np

    there = [part for part in parts if part is not None]
    return np.concatenate(there) if there else np.zeros((0, 0), dtype=np.float32)


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
