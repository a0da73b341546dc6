"""The collection of a source, as far as its topic store needs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from groundgraph.core.evidence import SourceResult
from groundgraph.sources.weaviate.reader import Checked
from groundgraph.sources.weaviate.shape import Wanted

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder

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
