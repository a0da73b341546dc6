"""The source over any collection of a Weaviate server. It only ever reads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ConfigurationError, FilterInvalid, Problem, SchemaChanged, ScopeMissing, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.search.rank import Pool, RankedPassage, query_vector, rank, take_turns, wants_vector
from groundgraph.sources.check_options import (
    MAPPING,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    declared_fields,
    one_of,
    unknown_names,
    wrong_values,
)
from groundgraph.sources.contract import NamedSource, SourceOptions
from groundgraph.sources.weaviate.address import (
    DEFAULT_GRPC_PORT,
    DEFAULT_URL,
    Address,
    Consistency,
    address_of,
    load_client_library,
)
from groundgraph.sources.weaviate.client import WeaviateConnection
from groundgraph.sources.weaviate.errors import Fault, Place, typed_error
from groundgraph.sources.weaviate.filters import as_filter
from groundgraph.sources.weaviate.reader import (
    SOURCE_TYPE,
    Allowed,
    Checked,
    CollectionReader,
    metadata_names,
    neighbours_of,
    result_of,
)
from groundgraph.sources.weaviate.search import CollectionSearch, Search, together
from groundgraph.sources.weaviate.shape import PropertyMapping, Wanted, mapping_of
from groundgraph.sources.weaviate.statistics import Statistics
from groundgraph.sources.weaviate.topic_store import WeaviateTopicStore

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

    from groundgraph.core.embedder import Embedder


T = TypeVar("T")

MIN_CANDIDATES = 30


@dataclass(frozen=True)
class _Call:
    """What holds for all texts of one call."""

    conditions: Mapping[str, Any]
    tenant: str | None
    top_k: int
    score_threshold: float
    by_vector: bool


class WeaviateSource(NamedSource):
    """A collection of a Weaviate server, whoever filled it; nothing is ever written to it.

    Words and vectors are asked at once and fused here: relevance is the cosine or the idf-weighted share of the
    question's stems that the text and what stands above it hold, whichever is larger; `scores` keeps both apart.
    Filters are pushed down and checked once more on the results. Nothing is opened before the first query, which also
    checks that the collection has what is named here.

    Args:
        collection: its name.
        name: the name of the source.
        address: of the server, an `Address` or a URL.
        mapping: which properties are text, id, title, headings, document, order and url.
        fields: fields that filters may name, typed as in `SourceSchema.fields`; `property` in a specification names
            the property when it is not called like the field.
        description: what the collection holds, in a sentence.
        metadata: further properties that results bring.
        embedder: the model that the vectors are from; None searches by words alone, or where `vectorizer` says so by
            vectors that the server makes.
        vectorizer: `server` lets the collection's own module make the query's vector.
        vector: the vector to search, where there are several.
        vector_weight: the share of the vectors in the order, 0 to 1; 0 searches by words alone, 1 by vectors alone.
        candidates: how many objects of each of the two lists are looked at, at least `top_k`.
        tenant_from: the field whose value names the tenant of a collection that keeps tenants apart.
        per_document: most results of one document; 0 for any number.
        neighbours: how many chunks before and after a result are put around its text.
        consistency: how many replicas must agree; the server's choice when None.
        request_timeout: seconds for one request, whatever the time limit of the source in a turn.

    Raises:
        ConfigurationError: an argument cannot work.
    """

    _source_type = SOURCE_TYPE
    _schema: SourceSchema
    _topics: WeaviateTopicStore

    def __init__(
        self,
        collection: str,
        *,
        name: str = "weaviate",
        address: Address | str | None = None,
        mapping: PropertyMapping | Mapping[str, str] | None = None,
        fields: Mapping[str, Mapping[str, Any]] | None = None,
        description: str = "",
        metadata: Sequence[str] = (),
        embedder: Embedder | None = None,
        vectorizer: Literal["server"] | None = None,
        vector: str = "",
        vector_weight: float = 0.5,
        candidates: int = MIN_CANDIDATES,
        tenant_from: str = "",
        per_document: int = 0,
        neighbours: int = 0,
        consistency: Consistency | None = None,
        request_timeout: float = 30.0,
    ) -> None:
        fields = fields or {}
        own = mapping if isinstance(mapping, PropertyMapping) else mapping_of(mapping, f"{name}.mapping")
        self._numbers = _Numbers(vector_weight, candidates, per_document, neighbours, request_timeout)
        _check_arguments(name, own, self._numbers, fields.get(tenant_from, {}))
        self._name = name
        self._schema = _schema(name, fields, tenant_from, description)
        of_fields = {field: str(spec.get("property", field)) for field, spec in fields.items() if field != tenant_from}
        by_server = vectorizer == "server"
        by_vector = vector_weight > 0 and (embedder is not None or by_server)
        told = (self._schema.fields, of_fields, tuple(metadata))
        self._wanted = Wanted(name, collection, own, *told, tenant_from, vector, by_vector, per_document > 0)
        self._embedder = None if by_server else embedder
        self._reader = CollectionReader(
            self._wanted,
            by_server=by_server,
            vector_weight=vector_weight,
            per_document=per_document,
            consistency=consistency,
        )
        self._without_vectors = _without_vectors(vectorizer, vector_weight)
        self._topics = WeaviateTopicStore(self)
        place = address if isinstance(address, Address) else address_of(address or DEFAULT_URL)
        self._connection = WeaviateConnection(place, timeout=request_timeout)

    def get_schema(self) -> SourceSchema | None:
        """The fields given at construction, and the one that names the tenant, which is required."""
        return self._schema if self._schema.fields else None

    async def metadata_fields(self) -> set[str]:
        """The names of what the mapping, `fields` and `metadata` name."""
        return metadata_names(self._wanted)

    async def load(self) -> None:
        """Load the client library, which takes a second and is no part of the server's answer."""
        await load_client_library()

    async def counts(self) -> dict[str, int]:
        """How many objects (`chunks`) there are; nothing where each tenant has its own.

        Raises:
            SourceError: see `query`.
        """
        if self._wanted.tenant_from:
            return {}

        async def counted(client: WeaviateAsyncClient) -> int:
            return (await self._reader.collection(client, None).aggregate.over_all(total_count=True)).total_count or 0

        return {"chunks": await self._connection.call(counted, collection=self._wanted.collection)}

    async def recovered(self) -> bool:
        """See `GroundedSource.recovered`: whether the server says that it is ready."""
        return await self._connection.recovered()

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; several text queries take turns, and what two of them find comes once.

        Raises:
            SourceUnavailable: the server cannot be reached, is starting, or refuses the API key.
            SourceTimeout: it did not answer in time.
            SchemaChanged: the collection, or a property or vector that was configured, is not there.
            ConfigurationError: a property is there and cannot serve, for example a filter field divided into words.
            FilterInvalid: a filter names a field that is not declared, or asks what Weaviate cannot decide.
            ScopeMissing: the tenant is not named.
            TenantUnknown: there is no such tenant, or it is switched off.
            EmbeddingModelChanged: the vectors are of another size than the embedding model's.
        """
        conditions = check_filters(self._schema, intent.filters.get(self._name, {}), source=self._name)
        lists = await self.search(intent.text_queries, conditions, top_k=top_k, score_threshold=score_threshold)
        return take_turns(lists)

    async def search(
        self,
        texts: Sequence[str],
        conditions: Mapping[str, Any],
        *,
        top_k: int,
        score_threshold: float = 0.0,
        by_vector: bool = False,
    ) -> list[list[SourceResult]]:
        """For each of `texts` that has words what is found; `conditions` are checked, and `query` tells the errors.

        With `by_vector` their vectors alone are searched for, where they have some.
        """
        call = _Call(self.without_tenant(conditions), self.tenant_of(conditions), top_k, score_threshold, by_vector)
        asked = [clean_text(text) for text in texts if text.strip()]
        if not asked:
            return []
        vectors = await asyncio.gather(*map(self._vector_of, asked))

        async def searched(collection: Any, checked: Checked) -> list[list[SourceResult]]:
            return await self._searched(collection, checked, list(zip(asked, vectors, strict=True)), call)

        return await self.read(call.tenant, searched)

    async def read(self, tenant: str | None, work: Callable[[Any, Checked], Awaitable[T]]) -> T:
        """The result of `work`, given the client's handle and the checked collection; `query` tells the errors."""

        async def done(client: WeaviateAsyncClient) -> T:
            checked = await self._reader.checked(client)
            return await work(self._reader.collection(client, tenant), checked)

        model = self._embedder.name if self._embedder else ""
        try:
            return await self._connection.call(done, collection=self._wanted.collection, model=model)
        except SchemaChanged:
            self._reader.forget()
            raise

    @property
    def wanted(self) -> Wanted:
        """What was configured."""
        return self._wanted

    def topic_refusal(self, *, headings: bool, vectors: bool) -> str:
        """See `GroundedSource.topic_refusal`: headings need a mapping that names them and their order."""
        lacking = [one for one in ("headings", "document", "order") if not getattr(self._wanted.mapping, one)]
        if headings and lacking:
            names = ", ".join(f"`mapping.{one}`" for one in lacking)
            return f"reads headings in the order of their documents; name the properties with {names}"
        return self._without_vectors if vectors else ""

    async def close(self) -> None:
        """Close the connection; the next query opens it again."""
        await self._topics.close()
        await self._connection.close()

    def without_tenant(self, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `conditions` that objects are filtered by."""
        return {field: value for field, value in conditions.items() if field != self._wanted.tenant_from}

    def tenant_of(self, conditions: Mapping[str, Any]) -> str | None:
        """The value that names the tenant; None for a collection without tenants.

        Raises:
            ScopeMissing: it is not named.
            FilterInvalid: it is no single text.
        """
        field = self._wanted.tenant_from
        if not field:
            return None
        if conditions.get(field) in (None, ""):
            raise ScopeMissing(
                f"The source '{self._name}' keeps each tenant apart and is only searched with a value for '{field}'; "
                "give it one with `scope_filters`."
            )
        value = conditions[field]
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, str):
            raise FilterInvalid(f"{self._name}.{field}: names one tenant, so it takes one text, not {value!r}.")
        return value

    async def _vector_of(self, text: str) -> Any:
        if not self._wanted.by_vector or self._embedder is None or not wants_vector(self._embedder, text):
            return None
        return await query_vector(self._embedder, text, self._name)

    async def _searched(
        self, collection: Any, checked: Checked, asked: Sequence[tuple[str, Any]], call: _Call
    ) -> list[list[SourceResult]]:
        statistics = self._reader.statistics(checked, call.tenant)
        only = as_filter(call.conditions, checked.properties)
        candidates = max(self._numbers.candidates, call.top_k)
        search = replace(checked.search, vector_weight=1.0) if call.by_vector else checked.search
        searches = [Search(text, vector, only, candidates) for text, vector in asked]
        pools = await self._pools(collection, search, statistics, searches)
        self.check_dimension(statistics.dimension, next((len(row) for _, row in asked if row is not None), 0))
        kept = [self._kept(rank([pool], threshold=call.score_threshold), call) for pool in pools]
        if self._numbers.neighbours:
            allowed = self._allowed(call.conditions, only)
            return list(await together(*(self._surrounded(collection, one, allowed) for one in kept)))
        return [[result for _, result in one] for one in kept]

    async def _pools(
        self, collection: Any, search: CollectionSearch, statistics: Statistics, searches: Sequence[Search]
    ) -> list[Pool]:
        """The candidates for each of `searches`; by words alone, which is told, where no object has a vector."""
        pools = await together(*(search.run(collection, statistics, one) for one in searches))
        if statistics.lacks_vectors and any(one.vector is not None for one in searches):
            degraded(self._name, "vectors", f"no object of '{self._wanted.collection}' that was looked at has one")
            # Where vectors alone were asked, nothing was searched.
            by_words = replace(search, index=None)
            pools = await together(*(by_words.run(collection, statistics, one) for one in searches))
        return pools

    def check_dimension(self, stored: int, asked: int) -> None:
        """Weaviate itself says nothing of a wrong size where a filter keeps nothing; 0 is a size that is not known.

        Raises:
            EmbeddingModelChanged: the vectors are of another size than that of the question.
        """
        if asked and stored not in (0, asked):
            model = self._embedder.name if self._embedder else ""
            place = Place(self._connection.address.url, self._wanted.collection, model)
            raise typed_error(Fault("dimension", stored=stored, asked=asked), place)

    def _kept(self, found: Iterable[RankedPassage], call: _Call) -> list[tuple[RankedPassage, SourceResult]]:
        """The results of one text that count, those without text last: whoever asked counts them."""
        kept: dict[tuple[str, str], tuple[RankedPassage, SourceResult]] = {}
        without_text: dict[tuple[str, str], tuple[RankedPassage, SourceResult]] = {}
        documents: Counter[str] = Counter()
        for one in found:
            if len(kept) == call.top_k:
                break
            result = result_of(one, self._wanted, call.tenant)
            if not matches(call.conditions, result.metadata) or not self._has_room(one, documents):
                continue
            (kept if result.content.strip() else without_text).setdefault(result.passage, (one, result))
        return [*kept.values(), *without_text.values()][: call.top_k]

    def _has_room(self, found: RankedPassage, documents: Counter[str]) -> bool:
        """Whether its document has room for it: the server groups each of the two lists, and not both together."""
        document = found.payload.properties.get(self._wanted.mapping.document)
        if not self._numbers.per_document or not document:
            return True
        documents[str(document)] += 1
        return documents[str(document)] <= self._numbers.per_document

    def _allowed(self, conditions: Mapping[str, Any], only: Any) -> Allowed:
        def holds(one: Any) -> bool:
            return matches(conditions, result_of(RankedPassage(one.uuid, payload=one), self._wanted, None).metadata)

        return Allowed(only, [self._wanted.properties[field] for field in conditions], holds)

    async def _surrounded(
        self, collection: Any, kept: Sequence[tuple[RankedPassage, SourceResult]], allowed: Allowed
    ) -> list[SourceResult]:
        around = await neighbours_of(
            collection, [found for found, _ in kept], self._wanted.mapping, self._numbers.neighbours, allowed
        )
        results = []
        for found, result in kept:
            before, after = around.get(str(found.payload.uuid), ("", ""))
            text = "\n\n".join(part for part in (before, result.content, after) if part)
            results.append(replace(result, content=text))
        return results


@dataclass(frozen=True)
class _Numbers:
    """Arguments that are numbers."""

    vector_weight: float
    candidates: int
    per_document: int
    neighbours: int
    request_timeout: float


def _check_arguments(name: str, mapping: PropertyMapping, given: _Numbers, tenant: Mapping[str, Any]) -> None:
    beside = mapping.document and mapping.order
    wrong = (
        (not 0 <= given.vector_weight <= 1, "vector_weight", f"must be from 0 to 1, not {given.vector_weight}"),
        (given.candidates < 1, "candidates", "must be 1 or more"),
        (given.per_document < 0, "per_document", "must be 0 or more"),
        (given.neighbours < 0, "neighbours", "must be 0 or more"),
        (given.request_timeout <= 0, "request_timeout", "must be more than 0"),
        (given.per_document > 0 and not mapping.document, "per_document", "needs `mapping.document`"),
        (given.neighbours > 0 and not beside, "neighbours", "needs `mapping.document` and `mapping.order`"),
        (tenant.get("type", "string") != "string", "tenant_from", "must name a field of type string"),
    )
    problems = [Problem(f"{name}.{key}", message) for holds, key, message in wrong if holds]
    refuse_any(problems)


def _without_vectors(vectorizer: str | None, vector_weight: float) -> str:
    """Why a topic index cannot work with vectors, whatever the embedding model is; empty when it can."""
    if vectorizer == "server":
        return "works with the vectors of questions, and `vectorizer: server` does not give them"
    return "" if vector_weight else "works with vectors, and `vector_weight: 0` leaves them out"


def _schema(name: str, fields: Mapping[str, Mapping[str, Any]], tenant_from: str, description: str) -> SourceSchema:
    declared = {
        field: {key: value for key, value in spec.items() if key != "property"} for field, spec in fields.items()
    }
    if tenant_from:
        declared.setdefault(tenant_from, {"type": "string", "description": "Whose data is searched."})
    return SourceSchema(name, declared, [tenant_from] if tenant_from else [], description)


# The source type `weaviate` of a configuration.

_OF_ADDRESS = ("url", "grpc_host", "grpc_port", "api_key", "headers")


def weaviate_from_options(entry: SourceOptions) -> WeaviateSource:
    """`type: weaviate` with `url`, `grpc_port`, `collection` and `mapping`; see `WeaviateSource` for the other options.

    Raises:
        ConfigurationError: an option is unknown, missing, or has a bad value.
    """
    refuse_any(_problems(entry))
    given = {option: value for option, value in entry.options.items() if value is not None}
    address = address_of(
        given.get("url", DEFAULT_URL),
        grpc_host=given.get("grpc_host", ""),
        grpc_port=given.get("grpc_port", DEFAULT_GRPC_PORT),
        api_key=given.get("api_key", ""),
        headers=given.get("headers"),
        key=f"{entry.key}.url",
    )
    fields, required = declared_fields(given.get("fields"), f"{entry.key}.fields")
    if required:
        raise ConfigurationError([Problem(f"{entry.key}.fields", "the only required field is that of `tenant_from`")])
    taken = (*_OF_ADDRESS, "mapping", "fields", "collection")
    return WeaviateSource(
        given["collection"],
        name=entry.name,
        address=address,
        mapping=mapping_of(given.get("mapping"), f"{entry.key}.mapping"),
        fields=fields,
        embedder=entry.embedder,
        **{option: value for option, value in given.items() if option not in taken},
    )


def _problems(entry: SourceOptions) -> list[Problem]:
    problems = [
        *unknown_names(entry.options, OPTIONS, entry.key, "a Weaviate source has no option '{name}'"),
        *wrong_values(entry.options, _KINDS, entry.key),
    ]
    if not entry.options.get("collection"):
        problems.append(Problem(f"{entry.key}.collection", "is missing: the collection to search"))
    return problems


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_KINDS = {
    **dict.fromkeys(("url", "grpc_host", "api_key", "collection", "description", "vector", "tenant_from"), TEXT),
    **dict.fromkeys(("grpc_port", "candidates", "per_document", "neighbours"), WHOLE),
    **dict.fromkeys(("vector_weight", "request_timeout"), NUMBER),
    "vectorizer": one_of("server"),
    "consistency": one_of("one", "quorum", "all"),
    "headers": MAPPING,
    "mapping": MAPPING,
    "metadata": Kind(_is_list_of_names, "must be a list of properties"),
}
OPTIONS = (*_KINDS, "fields")
