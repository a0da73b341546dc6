"""What may be found: a chunk, a row, an object, with what its words and its vector say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Passage(NamedTuple):
    """A candidate.

    Attributes:
        key: what identifies it in its store, and can be ordered: what scores the same stands in the order of these.
        lexical: how well its words fit, on any scale, 0 or more.
        share: how much of the question its words hold, 0 to 1.
        cosine: of its best text with the question; None without vectors.
        payload: what the store needs to show it.
    """

    key: Any
    lexical: float
    share: float
    cosine: float | None = None
    payload: Any = None

    @property
    def nearness(self) -> float | None:
        """The cosine, 0 to 1."""
        return None if self.cosine is None else min(1.0, max(0.0, self.cosine))

    @property
    def relevance(self) -> float:
        """The better of the share of words and the cosine: either is a reason to show a passage."""
        return self.share if self.cosine is None else max(self.share, self.nearness or 0.0)


@dataclass(frozen=True)
class Pool:
    """Candidates whose scores are on one scale.

    Attributes:
        passages: in any order, each key once.
        average_cosine: of all passages that could have been found; None when words alone were asked.
        vector_weight: the share of the cosines in the order, 0 to 1.
    """

    passages: Sequence[Passage]
    average_cosine: float | None = None
    vector_weight: float = 0.0
