"""The model calls that chains make inside a turn: recorded for the provenance, and bounded with the others (T9).

A chain knows nothing of the turn that it works for, so both go through context variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from groundgraph.core.errors import ModelBudgetSpent
from groundgraph.core.settings import LimitSettings
from groundgraph.core.turn_values import ModelCall

# One call for the queries of a turn and one for its answer are kept free, or a reranker could leave no answer.
_KEPT_FREE = 2


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
