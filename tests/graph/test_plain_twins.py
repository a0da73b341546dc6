"""Plain twins of asynchronous methods: one function makes them all (U1)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from groundgraph import AsyncQueryBot, CascadeRetriever, KnowledgeBase, QueryBot
from groundgraph.resilience.blocking import plain

TWINS = [
    *((getattr(KnowledgeBase, name), getattr(KnowledgeBase, f"a{name}")) for name in vars(KnowledgeBase)
      if f"a{name}" in vars(KnowledgeBase) and name != "close"),
    *((getattr(CascadeRetriever, name), getattr(CascadeRetriever, f"a{name}")) for name in vars(CascadeRetriever)
      if f"a{name}" in vars(CascadeRetriever)),
    (QueryBot.__call__, AsyncQueryBot.__call__),
    (QueryBot.compose_rag_messages, AsyncQueryBot.compose_rag_messages),
]  # fmt: skip


class Counter:
    """Counts on the loop that it runs on."""

    def __init__(self) -> None:
        self.count = 0

    async def aadd(self, number: int = 1) -> int:
        """The new count.

        Raises:
            ValueError: there is nothing to add.
        """
        if not number:
            raise ValueError("nothing to add")
        await asyncio.sleep(0)
        self.count += number
        return self.count

    add = plain(aadd)

    async def aadd_by_its_twin(self) -> int:
        """What nobody may do: the twin would wait for the loop that it holds up."""
        return self.add()

    add_by_its_twin = plain(aadd_by_its_twin)


class Doubled(Counter):
    """Overrides the asynchronous method alone."""

    async def aadd(self, number: int = 1) -> int:
        return await super().aadd(2 * number)


@pytest.mark.covers("U1")
def test_there_are_twins_of_all_three() -> None:
    assert {twin.__qualname__.partition(".")[0] for twin, _ in TWINS} >= {"KnowledgeBase", "CascadeRetriever"}
    assert len(TWINS) == 13


@pytest.mark.covers("U1")
@pytest.mark.parametrize(("twin", "method"), TWINS, ids=[twin.__qualname__ for twin, _ in TWINS])
def test_a_twin_takes_what_its_method_takes_and_is_called_as_it(
    twin: Callable[..., Any], method: Callable[..., Any]
) -> None:
    assert inspect.iscoroutinefunction(method)
    assert not inspect.iscoroutinefunction(twin)
    assert inspect.signature(twin) == inspect.signature(method)
    assert twin.__doc__
    assert method.__name__ in (twin.__name__, f"a{twin.__name__}")


def test_a_twin_waits_and_gives_what_its_method_gives() -> None:
    counter = Counter()
    assert [counter.add(), counter.add(number=2)] == [1, 3]
    with pytest.raises(ValueError, match="nothing to add"):
        counter.add(0)


async def test_a_twin_may_be_called_where_a_loop_runs() -> None:
    assert Counter().add(5) == 5


def test_a_twin_called_on_the_loop_that_it_would_wait_for_is_refused() -> None:
    with pytest.raises(RuntimeError, match="has to use the async form"):
        Counter().add_by_its_twin()


def test_overriding_the_method_changes_its_twin() -> None:
    assert Doubled().add(3) == 6
