"""The chunks of a base that a filter keeps.

A condition is checked against the metadata of a chunk over that of its document. Documents none of whose chunks has a
filtered field of its own are kept or left out as a whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from groundgraph.core.filters import matches
from groundgraph.search.word_index import Kept

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


def allowed_chunks(connection: sqlite3.Connection, filters: Mapping[str, Any]) -> AllowedChunks:
    """The chunks that satisfy every one of the checked `filters`."""
    statement = "SELECT id, name, kind, metadata, chunk_fields FROM documents"
    values: tuple[str, ...] = ()
    named = filters.get("document")
    by_name = isinstance(named, str | list)
    if by_name:
        # The one field that has an index; the loop below would read every document.
        statement += " WHERE name IN (SELECT value FROM json_each(?))"
        values = (json.dumps([named] if isinstance(named, str) else named),)
        filters = {name: condition for name, condition in filters.items() if name != "document"}
    # By whether they are kept.
    documents: dict[bool, list[int]] = {True: [], False: []}
    chunks: dict[bool, list[int]] = {True: [], False: []}
    for row, name, kind, metadata, chunk_fields in connection.execute(statement, values):
        fields = {"kind": kind, **json.loads(metadata), "document": name}
        if any(own in filters for own in json.loads(chunk_fields)):
            for chunk, kept in _verdicts(connection, row, fields, filters):
                chunks[kept].append(chunk)
        else:
            documents[matches(filters, fields)].append(row)
    listed = by_name or len(documents[True]) + len(chunks[True]) <= len(documents[False]) + len(chunks[False])
    return _counted(connection, json.dumps(documents[listed]), json.dumps(chunks[listed]), listed=listed)


def _verdicts(
    connection: sqlite3.Connection, document: int, fields: Mapping[str, Any], filters: Mapping[str, Any]
) -> Iterator[tuple[int, bool]]:
    """The rows of a document's chunks, each with whether the filters keep it."""
    for row, own in connection.execute("SELECT id, metadata FROM chunks WHERE document_id = ?", (document,)):
        yield row, matches(filters, {**fields, **json.loads(own), "document": fields["document"]})


def _counted(connection: sqlite3.Connection, documents: str, chunks: str, *, listed: bool) -> AllowedChunks:
    values = {"documents": documents, "chunks": chunks}
    texts: int = connection.execute(f"SELECT count(*) FROM ({_LISTED_TEXTS})", values).fetchone()[0]
    if not listed:
        texts = connection.execute("SELECT texts FROM state").fetchone()[0] - texts
    return AllowedChunks(documents, chunks, texts, listed)
