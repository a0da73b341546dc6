"""A base in Weaviate as what a source searches."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from groundgraph.core.chain import Match
from groundgraph.core.document import Document
from groundgraph.core.errors import FilterInvalid, SchemaChanged, TenantUnknown
from groundgraph.core.filters import matches
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk
from groundgraph.core.latest import Latest
from groundgraph.search.rank import CHUNKS, K1, MAX_STEMS, Pool, Question, RankedPassage, Scorer, rank
from groundgraph.sources.knowledge_base.chained_source import OWN_METADATA, Search
from groundgraph.sources.knowledge_base.ledger import check_model
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, chunk_of
from groundgraph.sources.knowledge_base.searcher import MIN_CANDIDATES, NEAREST, match_of
from groundgraph.sources.weaviate.address import load_client_library, queries
from groundgraph.sources.weaviate.errors import TenantInactive
from groundgraph.sources.weaviate.search import NO_DISTANCE, nothing, together
from groundgraph.sources.weaviate.statistics import Statistics, TextIndex, VectorRows
from groundgraph.sources.weaviate_base.collections import VECTOR, B, BasePlace
from groundgraph.sources.weaviate_base.filters import as_filter
from groundgraph.sources.weaviate_base.ledger import LedgerRow, rows_by_id
from groundgraph.sources.weaviate_base.objects import chunk_id, document_id
from groundgraph.sources.weaviate_base.server import BaseServer, BaseState, objects_by_id
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import query_stems

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


# Searching a base in Weaviate as an embedded one is searched.

# A chunk that may be found, with what the ledger says of its document.

# Name of the document and place in it: chunks that score the same stand in this order.
Key = tuple[str, int]


@dataclass(frozen=True)
class Candidate:
    """One chunk.

    Attributes:
        id: of its object.
        row: of its document.
        position: its place in the document.
        own_fields: its own metadata.
        stems: those of each matching text.
        heading_stems: those of what stands above it.
    """

    id: str
    row: LedgerRow
    position: int
    own_fields: Mapping[str, Any]
    stems: Sequence[str] = field(repr=False)
    heading_stems: str = field(repr=False)

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.row.stored.name, self.position

    @property
    def filter_values(self) -> dict[str, Any]:
        """The values that filters are about."""
        stored = self.row.stored
        return {"kind": stored.kind, **stored.metadata, **self.own_fields, "document": stored.name}


def candidate_of(found: Any, documents: Mapping[str, LedgerRow]) -> Candidate | None:
    """The candidate in an object; None when it belongs to another version than the ledger names."""
    values = found.properties
    row = documents.get(str(values["document_id"]))
    position = int(values["position"])
    if row is None or row.version != str(values["version"]) or position >= row.stored.chunks:
        return None
    return Candidate(
        str(found.uuid),
        row,
        position,
        json.loads(values["metadata"]),
        values.get("stems") or [""],
        values.get("heading_stems") or "",
    )


# What is known of the chunks as a whole: how many there are, how long, how frequent a stem is, how near an average
# one is to a question. In the property `terms` each stem stands once, so its average length is that of the stems.

_KEPT_SECONDS = 600.0
_SAMPLE = 500


class Counted(Statistics):
    """The counts of one collection, or of one tenant in it.

    Frequencies are asked for anew when something was written. The average lengths and the sample of vectors, which
    change slowly, are read again when the number of chunks has doubled, and now and then.
    """

    def __init__(self) -> None:
        super().__init__(TextIndex("terms", K1, B), VECTOR)
        self._changes = self._magnitude = -1
        self._average_text: float | None = None
        self._ends_at = 0.0

    def at(self, changes: int) -> Counted:
        """These, or what of them is still true when the base was written to `changes` times in all.

        A search that is under way keeps those that it began with.
        """
        outdated = self._magnitude >= 0 and time.monotonic() > self._ends_at
        if changes == self._changes and not outdated:
            return self
        found = Counted()
        found._changes = changes
        if not outdated:
            found._magnitude, found._ends_at = self._magnitude, self._ends_at
            found._average_text, found._average_length = self._average_text, self._average_length
            found._sample = self._sample
        return found

    async def learn(self, collection: Any, stems: Sequence[str], *, sample: bool) -> None:
        """Read what is not known yet."""
        counting = [self.read_objects(collection)] if self._objects is None else []
        await together(*counting, *(self.read_frequency(collection, stem) for stem in self.missing(stems)))
        magnitude = self.objects.bit_length()
        if magnitude != self._magnitude:
            self._magnitude, self._average_text, self._sample = magnitude, None, None
            self._ends_at = time.monotonic() + _KEPT_SECONDS
        slow = [self._read_lengths(collection)] if self._average_text is None else []
        slow += [self.read_sample(collection)] if sample and self._sample is None else []
        await together(*slow)

    def question(self, stems: Sequence[str]) -> Question:
        """The question with these stems."""
        df = {stem: count for stem in stems if (count := self.frequency(stem))}
        return Question(stems, df, self.objects, self._average_text or 0.0)

    async def _read_lengths(self, collection: Any) -> None:
        metrics = import_module("weaviate.classes.query").Metrics
        wanted = [metrics(name).integer(mean=True) for name in ("length", "distinct")]
        found = (await collection.aggregate.over_all(return_metrics=wanted)).properties
        self._average_text = float(found["length"].mean or 0.0)
        self._average_length = float(found["distinct"].mean or 0.0)

    @override
    async def read_sample(self, collection: Any) -> None:
        # Ids are in no order that matters, so the first will do.
        found = await collection.query.fetch_objects(limit=_SAMPLE, include_vector=[VECTOR], return_properties=[])
        self._sample = VectorRows([one.vector[VECTOR] for one in found.objects if one.vector.get(VECTOR)])


ATTEMPTS = 3
_KEPT = 64
# The most candidates by words beyond those that are asked for.
_MOST = 1_024
_BROUGHT = ["document_id", "version", "position", "metadata", "stems", "heading_stems"]


@dataclass(frozen=True)
class Part:
    """A part of the base that is searched: what is everybody's, or what belongs to one tenant."""

    state: BaseState
    tenant: str
    conditions: Mapping[str, Any]


