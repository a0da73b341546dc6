"""Vectors of objects, and how near they are to a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class VectorRows:
    """Vectors of several objects as unit rows; an object with a multi-vector has several."""

    def __init__(self, vectors: Sequence[Any]) -> None:
        import numpy as np

        self._counts = [len(vector) if isinstance(vector[0], list) else 1 for vector in vectors]
        several = any(count > 1 for count in self._counts) or (bool(vectors) and isinstance(vectors[0][0], list))
        rows = [row for vector in vectors for row in vector] if several else vectors
        sizes = {len(row) for row in rows}
        self._rows = np.asarray(rows if len(sizes) == 1 else [], dtype=np.float32)
        if self._rows.size:
            lengths = np.linalg.norm(self._rows, axis=1, keepdims=True)
            self._rows /= np.where(lengths > 0, lengths, 1)

    @property
    def dimension(self) -> int:
        """The size of the vectors; 0 when there are none, or of several sizes."""
        return int(self._rows.shape[1]) if self._rows.size else 0

    def cosines(self, query: Any) -> list[float]:
        """For each object the cosine of its best row; nothing when the vectors are of another size than `query`."""
        import numpy as np

        if not self._rows.size or self._rows.shape[1] != len(query):
            return []
        products = self._rows @ query
        starts = np.cumsum([0, *self._counts[:-1]])
        best = products if len(products) == len(self._counts) else np.maximum.reduceat(products, starts)
        return [float(value) for value in best]

    def average_cosine(self, query: Any) -> float:
        """The mean of `cosines`; 0 without any."""
        known = self.cosines(query)
        return sum(known) / len(known) if known else 0.0


def cosines(vectors: Sequence[Any], query: Any) -> list[float]:
    """The cosine of each of `vectors`, or of the best row of each multi-vector, with `query`, a unit vector.

    Vectors of another size give nothing that can be compared: 0 for each.
    """
    return VectorRows(vectors).cosines(query) or [0.0] * len(vectors)
