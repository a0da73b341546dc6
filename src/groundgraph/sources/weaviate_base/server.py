"""The collections of one base on its server."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from groundgraph.core.errors import (
    ConfigurationError,
    NeverIngested,
    Problem,
    SchemaChanged,
    SchemaVersionUnsupported,
    SourceError,
)
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.weaviate.client import WeaviateConnection, collection_of
from groundgraph.sources.weaviate.search import together
from groundgraph.sources.weaviate_base.collections import DOCUMENT, SCHEMA_VERSION, BasePlace, is_own, tenant_name
from groundgraph.sources.weaviate_base.objects import ids_of_all, own_id

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# What is known of a base as a whole, kept as one object beside it.

# The attributes of a state that every shard has of its own, as its journal.
_JOURNAL = ("pending", "pending_tenants", "recent", "names", "changes")
# What a killed server may have lost was written within the last moments of all shards, in seconds.
_RECENT_WITHIN = 60.0


@dataclass(frozen=True)
class BaseState:
    """One state of the base.

    Attributes:
        identity: what it is made with.
        filled: whether any document has vectors.
        number: of the collections that hold the chunks.
        rebuilt: how often the base was rebuilt; a document that was written before counts as changed.
        changes: how often something was written.
        pending: the names of the documents that a writer is at; after it was killed, what it left is cleaned up.
        pending_tenants: whose those documents are, where they belong to tenants.
        recent: the names of the documents that were written last. A server that is killed may lose them from an index
            although searches found them already, so they are looked for again when the base is opened next.
        fields: the fields that filters may name, with their numbers.
        names: the metadata that results carry beside what they always do.
        tenant_from: the field that names the tenant; empty without tenants.
        sharded: processes may write to its shards, each with a journal of its own; once so, it stays so.
        schema: the version of all this.
    """

    identity: BaseIdentity = field(default_factory=BaseIdentity)
    filled: bool = False
    number: int = 1
    rebuilt: int = 0
    changes: int = 0
    pending: tuple[str, ...] = ()
    pending_tenants: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    fields: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    tenant_from: str = ""
    sharded: bool = False
    schema: int = SCHEMA_VERSION

    @classmethod
    def of(cls, text: str, place: BasePlace) -> BaseState:
        """The state in `text`, as `as_text` wrote it.

        Raises:
            SchemaVersionUnsupported: a newer groundgraph wrote it.
            SourceError: it is damaged.
        """
        try:
            return cls._read(json.loads(text), place)
        except (ValueError, TypeError, LookupError) as error:
            raise SourceError(
                f"What is known of the knowledge base {place.told} as a whole is damaged, in the collection "
                f"'{place.state}'. Ingest with another prefix, or delete all collections of this one and ingest again."
            ) from error

    @classmethod
    def _read(cls, given: Any, place: BasePlace) -> BaseState:
        if given["schema"] > SCHEMA_VERSION:
            raise SchemaVersionUnsupported(
                f"The knowledge base {place.told} has schema version {given['schema']}; this groundgraph knows "
                f"versions up to {SCHEMA_VERSION}. Upgrade groundgraph, or ingest with another prefix."
            )
        lists = {name: tuple(given.get(name, ())) for name in _JOURNAL[:-1]}
        identity = BaseIdentity(**given["identity"])
        return cls(**{**given, **lists, "identity": identity, "schema": SCHEMA_VERSION})

    def as_text(self) -> str:
        """The state as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)


def _with_journals(base: BaseState, journals: Sequence[Mapping[str, Any]]) -> BaseState:
    """The state of the whole base, to which every shard has contributed."""
    last = max((journal["at"] for journal in journals), default=0.0)
    fresh = [journal for journal in journals if journal["at"] >= last - _RECENT_WITHIN]
    lists: dict[str, Any] = {}
    for name in _JOURNAL[:-1]:
        told = (journal[name] for journal in (fresh if name == "recent" else journals))
        lists[name] = tuple(sorted({*getattr(base, name)}.union(*told)))
    return replace(base, changes=base.changes + sum(journal["changes"] for journal in journals), **lists)