@dataclass(frozen=True)
class _Objects:
    """What one look at the server gave.

    Attributes:
        lexical: the chunks that were found by their words.
        near: those that were found by their vector, with the distances of both lists.
        documents: the ledger's rows by id.
    """

    lexical: Sequence[Any]
    near: Sequence[Any]
    documents: Mapping[str, LedgerRow]


class ChunkSearch:
    """Finds chunks; keeps what it learns of the base between searches.

    Args:
        server: of the base.
    """

    def __init__(self, server: BaseServer) -> None:
        self._server = server
        self._counted: Latest[tuple[int, str], Counted] = Latest(_KEPT)

    async def find(self, client: WeaviateAsyncClient, part: Part, search: Search) -> list[RankedPassage]:
        """The best chunks with relevance `search.score_threshold` or more, at most `search.top_k`, the best first; the
        payload of each is its `Candidate`."""
        for attempt in range(ATTEMPTS):
            found, outdated = await self._candidates(client, part, search)
            if not outdated or attempt == ATTEMPTS - 1:
                break
        return found

    async def _candidates(
        self, client: WeaviateAsyncClient, part: Part, search: Search
    ) -> tuple[list[RankedPassage], bool]:
        """What was found, and whether a document was replaced meanwhile, so that neither version was."""
        stems = query_stems(search.text)[:MAX_STEMS]
        counted = self._counted_of(part)
        objects = await self._objects(client, part, search, stems, counted)
        known = _known(objects, part)
        question = replace(counted.question(stems), names=code_name_stems(search.text))
        by_vector = search.vector is not None and part.state.filled
        cosines = _cosines(objects.near, known) if by_vector else {}
        passages = [
            one._replace(cosine=cosines.get(key), payload=known[key])
            for key, one in Scorer(question).best_texts(_text_rows(known)).items()
        ]
        average = counted.average_cosine(search.vector) if by_vector else None
        ranked = rank(
            [Pool(passages, average, search.vector_weight)], threshold=search.score_threshold, top_k=search.top_k
        )
        return list(ranked), _outdated(objects)

    async def _objects(
        self, client: WeaviateAsyncClient, part: Part, search: Search, stems: Sequence[str], counted: Counted
    ) -> _Objects:
        """The candidates of both lists, each with its cosine, and the ledger's rows of their documents."""
        collection = self._server.chunks(client, part.state.number, part.tenant)
        only = as_filter(part.conditions, part.state.fields)
        vector = search.vector if part.state.filled else None
        # Words that have no weight in the order need not be searched for.
        words = stems if search.vector_weight < 1 or vector is None else []
        limit = max(MIN_CANDIDATES, search.top_k, min(8 * search.top_k, _MOST))
        lexical, near, _ = await together(
            _by_words(collection, words, only, limit),
            _by_vector(collection, vector, only, max(NEAREST, search.top_k)),
            counted.learn(collection, stems, sample=vector is not None),
        )
        there = {str(one.uuid) for one in near}
        rest = [one for one in lexical if str(one.uuid) not in there]
        ids = [str(one.properties["document_id"]) for one in [*lexical, *near]]
        documents, more = await together(
            rows_by_id(self._server, client, part.state, ids),
            _by_vector(collection, vector, _with_ids(rest), len(rest)) if rest else nothing(),
        )
        return _Objects(lexical, [*near, *more], documents)

    def _counted_of(self, part: Part) -> Counted:
        key = (part.state.number, part.tenant)
        known = (self._counted.get(key) or Counted()).at(part.state.changes)
        self._counted.put(key, known)
        return known


