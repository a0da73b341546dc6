"""How much evidence a turn may show: the budgets of a configuration, and how many tokens a text is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.language_models.base import BaseLanguageModel

from groundgraph.models.call_model import WIDE
from groundgraph.settings.answers import ResultProcessingSettings
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# How many tokens a text is, by the model's own counter where it has one.


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is, rounded up: one for four characters, for two outside the Latin script."""
    wide = 0 if text.isascii() else len(WIDE.findall(text))
    return -(-(len(text) + wide) // 4)


class TokenCounter:
    """Counts by the model's own counter where it has one, else by `estimated_tokens`.

    LangChain's stand-in is no counter of the model's own: it fetches another model's tokenizer. An own one may block
    and may need the network; once it has failed it is not asked again.
    """

    def __init__(self, model: BaseChatModel | None) -> None:
        self._own = _own_counter(model)

    def __call__(self, text: str) -> int:
        """The number of tokens of `text`."""
        if self._own is not None:
            try:
                return self._own(text)
            except Exception:  # a tokenizer that cannot be fetched, for example; the SDK's errors are its own
                self.give_up()
        return estimated_tokens(text)

    @property
    def method(self) -> str:
        """`model` or `estimate`."""
        return "model" if self._own else "estimate"

    def give_up(self) -> None:
        """Estimate from now on."""
        self._own = None


def _own_counter(model: BaseChatModel | None) -> Callable[[str], int] | None:
    if model is None:
        return None
    base, kind = BaseLanguageModel, type(model)
    own = (
        kind.get_num_tokens is not base.get_num_tokens
        or kind.get_token_ids is not base.get_token_ids
        or model.custom_get_token_ids is not None
    )
    return model.get_num_tokens if own else None


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


def fits_all(text: str, budgets: Iterable[Budget]) -> bool:
    """Whether `text` is within each of `budgets`."""
    return all(budget.size(text) <= budget.limit for budget in budgets)


def fit(texts: Sequence[str], budgets: Sequence[Budget], separator: str = "\n\n") -> list[int]:
    """The places of the texts that fit every budget together, in order; whole texts only, with the separators counted.

    A text that does not fit is left out, and later ones that do are taken: what is less relevant stays in only where
    what is more relevant could not. Nothing fits when even the smallest text is too large; see `cut_to`.
    """
    kept: list[int] = []
    between = [budget.size(separator) for budget in budgets]
    # The first text has no separator before it.
    left = [budget.limit + gap for budget, gap in zip(budgets, between, strict=True)]
    for place, text in enumerate(texts):
        rest = [room - gap - budget.size(text) for room, gap, budget in zip(left, between, budgets, strict=True)]
        if min(rest, default=0) >= 0:
            kept.append(place)
            left = rest
    # Characters add up; the tokens of a whole may be more than those of its parts.
    while kept and not fits_all(separator.join(texts[place] for place in kept), budgets):
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


# The budgets of a configuration.


def budgets_of(
    settings: Settings, wanted: ResultProcessingSettings, counter: TokenCounter, model: BaseChatModel | None
) -> list[Budget]:
    """What a context may take up.

    The prompt's own limit cuts from the end, where a zigzag puts the second best result, so it holds here already.
    """
    return [
        *([Budget(wanted.max_kb_chars)] if wanted.max_kb_chars else []),
        *([Budget(wanted.max_kb_tokens, counter)] if wanted.max_kb_tokens else []),
        *([Budget(settings.limits.tokens // 2, estimated_tokens)] if wanted.reorder and model else []),
    ]
