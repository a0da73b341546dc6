"""Texts are similar when they share words that few other results have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from groundgraph.core.text import query_stems, stems

Vector = Mapping[str, float]


class TfIdf:
    """The cosine of two texts' vectors of tf * idf over stems; 0 for a text without words.

    tf is the count of a stem in the text; idf = ln((1 + n) / (1 + df)) + 1 over the n texts, smoothed as in
    scikit-learn, so that a stem that all texts hold still counts. A group is as near to the question as the sum of its
    unit vectors is.
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        counts = [Counter(stems(text)) for text in texts]
        held = Counter(stem for count in counts for stem in count)
        self._idf = {stem: math.log((1 + len(texts)) / (1 + number)) + 1 for stem, number in held.items()}
        self._vectors = [self._unit(count) for count in counts]
        # What no text holds cannot make one of them nearer than another.
        self._question = self._unit({stem: 1 for stem in query_stems(question) if stem in held})

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        return _dot(self._vectors[one], self._vectors[other])

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        total: Counter[str] = Counter()
        for member in members:
            total.update(self._vectors[member])
        return _dot(_scaled(total), self._question)

    def _unit(self, counts: Mapping[str, int]) -> Vector:
        return _scaled({stem: count * self._idf[stem] for stem, count in counts.items()})


def _scaled(vector: Vector) -> Vector:
    length = math.sqrt(math.fsum(value * value for value in vector.values()))
    return {stem: value / length for stem, value in vector.items()} if length else {}


def _dot(one: Vector, other: Vector) -> float:
    small, large = sorted((one, other), key=len)
    return min(1.0, math.fsum(value * large[stem] for stem, value in small.items() if stem in large))
