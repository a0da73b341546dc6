"""What providers say, in one vocabulary (T9, faults 20 to 24)."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from groundgraph.core.failure import is_transient, retry_after, status_code
from groundgraph.models.replies import finish_reason, refusal_text
from groundgraph.testing import ScriptedStatusError


@pytest.mark.covers("fault 20", "fault 21")
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({}, ""),
        ({"finish_reason": "tool_calls"}, "calls"),
        ({"stop_reason": "tool_use"}, "calls"),
        ({"finish_reason": "stop"}, ""),
        ({"finish_reason": "length"}, "length"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"finish_reason": "content_filter"}, "refusal"),
        ({"finish_reason": "SAFETY"}, "refusal"),
    ],
)
def test_the_end_of_a_reply_is_told_alike_for_all_providers(metadata, reason):
    assert finish_reason(AIMessage("x", response_metadata=metadata)) == reason


@pytest.mark.covers("fault 20")
@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        (AIMessage("fine"), ""),
        (AIMessage("", additional_kwargs={"refusal": "No."}), "No."),
        (AIMessage([{"type": "refusal", "refusal": "No."}, {"type": "text", "text": "x"}]), "No."),
        (AIMessage(["text", {"type": "text", "text": "x"}]), ""),
    ],
)
def test_a_refusal_is_found_wherever_it_stands(message, refusal):
    assert refusal_text(message) == refusal


class Holder(Exception):
    def __init__(self, **attributes):
        super().__init__("x")
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Holder(status_code=429), 429),
        (Holder(status=503), 503),
        (Holder(code=400), 400),
        (Holder(code="invalid_api_key", response=Holder(status_code=401)), 401),
        (Holder(status_code=True), None),
        (ValueError("500"), None),
        (ScriptedStatusError(502, {}), 502),
    ],
)
def test_the_status_is_found_wherever_an_sdk_puts_it(error, status):
    assert status_code(error) == status


@pytest.mark.covers("fault 23", "fault 24")
def test_only_a_status_that_may_pass_is_transient():
    passing = {status for status in range(400, 600) if is_transient(ScriptedStatusError(status, {}))}
    assert passing == {408, 425, 429, *range(500, 600)}


@pytest.mark.parametrize("name", ["ConnectError", "APIConnectionError", "ReadTimeoutException", "APITimeoutError"])
def test_network_errors_of_sdks_are_transient_by_name(name):
    assert is_transient(type(name, (Exception,), {})())


@pytest.mark.parametrize(
    ("error", "transient"),
    [(TimeoutError(), True), (ConnectionResetError(), True), (ValueError(), False), (KeyError(), False)],
)
def test_built_in_errors_are_judged_by_kind(error, transient):
    assert is_transient(error) is transient


def asked(value: str) -> float | None:
    return retry_after(ScriptedStatusError(429, {"retry-after": value}))


@pytest.mark.covers("fault 23")
@pytest.mark.parametrize(("value", "seconds"), [("2", 2), ("0.5", 0.5), ("-3", 0), ("0", 0)])
def test_retry_after_is_read_in_seconds(value, seconds):
    assert asked(value) == seconds


@pytest.mark.covers("fault 23")
def test_retry_after_may_be_a_date():
    assert asked(formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
    assert asked(formatdate(time.time() - 30, usegmt=True)) == 0


@given(st.one_of(st.text(), st.sampled_from(["soon", "", "nan", "Mon, 99 Foo 2024", "Wed, 31 Feb 2024 00:00:00 GMT"])))
def test_a_retry_after_that_says_nothing_never_hides_the_error(value):
    seconds = asked(value)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize("error", [ValueError(), ScriptedStatusError(429, {}), Holder(response=None)])
def test_without_the_header_nothing_is_asked(error):
    assert retry_after(error) is None
