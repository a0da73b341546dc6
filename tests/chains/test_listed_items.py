"""Lists are read however a model writes them (fault 17)."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.generate_queries import listed_items


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ("a\nb", ["a", "b"]),
        ("1. a\n2) b\n- c\n• d", ["a", "b", "c", "d"]),
        ('["a", "b"]', ["a", "b"]),
        ('before ["a"] behind', ["a"]),
        ('```json\n["a"]\n```\nI chose a.', ["a"]),
        ("~~~\na\n~~~", ["~~~", "a"]),
        ('{"questions": ["a", {"text": "b"}], "note": "c"}', ["a", "b"]),
        ('{"query": "a", "note": "c"}', ["a"]),
        ('{"запрос": "a", "примечание": "c"}', ["a"]),
        ('{"x": "a", "y": "b"}', ["a", "b"]),
        ("['What\\'s new?', 'b',]", ["What\\'s new?", "b"]),
        ('["a\\nb"]', ["a b"]),
        ("a\na", ["a"]),
        ("<think>x</think>a", ["a"]),
        ('<think>["x"]</think>a', ["a"]),
        ('{"question": "whole", "parts": ["a", "b"]}', ["a", "b"]),
        ("see [1] and {this}", ["see and {this}"]),
        ("", []),
    ],
)
def test_a_list_is_read_however_it_is_written(reply, items):
    assert listed_items(reply) == items


@pytest.mark.covers("fault 17")
def test_a_long_list_is_cut():
    assert listed_items("\n".join(f"item {number}" for number in range(200))) == [f"item {n}" for n in range(50)]


@pytest.mark.covers("fault 17")
@given(st.lists(st.text(alphabet="abcжё ?", min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=9))
def test_json_and_lines_give_the_same(items):
    wanted = list(dict.fromkeys(" ".join(item.split()) for item in items))
    assert listed_items("\n".join(items)) == wanted
    assert listed_items(json.dumps(items, ensure_ascii=False)) == wanted


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize(
    "piece", ["[", "{", '"', "'", "- ", " ", '["', '{"a":', "<think>", "```\n", "word ", "question "]
)
def test_no_reply_holds_up_the_turn(piece):
    started = time.process_time()
    listed_items(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 5, "linear, or nearly so: a million characters"
