"""Texts are similar when an embedding model puts them close together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundgraph.core.embedder import Embedder


class EmbeddingSimilarity:
    """The cosine of two texts' vectors, 0 for an obtuse angle.

    A group is as near to the question as the mean of its vectors is.
    """

    def __init__(self, question: Any, vectors: Any) -> None:
        self._question = question
        self._vectors = vectors
        self._cosines = (vectors @ vectors.T).tolist()

    @classmethod
    async def of(cls, embedder: Embedder, question: str, texts: Sequence[str]) -> EmbeddingSimilarity:
        """The similarities by `embedder`, which is asked for the question once and for the texts in batches.

        Raises:
            EmbeddingFailed: the model gave no usable vectors; its own exceptions are passed on.
        """
        import numpy as np

        asked = await embedder.embed_query(question)
        size = embedder.batch_size
        rows = [await embedder.embed_texts(texts[start : start + size]) for start in range(0, len(texts), size)]
        return cls(asked, np.concatenate(rows))

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        return max(0.0, float(self._cosines[one][other]))

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        import numpy as np

        middle = self._vectors[list(members)].mean(axis=0)
        length = float(np.linalg.norm(middle))
        return max(0.0, float(middle @ self._question) / length) if length else 0.0
