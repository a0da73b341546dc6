"""What bounds a call: how long it may take, how far it may run ahead of its reader, how often it is tried, and when a
service that fails is left alone.

The deadline of a turn lives in a context variable and never in the state: a turn that is resumed after a crash gets a
deadline of its own instead of being born late. Tries again are made here and nowhere else.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception

from groundgraph.core.latest import Latest

# How far a streaming answer may run ahead of whoever reads it.

MAX_AHEAD = 1024


class Backpressure:
    """Counts the pieces that were emitted while the reader was busy.

    The reader calls `waiting` before it asks for the next piece and `busy` when it has got one. While it waits,
    everything emitted so far was read: LangGraph hands out what is queued without giving control back.
    """

    def __init__(self, limit: int = MAX_AHEAD) -> None:
        self._limit = limit
        self._ahead = 0
        self._reader_waits = asyncio.Event()

    def waiting(self) -> None:
        """The reader asks for the next piece."""
        self._reader_waits.set()

    def busy(self) -> None:
        """The reader has got a piece."""
        self._reader_waits.clear()

    async def ready(self) -> None:
        """Returns when another piece may be emitted."""
        if self._reader_waits.is_set():
            self._ahead = 0
        self._ahead += 1
        if self._ahead > self._limit:
            await self._reader_waits.wait()
            self._ahead = 0


current_backpressure: ContextVar[Backpressure | None] = ContextVar("groundgraph_backpressure", default=None)


async def ready_to_emit() -> None:
    """Waits until the reader of the current run, if there is one, has caught up."""
    backpressure = current_backpressure.get()
    if backpressure is not None:
        await backpressure.ready()


# The steps that wait for a source or a model, so that none of them outlives its turn.
#
# LangGraph cancels the steps of a graph that ends early, and waits for them. When it is cancelled a second time
# meanwhile, as it does with a graph inside a larger one of which another branch fails, it leaves them running.


class TurnWork:
    """The steps of one turn that wait."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Task[Any]] = set()

    @contextmanager
    def waiting(self, step: asyncio.Task[Any] | None) -> Iterator[None]:
        """The task `step` waits in this block."""
        if step is None:
            yield
            return
        self._waiting.add(step)
        try:
            yield
        finally:
            self._waiting.discard(step)

    def end(self) -> None:
        """The turn is over: cancel the steps that still wait."""
        for step in list(self._waiting):
            step.cancel()


current: ContextVar[TurnWork | None] = ContextVar("groundgraph_turn_work", default=None)


T = TypeVar("T")

turn_ends_at: ContextVar[float | None] = ContextVar("groundgraph_turn_ends_at", default=None)

# Tasks that did not end when they were cancelled. Held here, so that they are not collected while they still run.
left_behind: set[asyncio.Future[Any]] = set()


def remaining(limit: float) -> float:
    """The smaller of `limit` and what is left of the turn, in seconds, never below 0."""
    ends_at = turn_ends_at.get()
    return limit if ends_at is None else max(0.0, min(limit, ends_at - time.monotonic()))


class DeadlinePassed(TimeoutError):
    """Work did not end within its limit or the turn's deadline; work that times out by itself raises something else."""


class WorkCancelled(Exception):
    """Work ended in a cancellation that nobody asked for."""


async def within(limit: float, work: Awaitable[T]) -> T:
    """The result of `work`.

    Work that swallows its cancellation is left behind instead of being waited for; `asyncio.timeout` would wait.
    When the caller itself is cancelled, the work is cancelled too.

    Raises:
        DeadlinePassed: after `limit` seconds or at the turn's deadline, whichever comes first.
        WorkCancelled: the work raised `CancelledError` by itself.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=remaining(limit))
    except asyncio.CancelledError:
        _abandon(task)
        raise
    if not done:
        _abandon(task)
        raise DeadlinePassed
    if task.cancelled():
        raise WorkCancelled("it was cancelled from inside")
    return task.result()


async def within_turn(limit: float, work: Awaitable[T]) -> T:
    """As `within`, for a step's own call of a source or a model: when the turn ends before the step does, the call ends
    too."""
    turn = current.get()
    if turn is None:
        return await within(limit, work)
    with turn.waiting(asyncio.current_task()):
        return await within(limit, work)


def _abandon(task: asyncio.Future[Any]) -> None:
    task.cancel()
    left_behind.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Future[Any]) -> None:
    left_behind.discard(task)
    retrieve(task)


def retrieve(task: asyncio.Future[Any]) -> None:
    """Take note of the error of `task`, which is done, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()


# How often everyone who calls one service may try again, together.
#
# Each turn has its own few tries; when a service is out of breath, fifty turns with three tries each would be a hundred
# calls that make it worse. So tries are paid for from a budget that the callers of a service share, and a wait that the
# service asks one of them for holds for all.

# The budget of Finagle: a fifth of what succeeds, and a few tries a second, so that a service that is seldom called
# can be tried again too.
CAPACITY = 10.0
PER_SUCCESS = 0.2
PER_SECOND = 1.0

# What a service may ask for; afterwards it is asked once more, in seconds.
LONGEST_PAUSE = 60.0
# Those who waited out a pause do not all come back in the same moment: each waits by up to so much of it longer.
_SPREAD = 0.25


