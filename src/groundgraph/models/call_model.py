"""Calls of a chat model within the bounds of a turn, and as the chains of a knowledge base make them."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from tenacity import RetryCallState
from tenacity.wait import wait_exponential, wait_random

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ModelBudgetSpent, ModelError, ModelTimeout
from groundgraph.core.failure import collecting, described, is_transient, retry_after, tell_failure
from groundgraph.core.turn_values import ModelCall
from groundgraph.models.replies import (
    ask_for_object,
    finish_reason,
    in_turns,
    prompt_messages,
    refusal_text,
    strip_thoughts,
    text_of,
    unstreamed,
)
from groundgraph.prompts import Prompts, fence_of
from groundgraph.resilience.bounds import (
    DeadlinePassed,
    RetryBudget,
    budget_of,
    remaining,
    turn_ends_at,
    with_retries,
    within_turn,
)
from groundgraph.settings.services import LimitSettings
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# One call of a chat model within the bounds of a turn: deadline, retries, caps, usage.

T = TypeVar("T")

WIDE = re.compile(r"[^\u0000-\u024f]")
CUT_OFF = "its reply was cut off; let it write more tokens (llm.max_tokens), or cut smaller chunks"
# What OpenAI's package raises over a structured reply at its length limit.
_CUT_OFF = "LengthFinishReasonError"
_BACKOFF = wait_exponential(multiplier=0.5, max=8) + wait_random(0, 1)


def model_name(model: BaseChatModel) -> str:
    """The name by which a model goes in the provenance."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(model).__name__


def tokens_of(messages: Sequence[BaseMessage]) -> int:
    """About how many tokens `messages` are: one for four characters, or for two outside the Latin script."""
    wide = sum(len(WIDE.findall(text)) for message in messages if not (text := str(message.text)).isascii())
    return count_tokens_approximately(messages) + wide // 4


def tokens_spent(calls: Sequence[ModelCall]) -> int:
    """The tokens that the calls of a turn have used so far."""
    return sum(call.get("input_tokens", 0) + call.get("output_tokens", 0) for call in calls)


def tokens_left(limits: LimitSettings, calls: Sequence[ModelCall]) -> int:
    """The tokens that a turn may still use.

    Raises:
        ModelBudgetSpent: the turn has made as many calls, or used as many tokens, as it may.
    """
    left = limits.tokens - tokens_spent(calls)
    if len(calls) >= limits.model_calls:
        raise ModelBudgetSpent(f"this turn may call a model {limits.model_calls} times (limits.model_calls)")
    if left <= 0:
        raise ModelBudgetSpent(f"this turn may use {limits.tokens} tokens (limits.tokens)")
    return left


async def call_with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    limit: float,
    attempts: int,
    may_retry: Callable[[], bool] = lambda: True,
    service: object | None = None,
) -> tuple[T, int]:
    """The result of `call` and the number of tries.

    Transient errors are tried again with exponential back-off, or after what the server asks for, while the turn's
    deadline and the budget of the service allow it; the whole takes at most `limit` seconds. This is the only layer
    that retries.

    Args:
        call: what is tried.
        limit: in seconds.
        attempts: how many tries there are at most.
        may_retry: whether there may be another one.
        service: what is called; all who call the same object share its budget of tries (`resilience/bounds.py`).

    Raises:
        ModelTimeout: no result within the limit.
        ModelError: the model failed for good; the message holds the provider's, without secrets.
    """
    waited = remaining(limit)
    tries = _Tries(call, attempts, may_retry, budget_of(service), time.monotonic() + waited)
    work = with_retries(tries.once, tries.worth_another, wait=tries.pause, stop=tries.too_late)
    try:
        return await within_turn(limit, work), tries.count
    except DeadlinePassed as error:
        raise ModelTimeout(f"no answer within {min(limit, waited):.2g} seconds") from error
    except ModelError:
        raise
    except Exception as error:
        if type(error).__name__ == _CUT_OFF:
            raise ModelError(CUT_OFF) from None
        tell_failure(error, "model", model_name(service))  # type: ignore[arg-type]
        raise ModelError(described(error)) from error


