"""An embedding model of the recordings' own, so that no change of the product changes a vector."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

SIZE = 384


class FixedVectors(Embeddings):
    """The stored vector of a known text; of any other the sum of its words, each a direction made from its hash."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self._stored = dict(stored or {})

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of `text`."""
        known = self._stored.get(text.strip())
        vector = _sum_of_words(text) if known is None else np.asarray(known, dtype=np.float64)
        return [float(value) for value in vector / (np.linalg.norm(vector) or 1.0)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The unit vector of each text."""
        return [self.embed_query(text) for text in texts]


def _sum_of_words(text: str) -> Any:
    # Five letters in place of a stem: "serviced" and "service" are near. Short words would make all texts alike.
    words = [word[:5] for word in re.findall(r"\w{4,}", text.lower())] or [text]
    return np.sum([_direction(word) for word in words], axis=0)


@lru_cache(maxsize=50_000)
def _direction(word: str) -> Any:
    bits = np.unpackbits(np.frombuffer(hashlib.shake_128(word.encode()).digest(SIZE // 8), dtype=np.uint8))
    return bits.astype(np.float64) * 2 - 1
