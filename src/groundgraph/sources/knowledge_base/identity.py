"""What a base was made with: its embedding model and its chains. Vectors of two models are never mixed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from groundgraph.core.errors import EmbeddingModelChanged
from groundgraph.core.knowledge_store import BaseIdentity


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
    held, filled = identity_of(connection), has_vectors(connection)
    model, dimension = wanted.embedding_model, wanted.dimension
    if filled:
        check_model(path, held, model or held.embedding_model, dimension or None)
        model, dimension = held.embedding_model, held.dimension
    settled = BaseIdentity(model, dimension, {**held.chains, **wanted.chains})
    if settled != held:
        # An ingest that finds nothing new writes nothing.
        _remember(connection, settled)


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
    connection.execute("UPDATE documents SET hash = ''")
    connection.execute("UPDATE state SET changes = changes + 1")


def _remember(connection: sqlite3.Connection, identity: BaseIdentity) -> None:
    chains = json.dumps(identity.chains, sort_keys=True)
    rows = [("embedding_model", identity.embedding_model), ("dimension", str(identity.dimension)), ("chains", chains)]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)
