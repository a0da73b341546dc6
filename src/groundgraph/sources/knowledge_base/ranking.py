"""The order of the chunks that the text index found, and how relevant each is.

The index's own BM25 picks the candidates; this orders them by BM25 with an idf that is never negative, plus
a bonus for question words that stand together, as in the sequential dependence model (Metzler and Croft
2005): for each pair of neighbours in the question, `PROXIMITY_WEIGHT` times the smaller idf when the chunk
has them side by side, and as much again when they lie within `WINDOW` words. On five public sets the bonus
was worth .003 to .006 of nDCG@10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundgraph.core.lexical import bm25, coverage, idf

# A word of the heading path counts as often as this in the term frequency.
HEADING_WEIGHT = 2
K1 = 0.9
PROXIMITY_WEIGHT = 0.25
WINDOW = 8
# Rarer than one chunk in twenty, a stem counts no more for relevance: how rare a stem is within rare ones is
# mostly accident, and one unusual word of a question would otherwise outweigh all the others together.
RARE_SHARE = 0.05


@dataclass(frozen=True)
class Question:
    """The stems of a question in the base that is asked.

    Attributes:
        stems: the distinct stems in order.
        df: for each stem that some matching text holds, how many do; the rarest first.
        chunks: the number of matching texts in the base, which is that of chunks when each has one.
        average_length: the mean number of stems of a matching text.
    """

    stems: Sequence[str]
    df: Mapping[str, int]
    chunks: int
    average_length: float

    def ranking_weights(self) -> dict[str, float]:
        """The idf of each stem."""
        return {stem: idf(self.chunks, self.df.get(stem, 0)) for stem in self.stems}

    def relevance_weights(self) -> dict[str, float]:
        """The idf of each stem, bounded as `RARE_SHARE` says; a stem that no chunk holds counts as rare."""
        rare = int(self.chunks * RARE_SHARE)
        return {stem: idf(self.chunks, max(rare, self.df.get(stem, 0))) for stem in self.stems}


class Ranking:
    """Scores the candidates for one question.

    Args:
        question: the question.
        heading_weight: how often a word of the headings counts in the term frequency.
    """

    def __init__(self, question: Question, heading_weight: int = HEADING_WEIGHT) -> None:
        self._heading_weight = heading_weight
        self._weights = question.ranking_weights()
        self._relevance_weights = question.relevance_weights()
        self._pairs = list(pairwise(question.stems))
        self._average_length = question.average_length

    def relevance(self, body: Sequence[str], headings: Sequence[str]) -> float:
        """The idf-weighted share of the question's stems that the chunk or its headings hold, 0 to 1."""
        return coverage(self._relevance_weights, {*body, *headings})

    def score(self, body: Sequence[str], headings: Sequence[str]) -> float:
        """BM25 over body and headings plus the bonus for words that stand together; positive, any scale."""
        positions = self._positions(body)
        in_headings = Counter(stem for stem in headings if stem in self._weights)
        length = len(body) + len(headings)
        score = self._proximity(positions)
        for stem in {*positions, *in_headings}:
            frequency = len(positions.get(stem, ())) + self._heading_weight * in_headings[stem]
            score += self._weights[stem] * bm25(frequency, length, self._average_length, k1=K1)
        return score

    def _positions(self, body: Sequence[str]) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, stem in enumerate(body):
            if stem in self._weights:
                positions.setdefault(stem, []).append(position)
        return positions

    def _proximity(self, positions: Mapping[str, list[int]]) -> float:
        bonus = 0.0
        for left, right in self._pairs:
            if left in positions and right in positions:
                ordered, near = _together(positions[left], positions[right])
                bonus += (ordered + near) * min(self._weights[left], self._weights[right])
        return PROXIMITY_WEIGHT * bonus


def _together(left: Sequence[int], right: Sequence[int]) -> tuple[bool, bool]:
    """Whether a `right` directly follows a `left`, and whether two of them are less than `WINDOW` apart."""
    following = set(right)
    if any(position + 1 in following for position in left):
        return True, True
    merged = sorted([*((position, 0) for position in left), *((position, 1) for position in right)])
    return False, any(a[1] != b[1] and b[0] - a[0] < WINDOW for a, b in pairwise(merged))
