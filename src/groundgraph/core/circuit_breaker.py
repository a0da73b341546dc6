"""Leaving a service alone that keeps failing, and trying it again after a while."""

from __future__ import annotations

import time
from collections.abc import Callable


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