async def recorded_call(
    role: str,
    model: Any,
    call: Callable[[], Awaitable[T]],
    record: Callable[[ModelCall], object],
    used: Callable[[T], dict[str, Any]],
    *,
    limit: float,
    attempts: int,
) -> T:
    """The result of `call`, by `call_with_retries`; the call is recorded whether it succeeds or not.

    Args:
        role: what the model is called for.
        model: what is called.
        call: what is tried.
        record: takes the record of the call.
        used: the tokens of a result, as `used_tokens` gives them.
        limit: in seconds.
        attempts: how many tries there are at most.

    Raises:
        ModelError: as of `call_with_retries`.
    """
    started = time.perf_counter()

    def told(**values: Any) -> None:
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        record(call_record(role, model, elapsed_ms=elapsed, **values))

    try:
        result, tries = await call_with_retries(call, limit=limit, attempts=attempts, service=model)
    except ModelError as error:
        told(error=str(error))
        raise
    told(attempts=tries, **used(result))
    return result


@dataclass
class _Tries(Generic[T]):
    """The tries of one call."""

    call: Callable[[], Awaitable[T]]
    attempts: int
    may_retry: Callable[[], bool]
    budget: RetryBudget
    ends_at: float
    count: int = 0
    _paid: int = 0

    async def once(self) -> T:
        wait = self.budget.pause_left()
        if wait:
            if time.monotonic() + wait >= self.ends_at:
                raise ModelError(f"the service asked not to be called for another {wait:.2g} seconds")
            await asyncio.sleep(wait)
        self.count += 1
        try:
            result = await self.call()
        except Exception as error:
            if (asked := retry_after(error)) and is_transient(error):
                self.budget.pause(asked)
            raise
        self.budget.succeeded()
        return result

    def worth_another(self, error: BaseException) -> bool:
        """May be asked more than once about the same error."""
        return is_transient(error) and self.may_retry() and self.count < self.attempts and self._paid_for()

    def pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = retry_after(error) if error else None
        return asked if asked is not None else _BACKOFF(state)

    def too_late(self, state: RetryCallState) -> bool:
        return self.count >= self.attempts or time.monotonic() + self.pause(state) >= self.ends_at

    def _paid_for(self) -> bool:
        # An ingest has time, and its documents are not asked for by many at once.
        if self._paid < self.count and (turn_ends_at.get() is None or self.budget.take()):
            self._paid = self.count
        return self._paid == self.count


def call_record(role: str, model: BaseChatModel, **values: Any) -> ModelCall:
    """The provenance of one call."""
    record: ModelCall = {"role": role, "model": model_name(model), **values}  # type: ignore[typeddict-item]
    return record


def used_tokens(messages: Sequence[BaseMessage], reply: AIMessage) -> dict[str, Any]:
    """The tokens of a call as `ModelCall` has them: as the provider counts them, or estimated."""
    usage = reply.usage_metadata
    return {
        "input_tokens": usage["input_tokens"] if usage else tokens_of(messages),
        "output_tokens": usage["output_tokens"] if usage else tokens_of([reply]),
        "estimated": not usage,
    }


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


def collect_chain_calls() -> AbstractContextManager[list[ModelCall]]:
    """The calls that chains make inside, across the tasks that they start."""
    return collecting(_collected)


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
        schema: dict[str, Any] | None = None,
        **options: Any,
    ) -> AIMessage:
        """The reply to the instructions in `prompts`, about `passages` and, where there is one, a user's `question`.

        Args:
            prompts: the names of the prompts that make the instructions, one below the other.
            passages: shown as data, fenced, in a message of the user's.
            question: in the user's own words.
            variables: of the prompts.
            schema: of what is asked for, where the model has structured output; see `list_schema`.
            options: of the call, such as `logprobs`.

        Raises:
            ModelError: the model failed, refused, or wrote nothing or more than it may.
        """
        system = "\n".join(self.prompts.render(name, **(variables or {})) for name in (*prompts, *_data(passages)))
        shown = self._fenced(passages) if passages else ()
        messages = prompt_messages(system, *shown, question, model=self.model, shared=len(shown) - 1)
        return _whole(await self._called(prompts[0], messages, schema, options))

    async def _called(
        self, role: str, messages: list[BaseMessage], schema: dict[str, Any] | None, options: dict[str, Any]
    ) -> AIMessage:
        take_chain_call()

        async def call() -> AIMessage:
            if schema is not None:
                return await ask_for_object(self.model, messages, schema, None, **options)
            return await self.model.ainvoke(in_turns(messages), unstreamed(), **options)

        return await recorded_call(
            role,
            self.model,
            call,
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
        raise ModelError(CUT_OFF)
    if not without_thoughts(text_of(reply)):
        raise ModelError("it wrote nothing")
    return reply


def without_thoughts(text: str) -> str:
    """`text` without think blocks and the white space around it."""
    return strip_thoughts(clean_text(text)).strip()
