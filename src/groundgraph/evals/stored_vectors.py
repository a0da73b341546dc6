"""Embeddings from files in place of a model, so that quality can be measured where the model does not run.

`FOLDER_NAME.FILE_STEM.npy` holds one row per line of the file: of a corpus the passages as title, space, text, of
queries what is asked. A query that the graph makes of a follow-up, with the question before it, has the vector of the
follow-up alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, EmbeddingFailed
from groundgraph.evals.dataset import Dataset, Query
from groundgraph.text.follow_up import asked_parts, contextualised, question_of

BATCH = 2048


@dataclass(frozen=True)
class StoredVectors(Embeddings):
    """The vectors of known texts; white space around a text does not count."""

    vectors: Mapping[str, Any] = field(repr=False)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The stored vectors of `texts`.

        Raises:
            EmbeddingFailed: one of them is not stored.
        """
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The stored vector of `text`.

        Raises:
            EmbeddingFailed: it is not stored.
        """
        vector = self.vectors.get(text.strip())
        if vector is None:
            raise EmbeddingFailed(f"the stored vectors have no row for the text '{text.strip()[:80]}'")
        return [float(value) for value in vector]


def stored_embedder(folder: Path, dataset: Dataset, *, languages: Sequence[str] = ()) -> Embedder:
    """The vectors of `dataset` in `folder`, as an embedding model that knows its passages and questions.

    Args:
        folder: holds the `.npy` files.
        dataset: whose texts they are of.
        languages: those of the model that made them; questions in others are searched by words alone.

    Raises:
        ConfigurationError: a file is missing, is no array of numbers, or has not one row per line.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder '{folder}'")
    digest = hashlib.sha256()
    vectors: dict[str, Any] = {}
    for corpus in dataset.corpora:
        rows = _rows(folder / f"{dataset.name}.{corpus.file.stem}.npy", len(corpus.passages), corpus.file, digest)
        vectors |= {passage.text.strip(): row for passage, row in zip(corpus.passages, rows, strict=True)}
    file = dataset.queries_file
    rows = _rows(folder / f"{dataset.name}.{file.stem}.npy", len(dataset.queries), file, digest)
    for query, row in zip(dataset.queries, rows, strict=True):
        vectors |= {text.strip(): row for text in _asked(query)}
    if len({len(row) for row in vectors.values()}) > 1:
        raise ConfigurationError(f"the vectors of '{dataset.name}' in '{folder}' are of several sizes")
    return Embedder(StoredVectors(vectors), f"stored:{digest.hexdigest()[:16]}", frozenset(languages), BATCH)


def _asked(query: Query) -> list[str]:
    """What the graph may ask for: the question, what asks in it, and the question behind the user's last one."""
    earlier = [text for role, text in query.turns[:-1] if role == "user"]
    behind = [contextualised(question_of(query.question), earlier[-1])] if earlier else []
    return [query.question, *asked_parts(query.question), *behind]


def _rows(file: Path, lines: int, of: Path, digest: Any) -> Any:
    import numpy as np

    if not file.is_file():
        raise ConfigurationError(f"there is no file '{file}' with the vectors of '{of.name}'")
    data = file.read_bytes()
    digest.update(data)
    try:
        rows = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ConfigurationError(f"'{file}' cannot be read as an array: {error}") from error
    if rows.ndim != 2 or rows.dtype.kind != "f":
        raise ConfigurationError(
            f"'{file}' must hold rows of floating-point numbers, not {rows.dtype} of shape {rows.shape}"
        )
    if len(rows) != lines:
        raise ConfigurationError(
            f"'{file}' has {len(rows)} rows, but '{of}' has {lines} lines: they do not belong together"
        )
    return rows
