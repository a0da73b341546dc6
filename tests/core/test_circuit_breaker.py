"""The breaker: what opens it, for whom, and what closes it."""

from __future__ import annotations

import pytest

from groundgraph.resilience.bounds import CircuitBreaker, ScopedBreaker

pytestmark = pytest.mark.covers("F15")


@pytest.mark.covers("F21", "fault 38")
def test_a_success_begins_the_count_anew():
    breaker = CircuitBreaker(3, 30, clock=lambda: 0.0)
    for _ in range(5):
        breaker.failed()
        breaker.failed()
        assert breaker.allows(), "never three failures in a row"
        breaker.succeeded()
    for _ in range(3):
        breaker.failed()
    assert not breaker.allows()


@pytest.mark.covers("fault 95")
def test_a_failure_of_one_scope_opens_the_breaker_for_that_scope_alone():
    breaker = ScopedBreaker(2, 30)
    for _ in range(2):
        breaker.of({"tenant": "suspended"}).failed(for_all=False)
    assert not breaker.of({"tenant": "suspended"}).allows()
    assert breaker.of({"tenant": "suspended"}).seconds_left() > 0
    assert breaker.of({"tenant": "acme"}).allows()
    assert breaker.of({"tenant": "acme"}).seconds_left() == 0
    breaker.of({"tenant": "acme"}).succeeded()
    assert not breaker.of({"tenant": "suspended"}).allows(), "the success of another says nothing about this one"
    breaker.of({"tenant": "suspended"}).succeeded()
    assert breaker.of({"tenant": "suspended"}).allows()


@pytest.mark.covers("fault 95")
def test_a_failure_of_the_service_opens_it_for_every_scope_and_a_success_of_any_closes_it():
    breaker = ScopedBreaker(2, 30)
    breaker.of({"tenant": "a"}).failed(for_all=True)
    breaker.of({"tenant": "b"}).failed(for_all=True)
    assert not breaker.of({"tenant": "c"}).allows()
    assert breaker.of({"tenant": "c"}).seconds_left() > 0
    breaker.of({"tenant": "c"}).succeeded()
    assert breaker.of({"tenant": "a"}).allows()


def test_scopes_without_end_are_not_kept_for_ever():
    breaker = ScopedBreaker(1, 30)
    for number in range(3_000):
        breaker.of({"tenant": number}).failed(for_all=False)
        assert not breaker.of({"tenant": number}).allows()
    assert len(breaker._own.values()) == 1_000


def test_a_scope_that_keeps_asking_keeps_its_failures():
    breaker = ScopedBreaker(1, 30)
    breaker.of({"tenant": "suspended"}).failed(for_all=False)
    for number in range(3_000):
        breaker.of({"tenant": number})
        assert not breaker.of({"tenant": "suspended"}).allows()


def test_a_scope_is_the_same_in_whichever_order_its_keys_stand():
    breaker = ScopedBreaker(1, 30)
    breaker.of({"tenant": "a", "user": "b"}).failed(for_all=False)
    assert not breaker.of({"user": "b", "tenant": "a"}).allows()
