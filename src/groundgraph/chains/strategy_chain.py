"""Strategies that stand in for each other (P6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from groundgraph.core.errors import GroundGraphError
from groundgraph.core.failure import Failure, described, tell_failure

T = TypeVar("T")
Strategy = tuple[str, Callable[[], Awaitable[T]]]


@dataclass(frozen=True)
class Ran(Generic[T]):
    """What came of a chain.

    Attributes:
        value: what the first strategy that worked gave; None when none did.
        method: its name; None when none did.
        failures: by name, why those before it could not be used, in their order; for log and record.
        classes: the same as readers are told it.
    """

    value: T | None = None
    method: str | None = None
    failures: dict[str, str] = field(default_factory=dict)
    classes: dict[str, Failure] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The failures as one sentence."""
        return "; ".join(f"{name}: {reason}" for name, reason in self.failures.items())

    def record(self) -> dict[str, object]:
        """The entry of the provenance: which strategy ran, and why others did not."""
        return {"method": self.method, **({"unavailable": self.failures} if self.failures else {})}


async def first_available(strategies: Sequence[Strategy[T]]) -> Ran[T]:
    """What the first of `strategies` gives that raises nothing; the others are not called."""
    failures: dict[str, str] = {}
    classes: dict[str, Failure] = {}
    for name, call in strategies:
        try:
            return Ran(await call(), name, failures, classes)
        except Exception as error:  # a service or a third party's strategy fails in its own ways
            told = tell_failure(error, "step", name)
            failures[name] = told.text if isinstance(error, GroundGraphError) else described(error)
            classes[name] = told.failure
    return Ran(None, None, failures, classes)
