"""Thinking is in no reply (I9, fault 29)."""

from __future__ import annotations

import pytest

from groundgraph.answers.generate_queries import parse_queries
from groundgraph.models.chain_model import without_thoughts
from groundgraph.models.replies import strip_thoughts


@pytest.mark.covers("I9")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plan the queries</think>\none query", "one query"),
        ("<think>a</think>one query", "one query"),
        ("hm</THINKING> one query", "one query"),
        ("<think>a</think>one </think> query", "one </think> query"),
        ("one <think>a</think> <reasoning>b</reasoning>query", "one query"),
        ("one query<think>never ends", "one query"),
        ("one query", "one query"),
    ],
)
def test_a_block_whose_beginning_is_not_in_the_reply_is_stripped(text, said):
    assert without_thoughts(text) == said


@pytest.mark.covers("I9")
def test_a_thought_without_its_beginning_is_no_query():
    assert parse_queries("let me think\nabout it</think>\none query", 3) == ["one query"]
    assert strip_thoughts("a <b> c") == "a <b> c"
