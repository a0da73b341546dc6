"""Questions that are made of several are told by rule (C5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.nodes.resolve_intent import complexity_signs
from groundgraph.text.words import language_data

pytestmark = pytest.mark.covers("C5")

MARKS, COMPARES, JOINS = ["question_marks"], ["comparison"], ["pattern"]


@pytest.mark.parametrize(
    ("question", "signs"),
    [
        ("What does Pro cost? What does Basic cost?", MARKS),
        ("Сколько стоит Про? А Мини у вас есть?", MARKS),
        ("いくらですか？ それはどこですか？ いつまでですか、おしえてください", MARKS),
        ("Really?! Does it work without a network???", MARKS),
        ("Does it work without a network???", []),
        ("What is at https://example.org/find?q=cash&x=1?", []),
        ("What is the difference between Basic and Pro?", COMPARES),
        ("Is the small terminal cheaper than the big one?", COMPARES),
        ("Чем отличается тариф Мини от тарифа Про?", COMPARES),
        ("Какая касса лучше для небольшой кофейни?", COMPARES),
        ("How do I connect the terminal and what does it cost?", JOINS),
        ("Как подключить кассу, а также эквайринг?", JOINS),
        ("What does the warehouse module cost per month?", []),
        ("And what does the other plan cost per month?", []),
        ("А как подключить терминал к этой кассе?", []),
        ("Compare Basic and Pro: which is better, and how do I switch? Is it free?", [*MARKS, *COMPARES, *JOINS]),
    ],
)
def test_question_marks_comparisons_and_joints_make_a_question_complex(question, signs):
    assert complexity_signs(question, 30) == signs


@pytest.mark.parametrize(("length", "expected"), [(29, False), (30, True), (31, True)])
def test_a_question_is_complex_from_thirty_characters_on(length, expected):
    question = "Basic versus Pro ".ljust(length - 1, "x") + "?"
    assert len(question) == length
    assert bool(complexity_signs(question, 30)) is expected
    assert bool(complexity_signs(f"  {question}\n ", 30)) is expected, "white space around it does not count"


def test_a_joint_counts_only_behind_the_first_word():
    assert complexity_signs("and what about the cash desk", 0) == []
    assert complexity_signs("cash desk and what about it", 0) == JOINS


@given(st.text(max_size=120), st.integers(0, 150))
def test_length_alone_never_makes_a_question_complex_and_too_short_ones_never_are(question, min_length):
    signs = complexity_signs(question, min_length)
    if len(question.strip()) < min_length:
        assert signs == []
    else:
        assert signs == complexity_signs(question, 0)


@given(st.lists(st.sampled_from(["word", "so?", "so???", "so?!?", "?", "a?b=c", "why?a"]), max_size=8))
def test_a_run_of_question_marks_is_one_and_one_within_a_word_is_none(parts):
    ends = sum(part.endswith(("?", "!")) for part in parts)
    assert ("question_marks" in complexity_signs(" ".join(parts), 0)) is (ends >= 2)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_comparisons_and_patterns_are_known(language):
    found = language_data(language, "complexity")
    assert set(found) == {"comparison", "patterns"}
    assert all(len(phrases) == len(set(phrases)) > 10 for phrases in found.values())
