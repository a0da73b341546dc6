"""A collection as it is on the server, looked at now and then, how it is searched, and its objects as evidence."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.latest import Latest
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.weaviate.address import Consistency, queries
from groundgraph.sources.weaviate.client import collection_of
from groundgraph.sources.weaviate.filters import FilteredProperty
from groundgraph.sources.weaviate.search import CollectionSearch, VectorIndex, as_text
from groundgraph.sources.weaviate.shape import CollectionShape, PropertyMapping, Wanted, check_shape, shape_of
from groundgraph.sources.weaviate.statistics import KEPT_SECONDS, Statistics, TextIndex

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient
    from weaviate.collections import CollectionAsync

    from groundgraph.core.embedder import Embedder


# Tenants whose word frequencies are kept.
_KEPT_TENANTS = 1_000


@dataclass(frozen=True)
class Checked:
    """A collection that fits what was configured.

    Attributes:
        search: searches it.
        properties: for each field the property that it is filtered by.
        text_index: the one whose words are counted.
        ends_at: when it is to be looked at again.
    """

    search: CollectionSearch
    properties: dict[str, FilteredProperty]
    text_index: TextIndex
    ends_at: float


class CollectionReader:
    """What is known of one collection.

    Args:
        wanted: what was configured.
        by_server: the server makes the vectors of queries.
        vector_weight: the share of the vectors in the order.
        per_document: most results of one document; 0 for any number.
        consistency: how many replicas must agree; the server's choice when None.
    """

    def __init__(
        self,
        wanted: Wanted,
        *,
        by_server: bool,
        vector_weight: float,
        per_document: int,
        consistency: Consistency | None,
    ) -> None:
        self._wanted = wanted
        self._by_server = by_server
        self._vector_weight = vector_weight
        self._per_document = per_document
        self._consistency = consistency
        self._checked: Checked | None = None
        self._statistics: Latest[str | None, Statistics] = Latest(_KEPT_TENANTS)

    def collection(self, client: WeaviateAsyncClient, tenant: str | None) -> Any:
        """The client's handle, for one tenant where there are tenants."""
        collection = collection_of(client, self._wanted.collection, self._consistency)
        return collection.with_tenant(tenant) if tenant is not None else collection

    async def checked(self, client: WeaviateAsyncClient) -> Checked:
        """The collection; it is looked at again after a while, since another may have taken its place.

        Raises:
            SchemaChanged, ConfigurationError: see `check_shape`.
        """
        known = self._checked
        if known is None or known.ends_at < time.monotonic():
            shape = shape_of(await client.collections.use(self._wanted.collection).config.get())
            check_shape(shape, self._wanted)
            ends_at = time.monotonic() + KEPT_SECONDS
            mapping = self._wanted.mapping
            text_index = TextIndex(mapping.stems or mapping.text, *shape.bm25)
            known = self._checked = Checked(self._search_of(shape), self._filtered(shape), text_index, ends_at)
        return known

    def forget(self) -> None:
        """Look at it again with the next query."""
        self._checked = None

    def statistics(self, checked: Checked, tenant: str | None) -> Statistics:
        """Those of the collection, or of one of its tenants."""
        found = self._statistics.get(tenant)
        if found is None or not found.is_current:
            index = checked.search.index
            found = Statistics(checked.text_index, index.name if index and not index.by_server else "")
            self._statistics.put(tenant, found)
        return found

    def _filtered(self, shape: CollectionShape) -> dict[str, FilteredProperty]:
        return {
            field: FilteredProperty(
                name, str(self._wanted.fields[field].get("type", "string")), shape.properties[name].type
            )
            for field, name in self._wanted.properties.items()
        }

    def _search_of(self, shape: CollectionShape) -> CollectionSearch:
        mapping = self._wanted.mapping
        brought = [*mapping.used().values(), *self._wanted.properties.values(), *self._wanted.metadata]
        index = None
        if self._wanted.by_vector and shape.vectors:
            name = self._wanted.vector or next(iter(shape.vectors))
            index = VectorIndex(name, shape.vectors[name], self._by_server)
        numbers = (self._vector_weight, self._per_document)
        tokenization = shape.properties[mapping.text].tokenization
        return CollectionSearch(mapping, list(dict.fromkeys(brought)), index, *numbers, tokenization)


