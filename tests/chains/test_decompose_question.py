"""A question that is made of several is divided by a model (C6)."""

from __future__ import annotations

from random import Random

import pytest
from garbage_replies import FAILURES, garbage
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import ModelError
from groundgraph.models.chain_model import ChainModel, collect_chain_calls
from groundgraph.nodes.decompose_question import divide as decompose_question
from groundgraph.nodes.decompose_question import read_sub_queries
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel
from groundgraph.text.words import words

QUESTION = "Compare the Basic plan and the Pro plan: what do they cost?"
BASIC, PRO = "What does the Basic plan cost?", "What does the Pro plan cost?"
RUSSIAN = "Чем отличаются тарифы «Мини» и «Про» и сколько они стоят?"


async def divided(reply, max_sub_queries=4, question=QUESTION):
    model = ScriptedChatModel(reply)
    return await decompose_question(ChainModel(model, Prompts(), 5, 1), question, max_sub_queries), model


@pytest.mark.covers("C6")
@pytest.mark.parametrize(
    "reply",
    [
        f"{BASIC}\n{PRO}",
        f"1. {BASIC}\n2) {PRO}",
        f"- {BASIC}\n\n* {PRO}",
        f"Here are the sub-queries:\n• {BASIC}\n• {PRO}",
        f'"{BASIC}"\n«{PRO}»',
        f"<think>{QUESTION}</think>{BASIC}\n{PRO}",
        f'["{BASIC}", "{PRO}"]',
        f'{{"sub_queries": ["{BASIC}", "{PRO}"], "reasoning": "The plan has two sides."}}',
        f'```json\n[{{"id": 1, "question": "{BASIC}"}}, {{"id": 2, "question": "{PRO}"}}]\n```',
        f'Sure! ["{BASIC}", "{PRO}"] Hope that helps with your plan.',
        f"['{BASIC}', '{PRO}',]",
        f"{BASIC}\n{PRO}\n{BASIC.lower()}\n{PRO.replace('?', '')}",
        f"{QUESTION}\n{BASIC}\n{PRO}",
        f"{BASIC}\n{PRO}\n{QUESTION.upper()}",
        f"{BASIC}\n{PRO}\nIs it going to rain?",
    ],
)
async def test_the_parts_are_found_in_whatever_form_they_are_listed(reply):
    assert (await divided(reply))[0] == [BASIC, PRO]


@pytest.mark.covers("C6")
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
async def test_at_most_max_sub_queries_parts_are_asked(most):
    parts = [f"What does plan {number} cost?" for number in range(8)]
    found, model = await divided("\n".join(parts), most)
    assert found == parts[:most]
    assert f"at most {most}" in model.calls[0].messages[0].text


@pytest.mark.covers("C6")
async def test_a_russian_question_is_divided_in_russian():
    parts = ["Чем отличается тариф «Мини»?", "Сколько стоит тариф «Про»?"]
    assert (await divided("\n".join(parts), question=RUSSIAN))[0] == parts


@pytest.mark.covers("C6")
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
        "What does the Pro plan not cost?",
        f"{BASIC}\nDo not ask about the Pro plan.",
        '{"Basic plan": 0.3, "Pro plan": 0.7}',
    ],
)
def test_a_reply_that_denies_what_the_question_does_not_is_a_failure(reply):
    with pytest.raises(ModelError):
        read_sub_queries(reply, QUESTION)


@pytest.mark.covers("C6")
def test_a_question_that_denies_has_parts_that_deny():
    asked = "Compare what the Basic plan and the Pro plan do not cover?"
    parts = ["What does the Basic plan not cover?", "What does the Pro plan not cover?"]
    assert read_sub_queries("\n".join(parts), asked) == parts


@pytest.mark.covers("C6")
async def test_the_question_is_the_users_and_is_recorded_as_a_call():
    with collect_chain_calls() as calls:
        _, model = await divided(BASIC)
    assert model.calls[0].roles == ["system", "user"]
    assert model.calls[0].messages[1].text == QUESTION
    assert [one["role"] for one in calls] == ["decompose_question"]


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize("failure", FAILURES)
async def test_every_failure_of_the_model_is_one_error(failure):
    with pytest.raises(ModelError):
        await divided(FAILURES[failure])


@pytest.mark.covers("C8")
def test_a_thousand_garbage_replies_give_parts_or_the_error():
    random, kept = Random(4), 0
    for _ in range(1_000):
        try:
            parts = read_sub_queries(garbage(random, f"{BASIC}\n{PRO}"), QUESTION)
        except ModelError:
            continue
        kept += 1
        assert all(parts)
    assert 100 < kept < 950


@pytest.mark.covers("C6")
@given(st.lists(st.sampled_from([BASIC, PRO, QUESTION, BASIC.upper(), "plan", "weather", "```", "{", ""]), max_size=8))
def test_parts_differ_from_each_other_and_from_the_question(lines):
    try:
        parts = read_sub_queries("\n".join(lines), QUESTION)
    except ModelError:
        return
    as_words = [tuple(words(part)) for part in (QUESTION, *parts)]
    assert len(as_words) == len(set(as_words))


@pytest.mark.covers("C8")
@given(st.text(max_size=300), st.text(max_size=60))
def test_any_reply_gives_parts_or_the_error(reply, question):
    try:
        parts = read_sub_queries(reply, question)
    except ModelError:
        return
    assert question not in parts
