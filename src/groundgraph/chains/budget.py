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
    # Characters add up; the tokens of a whole may be more than those of its parts.
    counted = [budget for budget in budgets if budget.size is not len]
    while kept and any(budget.size(separator.join(texts[n] for n in kept)) > budget.limit for budget in counted):
        kept.pop()
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


def facts_that_fit(
    evidence: str, facts: Sequence[str], separator: str, budgets: Sequence[Budget], between: str = "\n\n"
) -> list[int]:
    """The places of the facts about the dialogue's state that fill what the evidence leaves of every budget, in order.

    Args:
        evidence: what the query found; it is never cut here.
        facts: the most important first; whole ones only.
        separator: a line of its own between the two, counted like everything else.
        budgets: for the whole text.
        between: what stands between two pieces.
    """
    head = between.join(part for part in (evidence, separator) if part)
    if not head:
        return fit(facts, budgets, between)
    kept = fit([head, *facts], budgets, between)
    # What was found comes first: without it there is nothing to stand behind.
    return [place - 1 for place in kept[1:]] if kept[:1] == [0] else []