# The collection of a source, as far as its topic store needs it.

T = TypeVar("T")


class SearchedCollection(Protocol):
    """What `WeaviateSource` lends; see its methods."""

    @property
    def name(self) -> str:
        """Of the source."""

    @property
    def wanted(self) -> Wanted:
        """What was configured."""

    @property
    def embedder(self) -> Embedder | None:
        """The model that the vectors are from; None where the server makes those of questions."""

    async def search(
        self, texts: Sequence[str], conditions: Mapping[str, Any], *, top_k: int, by_vector: bool = False
    ) -> list[list[SourceResult]]:
        """The results for each of `texts`."""

    async def read(self, tenant: str | None, work: Callable[[Any, Checked], Awaitable[T]]) -> T:
        """The result of `work`, given the client's handle and the checked collection."""

    def tenant_of(self, conditions: Mapping[str, Any]) -> str | None:
        """The value that names the tenant; None for a collection without tenants."""

    def without_tenant(self, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `conditions` that objects are filtered by."""

    def check_dimension(self, stored: int, asked: int) -> None:
        """Refuses a question whose vector is of another size."""


# Objects of a collection as pieces of evidence.

# The chunks beside a result, fetched for all results in one request.

Place = tuple[str, int]


@dataclass(frozen=True)
class Allowed:
    """What a neighbour must satisfy.

    Attributes:
        filter: that of the search; None for none. It may keep a little more than the conditions say.
        properties: those that the conditions are about.
        holds: whether the conditions themselves hold for an object.
    """

    filter: Any
    properties: Sequence[str]
    holds: Callable[[Any], bool]


async def neighbours_of(
    collection: CollectionAsync[Any, Any],
    found: Sequence[RankedPassage],
    mapping: PropertyMapping,
    reach: int,
    allowed: Allowed,
) -> dict[str, tuple[str, str]]:
    """For the UUID of each of `found` the text before and after it, up to `reach` chunks each way.

    A chunk stands beside one result only, the best, and not at all when it is a result itself.

    Args:
        collection: the collection.
        found: the results, the best first.
        mapping: of its properties; `document` and `order` are there.
        reach: how many chunks.
        allowed: the conditions of the search, which hold for neighbours too.
    """
    places = {str(one.payload.uuid): _place(one.payload.properties, mapping) for one in found}
    own = {place for place in places.values() if place}
    wanted = {beside for place in own for beside in _around(place, reach)} - own
    if not wanted:
        return {}
    texts = await _texts(collection, wanted, mapping, allowed)
    taken: set[Place] = set()
    around: dict[str, tuple[str, str]] = {}
    for uuid, place in places.items():
        if place:
            around[uuid] = (_run(texts, place, -1, reach, taken), _run(texts, place, 1, reach, taken))
    return around


def _place(values: Any, mapping: PropertyMapping) -> Place | None:
    document, order = values.get(mapping.document), values.get(mapping.order)
    return None if document is None or order is None else (str(document), int(order))


def _around(place: Place, reach: int) -> list[Place]:
    document, order = place
    return [(document, order + step) for step in range(-reach, reach + 1) if step]


async def _texts(
    collection: CollectionAsync[Any, Any], wanted: set[Place], mapping: PropertyMapping, allowed: Allowed
) -> dict[Place, str]:
    given: Any = await collection.query.fetch_objects(
        limit=len(wanted),
        filters=_at(wanted, mapping) if allowed.filter is None else allowed.filter & _at(wanted, mapping),
        return_properties=list(dict.fromkeys([mapping.text, mapping.document, mapping.order, *allowed.properties])),
    )
    objects = (one for one in given.objects if allowed.holds(one))
    places = ((_place(one.properties, mapping), as_text(one.properties.get(mapping.text))) for one in objects)
    return {place: text for place, text in places if place and text.strip()}


def _at(wanted: set[Place], mapping: PropertyMapping) -> Any:
    """A filter that keeps what stands at one of the places."""
    by = queries().Filter.by_property
    orders: dict[str, list[int]] = {}
    for document, order in sorted(wanted):
        orders.setdefault(document, []).append(order)
    near = [
        by(mapping.document).equal(document) & by(mapping.order).contains_any(numbers)
        for document, numbers in orders.items()
    ]
    return near[0] if len(near) == 1 else queries().Filter.any_of(near)


def _run(texts: dict[Place, str], place: Place, step: int, reach: int, taken: set[Place]) -> str:
    """The chunks on one side without a gap, in the order of the document."""
    document, order = place
    found: list[str] = []
    for distance in range(1, reach + 1):
        beside = (document, order + step * distance)
        if beside not in texts or beside in taken:
            break
        taken.add(beside)
        found.append(texts[beside])
    return "\n\n".join(found if step > 0 else found[::-1])


SOURCE_TYPE = "weaviate"
HEADING_SEPARATOR = " > "


def result_of(ranked: RankedPassage, wanted: Wanted, tenant: str | None) -> SourceResult:
    """One result; the payload is the client's object."""
    values, mapping = ranked.payload.properties, wanted.mapping
    own = values.get(mapping.id) if mapping.id else None
    return SourceResult(
        content=as_text(values.get(mapping.text)),
        source_id=str(ranked.payload.uuid) if own in (None, "") else str(own),
        source_name=wanted.name,
        source_type=SOURCE_TYPE,
        relevance=ranked.relevance,
        metadata=_metadata(values, wanted, tenant),
        score=ranked.score,
        scores={**ranked.scores, "match": ranked.match_score},
    )


def heading_path(value: Any) -> tuple[str, ...]:
    """The titles in a property, the outermost first: a list of them, or one text with ` > ` between."""
    parts = value if isinstance(value, list) else str(value or "").split(HEADING_SEPARATOR)
    return tuple(title for title in (str(part).strip() for part in parts) if title)


def metadata_names(wanted: Wanted) -> set[str]:
    """The names that results carry."""
    mapped = {name for name in ("title", "document", "url") if getattr(wanted.mapping, name)}
    mapped |= {"section", "headings"} if wanted.mapping.headings else set()
    mapped |= {"position"} if wanted.mapping.order else set()
    return mapped | set(wanted.properties) | set(wanted.metadata) | ({wanted.tenant_from} - {""})


def _metadata(values: Mapping[str, Any], wanted: Wanted, tenant: str | None) -> dict[str, Any]:
    mapping = wanted.mapping
    found: dict[str, Any] = {name: _plain(values.get(name)) for name in wanted.metadata}
    found |= {
        field: _of_kind(str(wanted.fields[field].get("type", "string")), values.get(name))
        for field, name in wanted.properties.items()
    }
    mapped = {"title": mapping.title, "document": mapping.document, "url": mapping.url, "position": mapping.order}
    for ours, theirs in mapped.items():
        if theirs:
            found.setdefault(ours, _plain(values.get(theirs)))
    if mapping.headings and values.get(mapping.headings):
        path = list(heading_path(values[mapping.headings]))
        found = {"headings": path, "section": HEADING_SEPARATOR.join(path), **found}
    if tenant is not None:
        found[wanted.tenant_from] = tenant
    return {name: value for name, value in found.items() if value is not None}


def _of_kind(kind: str, value: Any) -> Any:
    if isinstance(value, datetime):
        # As conditions write them: a day alone, or a time in UTC; the client gives a year 0 without its zone.
        moment = _in_utc(value if value.tzinfo else value.replace(tzinfo=UTC))
        return moment.date().isoformat() if kind == "date" else moment.isoformat()
    return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else _plain(value)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        # At the ends of the calendar there is no such time: it stays as it is written.
        return moment.replace(tzinfo=None)


def _plain(value: Any) -> Any:
    return jsonable(value)
