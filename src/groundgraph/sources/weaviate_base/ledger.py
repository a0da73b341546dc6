"""The ledger: one object per document, and its chunks found by their ids."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from groundgraph.core.document import Document
from groundgraph.core.knowledge_store import PreparedChunk, StoredDocument
from groundgraph.sources.knowledge_base.ledger import document_of, stored_of
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, DOCUMENT_COLUMNS, chunk_of
from groundgraph.sources.weaviate_base.objects import chunk_id, document_id, ids_before, is_in
from groundgraph.sources.weaviate_base.server import BaseServer, BaseState, objects_by_id

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

_TEXT = ["text", "media_type", "body_start", "parts", "marked_headings"]
# What only the writer needs.
_WRITTEN = ("content_hash", "chunk_fields")
_ROW = [*(name for name in DOCUMENT_COLUMNS if name not in (*_TEXT, *_WRITTEN)), "version", "tenant", "rebuilt"]
_CHUNK = [*CHUNK_COLUMNS, "matching_texts"]


@dataclass(frozen=True)
class LedgerRow:
    """A document as the ledger knows it.

    Attributes:
        id: of its object.
        stored: what every store tells of it; without a hash when it counts as changed.
        version: of its chunks.
        tenant: whose it is; empty when it is everybody's.
    """

    id: str
    stored: StoredDocument
    version: str
    tenant: str

    @property
    def chunk_ids(self) -> list[str]:
        """The ids of its chunks in order."""
        return [chunk_id(self.version, position) for position in range(self.stored.chunks)]


def row_of(found: Any, state: BaseState) -> LedgerRow:
    """The row in an object of the ledger."""
    values = found.properties
    stored = stored_of(values)
    if int(values["rebuilt"] or 0) < state.rebuilt:
        stored = replace(stored, hash="")
    return LedgerRow(str(found.uuid), stored, values["version"], values["tenant"] or "")


async def rows_by_id(
    server: BaseServer, client: WeaviateAsyncClient, state: BaseState, ids: Iterable[str]
) -> dict[str, LedgerRow]:
    """The rows with these ids that are there."""
    found = await objects_by_id(server.documents(client), list(dict.fromkeys(ids)), _ROW)
    return {str(one.uuid): row_of(one, state) for one in found}


async def all_rows(server: BaseServer, client: WeaviateAsyncClient, state: BaseState) -> list[LedgerRow]:
    """All rows by name, or those of the shard of `server`."""
    shard = server.shard
    pages = server.documents(client).iterator(
        return_properties=list(_ROW), after=None if shard is None else ids_before(shard)
    )
    found: list[LedgerRow] = []
    async for one in pages:
        if shard is not None and not is_in(shard, str(one.uuid)):
            break
        found.append(row_of(one, state))
    return sorted(found, key=lambda row: row.stored.name)


async def document(
    server: BaseServer, client: WeaviateAsyncClient, state: BaseState, name: str
) -> tuple[LedgerRow, Document] | None:
    """The document called `name` with its row; None when it is not there."""
    found = await server.documents(client).query.fetch_object_by_id(
        document_id(name), return_properties=[*_ROW, *_TEXT]
    )
    if found is None:
        return None
    return row_of(found, state), document_of(name, found.properties)


async def chunks(server: BaseServer, client: WeaviateAsyncClient, state: BaseState, name: str) -> list[PreparedChunk]:
    """The chunks of the document called `name` in order, with their matching texts and without vectors."""
    found = await document(server, client, state, name)
    if found is None:
        return []
    row, whole = found
    objects = await objects_by_id(server.chunks(client, state.number, row.tenant), row.chunk_ids, _CHUNK)
    found_chunks = (chunk_of(whole, one.properties, json.loads(one.properties["matching_texts"])) for one in objects)
    return sorted(found_chunks, key=lambda one: one.chunk.position)
