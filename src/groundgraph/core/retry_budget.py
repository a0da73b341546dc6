"""How often everyone who calls one service may try again, together.

Each turn has its own few tries; when a service is out of breath, fifty turns with three tries each would be a hundred
calls that make it worse. So tries are paid for from a budget that the callers of a service share, and a wait that the
service asks one of them for holds for all.
"""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Callable

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
