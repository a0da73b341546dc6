"""The documents of a base as its ledger lists them, and one as it was loaded."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from groundgraph.core.document import Chunk, Document, Heading, Part
from groundgraph.core.knowledge_store import PreparedChunk, PreparedDocument, StoredDocument
from groundgraph.sources.knowledge_base.identity import identity_of

_SELECT = "SELECT name, hash, chunks, kind, title, written_at, metadata, from_file FROM documents"


def all_rows(connection: sqlite3.Connection) -> list[StoredDocument]:
    """All rows by name."""
    return list(_rows(connection.execute(f"{_SELECT} ORDER BY name")))


def rows_named(connection: sqlite3.Connection, names: Sequence[str]) -> dict[str, StoredDocument]:
    """The rows of those of `names` that are there."""
    wanted = json.dumps(names)
    found = connection.execute(f"{_SELECT} WHERE name IN (SELECT value FROM json_each(?))", (wanted,))
    return {row.name: row for row in _rows(found)}


def names_from_files(connection: sqlite3.Connection) -> list[str]:
    """The names of all documents that were read from files, sorted."""
    return [name for (name,) in connection.execute("SELECT name FROM documents WHERE from_file ORDER BY name")]


def document(connection: sqlite3.Connection, name: str) -> Document | None:
    """The document called `name`; None when it is not there."""
    row = connection.execute(
        "SELECT text, media_type, metadata, body_start, kind, parts, marked_headings FROM documents WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        return None
    return document_of(name, *row)


def document_of(
    name: str, text: str, media_type: str, metadata: str, body_start: int, kind: str, parts: str, headings: str
) -> Document:
    """A document out of what is stored of it, the last two and `metadata` as JSON."""
    return Document(
        name,
        text,
        media_type,
        json.loads(metadata),
        body_start,
        kind=kind,
        parts=tuple(Part(*part) for part in json.loads(parts)),
        headings=tuple(Heading(*heading) for heading in json.loads(headings)),
    )


def chunks(connection: sqlite3.Connection, name: str) -> list[PreparedChunk]:
    """The chunks of the document called `name` in order, with their matching texts and without vectors."""
    whole = document(connection, name)
    if whole is None:
        return []
    rows = connection.execute(
        "SELECT chunks.id, position, start, end, origin, derived, headings, heading_levels, chunks.metadata, "
        "qualifying_text, chunks.text FROM chunks JOIN documents ON documents.id = document_id WHERE name = ? "
        "ORDER BY position",
        (name,),
    ).fetchall()
    return [_chunk(connection, whole, *row) for row in rows]


def prepared(connection: sqlite3.Connection, name: str) -> PreparedDocument | None:
    """The document called `name` as it was written, with its vectors; None when it is not there."""
    whole = document(connection, name)
    if whole is None:
        return None
    hash_, content_hash, from_file, number = connection.execute(
        "SELECT hash, content_hash, from_file, id FROM documents WHERE name = ?", (name,)
    ).fetchone()
    stored = _with_vectors(chunks(connection, name), vectors_of(connection, number))
    return PreparedDocument(whole, stored, hash_, bool(from_file), content_hash)


def vectors_of(connection: sqlite3.Connection, document: int) -> Any:
    """The vectors of a document's matching texts in order, rows of a float32 array; None without."""
    import numpy as np

    row = connection.execute("SELECT vectors FROM vectors WHERE document_id = ?", (document,)).fetchone()
    if row is None:
        return None
    dimension = identity_of(connection).dimension
    return np.frombuffer(row[0], dtype=np.float16).reshape(-1, dimension).astype(np.float32)


def _with_vectors(stored: list[PreparedChunk], vectors: Any) -> list[PreparedChunk]:
    if vectors is None:
        return stored
    ends = list(accumulate(len(chunk.matching_texts) for chunk in stored))
    starts = [0, *ends]
    return [replace(chunk, vectors=vectors[start:end]) for chunk, start, end in zip(stored, starts, ends, strict=False)]


def _chunk(
    connection: sqlite3.Connection,
    whole: Document,
    number: int,
    position: int,
    start: int,
    end: int,
    origin: int,
    derived: int,
    headings: str,
    levels: str,
    metadata: str,
    qualifying_text: str,
    text: str,
) -> PreparedChunk:
    path, depths = tuple(json.loads(headings)), tuple(json.loads(levels))
    fields = json.loads(metadata)
    chunk = Chunk(whole, position, start, end, path, text, depths, fields, origin, bool(derived))
    found_by = connection.execute("SELECT ends_with_chunk, text FROM texts WHERE chunk_id = ? ORDER BY id", (number,))
    return prepared_of(chunk, found_by, qualifying_text)


def prepared_of(chunk: Chunk, texts: Iterable[tuple[int, str]], qualifying_text: str) -> PreparedChunk:
    """A chunk with its matching texts, each of `texts` with whether it goes on with the text of the chunk."""
    return PreparedChunk(chunk, tuple(own + chunk.text if ends else own for ends, own in texts), qualifying_text)


def _rows(found: sqlite3.Cursor) -> Iterator[StoredDocument]:
    for name, hash_, chunks, kind, title, written_at, metadata, from_file in found:
        yield StoredDocument(name, hash_, chunks, kind, title, written_at, json.loads(metadata), bool(from_file))
