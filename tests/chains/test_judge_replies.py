"""Reading a judge's reply."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from groundgraph.ingest.judge import graded_scores, probabilities

pytestmark = pytest.mark.covers("K6")


@pytest.mark.parametrize(
    "reply",
    [
        "1: 4\n2: 0",
        "1. 4\n2. 0",
        "**1:** 4\n**2:** 0",
        "Passage 1: 4\nPassage 2: 0",
        "1: 4/4\n2: 0/4",
        "1 = 4 (it names 3 of them)\n2 = 0",
        "Grades:\n\n1: 4\n\n2: 0\n1: 1",
        '{"1": 4, "2": 0}',
        'Grades: {"1": 4, "2": 0}',
        "```json\n[4, 0]\n```",
        "As [1] and [2] say:\n[\n  4,\n  0\n]",
        "2: 0\n1: 4",
    ],
)
def test_grades_are_read_however_they_are_written(reply):
    assert graded_scores(reply, 2) == [1.0, 0.0]


@pytest.mark.parametrize("reply", ["", "yes", "1: 5\n2: -1", "0: 3\n3: 3", "{", "[[4], null]", '{"1": true, "2": "4"}'])
def test_what_is_no_grade_gives_none(reply):
    assert graded_scores(reply, 2) == [None, None]


@pytest.mark.parametrize("reply", ["1-2: 0", "1 - 2 = 4", "1–12: 3", "1: not 4\n2: none of 3", "Not 1: 4"])
def test_a_grade_for_several_or_one_that_is_denied_is_no_grade_of_the_first(reply):
    assert graded_scores(reply, 2) == [None, None]


@pytest.mark.parametrize(
    "reply",
    ["It is serviced every 90 days [1].", "Yes, as [1] says.", "[1] says so."],
)
def test_a_label_within_a_sentence_is_no_list_of_grades(reply):
    assert graded_scores(reply, 1) == [None]


@pytest.mark.parametrize("reply", ["[4]", "[4, 0, 1]"])
def test_a_list_that_leaves_open_whose_grades_it_holds_gives_none(reply):
    assert graded_scores(reply, 2) == [None, None]


SCRIBBLE = st.lists(st.sampled_from([*"0123456789", ":", "-", ".", "\n", " ", "[", "]", "{", "}", '"', ",", "yes"]))


@given(SCRIBBLE.map("".join), st.integers(0, 4))
def test_scores_are_shares_whatever_stands_there(text, count):
    scores = graded_scores(text, count)
    assert len(scores) == count
    assert all(score is None or 0 <= score <= 1 for score in scores)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["token", "logprob", "top_logprobs", "content", "x"]), inner, max_size=3
    ),
    max_leaves=12,
)  # fmt: skip
TOKENS = st.lists(
    st.fixed_dictionaries({"token": st.sampled_from(["1", ":", " yes", " no", "\n", "2"]), "logprob": JSON})
)


@given(JSON | TOKENS.map(lambda tokens: {"content": tokens}))
def test_malformed_probabilities_never_break_nor_leave_the_range(given_logprobs):
    scores = probabilities(AIMessage("x", response_metadata={"logprobs": given_logprobs}), 2)
    assert scores is None or (len(scores) == 2 and all(score is None or 0 <= score <= 1 for score in scores))


def test_a_verdict_without_yes_or_no_among_its_tokens_has_no_score():
    tokens = [{"token": "1: ", "logprob": 0.0}, {"token": "yes", "logprob": float("nan"), "top_logprobs": None}]
    assert probabilities(AIMessage("x", response_metadata={"logprobs": {"content": tokens}}), 1) == [None]


def test_a_verdict_in_pieces_is_judged_by_its_first_token():
    tokens = [
        {"token": "1:", "logprob": 0.0},
        {"token": " y", "logprob": -0.1, "top_logprobs": [{"token": " n", "logprob": -0.1}]},
        {"token": "es", "logprob": 0.0},
    ]
    [score] = probabilities(AIMessage("x", response_metadata={"logprobs": {"content": tokens}}), 1) or [None]
    assert score == pytest.approx(0.5)
