"""Blocking calls beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from groundgraph.core.blocking import run_blocking

variable = contextvars.ContextVar("variable", default="unset")


async def test_arguments_results_and_the_callers_context():
    variable.set("of the caller")
    assert await run_blocking(lambda a, *, b: (a, b, variable.get()), 1, b=2) == (1, 2, "of the caller")


async def test_it_runs_in_a_daemon_thread():
    thread = await run_blocking(threading.current_thread)
    assert thread is not threading.main_thread()
    assert thread.daemon


@pytest.mark.parametrize("error", [ValueError("own"), KeyboardInterrupt("own"), asyncio.CancelledError("own")])
async def test_exceptions_pass(error):
    def failing():
        raise error

    with pytest.raises(type(error), match="own"):
        await run_blocking(failing)


async def test_stop_iteration_ends_the_wait_too():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(run_blocking(next, iter(())), 2)


async def test_fault_77_the_event_loop_runs_on():
    ticks = 0
    call = asyncio.create_task(run_blocking(time.sleep, 0.2))
    while not call.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks >= 5


async def test_forty_calls_at_once_do_not_queue():
    started = time.monotonic()
    await asyncio.gather(*(run_blocking(time.sleep, 0.2) for _ in range(40)))
    assert time.monotonic() - started < 1.0


async def test_a_cancelled_caller_does_not_wait_and_the_late_result_is_dropped():
    release = threading.Event()
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    call = asyncio.create_task(run_blocking(release.wait, 5))
    await asyncio.sleep(0.02)
    started = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - started < 0.2
    release.set()
    await asyncio.sleep(0.05)
    assert reported == []


def test_a_call_that_outlives_its_loop_is_silent():
    release = threading.Event()
    ended = threading.Event()

    def slow():
        release.wait(5)
        ended.set()

    async def leave():
        call = asyncio.create_task(run_blocking(slow))
        await asyncio.sleep(0.02)
        call.cancel()

    asyncio.run(leave())
    release.set()
    assert ended.wait(5)
    time.sleep(0.05)  # an error in the thread would fail the test as an unhandled thread exception
