"""A follow-up becomes a question that stands on its own (C4)."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel
from groundgraph.nodes.rewrite_question import MAX_ADDED_CHARS, MAX_SAID_CHARS, read_rewrite, word_count
from groundgraph.nodes.rewrite_question import rewrite as rewrite_question
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel
from groundgraph.text.wording import names_another

pytestmark = pytest.mark.covers("C4")

PLAN = [("user", "What does the Pro plan include?"), ("assistant", "The Pro plan includes a warehouse.")]
FOLLOW_UP, WHOLE = "А сколько он стоит?", "Сколько стоит тариф «Про»?"


def asked(model, limit=5.0):
    return ChainModel(model, Prompts(), limit, 1)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("А сколько он стоит?", 4),
        ("What’s its price now?", 4),
        ("Does it do e-mail?", 4),
        ("Is 2.0 out?", 3),
        ("Ёлка — это что?", 3),
        ("", 0),
        ("它多少钱", 3),
    ],
)
def test_words_are_counted_as_a_person_counts_them(question, words):
    assert word_count(question) == words


async def test_pairs_and_messages_show_a_model_the_same():
    replies = []
    for history in (PLAN, [HumanMessage(PLAN[0][1]), AIMessage(PLAN[1][1])], [("human", PLAN[0][1]), PLAN[1]]):
        model = ScriptedChatModel("How much is the Pro plan?")
        await rewrite_question(asked(model), history, "And how much is it?")
        replies.append([message.text for message in model.calls[0].messages])
    assert replies[0] == replies[1] == replies[2]


async def test_a_long_message_is_shown_from_its_beginning_and_without_the_labels_of_its_turn():
    model = ScriptedChatModel("How much is the Pro plan?")
    history = [("user", "plan " + "y" * 5_000), AIMessage("It includes a warehouse [1].")]
    await rewrite_question(asked(model), history, "And how much is it?")
    shown = model.calls[0].messages[1].text
    assert shown.count("y") == MAX_SAID_CHARS - len("plan ")
    assert "It includes a warehouse." in shown


@pytest.mark.parametrize(
    "reply",
    [
        WHOLE,
        f"<think>Он — это тариф.</think>\n{WHOLE}",
        f"Вот переписанный вопрос:\n{WHOLE}",
        f"**Самостоятельный вопрос:** {WHOLE}",
        f"1. «{WHOLE}",
        f'{{"question": "{WHOLE}"}}',
        f'```json\n{{"rewritten_query": "{WHOLE}",}}\n```'.replace(",}", "}"),
        f"{WHOLE}\n\nЯ заменил местоимение названием.",
        f"Конечно! С удовольствием.\n{WHOLE}",
    ],
)
def test_the_wording_is_found_in_whatever_stands_around_it(reply):
    assert read_rewrite(reply, FOLLOW_UP, ["Что входит в тариф «Про»?"]) == WHOLE


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "<think>Сколько стоит тариф «Про»?</think>",
        "Извините, но я не могу помочь с этим тарифом «Про».",
        "Sure! Happy to help.",
        "Погода сегодня хорошая.",
        "{}",
        "42",
        "а он и она?",
        # An answer to it.
        "В тариф «Про» входит поддержка, он дороже.",
    ],
)
def test_a_reply_that_is_no_wording_of_the_question_is_a_failure(reply):
    with pytest.raises(ModelError):
        read_rewrite(reply, FOLLOW_UP, ["Что входит в тариф «Про»?"])


def test_a_quarter_of_the_content_words_must_have_been_said():
    # The one that was said, and so many that were not.
    wording = "tariff {}".format
    assert read_rewrite(wording("alpha beta gamma"), "Which tariff?", []) == wording("alpha beta gamma")
    with pytest.raises(ModelError):
        read_rewrite(wording("alpha beta gamma delta"), "Which tariff?", [])


def test_a_wording_may_be_so_much_longer_than_the_question():
    question = "Which tariff?"
    longest = ("tariff " * 200)[: len(question) + MAX_ADDED_CHARS].strip()
    assert read_rewrite(longest, question, []) == longest
    with pytest.raises(ModelError):
        read_rewrite("tariff " * 200, question, [])


def test_a_long_question_is_not_cut_short_by_its_wording():
    question = " ".join(f"tariff{number}" for number in range(200))
    assert read_rewrite(question, question, []) == question


def test_a_question_that_says_what_refusals_say_is_no_refusal():
    question = "Why does it say that I am unable to log in?"
    whole = "Why does the cash desk say that I am unable to log in?"
    assert read_rewrite(whole, question, ["The cash desk"]) == whole


PUMPS = ["How often is pump 17 serviced?", "Every 90 days, as the label of pump 17 says."]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("And when was pump 18 retired?", "How often is pump 17 serviced?"),
        ("And when was pump 18 retired?", "When was pump 17 retired?"),
        ("And when was pump 18 retired?", "When was the pump retired?"),
        ("And when was it retired?", "When was pump 99 retired?"),
        ("And what does E042 mean?", "What does the error of pump 17 mean?"),
    ],
)
def test_a_wording_that_asks_about_something_else_is_none(question, reply):
    with pytest.raises(ModelError, match="no wording"):
        read_rewrite(reply, question, PUMPS)


def test_a_wording_may_take_numbers_from_the_conversation_or_write_them_otherwise():
    assert read_rewrite("When was pump 17 retired?", "And when was it retired?", PUMPS) == "When was pump 17 retired?"
    said = "What differs between version 3 and version 4?"
    assert read_rewrite("What differs between v3 and v4?", said, PUMPS) == "What differs between v3 and v4?"


def test_each_number_of_several_may_be_asked_about():
    assert not names_another("How often is pump 18 serviced?", "How often are pumps 17 and 18 serviced?")
    assert names_another("How often is pump 19 serviced?", "How often are pumps 17 and 18 serviced?")
