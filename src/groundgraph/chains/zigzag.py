"""The best results at both ends, where a model reads most carefully (P8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def zigzag(ranked: Sequence[T]) -> list[T]:
    """1, 3, 5 ... 6, 4, 2 for a ranking 1, 2, 3 ...: the first and the second stand at the two ends.

    The order of LongContextReorder in langchain-community, after "Lost in the Middle" (Liu et al. 2023).
    """
    return [*ranked[::2], *ranked[1::2][::-1]]
