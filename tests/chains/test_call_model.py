"""One model call within the bounds of a turn (T9)."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from types import SimpleNamespace
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from openai import LengthFinishReasonError
from virtual_time import in_virtual_time

from groundgraph.core.errors import ModelBudgetSpent, ModelError, ModelTimeout
from groundgraph.models.call_model import (
    call_record,
    call_with_retries,
    described,
    model_name,
    recorded_call,
    tokens_left,
    tokens_of,
    tokens_spent,
)
from groundgraph.resilience.bounds import RetryBudget, budget_of, left_behind, turn_ends_at
from groundgraph.settings.services import LimitSettings
from groundgraph.testing import Reply, ScriptedChatModel, ScriptedStatusError


async def ask(*replies, limit: float = 5, attempts: int = 3, **options):
    model = ScriptedChatModel(list(replies))
    outcome = call_with_retries(lambda: model.ainvoke("question"), limit=limit, attempts=attempts, **options)
    try:
        reply, tries = await outcome
    except ModelError as error:
        return error, len(model.calls)
    assert tries == len(model.calls)
    return reply.text, tries


def busy(status: int, seconds: str | None = None) -> Reply:
    return Reply(status=status, headers={} if seconds is None else {"retry-after": seconds})


@pytest.mark.covers("fault 23")
def test_a_429_is_waited_out_once_for_as_long_as_the_server_asks():
    answer, took = in_virtual_time(ask(busy(429, "0.2"), "fine"))
    assert answer == ("fine", 2)
    assert took == pytest.approx(0.2)


@pytest.mark.covers("fault 23")
def test_a_wait_that_would_outlast_the_limit_is_not_begun():
    (error, tries), took = in_virtual_time(ask(busy(429, "2"), "fine", limit=1))
    assert (type(error), tries) == (ModelError, 1)
    assert took == 0


@pytest.mark.covers("fault 23")
def test_the_wait_counts_in_the_turns_time():
    async def turn():
        turn_ends_at.set(time.monotonic() + 0.3)
        return await ask(busy(429, "0.5"), "fine", limit=30)

    (error, tries), took = in_virtual_time(turn())
    assert isinstance(error, ModelError)
    assert tries == 1
    assert took == 0


@pytest.mark.covers("fault 24")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refused_request_is_not_tried_again(status):
    error, tries = await ask(busy(status), "fine")
    assert (type(error), tries) == (ModelError, 1)
    assert str(status) in str(error)


@pytest.mark.parametrize("failure", [busy(500, "0"), busy(503, "0"), busy(408, "0"), TimeoutError(), ConnectionError()])
async def test_what_may_pass_is_tried_again(failure, monkeypatch):
    monkeypatch.setattr("groundgraph.models.call_model._BACKOFF", lambda state: 0.0)
    assert await ask(failure, "fine") == ("fine", 2)


@pytest.mark.covers("T9")
async def test_the_tries_are_counted_and_end():
    error, tries = await ask(*[busy(503, "0")] * 3, "never", attempts=3)
    assert (type(error), tries) == (ModelError, 3)


async def test_what_was_streamed_already_is_not_tried_again():
    error, tries = await ask(busy(503, "0"), "fine", may_retry=lambda: False)
    assert isinstance(error, ModelError)
    assert tries == 1


@pytest.mark.covers("fault 22")
def test_a_model_that_hangs_ends_at_its_limit():
    (error, _), took = in_virtual_time(ask(Reply("late", delay=30), limit=0.2))
    assert isinstance(error, ModelTimeout)
    assert took == pytest.approx(0.2)


@pytest.mark.covers("fault 22")
async def test_a_model_that_swallows_its_cancellation_is_left_behind():
    release = asyncio.Event()

    async def stubborn():
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(ModelTimeout):
        await call_with_retries(stubborn, limit=0.1, attempts=1)
    release.set()
    await asyncio.gather(*left_behind)


async def test_a_cancelled_turn_cancels_the_call():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ask(Reply("late", delay=30))


async def test_an_error_of_ours_passes_as_it_is():
    async def spent():
        raise ModelBudgetSpent("spent")

    with pytest.raises(ModelBudgetSpent, match=r"^spent$"):
        await call_with_retries(spent, limit=1, attempts=3)


@given(st.text(), st.sampled_from([ValueError, ConnectionError]))
def test_a_failure_is_described_in_one_short_line(message, kind):
    line = described(kind(message))
    assert line.startswith(kind.__name__)
    assert len(line) <= 200
    assert len(line.splitlines()) == 1


def test_a_status_is_named_in_the_description():
    assert described(ScriptedStatusError(503, {})).startswith("ScriptedStatusError 503: ")


@pytest.mark.covers("T9")
@given(st.integers(1, 1000), st.lists(st.integers(0, 500), max_size=8))
def test_what_is_left_is_the_cap_minus_what_was_used(cap, used):
    limits = LimitSettings(tokens=cap, model_calls=100)
    calls = [{"input_tokens": tokens, "output_tokens": tokens} for tokens in used]
    assert tokens_spent(calls) == 2 * sum(used)
    if 2 * sum(used) < cap:
        assert tokens_left(limits, calls) == cap - 2 * sum(used)
    else:
        with pytest.raises(ModelBudgetSpent, match=r"limits\.tokens"):
            tokens_left(limits, calls)


@pytest.mark.covers("T9")
@pytest.mark.parametrize(("made", "cap"), [(0, 0), (2, 2), (3, 2)])
def test_no_call_beyond_the_cap(made, cap):
    with pytest.raises(ModelBudgetSpent, match=r"limits\.model_calls"):
        tokens_left(LimitSettings(model_calls=cap), [{}] * made)


@pytest.mark.covers("T9")
@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_is_never_fewer_tokens(text, more):
    assert tokens_of([HumanMessage(text)]) <= tokens_of([HumanMessage(text + more)])


@pytest.mark.covers("T9")
def test_russian_text_counts_more_tokens_than_english_of_that_length():
    assert tokens_of([HumanMessage("слово " * 100)]) > 1.5 * tokens_of([HumanMessage("woord " * 100)])


@pytest.mark.covers("V1")
def test_a_call_is_recorded_under_the_models_name():
    model = ScriptedChatModel("x")
    assert model_name(model) == "scripted"
    record = call_record("answer", model, input_tokens=3)
    assert record == {"role": "answer", "model": "scripted", "input_tokens": 3}


def spend(budget: RetryBudget) -> None:
    while budget.take():
        pass


@pytest.mark.covers("V1")
@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_is_recorded_whether_it_succeeds_or_not(fails):
    calls = []
    model = ScriptedChatModel(Reply(status=400) if fails else "told")

    def used(reply):
        return {"output_tokens": len(reply.text)}

    async def called():
        asked = partial(model.ainvoke, "a")
        return await recorded_call("queries", model, asked, calls.append, used, limit=5, attempts=2)

    if fails:
        with pytest.raises(ModelError):
            await called()
    else:
        assert (await called()).text == "told"
    told = {"error": ANY} if fails else {"attempts": 1, "output_tokens": 4}
    assert calls == [{"role": "queries", "model": model_name(model), "elapsed_ms": ANY, **told}]


@pytest.mark.covers("fault 79")
async def test_in_a_turn_tries_are_paid_for_by_all_who_call_a_service_and_elsewhere_they_are_not(monkeypatch):
    monkeypatch.setattr("groundgraph.models.call_model._BACKOFF", lambda state: 0.0)
    service = ScriptedChatModel("the object that is called")
    spend(budget_of(service))
    outside = await ask(busy(503), "fine", service=service)
    assert outside == ("fine", 2)
    token = turn_ends_at.set(time.monotonic() + 30)
    try:
        spend(budget_of(service))
        error, tries = await ask(busy(503), "fine", service=service)
        alone = await ask(busy(503), "fine")
    finally:
        turn_ends_at.reset(token)
    assert (type(error), tries) == (ModelError, 1)
    assert alone == ("fine", 2)


@pytest.mark.covers("fault 79")
def test_a_service_that_asked_to_wait_is_not_called_by_others_before():
    service = ScriptedChatModel("the object that is called")

    async def calls():
        started = time.monotonic()
        assert await ask(busy(429, "0.3"), limit=0.2, service=service) == (ANY, 1)
        assert await ask("fine", service=service) == ("fine", 1)
        # A quarter at most is added, so that not all come back at once.
        assert 0.3 <= time.monotonic() - started <= 0.375 + 1e-6
        await ask(busy(429, "30"), limit=0.2, service=service)
        return await ask("fine", limit=1, service=service)

    (error, tries), _ = in_virtual_time(calls())
    assert (type(error), tries) == (ModelError, 0)
    assert "not to be called" in str(error)


@pytest.mark.covers("fault 21")
async def test_a_structured_reply_at_its_length_limit_is_told_as_cut_off():
    async def cut() -> None:
        raise LengthFinishReasonError(completion=SimpleNamespace(usage=None))  # type: ignore[arg-type]

    with pytest.raises(ModelError, match="cut off"):
        await call_with_retries(cut, limit=5, attempts=1)
