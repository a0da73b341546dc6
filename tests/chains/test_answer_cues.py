"""What a question asks for, by its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.quotes import asked_for, holds, named_stems


@pytest.mark.covers("S7")
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When do tokens expire?", "number"),
        ("how many clients are there", "number"),
        ("In what year was it built?", "number"),
        ("Who wrote it?", "name"),
        ("Сколько действует токен?", "number"),
        ("Где хранится ключ?", "name"),
        ("How do tokens work?", None),
        ("What is the whole story?", None),
        ("", None),
    ],
)
def test_a_question_tells_what_it_asks_for(question, asked):
    assert asked_for(question) == asked


@pytest.mark.covers("S7")
@pytest.mark.parametrize(
    ("text", "asked", "held"),
    [
        ("It opened in 1894.", "number", True),
        ("It opened late.", "number", False),
        ("It was opened by Ada.", "name", True),
        ("Ключ хранится в Перми.", "name", True),
        ("It was opened by nobody.", "name", False),
        ("It opened in 1894.", None, False),
        ("", "name", False),
    ],
)
def test_a_sentence_holds_a_number_or_a_name(text, asked, held):
    assert holds(text, asked) is held


@pytest.mark.covers("S7")
@given(st.text())
def test_any_text_may_be_asked_and_looked_at(text):
    holds(text, asked_for(text))


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the capital of Peru?", {"peru"}),
        ("Peru: what is its capital?", set()),
        ("what is the capital of peru", set()),
        ("When did RFC 6749 and the IETF meet?", {"rfc", "ietf"}),
        ("Какая столица у Перу?", {"пер"}),
        ("WHAT IS THE CAPITAL OF PERU?", set()),
        ("", set()),
    ],
)
def test_the_names_in_a_question_are_told_by_their_capital_letters(question, named):
    assert named_stems(question) == named
