"""How many tokens a text is, by the model's own counter where it has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from langchain_core.language_models.base import BaseLanguageModel

from groundgraph.chains.call_model import WIDE

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


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
