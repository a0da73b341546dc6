"""Tokens by the model's own counter, or an estimate that is right for Cyrillic too (P9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from groundgraph.answers.budget import TokenCounter, estimated_tokens
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("P9")


def test_a_model_with_a_counter_of_its_own_counts():
    counter = TokenCounter(ScriptedChatModel("x"))
    assert counter.method == "model"
    assert counter("three whole words") == 3


@pytest.mark.parametrize("model", [None, FakeListChatModel(responses=[])])
def test_langchains_stand_in_is_no_counter_of_the_models_own(model):
    counter = TokenCounter(model)
    assert counter.method == "estimate"
    assert counter("a" * 40) == 10


def test_a_function_that_counts_can_be_given_to_a_model():
    counter = TokenCounter(FakeListChatModel(responses=[], custom_get_token_ids=lambda text: list(range(len(text)))))
    assert counter("abc") == 3


def test_a_counter_that_fails_is_asked_once():
    asked = []

    def failing(text: str) -> list[int]:
        asked.append(text)
        raise OSError("the tokenizer cannot be fetched")

    counter = TokenCounter(FakeListChatModel(responses=[], custom_get_token_ids=failing))
    assert counter("a" * 8) == 2
    assert counter("b" * 8) == 2
    assert len(asked) == 1
    assert counter.method == "estimate"


def test_cyrillic_takes_twice_as_many_tokens_as_latin_letters():
    assert estimated_tokens("токенизация" * 4) == 2 * estimated_tokens("tokenizatio" * 4)


@given(st.text(), st.text())
def test_two_texts_together_are_never_estimated_higher_than_apart(one, other):
    assert estimated_tokens(one + other) <= estimated_tokens(one) + estimated_tokens(other)
    assert estimated_tokens(one) >= len(one) / 4
