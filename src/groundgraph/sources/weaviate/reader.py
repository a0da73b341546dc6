"""A collection as it is on the server, looked at now and then, and how it is searched."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from groundgraph.core.evidence import SourceResult
from groundgraph.core.latest import Latest
from groundgraph.sources.weaviate.address import Consistency
from groundgraph.sources.weaviate.client import collection_of
from groundgraph.sources.weaviate.filters import FilteredProperty
from groundgraph.sources.weaviate.search import CollectionSearch, VectorIndex
from groundgraph.sources.weaviate.shape import CollectionShape, Wanted, check_shape, shape_of
from groundgraph.sources.weaviate.statistics import KEPT_SECONDS, Statistics, TextIndex

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

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
        return CollectionSearch(mapping, list(dict.fromkeys(brought)), index, self._vector_weight, self._per_document)


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
