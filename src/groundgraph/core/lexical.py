"""How well a text covers a question, by words alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping


def idf(documents: int, frequency: int) -> float:
    """Inverse document frequency of a stem that `frequency` of `documents` texts hold.

    ln(1 + (N - n + 0.5) / (n + 0.5)), the form used by Lucene; never negative, largest for a stem that no text holds.
    """
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def coverage(weights: Mapping[str, float], present: Collection[str]) -> float:
    """The share of the question's weight that a text holds, 0 to 1.

    Args:
        weights: the question's stems, each with its idf.
        present: the stems of the text.
    """
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in present) / total if total else 0.0


def bm25(frequency: int, length: int, average_length: float, *, k1: float = 1.2, b: float = 0.75) -> float:
    """The term-frequency part of Okapi BM25, to be multiplied by `idf` (Robertson and Zaragoza 2009, section 3)."""
    norm = 1 - b + b * (length / average_length if average_length else 1.0)
    return frequency * (k1 + 1) / (frequency + k1 * norm)
