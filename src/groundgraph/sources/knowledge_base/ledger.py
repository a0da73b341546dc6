"""The documents of a base as its ledger lists them, and what the base was made with."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from groundgraph.core.document import Document, Heading, Part
from groundgraph.core.errors import EmbeddingModelChanged
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument, StoredDocument
from groundgraph.sources.knowledge_base.saved_vectors import forget_saved
from groundgraph.sources.knowledge_base.schema import CHUNK_COLUMNS, chunk_of

# What a base was made with: its embedding model and its chains. Vectors of two models are never mixed.


def identity_of(connection: sqlite3.Connection) -> BaseIdentity:
    """The identity that the base remembers."""
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    return BaseIdentity(
        meta.get("embedding_model", ""), int(meta.get("dimension", 0)), json.loads(meta.get("chains", "{}"))
    )


def has_vectors(connection: sqlite3.Connection) -> bool:
    """Whether any document has vectors."""
    return connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None


def settle_identity(connection: sqlite3.Connection, path: Path, wanted: BaseIdentity) -> None:
    """Remember `wanted`, within the transaction that is open.

    Without a model in `wanted`, the model of vectors that are there stays remembered.

    Raises:
        EmbeddingModelChanged: the base holds vectors of another model or dimension.
    """
    held = identity_of(connection)
    identity = settled(path, held, wanted, filled=has_vectors(connection))
    if identity != held:
        # An ingest that finds nothing new writes nothing.
        _remember(connection, identity)


def settled(path: str | Path, held: BaseIdentity, wanted: BaseIdentity, *, filled: bool) -> BaseIdentity:
    """`wanted`, with the chains of `held` as well; see `settle_identity`."""
    model, dimension = wanted.embedding_model, wanted.dimension
    if filled:
        check_model(path, held, model or held.embedding_model, dimension or None)
        model, dimension = held.embedding_model, held.dimension
    return BaseIdentity(model, dimension, {**held.chains, **wanted.chains})


def check_dimension(connection: sqlite3.Connection, path: Path, dimension: int) -> None:
    """Whether vectors of `dimension` (0 for none) may be written, within the transaction that is open.

    Raises:
        EmbeddingModelChanged: the base holds vectors of another dimension, or vectors at all when none are given.
    """
    held = identity_of(connection)
    if has_vectors(connection):
        check_model(path, held, held.embedding_model if dimension else "", dimension)
    elif dimension != held.dimension and dimension:
        _remember(connection, BaseIdentity(held.embedding_model, dimension, held.chains))


def check_model(path: str | Path, held: BaseIdentity, model: str, dimension: int | None) -> None:
    """Whether `model` with vectors of `dimension` numbers (None: not known yet, 0: no vectors) is the one of `held`.

    Raises:
        EmbeddingModelChanged: it is not; the message names both and the way out.
    """
    if model == held.embedding_model and dimension in (None, held.dimension):
        return
    size = f" ({dimension} numbers)" if dimension else ""
    now = "no embedding model is given now" if dimension == 0 else f"the embedding model now is '{model}'{size}"
    raise EmbeddingModelChanged(
        f"The knowledge base '{path}' holds vectors of the embedding model '{held.embedding_model}' "
        f"({held.dimension} numbers); {now}. Vectors of two models cannot be compared: configure the old model "
        "again, or run `groundgraph ingest --rebuild` to process every document anew."
    )


def forget_vectors(connection: sqlite3.Connection) -> None:
    """Drop all vectors and let every document count as changed; it is found by its words until it is written anew."""
    connection.execute("DELETE FROM vectors")
    forget_saved(connection)
    connection.execute("UPDATE documents SET hash = ''")
    connection.execute("UPDATE state SET changes = changes + 1")


def _remember(connection: sqlite3.Connection, identity: BaseIdentity) -> None:
    chains = json.dumps(identity.chains, sort_keys=True)
    rows = [("embedding_model", identity.embedding_model), ("dimension", str(identity.dimension)), ("chains", chains)]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


_ROW = ("name", "hash", "chunks", "kind", "title", "written_at", "metadata", "from_file")
_SELECT = f"SELECT {', '.join(_ROW)} FROM documents"
_DOCUMENT = ("text", "media_type", "metadata", "body_start", "kind", "parts", "marked_headings")


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


def can_be_name(name: str) -> bool:
    """Whether a document can be called so: half of a surrogate pair is in no text that SQLite holds or is asked for."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def document(connection: sqlite3.Connection, name: str) -> Document | None:
    """The document called `name`; None when it is not there."""
    if not can_be_name(name):
        return None
    statement = f"SELECT {', '.join(_DOCUMENT)} FROM documents WHERE name = ?"
    row = connection.execute(statement, (name,)).fetchone()
    return None if row is None else document_of(name, dict(zip(_DOCUMENT, row, strict=True)))


def document_of(name: str, values: Mapping[str, Any]) -> Document:
    """A document out of the columns that are stored of it."""
    return Document(
        name,
        values["text"] or "",
        values["media_type"],
        json.loads(values["metadata"]),
        int(values["body_start"]),
        kind=values["kind"],
        parts=tuple(Part(*part) for part in json.loads(values["parts"])),
        headings=tuple(Heading(*heading) for heading in json.loads(values["marked_headings"])),
    )


def chunks(connection: sqlite3.Connection, name: str) -> list[PreparedChunk]:
    """The chunks of the document called `name` in order, with their matching texts and without vectors."""
    whole = document(connection, name)
    if whole is None:
        return []
    columns = ", ".join(f"chunks.{name}" for name in CHUNK_COLUMNS)
    rows = connection.execute(
        f"SELECT chunks.id, {columns} FROM chunks JOIN documents ON documents.id = document_id WHERE name = ? "
        "ORDER BY position",
        (name,),
    ).fetchall()
    texts = "SELECT ends_with_chunk, text FROM texts WHERE chunk_id = ? ORDER BY id"
    return [
        chunk_of(whole, dict(zip(CHUNK_COLUMNS, row, strict=True)), connection.execute(texts, (number,)))
        for number, *row in rows
    ]


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


def stored_of(values: Mapping[str, Any]) -> StoredDocument:
    """A row of the ledger out of the columns that are stored of it."""
    return StoredDocument(
        values["name"],
        values["hash"],
        int(values["chunks"]),
        values["kind"],
        values["title"] or "",
        values["written_at"],
        json.loads(values["metadata"]),
        bool(values["from_file"]),
    )


def _rows(found: sqlite3.Cursor) -> Iterator[StoredDocument]:
    return (stored_of(dict(zip(_ROW, row, strict=True))) for row in found)
