"""Strategies that stand in for each other (P6)."""

from __future__ import annotations

import pytest

from groundgraph.answers.strategy_chain import first_available
from groundgraph.core.errors import StrategyUnavailable

pytestmark = pytest.mark.covers("P6")


def strategy(name: str, called: list[str], error: Exception | None = None):
    async def run() -> str:
        called.append(name)
        if error:
            raise error
        return f"by {name}"

    return name, run


async def test_the_first_that_works_is_used_and_the_others_are_not_called():
    called: list[str] = []
    ran = await first_available([strategy("a", called), strategy("b", called)])
    assert (ran.value, ran.method, called) == ("by a", "a", ["a"])
    assert ran.record() == {"method": "a"}


async def test_one_that_is_unavailable_hands_over_and_the_record_says_why():
    called: list[str] = []
    ran = await first_available(
        [strategy("a", called, StrategyUnavailable("no model")), strategy("b", called, OSError("down")),
         strategy("c", called)]
    )  # fmt: skip
    assert (ran.value, called) == ("by c", ["a", "b", "c"])
    assert ran.record() == {"method": "c", "unavailable": {"a": "no model", "b": "OSError: down"}}


async def test_when_none_works_that_is_told_and_not_hidden():
    ran = await first_available([strategy("a", [], StrategyUnavailable("no model"))])
    assert (ran.value, ran.method, ran.reason) == (None, None, "a: no model")
    assert await first_available([]) == type(ran)()
