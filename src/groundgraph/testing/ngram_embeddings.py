"""An embedding model made of hashed character n-grams: near texts are near, without a download."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

from langchain_core.embeddings import Embeddings

from groundgraph.core.text import stop_words, words

SIZES = (3, 4, 5)
# Words such as "the" and "of" would make unrelated questions look alike.
STOP_WORD_WEIGHT = 0.1


class NgramEmbeddings(Embeddings):
    """Texts as unit vectors of hashed character n-grams (3 to 5) of their folded words.

    The same text gives the same vector in every process. Inflected forms of a word are near each other; a
    synonym is not near, since nothing here knows what words mean.

    Args:
        dimensions: the length of a vector; fewer means more accidental likeness.
    """

    def __init__(self, dimensions: int = 256) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be 1 or more, not {dimensions}")
        self.dimensions = dimensions

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of `text`."""
        vector = [0.0] * self.dimensions
        for word in words(text):
            weight = STOP_WORD_WEIGHT if word in stop_words() else 1.0
            for position, sign in _hashed(f"<{word}>", self.dimensions):
                vector[position] += sign * weight
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector] if length else self._without_words(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The unit vector of each text."""
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`; nothing here waits, so no thread is used."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`."""
        return self.embed_documents(texts)

    def _without_words(self, text: str) -> list[float]:
        # A vector of zeros has no direction; vector stores refuse it.
        position, sign = _place(text, self.dimensions)
        return [sign if index == position else 0.0 for index in range(self.dimensions)]


@lru_cache(maxsize=50_000)
def _hashed(word: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    grams = {word[start : start + size] for size in SIZES for start in range(max(1, len(word) - size + 1))}
    return tuple(_place(gram, dimensions) for gram in sorted(grams))


def _place(gram: str, dimensions: int) -> tuple[int, float]:
    # BLAKE2b and not hash(), which differs from process to process. The sign keeps collisions from adding up.
    number = int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return (number >> 1) % dimensions, 1.0 if number & 1 else -1.0
