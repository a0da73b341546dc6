"""The collections of one base on its server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from groundgraph.core.errors import NeverIngested, SchemaChanged
from groundgraph.sources.weaviate.client import WeaviateConnection
from groundgraph.sources.weaviate_base.place import BasePlace, tenant_name
from groundgraph.sources.weaviate_base.state import BaseState, read_state

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

T = TypeVar("T")


class BaseServer:
    """Asks the server that holds one base. Nothing is opened before the first request.

    Args:
        place: where the base is.
    """

    def __init__(self, place: BasePlace) -> None:
        self.place = place
        self.connection = WeaviateConnection(place.address, timeout=place.timeout)

    async def call(
        self, work: Callable[[WeaviateAsyncClient], Awaitable[T]], *, model: str = "", limit: float | None = None
    ) -> T:
        """See `WeaviateConnection.call`."""
        return await self.connection.call(work, model=model, limit=limit)

    async def state(self) -> BaseState:
        """The state of the base.

        Raises:
            NeverIngested: nothing was ever ingested.
            SchemaVersionUnsupported: a newer groundgraph wrote it.
            SourceError: the server cannot answer.
        """
        found = await self.find_state()
        if found is None:
            raise NeverIngested(
                f"There is no knowledge base {self.place.told} yet. Fill it with `groundgraph ingest PATH`."
            )
        return found

    async def find_state(self) -> BaseState | None:
        """The state of the base; None when nothing was ever ingested. For errors see `state`."""
        try:
            return await self.call(lambda client: read_state(self.state_of(client), self.place))
        except SchemaChanged:
            return None

    def state_of(self, client: WeaviateAsyncClient) -> Any:
        """The collection of the state."""
        return self._collection(client, self.place.state)

    def documents(self, client: WeaviateAsyncClient) -> Any:
        """The collection of the ledger."""
        return self._collection(client, self.place.documents)

    def chunks(self, client: WeaviateAsyncClient, number: int, tenant: str = "") -> Any:
        """The collection of the chunks; those of `tenant`, a value of the tenant's field, when one is given."""
        if not tenant:
            return self._collection(client, self.place.chunks(number))
        return self._collection(client, self.place.memory(number)).with_tenant(tenant_name(tenant))

    async def close(self) -> None:
        """Close the connection; the next request opens it again."""
        await self.connection.close()

    def _collection(self, client: WeaviateAsyncClient, name: str) -> Any:
        collection: Any = client.collections.use(name)
        if self.place.consistency:
            from weaviate.classes.config import ConsistencyLevel

            collection = collection.with_consistency_level(ConsistencyLevel(self.place.consistency.upper()))
        return collection
