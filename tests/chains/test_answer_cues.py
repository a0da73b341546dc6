"""What a question names."""

from __future__ import annotations

import pytest

from groundgraph.answers.quotes import named_stems


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
