"""Refusals in a model's own words (C8)."""

from __future__ import annotations

import pytest

from groundgraph.models.replies import is_refusal


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I can’t assist with this request.",
        "I am unable to rewrite this.",
        "As an AI language model, I do not rewrite questions.",
        "Извините, но я не могу помочь с этим.",
        "К сожалению, я не могу ответить.",
        "Я — языковая модель и не знаю цен.",
    ],
)
def test_a_refusal_is_told_by_its_words(reply):
    assert is_refusal(reply, "How much is it?")


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "reply", ["Why can I not log in?", "Почему я не могу войти в кассу?", "How much is Pro?", "Сколько стоит?", ""]
)
def test_a_question_is_no_refusal(reply):
    assert not is_refusal(reply, "How much is it?")


@pytest.mark.covers("C8")
def test_what_the_user_said_first_is_no_refusal():
    asked = "Why does it say I am unable to pay?"
    assert not is_refusal("Why does the desk say I am unable to pay?", asked)
    assert is_refusal("I'm sorry, but I can't help with that.", asked)
