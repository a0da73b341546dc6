"""Documents whose stored texts are not those that were written: a version is a hash of all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groundgraph.sources.knowledge_base.rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS
from groundgraph.sources.weaviate_base.insert import REQUEST_LIMIT
from groundgraph.sources.weaviate_base.ledger import LedgerRow, slices
from groundgraph.sources.weaviate_base.objects import version_of
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.sources.weaviate_base.state import BaseState

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

_AT_ONCE = 8
_CHUNKS = 200
_NUMBERS = ("chunks", "body_start", "position", "start", "end", "origin")
_FLAGS = ("from_file", "derived")
_OF_CHUNK = [*CHUNK_COLUMNS, "matching_texts", "stems", "heading_stems"]


async def altered(server: BaseServer, state: BaseState, rows: Sequence[LedgerRow]) -> list[str]:
    """The names of those of `rows`, all of whose chunks are there, that do not hold what was written, sorted."""
    found: list[str] = []
    for some in slices(rows, _AT_ONCE):

        async def looked(client: WeaviateAsyncClient, some: Sequence[LedgerRow] = some) -> list[str]:
            return list(await asyncio.gather(*(_version_now(server, client, state, row) for row in some)))

        versions = await server.call(looked, limit=REQUEST_LIMIT)
        found += [row.stored.name for row, now in zip(some, versions, strict=True) if now != row.version]
    return sorted(found)


async def _version_now(server: BaseServer, client: WeaviateAsyncClient, state: BaseState, row: LedgerRow) -> str:
    whole = await server.documents(client).query.fetch_object_by_id(row.id, return_properties=list(DOCUMENT_COLUMNS))
    collection = server.chunks(client, state.number, row.tenant)
    objects: list[Any] = []
    for some in slices(row.chunk_ids, _CHUNKS):
        given = await collection.query.fetch_objects_by_ids(some, limit=len(some), return_properties=_OF_CHUNK)
        objects += given.objects
    if whole is None or len(objects) != len(row.chunk_ids):
        return ""
    chunks = sorted((one.properties for one in objects), key=lambda properties: int(properties["position"]))
    try:
        return version_of(_values(whole.properties, DOCUMENT_COLUMNS), [_chunk(one) for one in chunks])
    except (ValueError, TypeError):
        # A field that holds no JSON any more, or no list.
        return ""


def _chunk(properties: Mapping[str, Any]) -> tuple[list[Any], list[dict[str, Any]]]:
    texts = json.loads(properties["matching_texts"])
    above = properties["heading_stems"] or ""
    found_by = [
        {"ends_with_chunk": ends, "stems": stems, "heading_stems": above, "text": text}
        for (ends, text), stems in zip(texts, properties["stems"], strict=True)
    ]
    return list(_values(properties, CHUNK_COLUMNS).values()), found_by


def _values(properties: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The properties as they were written: Weaviate gives an empty text as none."""
    values: dict[str, Any] = {}
    for name in names:
        value = properties[name]
        values[name] = int(value) if name in _NUMBERS else bool(value) if name in _FLAGS else value or ""
    return values
