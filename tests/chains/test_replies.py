"""What models reply is read however they write it: lists, thoughts, refusals (fault 17, I9, C8)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.generate_queries import listed_items
from groundgraph.models.call_model import without_thoughts
from groundgraph.models.replies import is_refusal


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ("a\nb", ["a", "b"]),
        ("1. a\n2) b\n- c\n• d", ["a", "b", "c", "d"]),
        ('before ["a"] behind', ["a"]),
        ('```json\n["a"]\n```\nI chose a.', ["a"]),
        ('{"questions": ["a", {"text": "b"}], "note": "c"}', ["a", "b"]),
        ('{"запрос": "a", "примечание": "c"}', ["a"]),
        ('{"x": "a", "y": "b"}', ["a", "b"]),
        ("['What\\'s new?', 'b',]", ["What\\'s new?", "b"]),
        ('["a\\nb"]', ["a b"]),
        ("a\na", ["a"]),
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
