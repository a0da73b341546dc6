"""The chunks of a base that a filter keeps.

A condition is checked against the metadata of a chunk over that of its document. Documents none of whose chunks has a
filtered field of its own are kept or left out as a whole.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from groundgraph.core.filters import matches
from groundgraph.core.latest import Latest
from groundgraph.search.word_index import Kept
from groundgraph.sources.knowledge_base.schema import Revision

# Above so many different values it is no matter of tenants or categories: each would take more memory than it spares.
_MOST_ALIKE = 10_000
_KEPT_FILTERS, _KEPT_FIELDS = 32, 8
_DOCUMENTS = "SELECT id, name, kind, metadata, chunk_fields FROM documents"
_NAMED = "WHERE name IN (SELECT value FROM json_each(?))"
_LISTED_TEXTS = (
    "SELECT id FROM texts WHERE document_id IN (SELECT value FROM json_each(:documents)) "
    "UNION ALL SELECT id FROM texts WHERE chunk_id IN (SELECT value FROM json_each(:chunks))"
)


@dataclass(frozen=True)
class AllowedChunks:
    """What a filter keeps, or what it leaves out, whichever is shorter to list.

    Attributes:
        documents: rows of the documents that are listed with all their chunks, as a JSON array.
        chunks: rows of single chunks of other documents, as a JSON array.
        texts: how many matching texts the filter keeps.
        listed: what is listed is kept; otherwise everything else is.
    """

    documents: str = field(repr=False)
    chunks: str = field(repr=False)
    texts: int
    listed: bool = True

    @property
    def values(self) -> dict[str, str]:
        """What is listed, as the values of a statement."""
        return {"documents": self.documents, "chunks": self.chunks}

    @cached_property
    def kept(self) -> Kept:
        """The same for the full-text index."""
        return Kept(self.document_rows(), self.chunk_rows(), self.texts, listed=self.listed)

    def document_rows(self) -> list[int]:
        """`documents` as numbers."""
        rows: list[int] = json.loads(self.documents)
        return rows

    def chunk_rows(self) -> list[int]:
        """`chunks` as numbers."""
        rows: list[int] = json.loads(self.chunks)
        return rows


@dataclass(frozen=True)
class Alike:
    """Documents, and single chunks of others, that have the same values in some fields.

    Attributes:
        values: by field.
        documents: rows of the documents, with all their chunks.
        chunks: rows of the chunks.
    """

    values: Mapping[str, Any]
    documents: array[int] = field(default_factory=lambda: array("q"))
    chunks: array[int] = field(default_factory=lambda: array("q"))


def alike(connection: sqlite3.Connection, fields: Set[str]) -> list[Alike] | None:
    """The whole base by what `fields` say: many filters on them, such as one for each tenant, are judged by it without
    reading every document again. None where they say too many different things for that."""
    found: dict[str, Alike] = {}
    if "document" in fields:
        return None
    for one in _one_by_one(connection, _DOCUMENTS, (), fields):
        values = {name: one.values[name] for name in fields if name in one.values}
        same = found.setdefault(json.dumps(values, sort_keys=True), Alike(values))
        same.documents.extend(one.documents)
        same.chunks.extend(one.chunks)
        if len(found) > _MOST_ALIKE:
            return None
    return list(found.values())


def allowed_chunks(
    connection: sqlite3.Connection, filters: Mapping[str, Any], known: Sequence[Alike] | None = None
) -> AllowedChunks:
    """The chunks that satisfy every one of the checked `filters`; `known` are those of `alike` for their fields."""
    named = filters.get("document")
    by_name = isinstance(named, str | list)
    judged: Iterable[Alike]
    if by_name:
        # The one field that has an index; else every document would be read.
        names = json.dumps([named] if isinstance(named, str) else named)
        filters = {name: condition for name, condition in filters.items() if name != "document"}
        judged = _one_by_one(connection, f"{_DOCUMENTS} {_NAMED}", (names,), filters.keys())
    else:
        judged = _one_by_one(connection, _DOCUMENTS, (), filters.keys()) if known is None else known
    # By whether they are kept.
    documents: dict[bool, list[int]] = {True: [], False: []}
    chunks: dict[bool, list[int]] = {True: [], False: []}
    for one in judged:
        kept = matches(filters, one.values)
        documents[kept].extend(one.documents)
        chunks[kept].extend(one.chunks)
    listed = by_name or len(documents[True]) + len(chunks[True]) <= len(documents[False]) + len(chunks[False])
    rows, single = json.dumps(sorted(documents[listed])), json.dumps(sorted(chunks[listed]))
    return _counted(connection, rows, single, listed=listed)


def _one_by_one(
    connection: sqlite3.Connection, statement: str, parameters: tuple[str, ...], filtered: Set[str]
) -> Iterator[Alike]:
    """Each document with the values of all its fields, or, where its chunks have `filtered` ones of their own, each of
    those."""
    for row, name, kind, metadata, chunk_fields in connection.execute(statement, parameters):
        fields = {"kind": kind, **json.loads(metadata), "document": name}
        if not any(own in filtered for own in json.loads(chunk_fields)):
            yield Alike(fields, documents=array("q", [row]))
            continue
        for chunk, own in connection.execute("SELECT id, metadata FROM chunks WHERE document_id = ?", (row,)):
            yield Alike({**fields, **json.loads(own), "document": name}, chunks=array("q", [chunk]))


def _counted(connection: sqlite3.Connection, documents: str, chunks: str, *, listed: bool) -> AllowedChunks:
    values = {"documents": documents, "chunks": chunks}
    texts: int = connection.execute(f"SELECT count(*) FROM ({_LISTED_TEXTS})", values).fetchone()[0]
    if not listed:
        texts = connection.execute("SELECT texts FROM state").fetchone()[0] - texts
    return AllowedChunks(documents, chunks, texts, listed)


class KeptFilters:
    """What the filters that were used last keep, and the base by the fields that they are on. Any thread may ask."""

    def __init__(self) -> None:
        self._allowed: Latest[tuple[str, Revision], AllowedChunks] = Latest(_KEPT_FILTERS)
        self._alike: Latest[tuple[frozenset[str], Revision], list[Alike] | None] = Latest(_KEPT_FIELDS)

    def at(self, connection: sqlite3.Connection, revision: Revision, filters: Mapping[str, Any]) -> AllowedChunks:
        """The chunks that satisfy the checked `filters` in the state `revision`, which `connection` sees."""
        fields = frozenset(filters)

        def made() -> AllowedChunks:
            known = self._alike.get_or_make((fields, revision), lambda: alike(connection, fields))
            return allowed_chunks(connection, filters, known)

        return self._allowed.get_or_make((json.dumps(filters, sort_keys=True), revision), made)
