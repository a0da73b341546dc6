"""Fifty turns at a service that is out of breath: no storm (fault 79)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from turns import ask, build, docs

from groundgraph.resilience import bounds
from groundgraph.resilience.bounds import CAPACITY
from groundgraph.testing import Reply, openai_stub

pytestmark = pytest.mark.covers("fault 79")

TURNS = 50
ANSWER = "OAuth has four grant types [1]."


def graph_over(url: str, **more: Any) -> Any:
    llm = {"provider": "openai", "model": "test-model", "base_url": url, "api_key": "test"}
    return build(sources=[docs()], llm=llm, **{"deadlines": {"turn": 60, "model": 50}, **more})


async def turns(graph: Any, number: int = TURNS) -> list[dict[str, Any]]:
    return await asyncio.gather(*(ask(graph) for _ in range(number)))


def styles(results: list[dict[str, Any]]) -> list[str]:
    return [result["provenance"]["style"]["used"] for result in results]


class Limiter:
    """A service that answers so many calls and then asks to wait; it counts from the moment of the first."""

    def __init__(self, at_once: int, pause: float) -> None:
        self.at_once, self.pause = at_once, pause
        self.refused: list[float] = []
        self._lock = threading.Lock()
        self._answered: list[float] = []

    def __call__(self, _: Any) -> Reply:
        now = time.monotonic()
        with self._lock:
            self._answered = [at for at in self._answered if now - at < self.pause]
            if len(self._answered) < self.at_once:
                self._answered.append(now)
                return Reply(ANSWER)
            self.refused.append(now)
            return Reply("slow down", status=429, headers={"Retry-After": str(self.pause)})


async def test_while_everything_is_refused_the_tries_of_all_turns_are_one_budget() -> None:
    with openai_stub(Reply("slow down", status=429, headers={"Retry-After": "0"})) as stub:
        started = time.monotonic()
        results = await turns(graph_over(stub.base_url))
        elapsed = time.monotonic() - started
    # Each turn alone would try three times: 150 calls.
    assert TURNS <= len(stub.requests) <= TURNS + CAPACITY + elapsed + 1
    assert [result["outcome"] for result in results] == ["answered"] * TURNS
    assert set(styles(results)) == {"structured"}
    assert all("429" in " ".join(result["notes"]) for result in results)


async def test_a_limit_for_all_is_kept_to_and_those_that_fit_are_answered() -> None:
    limiter = Limiter(at_once=20, pause=0.5)
    with openai_stub(default=limiter) as stub:
        started = time.monotonic()
        graph = graph_over(stub.base_url)
        results = await turns(graph)
        elapsed = time.monotonic() - started
        written = styles(results).count("conversational")
        assert len(stub.requests) <= TURNS + CAPACITY + 0.2 * written + elapsed + 1
        assert written >= 20
        assert all(result["outcome"] == "answered" for result in results)
        # The rush is over: later turns are served as ever.
        await asyncio.sleep(1)
        assert styles(await turns(graph, 5)) == ["conversational"] * 5


async def test_a_turn_that_begins_while_the_service_rests_does_not_call_it() -> None:
    first = threading.Event()

    def reply(_: Any) -> Reply:
        if first.is_set():
            return Reply(ANSWER)
        first.set()
        refused.append(time.monotonic())
        return Reply("slow down", status=429, headers={"Retry-After": "0.8"})

    refused: list[float] = []
    arrived: list[float] = []
    with openai_stub(default=noting(reply, arrived)) as stub:
        graph = graph_over(stub.base_url)
        before = resting()
        opening = asyncio.create_task(ask(graph))
        while not resting() - before:
            await asyncio.sleep(0.01)
        results = [*await turns(graph, 10), await opening]
    later = [at for at in arrived if at > refused[0]]
    assert len(later) == 11
    assert min(later) - refused[0] >= 0.75
    assert styles(results) == ["conversational"] * 11


def resting() -> set[int]:
    """The services that asked for a pause which the caller has taken note of."""
    return {service for service, budget in bounds._budgets.items() if budget.pause_left()}


def noting(reply: Callable[[Any], Reply], arrived: list[float]) -> Callable[[Any], Reply]:
    def noted(prompt: Any) -> Reply:
        arrived.append(time.monotonic())
        return reply(prompt)

    return noted


async def test_a_turn_that_cannot_wait_so_long_answers_without_the_model_at_once() -> None:
    with openai_stub(Reply("slow down", status=429, headers={"Retry-After": "60"})) as stub:
        graph = graph_over(stub.base_url, deadlines={"turn": 100, "model": 40})
        started = time.monotonic()
        await ask(graph)
        results = await turns(graph, 10)
        assert time.monotonic() - started < 20, "each of them could wait for 40 seconds"
        assert len(stub.requests) == 1
    assert set(styles(results)) == {"structured"}
    assert all(result["notes"] for result in results)
