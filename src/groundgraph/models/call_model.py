"""One call of a chat model within the bounds of a turn: deadline, retries, caps, usage."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from tenacity import RetryCallState
from tenacity.wait import wait_exponential, wait_random

from groundgraph.core.errors import ModelBudgetSpent, ModelError, ModelTimeout
from groundgraph.core.failure import described, tell_failure
from groundgraph.core.model_reply import is_transient, retry_after
from groundgraph.core.turn_values import ModelCall
from groundgraph.resilience.deadline import DeadlinePassed, remaining, turn_ends_at, within_turn
from groundgraph.resilience.retry import RetryBudget, budget_of, with_retries
from groundgraph.settings.services import LimitSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

T = TypeVar("T")

WIDE = re.compile(r"[^\u0000-\u024f]")
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
        service: what is called; all who call the same object share its budget of tries (`resilience/retry.py`).

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