class RetryBudget:
    """A bucket of tokens: each further try takes one, each success and each second bring some back.

    Safe to use from several event loops.

    Args:
        clock: seconds that only grow; `time.monotonic`, as it is when the budget is made, unless given.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        self._lock = threading.Lock()
        self._tokens = CAPACITY
        self._filled_at = self._clock()
        self._paused_until = 0.0
        self._spread = 0.0

    def take(self) -> bool:
        """Whether there may be another try, which this pays for."""
        with self._lock:
            now = self._clock()
            self._fill((now - self._filled_at) * PER_SECOND)
            self._filled_at = now
            # Five fifths are one, whatever their sum as floats is.
            if self._tokens < 1 - 1e-9:
                return False
            self._tokens -= 1
            return True

    def succeeded(self) -> None:
        """A call succeeded."""
        with self._lock:
            self._fill(PER_SUCCESS)

    def pause(self, seconds: float) -> None:
        """The service asked not to be called for so long."""
        with self._lock:
            asked = min(seconds, LONGEST_PAUSE)
            until = self._clock() + asked
            if until > self._paused_until:
                self._paused_until, self._spread = until, asked * _SPREAD

    def pause_left(self) -> float:
        """For how many seconds a new call has to wait; a little more for some than for others."""
        with self._lock:
            left = self._paused_until - self._clock()
            return left + random.uniform(0, self._spread) if left > 0 else 0.0

    def _fill(self, tokens: float) -> None:
        self._tokens = min(CAPACITY, self._tokens + tokens)


_budgets: dict[int, RetryBudget] = {}
_guard = threading.Lock()


def budget_of(service: object | None) -> RetryBudget:
    """The budget of `service`, for example a chat model, for as long as the object lives.

    None, and what cannot be told apart for certain, has one of its own each time.
    """
    if service is None:
        return RetryBudget()
    with _guard:
        known = _budgets.get(id(service))
        if known is not None:
            return known
        try:
            # Another object may get the same id once this one is gone.
            weakref.finalize(service, _budgets.pop, id(service), None).atexit = False
        except TypeError:
            return RetryBudget()
        return _budgets.setdefault(id(service), RetryBudget())


# Leaving a service alone that keeps failing, and trying it again after a while.

# Of so many scopes the failures are kept; a scope beyond begins anew.
_MOST_SCOPES = 1000


class CircuitBreaker:
    """Opens after `failures` failures in a row; after `pause` seconds calls may try again.

    Args:
        failures: how many failures in a row open it.
        pause: seconds for which calls are skipped.
        clock: the time in seconds; `time.monotonic`, as it is when the breaker is made, unless given.
    """

    def __init__(self, failures: int = 5, pause: float = 30.0, *, clock: Callable[[], float] | None = None) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock or time.monotonic
        self._failed = 0
        self._opened_at: float | None = None

    def allows(self) -> bool:
        """Whether a call may be made now. After the pause calls may try again; the first that fails opens it anew."""
        return self._opened_at is None or self._clock() - self._opened_at >= self._pause

    def succeeded(self) -> None:
        """A call succeeded: the breaker is closed."""
        self._failed = 0
        self._opened_at = None

    def failed(self) -> None:
        """A call failed."""
        self._failed += 1
        if self._failed >= self._limit:
            self._opened_at = self._clock()

    def seconds_left(self) -> float:
        """Seconds until the next call may be made."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._pause - (self._clock() - self._opened_at))


class ScopedBreaker:
    """A breaker of a service that serves many scopes, such as tenants: what fails for one of them says nothing about
    the others, unless the service itself fails.

    Args:
        failures: how many failures in a row open it.
        pause: seconds for which calls are skipped.
    """

    def __init__(self, failures: int, pause: float) -> None:
        self._failures = failures
        self._pause = pause
        self._for_all = CircuitBreaker(failures, pause)
        self._own: Latest[str, CircuitBreaker] = Latest(_MOST_SCOPES)

    def of(self, scope: Mapping[str, Any]) -> BreakerOfScope:
        """The breaker as the runs of `scope` meet it."""
        key = str(sorted(scope.items())) if scope else ""
        own = self._own.get_or_make(key, lambda: CircuitBreaker(self._failures, self._pause))
        return BreakerOfScope(self._for_all, own)


@dataclass(frozen=True)
class BreakerOfScope:
    """The breaker of one scope over the one that all share."""

    shared: CircuitBreaker
    own: CircuitBreaker

    def allows(self) -> bool:
        """Whether a call may be made now."""
        return self.shared.allows() and self.own.allows()

    def succeeded(self) -> None:
        """A call succeeded: both are closed."""
        self.shared.succeeded()
        self.own.succeeded()

    def failed(self, *, for_all: bool) -> None:
        """A call failed, by a failure of the service itself, or by one that may be this scope's alone."""
        (self.shared if for_all else self.own).failed()

    def seconds_left(self) -> float:
        """Seconds until the next call may be made."""
        return max(self.shared.seconds_left(), self.own.seconds_left())


async def with_retries(
    call: Callable[[], Awaitable[T]], worth_another: Callable[[BaseException], bool], **policy: Any
) -> T:
    """The result of `call`, which is tried again as long as its error is worth another try and `policy` allows it.

    Args:
        call: what is tried.
        worth_another: whether an error may pass.
        policy: `wait` and `stop` of tenacity. It counts the first try too.
    """
    try:
        return await call()
    except Exception as error:
        if not worth_another(error):
            raise
        first = error
    # Only now, because tenacity costs as much as a quick source answers in; it is told of the first failure.
    async for attempt in AsyncRetrying(retry=retry_if_exception(worth_another), reraise=True, **policy):
        with attempt:
            if attempt.retry_state.attempt_number == 1:
                raise first
            return await call()
    raise AssertionError("unreachable: the last try returns or raises")
