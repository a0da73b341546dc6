"""A question that is made of several is divided by a model (C6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel
from groundgraph.nodes.decompose_question import divide as decompose_question
from groundgraph.nodes.decompose_question import read_sub_queries
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel
from groundgraph.text.words import words

pytestmark = pytest.mark.covers("C6")

QUESTION = "Compare the Basic plan and the Pro plan: what do they cost?"
BASIC, PRO = "What does the Basic plan cost?", "What does the Pro plan cost?"
RUSSIAN = "Чем отличаются тарифы «Мини» и «Про» и сколько они стоят?"


async def divided(reply, max_sub_queries=4, question=QUESTION):
    model = ScriptedChatModel(reply)
    return await decompose_question(ChainModel(model, Prompts(), 5, 1), question, max_sub_queries), model


@pytest.mark.parametrize(
    "reply",
    [
        f"{BASIC}\n{PRO}",
        f"- {BASIC}\n\n* {PRO}",
        f"Here are the sub-queries:\n• {BASIC}\n• {PRO}",
        f'"{BASIC}"\n«{PRO}»',
        f"<think>{QUESTION}</think>{BASIC}\n{PRO}",
        f'{{"sub_queries": ["{BASIC}", "{PRO}"], "reasoning": "The plan has two sides."}}',
        f'```json\n[{{"id": 1, "question": "{BASIC}"}}, {{"id": 2, "question": "{PRO}"}}]\n```',
        f'Sure! ["{BASIC}", "{PRO}"] Hope that helps with your plan.',
        f"{BASIC}\n{PRO}\n{BASIC.lower()}\n{PRO.replace('?', '')}",
        f"{QUESTION}\n{BASIC}\n{PRO}",
        f"{BASIC}\n{PRO}\nIs it going to rain?",
    ],
)
async def test_the_parts_are_found_in_whatever_form_they_are_listed(reply):
    assert (await divided(reply))[0] == [BASIC, PRO]


async def test_a_russian_question_is_divided_in_russian():
    parts = ["Чем отличается тариф «Мини»?", "Сколько стоит тариф «Про»?"]
    assert (await divided("\n".join(parts), question=RUSSIAN))[0] == parts


@pytest.mark.parametrize("reply", [QUESTION, f"1. {QUESTION.lower()}", f'["{QUESTION}"]', QUESTION.replace("?", "")])
async def test_the_question_itself_is_no_part_so_one_that_stays_whole_has_none(reply):
    assert (await divided(reply))[0] == []


@pytest.mark.covers("C8")
@pytest.mark.parametrize("reply", ["", "What is the weather like?", "None.", "{}", "I'm sorry, but the plan", "Да."])
def test_a_reply_without_a_part_of_the_question_is_a_failure(reply):
    with pytest.raises(ModelError):
        read_sub_queries(reply, QUESTION)


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "reply",
    [
        "Not: What does the Basic plan cost?",
        "The question about the Pro plan cannot be divided.",
        f"{BASIC}\nDo not ask about the Pro plan.",
        '{"Basic plan": 0.3, "Pro plan": 0.7}',
    ],
)
def test_a_reply_that_denies_what_the_question_does_not_is_a_failure(reply):
    with pytest.raises(ModelError):
        read_sub_queries(reply, QUESTION)


def test_a_question_that_denies_has_parts_that_deny():
    asked = "Compare what the Basic plan and the Pro plan do not cover?"
    parts = ["What does the Basic plan not cover?", "What does the Pro plan not cover?"]
    assert read_sub_queries("\n".join(parts), asked) == parts


@given(st.lists(st.sampled_from([BASIC, PRO, QUESTION, BASIC.upper(), "plan", "weather", "```", "{", ""]), max_size=8))
def test_parts_differ_from_each_other_and_from_the_question(lines):
    try:
        parts = read_sub_queries("\n".join(lines), QUESTION)
    except ModelError:
        return
    as_words = [tuple(words(part)) for part in (QUESTION, *parts)]
    assert len(as_words) == len(set(as_words))
