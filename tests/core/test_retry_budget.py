"""Tries that many callers of one service share (fault 79)."""

from __future__ import annotations

import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.resilience.bounds import CAPACITY, LONGEST_PAUSE, PER_SECOND, PER_SUCCESS, RetryBudget, budget_of


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(budget: RetryBudget, wanted: int) -> int:
    return sum(budget.take() for _ in range(wanted))


@pytest.mark.covers("fault 79")
def test_the_budget_is_spent_once_however_many_ask() -> None:
    budget = RetryBudget(Clock())
    threads = [threading.Thread(target=lambda: results.append(taken(budget, 20))) for _ in range(8)]
    results: list[int] = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(results) == CAPACITY


@given(st.lists(st.one_of(st.just("take"), st.just("success"), st.floats(0, 30)), max_size=200))
def test_tries_never_exceed_capacity_a_share_of_the_successes_and_of_the_time(events: list[str | float]) -> None:
    clock = Clock()
    budget, taken_so_far, allowed = RetryBudget(clock), 0, CAPACITY
    for event in events:
        if event == "take":
            taken_so_far += budget.take()
        elif event == "success":
            budget.succeeded()
            allowed += PER_SUCCESS
        else:
            clock.now += float(event)
            allowed += float(event) * PER_SECOND
        assert taken_so_far <= allowed + 1e-6


def test_time_and_successes_bring_tries_back_up_to_the_capacity() -> None:
    clock = Clock()
    budget = RetryBudget(clock)
    taken(budget, 100)
    for _ in range(10):
        budget.succeeded()
    assert taken(budget, 100) == int(10 * PER_SUCCESS)
    clock.now += 3
    assert taken(budget, 100) == int(3 * PER_SECOND)
    clock.now += 1_000_000
    assert taken(budget, 100) == CAPACITY


def test_a_pause_holds_for_all_and_ends() -> None:
    clock = Clock()
    budget = RetryBudget(clock)
    assert budget.pause_left() == 0
    budget.pause(2)
    budget.pause(1)
    waits = [budget.pause_left() for _ in range(300)]
    assert all(2 <= wait <= 2.5 for wait in waits)
    assert max(waits) > 2.25, "spread as the longer pause asks for"
    clock.now += 2
    assert budget.pause_left() == 0
    budget.pause(10**9)
    assert budget.pause_left() <= LONGEST_PAUSE * 1.25


def test_a_service_has_one_budget_as_long_as_it_lives() -> None:
    class Model:
        """Compared by value and without a hash, as a chat model is."""

        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return True

    one, other = Model(), Model()
    assert budget_of(one) is budget_of(one)
    assert budget_of(one) is not budget_of(other)
    spent = budget_of(one)
    taken(spent, 100)
    del one
    gc.collect()
    assert all(budget_of(Model()) is not spent for _ in range(100))
    assert budget_of(None) is not budget_of(None)
    assert budget_of(len) is not None
