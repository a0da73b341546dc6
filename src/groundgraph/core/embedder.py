"""An embedding model as the knowledge base uses it: unit vectors, batches, the languages that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.embeddings import Embeddings

from groundgraph.core.errors import EmbeddingFailed


@dataclass(frozen=True)
class Embedder:
    """An embedding model with its name.

    Attributes:
        model: any LangChain embedding model.
        name: the name that a knowledge base remembers, for example `openai:text-embedding-3-small`.
        languages: the languages that it was trained on; a question in another one is searched by words alone. Empty
            for a model of many languages.
        batch_size: texts per call.
    """

    model: Embeddings
    name: str
    languages: frozenset[str] = frozenset()
    batch_size: int = 64

    def speaks(self, language: str) -> bool:
        """Whether the model knows `language`, a code such as `en`."""
        return not self.languages or language in self.languages

    async def embed_query(self, text: str) -> Any:
        """The unit vector of a query: a float32 array of shape (dimension,).

        Raises:
            EmbeddingFailed: the model gave no usable vector; its own exceptions are passed on.
        """
        return _unit_rows([await self.model.aembed_query(text)], 1)[0]

    async def embed_texts(self, texts: Sequence[str]) -> Any:
        """The unit vectors of `texts` as rows of a float32 array of shape (texts, dimension), in one call of the model.

        Raises:
            EmbeddingFailed: as for `embed_query`.
        """
        return _unit_rows(await self.model.aembed_documents(list(texts)), len(texts))

    async def embed_batches(self, texts: Sequence[str]) -> Any:
        """As `embed_texts`, in as many calls of the model as its batches need; `texts` are not empty.

        Raises:
            EmbeddingFailed: as for `embed_query`.
        """
        import numpy as np

        size = self.batch_size
        return np.concatenate(
            [await self.embed_texts(texts[start : start + size]) for start in range(0, len(texts), size)]
        )

    async def cosines(self, questions: Sequence[str], texts: Sequence[str]) -> Any:
        """The cosine of each of `questions`, a row, and each of `texts`, a column.

        Raises:
            EmbeddingFailed: as for `embed_query`.
        """
        import numpy as np

        asked = [await self.embed_query(question) for question in questions]
        return np.stack(asked) @ (await self.embed_batches(texts)).T


def _unit_rows(vectors: Sequence[Sequence[float]], expected: int) -> Any:
    import numpy as np

    if len(vectors) != expected or len({len(vector) for vector in vectors}) > 1:
        raise EmbeddingFailed(
            f"the embedding model gave {len(vectors)} vectors for {expected} texts, or of several sizes"
        )
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.size == 0 or not np.isfinite(rows).all():
        raise EmbeddingFailed("the embedding model gave a vector that is empty or holds no numbers")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # A text without a single known word may get the zero vector, which is near to nothing.
    return rows / np.where(lengths > 0, lengths, 1)
