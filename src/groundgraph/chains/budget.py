"""How much evidence a turn may show (P9)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Size = Callable[[str], int]
_WORD_END = re.compile(r"\S(?=\s)")


@dataclass(frozen=True)
class Budget:
    """An upper bound of what a text may take up.

    Attributes:
        limit: the bound; infinite for none.
        size: what a text takes up: its characters, or its tokens.
    """

    limit: float = math.inf
    size: Size = len


def fit(texts: Sequence[str], budgets: Sequence[Budget], separator: str = "\n\n") -> list[int]:
    """The places of the texts that fit every budget together, in order; whole texts only, with the separators counted.

    A text that does not fit is left out, and later ones that do are taken: what is less relevant stays in only where
    what is more relevant could not. Nothing fits when even the smallest text is too large; see `cut_to`.
    """
    kept: list[int] = []
    left = [budget.limit for budget in budgets]
    between = [budget.size(separator) for budget in budgets]
    for place, text in enumerate(texts):
        sizes = [budget.size(text) + (gap if kept else 0) for budget, gap in zip(budgets, between, strict=True)]
        rest = [room - size for room, size in zip(left, sizes, strict=True)]
        if all(room >= 0 for room in rest):
            kept.append(place)
            left = rest
    return kept


def cut_to(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning of `text` that ends with a whole word and `fits`; an empty string when none does.

    Longer texts must not fit better than shorter ones, as is true of any count.
    """
    if fits(text):
        return text
    ends = [found.end() for found in _WORD_END.finditer(text)]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fits(text[: ends[middle]]) else (low, middle)
    return text[: ends[low - 1]] if low else ""


def with_state_facts(evidence: str, facts: Sequence[str], separator: str, budget: Budget, between: str = "\n\n") -> str:
    """`evidence`, and behind `separator` those of `facts` that fill what it leaves of the budget; whole facts only.

    Args:
        evidence: what the query found; it is never cut here.
        facts: about the state of the dialogue, the most important first.
        separator: a line of its own, counted like everything else.
        budget: for the whole text.
        between: what stands between two pieces.
    """
    head = between.join(part for part in (evidence, separator) if part)
    whole = head
    for fact in facts:
        longer = f"{whole}{between}{fact}" if whole else fact
        if budget.size(longer) <= budget.limit:
            whole = longer
    return evidence if whole == head else whole
