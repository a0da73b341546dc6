"""What a way of clustering has to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Similarities(Protocol):
    """How similar texts are, by their places."""

    def between(self, one: int, other: int) -> float:
        """The similarity of two texts, 0 to 1, the same in both directions."""

    def to_question(self, members: Sequence[int]) -> float:
        """The similarity of a group of texts to the question, 0 to 1."""
