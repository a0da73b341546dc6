"""Leaving a service alone that keeps failing, and trying it again after a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from groundgraph.core.latest import Latest

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
