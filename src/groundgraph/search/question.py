"""The words of a question among the texts that are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundgraph.core.lexical import idf

# A pasted page is no question: so many of its stems are searched for.
MAX_STEMS = 64
# Rarer than one text in twenty, a stem counts no more for relevance: how rare a stem is within rare ones is mostly
# accident, and one unusual word of a question would otherwise outweigh all the others together.
RARE_SHARE = 0.05


@dataclass(frozen=True)
class Question:
    """The stems of a question where it is asked.

    Attributes:
        stems: the distinct stems in order.
        df: for each stem that some text holds, how many do; the rarest first.
        texts: the number of texts: chunks, their matching texts, rows of a table.
        average_length: the mean number of stems of a text.
    """

    stems: Sequence[str]
    df: Mapping[str, int]
    texts: int
    average_length: float

    def ranking_weights(self) -> dict[str, float]:
        """The idf of each stem."""
        return {stem: idf(self.texts, self.df.get(stem, 0)) for stem in self.stems}

    def relevance_weights(self) -> dict[str, float]:
        """The idf of each stem, bounded as `RARE_SHARE` says; a stem that no text holds counts as rare."""
        rare = int(self.texts * RARE_SHARE)
        return {stem: idf(self.texts, max(rare, self.df.get(stem, 0))) for stem in self.stems}
