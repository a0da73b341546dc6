"""The collections of a knowledge base.

A chunk is one object, so that it is written and removed as a whole, and all its matching texts are one multi-vector:
a query of one vector then scores exactly the best of them. Weaviate has no stemmer, so the stems that an
embedded base searches are stored and searched here too, divided at spaces only. `terms` holds each distinct stem of a
chunk once, `distinct` of them: the document frequency of a stem, for which there is no query, is computed from that.
What shows and cites a chunk is stored beside it without an index.

A field that filters may name has four properties under its number: `equal` holds every value in a form in which equal
means equal, `number` those that are numbers, `text` those that are texts, and `folded` all as texts without regard to
case, for parts of words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.search.rank import K1
from groundgraph.settings.knowledge_base import WeaviateSettings
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, DOCUMENT_COLUMNS
from groundgraph.sources.weaviate.address import Address, Consistency, address_of

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# Where a knowledge base in Weaviate is: the server, and the names of its collections.

_PREFIX = re.compile(r"[A-Z][A-Za-z0-9_]{0,199}")
_KEY = "knowledge_base.weaviate"


@dataclass(frozen=True)
class BasePlace:
    """One knowledge base on a server.

    Attributes:
        address: of the server.
        prefix: what the names of its collections begin with.
        consistency: how many replicas must agree; the server's choice when None.
        replicas: on how many nodes each object is kept.
        tenant_from: the field whose value names the tenant that a record belongs to; empty without tenants.
        timeout: seconds for one request.

    Raises:
        ConfigurationError: no collection can be called like that.
    """

    address: Address
    prefix: str = "Groundgraph"
    consistency: Consistency | None = None
    replicas: int = 1
    tenant_from: str = ""
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            message = f"'{self.prefix}' must begin with a capital letter A to Z, then letters, digits or underscores"
            raise ConfigurationError([Problem(f"{_KEY}.prefix", message)])

    @classmethod
    def of(cls, settings: WeaviateSettings, prefix: str = "") -> BasePlace:
        """The place that `settings` describe, with another `prefix` when one is given.

        Raises:
            ConfigurationError: the address is none.
        """
        address = address_of(
            settings.url,
            grpc_host=settings.grpc_host,
            grpc_port=settings.grpc_port,
            api_key=settings.api_key.get_secret_value() if settings.api_key else "",
            headers=settings.headers,
            key=f"{_KEY}.url",
        )
        return cls(
            address,
            prefix or settings.prefix,
            settings.consistency,
            settings.replicas,
            settings.tenant_from,
            settings.request_timeout,
        )

    @property
    def told(self) -> str:
        """The place in words, for messages."""
        return f"{self.prefix} in Weaviate at {self.address.url}"

    @property
    def state(self) -> str:
        """The collection with what is known of the base as a whole."""
        return f"{self.prefix}State"

    @property
    def documents(self) -> str:
        """The collection with the ledger."""
        return f"{self.prefix}Document"

    def chunks(self, number: int) -> str:
        """The collection with the chunks; a rebuild makes one of the next number."""
        return f"{self.prefix}Chunk{number}"

    def memory(self, number: int) -> str:
        """The collection with the chunks that belong to tenants."""
        return f"{self.prefix}Memory{number}"


def tenant_name(value: str) -> str:
    """The tenant for a value of the tenant's field: a hash, since Weaviate takes few characters in a name, and values
    that differ only in case or punctuation must stay apart."""
    return "t" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:40]


SCHEMA_VERSION = 3
VECTOR = "match"
# How much the length of a text counts in BM25.
B = 0.75
# By what the values of a field are stored for.
FIELD_KINDS = {"equal": "text[]", "number": "number[]", "text": "text[]", "folded": "text[]"}

STATE = {"value": "text", "beat": "text"}
FLAGS = ("from_file", "derived")


def _stored(columns: Mapping[str, str]) -> dict[str, str]:
    types = {"TEXT": "text", "INTEGER": "int"}
    return {name: "boolean" if name in FLAGS else types[type_] for name, type_ in columns.items()}


DOCUMENT = {**_stored(DOCUMENT_COLUMNS), "version": "text", "tenant": "text", "rebuilt": "int"}
CHUNK = {
    "document_id": "uuid",
    "version": "uuid",
    **_stored(CHUNK_COLUMNS),
    "matching_texts": "text",
    "values": "text",
    "gap": "text",
    "length": "int",
    "stems": "text[]",
    "heading_stems": "text",
    "terms": "text",
    "distinct": "int",
}
_SEARCHED = ("stems", "heading_stems", "terms")
# Sums and means are taken over indexed properties only.
_FILTERED = ("document_id", "version", "position", "length", "distinct", "chunks")


def field_property(number: int, kind: str) -> str:
    """The property that holds the values of the field with `number` for one purpose."""
    return f"field{number}_{kind}"


async def make_state_collection(client: WeaviateAsyncClient, place: BasePlace) -> None:
    """Create the collection of the state where it is not there; it holds the lock of whoever makes the others."""
    await _create(client, place, place.state, STATE)


async def make_ledger(client: WeaviateAsyncClient, place: BasePlace) -> None:
    """Create the collection of the ledger where it is not there."""
    await _create(client, place, place.documents, DOCUMENT)


async def make_chunks(client: WeaviateAsyncClient, place: BasePlace, number: int) -> bool:
    """Create the collections of the chunks where they are not there; whether one was not."""
    made = await _create(client, place, place.chunks(number), CHUNK)
    if place.tenant_from:
        made = await _create(client, place, place.memory(number), CHUNK, tenants=True) or made
    return made


async def add_fields(client: WeaviateAsyncClient, collection: str, numbers: Iterable[int]) -> None:
    """Add the properties of fields where they are not there."""
    there = await _properties(client, collection)
    for number in numbers:
        for kind, type_ in FIELD_KINDS.items():
            name = field_property(number, kind)
            if name not in there:
                await client.collections.use(collection).config.add_property(_property(name, type_, filtered=True))


async def _properties(client: WeaviateAsyncClient, collection: str) -> set[str]:
    config: Any = await client.collections.use(collection).config.get()
    return {one.name for one in config.properties}


async def is_own(client: WeaviateAsyncClient, place: BasePlace, name: str, properties: Mapping[str, str]) -> bool:
    """Whether there is such a collection of a base, with at least `properties`.

    Raises:
        ConfigurationError: another application has it; a server might add to it what it lacks.
    """
    if not await client.collections.exists(name):
        return False
    lacking = sorted(properties.keys() - await _properties(client, name))
    if lacking:
        message = (
            f"the collection '{name}' at {place.address.url} is not one of a knowledge base: it has no property "
            f"'{lacking[0]}'. Choose another prefix; nothing was written to it"
        )
        raise ConfigurationError([Problem(f"{_KEY}.prefix", message)])
    return True


async def _create(
    client: WeaviateAsyncClient, place: BasePlace, name: str, properties: dict[str, str], *, tenants: bool = False
) -> bool:
    """Create a collection where it is not there; whether it was not. For errors see `is_own`."""
    if await is_own(client, place, name, properties):
        return False
    config = import_module("weaviate.classes.config")
    try:
        await client.collections.create(
            name,
            properties=[_property(key, type_, filtered=key in _FILTERED) for key, type_ in properties.items()],
            vector_config=[config.Configure.MultiVectors.self_provided(name=VECTOR)] if "stems" in properties else None,
            inverted_index_config=config.Configure.inverted_index(
                bm25_b=B, bm25_k1=K1, stopwords_preset=config.StopwordsPreset.NONE
            ),
            replication_config=config.Configure.replication(factor=place.replicas),
            multi_tenancy_config=config.Configure.multi_tenancy(enabled=tenants),
        )
    except Exception:
        # Another writer may have made it between the look and the call.
        if not await client.collections.exists(name):
            raise
    return True


def _property(name: str, type_: str, *, filtered: bool = False) -> Any:
    config = import_module("weaviate.classes.config")
    is_text = type_.startswith("text")
    searched = name in _SEARCHED
    tokens = config.Tokenization.WHITESPACE if searched else config.Tokenization.FIELD
    return config.Property(
        name=name,
        data_type=config.DataType(type_),
        index_filterable=filtered,
        index_searchable=searched if is_text else None,
        tokenization=tokens if is_text else None,
    )
