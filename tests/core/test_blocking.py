"""Blocking calls beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from groundgraph.resilience.blocking import run_blocking

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
        await asyncio.wait_for(run_blocking(next, iter(())), 60)


@pytest.mark.covers("fault 77")
async def test_the_event_loop_runs_on():
    release = threading.Event()
    call = asyncio.create_task(run_blocking(release.wait, 60))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not call.done()
    release.set()
    assert await call, "the loop stood still until the call had waited long enough"


async def test_forty_calls_at_once_do_not_queue():
    # Nobody gets past it before all forty are there.
    together = threading.Barrier(40)
    await asyncio.gather(*(run_blocking(together.wait, 60) for _ in range(40)))


class Slow:
    """A call that goes on until it is released."""

    def __init__(self):
        self.begun, self.released, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self):
        self.thread = threading.current_thread()
        self.begun.set()
        assert self.released.wait(60)
        self.ended.set()

    async def left(self):
        """Begun, and nobody waits for it any more."""
        call = asyncio.create_task(run_blocking(self))
        while not self.begun.is_set():
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not self.ended.is_set(), "it was waited for"

    def end(self):
        """Returns when its thread has ended; an error in it fails the test."""
        self.released.set()
        self.thread.join(60)
        assert self.ended.is_set()


async def test_a_cancelled_caller_does_not_wait_and_the_late_result_is_dropped():
    slow, reported = Slow(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    await slow.left()
    slow.end()
    await asyncio.sleep(0)
    assert reported == []


def test_a_call_that_outlives_its_loop_is_silent():
    slow = Slow()
    asyncio.run(slow.left())
    slow.end()


def test_a_call_that_ends_just_when_its_loop_is_closed_is_silent(monkeypatch):
    slow = Slow()
    with asyncio.Runner() as runner:
        runner.run(slow.left())
        loop = runner.get_loop()
    # What its thread saw a moment before.
    monkeypatch.setattr(loop, "is_closed", lambda: False)
    slow.end()
    monkeypatch.undo()
