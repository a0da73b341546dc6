"""Documents and chunks as objects: their ids, and their properties.

Ids are made of what an object is, so that the same document gives the same objects however often it is written: the
ledger's of the document's name, a chunk's of the version of its document and its place in it. A version is a hash of
all that is written of a document; two versions never share a chunk, so a reader tells them apart.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from groundgraph.core.characters import FORBIDDEN
from groundgraph.core.document import DOCUMENTS, Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.knowledge_store import PreparedDocument
from groundgraph.search.rank import stems_in
from groundgraph.sources.knowledge_base.document_rows import ChunkRow, DocumentRows, document_rows
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, DOCUMENT_COLUMNS
from groundgraph.sources.knowledge_base.searcher import MAX_GAP
from groundgraph.sources.weaviate_base.collections import VECTOR, field_property
from groundgraph.sources.weaviate_base.filters import stored_values

_NAMES = uuid.uuid5(uuid.NAMESPACE_OID, "groundgraph document")


def document_id(name: str) -> str:
    """The id of the ledger's object for the document called `name`."""
    # As uuid5 makes it, which refuses half of a surrogate pair; no document is called so, but it can be asked for.
    digest = hashlib.sha1(_NAMES.bytes + name.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def chunk_id(version: str, position: int) -> str:
    """The id of the chunk at `position` of a version of a document."""
    return str(uuid.uuid5(uuid.UUID(version), str(position)))


@dataclass(frozen=True)
class DocumentObjects:
    """A document as it is written.

    Attributes:
        name: of the document.
        version: of what is written of it.
        tenant: whose it is; empty when it is everybody's.
        dimension: of its vectors, 0 without.
        row: the properties of the ledger's object.
        chunks: those of each chunk, with its multi-vector, None without vectors.
        names: the metadata that results of it carry.
    """

    name: str
    version: str
    tenant: str
    dimension: int
    row: dict[str, Any] = field(repr=False)
    chunks: Sequence[tuple[dict[str, Any], Any]] = field(repr=False)
    names: frozenset[str]

    @property
    def chunk_ids(self) -> list[str]:
        """The ids of its chunks in order."""
        return [chunk_id(self.version, position) for position in range(len(self.chunks))]


def document_objects(prepared: PreparedDocument, fields: Mapping[str, int], tenant_from: str) -> DocumentObjects:
    """What is written of `prepared`.

    Args:
        prepared: the document.
        fields: those that filters may name, with their numbers.
        tenant_from: the field that names the tenant.

    Raises:
        ValueError: it cannot be stored; the message says why.
    """
    rows = document_rows(prepared)
    document = prepared.document
    row = dict(zip(DOCUMENT_COLUMNS, rows.values, strict=True))
    version = version_of(row, [(list(chunk.values), [text._asdict() for text in chunk.texts]) for chunk in rows.chunks])
    tenant = document.metadata.get(tenant_from) if tenant_from else None
    row |= {"version": version, "tenant": str(tenant) if tenant not in (None, "") else ""}
    chunks = list(_chunk_objects(prepared, rows, version, fields))
    _check_text(row, chunks)
    names = {*document.metadata, *(name for chunk in prepared.chunks for name in chunk.chunk.metadata)}
    names |= {"kind"} if document.kind != DOCUMENTS else set()
    names |= {"derived"} if any(chunk.chunk.derived for chunk in prepared.chunks) else set()
    return DocumentObjects(
        document.name, version, row["tenant"], rows.dimension, row, chunks, frozenset(map(str, names))
    )


def version_of(row: Mapping[str, Any], chunks: Sequence[tuple[Sequence[Any], Sequence[Mapping[str, Any]]]]) -> str:
    """The version of a document out of the columns of its row, and of each chunk the columns and the matching texts."""
    written = {name: value for name, value in row.items() if name != "written_at"}
    parts: list[Any] = [written, *chunks]
    digest = hashlib.sha256(json.dumps(parts, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass"))
    return str(uuid.UUID(bytes=digest.digest()[:16], version=5))


def _chunk_objects(
    prepared: PreparedDocument, rows: DocumentRows, version: str, fields: Mapping[str, int]
) -> Iterator[tuple[dict[str, Any], Any]]:
    gaps = _gaps(prepared.document, rows.chunks)
    for one, chunk, gap in zip(prepared.chunks, rows.chunks, gaps, strict=True):
        own = dict(zip(CHUNK_COLUMNS, chunk.values, strict=True))
        values = filter_values(prepared.document, one.chunk.metadata)
        found_by = [[*text.stems.split(), *stems_in(text.heading_stems)] for text in chunk.texts]
        distinct = sorted(set(chain.from_iterable(found_by)))
        yield (
            {
                **own,
                "document_id": document_id(prepared.document.name),
                "version": version,
                "matching_texts": json.dumps(
                    [[text.ends_with_chunk, text.text] for text in chunk.texts], ensure_ascii=False
                ),
                "values": json.dumps(values, ensure_ascii=False),
                **({} if gap is None else {"gap": gap}),
                "length": round(sum(map(len, found_by)) / len(found_by)),
                "stems": [text.stems for text in chunk.texts],
                "heading_stems": chunk.texts[0].heading_stems,
                "terms": " ".join(distinct),
                "distinct": len(distinct),
                **field_properties(values, fields),
            },
            None if one.vectors is None else {VECTOR: [list(map(float, vector)) for vector in one.vectors]},
        )


def filter_values(document: Document, own: Mapping[str, Any]) -> dict[str, Any]:
    """The values that filters are about: the metadata of a chunk over that of its document."""
    merged: dict[str, Any] = jsonable({"kind": document.kind, **document.metadata, **own, "document": document.name})
    return merged


def field_properties(values: Mapping[str, Any], fields: Mapping[str, int]) -> dict[str, Any]:
    """The properties that `values` have for the numbered `fields`."""
    return {
        field_property(number, kind): stored
        for name, number in fields.items()
        for kind, stored in stored_values(values.get(name)).items()
        if stored
    }


def _gaps(document: Document, chunks: Sequence[ChunkRow]) -> Iterator[str | None]:
    """For each chunk the text between it and the one before, as `sources.knowledge_base.between` has it."""
    before: dict[str, Any] | None = None
    starts = [part.start for part in document.parts]
    for chunk in chunks:
        own = dict(zip(CHUNK_COLUMNS, chunk.values, strict=True))
        gap = None
        if before and not before["derived"] and not own["derived"] and 0 <= own["start"] - before["end"] <= MAX_GAP:
            apart = any(before["start"] < start <= own["start"] for start in starts)
            gap = None if apart else document.text[before["end"] : own["start"]]
        before = own
        # Where a text is empty, Weaviate does not tell it from one that is missing.
        yield None if gap is None else json.dumps(gap, ensure_ascii=False)


def _check_text(row: Mapping[str, Any], chunks: Sequence[tuple[dict[str, Any], Any]]) -> None:
    """Raise ValueError where a text holds a character that no database takes."""
    for properties in (row, *(own for own, _ in chunks)):
        for name, value in properties.items():
            texts = value if isinstance(value, list) else [value]
            for text in texts:
                found = FORBIDDEN.search(text) if isinstance(text, str) else None
                if found and found[0] != "\x00":
                    raise ValueError(f"its {name} holds {found[0]!r}, half of a surrogate pair, which is no text")


# The shards of a base, in which many processes write to it at once: which document is in which, and their objects.
#
# There are always `SHARDS`, whatever the number of processes, so that two ingests agree. The shard of a document is the
# first bits of the id of its object in the ledger, which is in the order of its ids, so each is one stretch of it.

SHARDS = 64
_FREE_BITS = 122


def shard_of(name: str) -> int:
    """The shard of the document called `name`; the pages of one host share one, since one process keeps its pace."""
    host = urlsplit(name).netloc if "://" in name else ""
    return uuid.UUID(document_id(host or name)).int >> _FREE_BITS


def ids_before(shard: int) -> str:
    """The id after which the ids of `shard` begin."""
    return str(uuid.UUID(int=max(0, (shard << _FREE_BITS) - 1)))


def is_in(shard: int, id_: str) -> bool:
    """Whether an object of the ledger belongs to `shard` by its id."""
    return uuid.UUID(id_).int >> _FREE_BITS == shard


def own_id(what: str, shard: int | None) -> str:
    """The id of the object that holds `what`, "lock" or "state", of the base, or of one shard."""
    part = "" if shard is None else f" of shard {shard}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"groundgraph {what}{part}"))


def ids_of_all(what: str) -> list[str]:
    """The ids of the objects that hold `what` of every shard."""
    return [own_id(what, shard) for shard in range(SHARDS)]