def _known(objects: _Objects, part: Part) -> dict[Key, Candidate]:
    """The chunks of the versions that the ledger names, and that satisfy the conditions."""
    known: dict[Key, Candidate] = {}
    for one in [*objects.near, *objects.lexical]:
        candidate = candidate_of(one, objects.documents)
        if candidate is not None and matches(part.conditions, candidate.filter_values):
            known.setdefault(candidate.key, candidate)
    return known


def _outdated(objects: _Objects) -> bool:
    """Whether of some document only chunks of another version were found than the ledger names."""
    found = [*objects.near, *objects.lexical]
    current = {str(one.properties["document_id"]) for one in found if candidate_of(one, objects.documents)}
    others = {str(one.properties["document_id"]) for one in found} - current
    return any(id_ in objects.documents for id_ in others)


async def _by_words(collection: Any, stems: Sequence[str], only: Any, limit: int) -> list[Any]:
    if not stems:
        return []
    given = await collection.query.bm25(
        " ".join(stems),
        query_properties=["stems", f"heading_stems^{CHUNKS.above_weight}"],
        limit=limit,
        filters=only,
        return_properties=_BROUGHT,
    )
    return list(given.objects)


async def _by_vector(collection: Any, vector: Any, only: Any, limit: int) -> list[Any]:
    if vector is None:
        return []
    given = await collection.query.near_vector(
        [vector.tolist()],
        target_vector=VECTOR,
        limit=limit,
        filters=only,
        return_properties=_BROUGHT,
        return_metadata=queries().MetadataQuery(distance=True),
    )
    return [one for one in given.objects if one.metadata.distance < NO_DISTANCE]


def _with_ids(objects: Sequence[Any]) -> Any:
    return queries().Filter.by_id().contains_any([one.uuid for one in objects])


def _text_rows(known: Mapping[Key, Candidate]) -> list[tuple[Key, str, str]]:
    return [(key, body, one.heading_stems) for key, one in known.items() for body in one.stems]


def _cosines(near: Sequence[Any], known: Mapping[Key, Candidate]) -> dict[Key, float]:
    by_id = {candidate.id: key for key, candidate in known.items()}
    return {by_id[str(one.uuid)]: -one.metadata.distance for one in near if str(one.uuid) in by_id}
