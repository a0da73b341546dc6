"""A chat model as the chains of a knowledge base call it: instructions, fenced texts, one reply without thinking."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.constants import TAG_NOSTREAM

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ModelBudgetSpent, ModelError
from groundgraph.core.model_reply import finish_reason, refusal_text
from groundgraph.core.turn_values import ModelCall
from groundgraph.models.call_model import model_name, recorded_call, used_tokens
from groundgraph.models.in_turns import in_turns
from groundgraph.models.prompt_messages import prompt_messages
from groundgraph.models.replies import strip_thoughts
from groundgraph.prompts import Prompts, fence_of
from groundgraph.settings.services import LimitSettings
from groundgraph.settings.settings import Settings

# The model calls that chains make inside a turn: recorded for the provenance, and bounded with the others.
#
# A chain knows nothing of the turn that it works for, so both go through context variables.

# One call for the queries of a turn and one for its answer are kept free, or a reranker could leave no answer.
_KEPT_FREE = 2
_PASSAGE_END = "</passage>\n"


@dataclass
class ChainAllowance:
    """How many model calls the chains of one turn may still make, out of `limit` for the whole turn."""

    limit: int
    left: int

    @classmethod
    def of(cls, limits: LimitSettings) -> ChainAllowance:
        """What `limits` allow the chains of a turn."""
        return cls(limits.model_calls, max(0, limits.model_calls - _KEPT_FREE))


chain_allowance: ContextVar[ChainAllowance | None] = ContextVar("groundgraph_chain_allowance", default=None)
_collected: ContextVar[list[ModelCall] | None] = ContextVar("groundgraph_chain_calls", default=None)


def chain_calls_left() -> int | None:
    """How often the chains of this turn may still call a model; None outside a turn, where there is no bound."""
    allowance = chain_allowance.get()
    return None if allowance is None else allowance.left


def take_chain_call() -> None:
    """Count a call of a chain; outside a turn, as in an ingest, there is no bound.

    Raises:
        ModelBudgetSpent: the chains of this turn may call a model no more.
    """
    allowance = chain_allowance.get()
    if allowance is None:
        return
    if allowance.left <= 0:
        raise ModelBudgetSpent(
            f"a turn may call a model {allowance.limit} times (limits.model_calls), "
            f"{_KEPT_FREE} of which are for its queries and its answer"
        )
    allowance.left -= 1


def note_chain_call(call: ModelCall) -> None:
    """Record a call of a chain, where somebody collects them."""
    found = _collected.get()
    if found is not None:
        found.append(call)


@contextmanager
def collect_chain_calls() -> Iterator[list[ModelCall]]:
    """The calls that chains make inside, across the tasks that they start."""
    found: list[ModelCall] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


@dataclass(frozen=True)
class Passage:
    """A text that a model is shown, and what it is, such as `document` or a number."""

    name: str
    text: str


@dataclass(frozen=True)
class ChainModel:
    """Calls a model within the bounds of the settings.

    Attributes:
        model: the model.
        prompts: where its instructions stand.
        limit: seconds for one call with its retries, see `deadlines.model`.
        attempts: tries of one call, see `limits.attempts`.
    """

    model: BaseChatModel
    prompts: Prompts
    limit: float
    attempts: int

    @classmethod
    def of(cls, settings: Settings, prompts: Prompts, model: BaseChatModel) -> ChainModel:
        """`model` within the bounds of `settings`."""
        return cls(model, prompts, settings.deadlines.model, settings.limits.attempts)

    def signature(self, *prompts: str) -> str:
        """What replies depend on: the model's name and a hash of its instructions."""
        text = "\0".join([self.prompts.source(name) for name in (*prompts, "chain_passages", "chain_data")])
        return f"{model_name(self.model)} {hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"

    async def text(self, prompt: str, passages: Sequence[Passage], question: str = "") -> str:
        """The text of the reply to the instructions in `prompt`; see `reply`."""
        return without_thoughts((await self.reply([prompt], passages, question)).text)

    async def reply(
        self,
        prompts: Sequence[str],
        passages: Sequence[Passage],
        question: str = "",
        *,
        variables: dict[str, Any] | None = None,
        **options: Any,
    ) -> AIMessage:
        """The reply to the instructions in `prompts`, about `passages` and, where there is one, a user's `question`.

        Args:
            prompts: the names of the prompts that make the instructions, one below the other.
            passages: shown as data, fenced, in a message of the user's.
            question: in the user's own words.
            variables: of the prompts.
            options: of the call, such as `logprobs`.

        Raises:
            ModelError: the model failed, refused, or wrote nothing or more than it may.
        """
        system = "\n".join(self.prompts.render(name, **(variables or {})) for name in (*prompts, *_data(passages)))
        shown = self._fenced(passages) if passages else ()
        messages = prompt_messages(system, *shown, question, model=self.model, shared=len(shown) - 1)
        return _whole(await self._called(prompts[0], messages, options))

    async def _called(self, role: str, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        take_chain_call()
        return await recorded_call(
            role,
            self.model,
            lambda: self.model.ainvoke(in_turns(messages), {"tags": [TAG_NOSTREAM]}, **options),
            note_chain_call,
            partial(used_tokens, messages),
            limit=self.limit,
            attempts=self.attempts,
        )

    def _fenced(self, passages: Sequence[Passage]) -> list[str]:
        """The block of passages, cut behind the first: all that are read beside one document begin the same."""
        fence = fence_of(passages[0].text)
        block = self.prompts.render("chain_passages", passages=passages, fence=fence).strip()
        first, end, rest = block.partition(_PASSAGE_END)
        return [first + end, rest] if len(passages) > 1 and rest.count(_PASSAGE_END) else [block]


def _data(passages: Sequence[Passage]) -> tuple[str, ...]:
    return ("chain_data",) if passages else ()


def _whole(reply: AIMessage) -> AIMessage:
    """`reply`, when it is one that can be used."""
    finish = finish_reason(reply)
    if finish == "refusal" or refusal_text(reply):
        raise ModelError("it refused")
    if finish == "length":
        raise ModelError("its reply was cut off; let it write more tokens (llm.max_tokens), or cut smaller chunks")
    if not without_thoughts(reply.text):
        raise ModelError("it wrote nothing")
    return reply


def without_thoughts(text: str) -> str:
    """`text` without think blocks and the white space around it."""
    return strip_thoughts(clean_text(text)).strip()