async def read_state(collection: Any, place: BasePlace, shard: int | None = None) -> BaseState | None:
    """The state of the base, or of a `shard`, whose journal is its own; None when it was never opened for writing."""
    found = await collection.query.fetch_object_by_id(own_id("state", None))
    base = BaseState.of(str(found.properties["value"]), place) if found else None
    if base is None or not base.sharded:
        return base
    if shard is None:
        journals = await objects_by_id(collection, ids_of_all("state"), ["value"])
        return _with_journals(base, [json.loads(str(one.properties["value"])) for one in journals])
    own = await collection.query.fetch_object_by_id(own_id("state", shard))
    # Of a journal that was joined with the base and begins anew, no number of changes may come a second time.
    empty: dict[str, Any] = {**dict.fromkeys(_JOURNAL[:-1], ()), "changes": secrets.randbits(40)}
    journal = json.loads(str(own.properties["value"])) if own else empty
    lists: dict[str, Any] = {name: tuple(journal[name]) for name in _JOURNAL[:-1]}
    return replace(base, changes=journal["changes"], **lists)


async def write_state(collection: Any, state: BaseState, shard: int | None = None) -> None:
    """Write the state in place of the one that is there; of a `shard` its journal."""
    from weaviate.classes.data import DataObject

    text = state.as_text()
    if shard is not None:
        journal = {name: getattr(state, name) for name in _JOURNAL}
        text = json.dumps({**journal, "at": time.time()}, ensure_ascii=False)
    given = await collection.data.insert_many([DataObject(uuid=own_id("state", shard), properties={"value": text})])
    if given.has_errors:
        raise RuntimeError(str(given.errors))


T = TypeVar("T")
Item = TypeVar("Item")
# Seconds for one request of many objects, and how many of them are read at once by their ids.
REQUEST_LIMIT = 120.0
_FETCHED = 200


def slices(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """`items` in pieces of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def objects_by_id(collection: Any, ids: Sequence[str], properties: Sequence[str]) -> list[Any]:
    """The objects with `ids` that are there, with `properties`, in any order."""
    pages = await together(
        *(
            collection.query.fetch_objects_by_ids(some, limit=len(some), return_properties=list(properties))
            for some in slices(ids, _FETCHED)
        )
    )
    return [one for page in pages for one in page.objects]


class BaseServer:
    """Asks the server that holds one base. Nothing is opened before the first request.

    Args:
        place: where the base is.
        shard: the one that is written to; None for the whole base.
        connection: a connection that others use too, and that whoever made it closes; None for one of its own.
    """

    def __init__(
        self, place: BasePlace, shard: int | None = None, connection: WeaviateConnection | None = None
    ) -> None:
        self.place = place
        self.shard = shard
        self._is_own = connection is None
        self.connection = connection or WeaviateConnection(place.address, timeout=place.timeout)

    async def call(
        self, work: Callable[[WeaviateAsyncClient], Awaitable[T]], *, model: str = "", limit: float | None = None
    ) -> T:
        """See `WeaviateConnection.call`."""
        return await self.connection.call(work, model=model, limit=limit)

    async def in_slices(
        self,
        items: Sequence[Item],
        size: int,
        work: Callable[[Sequence[Item], WeaviateAsyncClient], Awaitable[Iterable[T]]],
    ) -> list[T]:
        """What `work` gives for `items`, at most `size` of them in one call."""
        found: list[T] = []
        for some in slices(items, size):
            found += await self.call(partial(work, some), limit=REQUEST_LIMIT)
        return found

    async def state(self) -> BaseState:
        """The state of the base.

        Raises:
            NeverIngested: nothing was ever ingested.
            ConfigurationError: documents are there, and what says how they were made is gone.
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
        with suppress(SchemaChanged):
            if found := await self.call(lambda client: read_state(self.state_of(client), self.place, self.shard)):
                return found
        await self.call(self._refuse_what_lost_its_state, limit=REQUEST_LIMIT)
        return None

    async def _refuse_what_lost_its_state(self, client: WeaviateAsyncClient) -> None:
        """Refuse to take documents whose state somebody deleted for those of a new base, or for none: they would count
        as unchanged, with the vectors of whatever model and the values of fields under other numbers."""
        place = self.place
        if not await is_own(client, place, place.documents, DOCUMENT):
            return
        if (await self.documents(client).aggregate.over_all(total_count=True)).total_count:
            message = (
                f"the collection '{place.state}' at {place.address.url} is gone, which says how the documents in "
                f"'{place.documents}' were made. Bring it back from a backup, choose another prefix, or delete all "
                f"collections that begin with '{place.prefix}' and ingest again; nothing was written"
            )
            raise ConfigurationError([Problem("knowledge_base.weaviate.prefix", message)])

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
        """Close the connection, if it is its own; the next request opens it again."""
        if self._is_own:
            await self.connection.close()

    def _collection(self, client: WeaviateAsyncClient, name: str) -> Any:
        return collection_of(client, name, self.place.consistency)
