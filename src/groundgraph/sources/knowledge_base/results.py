"""Rows of a base as pieces of evidence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from groundgraph.core.chain import Match
from groundgraph.core.document import DOCUMENTS
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.knowledge_base.stored_chunk import OWN_METADATA, StoredChunk, match_of

_SELECT = (
    "SELECT chunks.id, name, title, kind, documents.metadata, position, start, end, origin, derived, headings, "
    "heading_levels, chunks.metadata, qualifying_text, chunks.text "
    "FROM chunks JOIN documents ON documents.id = document_id "
    "WHERE chunks.id IN (SELECT value FROM json_each(?))"
)


def matches_of(connection: sqlite3.Connection, ranked: Sequence[RankedPassage], source_name: str) -> list[Match]:
    """The chunks of `ranked` as evidence, in their order."""
    rows = connection.execute(_SELECT, (json.dumps([one.key for one in ranked]),))
    by_id = {row[0]: _chunk(*row[1:]) for row in rows}
    return [match_of(one, by_id[one.key], source_name) for one in ranked]


def _chunk(
    document: str,
    title: str,
    kind: str,
    fields: str,
    position: int,
    start: int,
    end: int,
    origin: int,
    derived: int,
    headings: str,
    levels: str,
    own_fields: str,
    qualifying_text: str,
    text: str,
) -> StoredChunk:
    return StoredChunk(
        document, title, kind, json.loads(fields), position, start, end, origin, bool(derived), json.loads(headings),
        json.loads(levels), json.loads(own_fields), qualifying_text, text,
    )  # fmt: skip


def metadata_fields(connection: sqlite3.Connection) -> set[str]:
    """The names that results carry (R12)."""
    names = {*OWN_METADATA}
    names |= {key for (key,) in connection.execute("SELECT DISTINCT key FROM documents, json_each(documents.metadata)")}
    names |= {
        name
        for (fields,) in connection.execute("SELECT DISTINCT chunk_fields FROM documents")
        for name in json.loads(fields)
    }
    for name, statement in (
        ("kind", f"SELECT 1 FROM documents WHERE kind <> '{DOCUMENTS}' LIMIT 1"),
        ("derived", "SELECT 1 FROM chunks WHERE derived LIMIT 1"),
    ):
        if connection.execute(statement).fetchone():
            names.add(name)
    return names


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many `documents` and `chunks` there are."""
    row = connection.execute("SELECT (SELECT count(*) FROM documents), chunks FROM state").fetchone()
    return {"documents": row[0], "chunks": row[1]}
