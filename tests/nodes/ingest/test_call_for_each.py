"""Calling a chain for many inputs (K1)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from groundgraph.nodes.ingest.work import call_for_each


class Plain:
    def __call__(self, number):
        if number == 3:
            raise ValueError("three")
        return number * 2


class Asynchronous:
    async def __call__(self, number):
        await asyncio.sleep(0.001 * (5 - number))
        return Plain()(number)


def giving_a_coroutine(number):
    return Asynchronous()(number)


@pytest.mark.covers("K1")
@pytest.mark.parametrize("chain", [Plain(), Asynchronous(), giving_a_coroutine])
@pytest.mark.parametrize("at_once", [1, 2, 7])
async def test_answers_come_in_order_and_an_error_stands_in_its_place(chain, at_once):
    answers = await call_for_each(chain, [(n,) for n in range(5)], at_once=at_once)
    assert [answers[0], answers[1], answers[2], answers[4]] == [0, 2, 4, 8]
    assert isinstance(answers[3], ValueError)
    assert await call_for_each(chain, [], at_once=at_once) == []


@pytest.mark.covers("fault 53")
@pytest.mark.parametrize(("error", "calls"), [(ConnectionError("down"), 8), (ValueError("this text"), 40)])
async def test_a_model_that_is_out_of_reach_is_given_up_and_a_bad_text_is_not(error, calls):
    asked = []

    class Chain:
        async def __call__(self, number):
            asked.append(number)
            raise error

    answers = await call_for_each(Chain(), [(n,) for n in range(40)], at_once=1)
    assert answers == [error] * 40
    assert len(asked) == calls


@pytest.mark.covers("fault 53")
async def test_an_answer_in_between_brings_hope():
    class Chain:
        async def __call__(self, number):
            if number % 5:
                raise ConnectionError("down")
            return number

    answers = await call_for_each(Chain(), [(n,) for n in range(40)], at_once=1)
    assert [answer for answer in answers if not isinstance(answer, Exception)] == list(range(0, 40, 5))


@pytest.mark.covers("K1")
async def test_plain_chains_run_beside_the_event_loop_in_no_more_threads_than_allowed():
    threads: set[int] = set()

    def chain(_):
        threads.add(threading.get_ident())

    await call_for_each(chain, [(n,) for n in range(50)], at_once=3)
    assert threading.get_ident() not in threads
    assert 1 <= len(threads) <= 3
