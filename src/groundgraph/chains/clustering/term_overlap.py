"""Texts are similar when they share many of their words."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.chains.sentence_index import joined_stems, stems_of
from groundgraph.core.lexical import coverage
from groundgraph.core.text import query_stems


class TermOverlap:
    """The Dice coefficient 2 |A and B| / (|A| + |B|) of two texts' stems (Dice 1945); 0 for texts without words.

    A group is as near to the question as the share of the question's stems that its texts hold together.
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        self._texts = texts
        self._stems = [stems_of(text) for text in texts]
        self._asked = dict.fromkeys(query_stems(question), 1.0)

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        a, b = self._stems[one], self._stems[other]
        return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        return coverage(self._asked, joined_stems([self._texts[member] for member in members]))
