"""What of a message asks: chatter is left out, what explains the question is not."""

from __future__ import annotations

import pytest

from groundgraph.text.follow_up import asked_parts, is_follow_up, question_of
from groundgraph.text.small_talk import parting_words
from groundgraph.text.words import LANGUAGES

PRINTER = "how much does the receipt printer cost?"
CHATTER = "Hello, I am opening a small coffee shop next month and my accountant says that I need to buy a few things"


@pytest.mark.parametrize("between", [", ", "; ", " - so: ", ". So tell me, "])
def test_a_question_behind_long_chatter_is_asked_by_itself(between: str) -> None:
    assert PRINTER.removeprefix("how") in question_of(CHATTER + between + PRINTER)
    assert "coffee" not in question_of(CHATTER + between + PRINTER)


@pytest.mark.parametrize(
    "message",
    [
        "In the last phase, what lay below the level of today between the island and the coast?",
        "What kind of contract is made when the builder gets the requirements, plans the plant and builds it to them?",
        "If two whole numbers are multiplied and the value is given out, what is this set of expressions called?",
    ],
)
def test_what_stands_before_a_question_and_explains_it_is_asked_with_it(message: str) -> None:
    assert asked_parts(message) == ()
    assert question_of(message) == message


@pytest.mark.covers("A2")
@pytest.mark.parametrize(
    "question",
    [
        "in wessen früherem Sitz war die Bank bis 2000?",
        "у побережья какого континента находятся эти острова и вулканы?",
        "the trains to the coast took how many hours?",
        "в каком из двух корпусов хранят старые чертежи?",
    ],
)
def test_a_question_behind_a_comma_is_found_wherever_in_it_stands_what_asks(question: str) -> None:
    assert asked_parts(f"We had a long discussion in the office today and nobody agreed, {question}") == (question,)


@pytest.mark.covers("A2", "T6")
@pytest.mark.parametrize(
    ("before", "question", "behind"),
    [
        ("Good morning! ", "pump 17", ""),
        ("Hi all, ", "which pumps are there?", " Thanks in advance!"),
        ("", "Where are the spare keys of the pump kept?", " Thanks"),
        ("Здравствуйте! Подскажите, пожалуйста, ", "какие у нас суточные?", " Заранее спасибо!"),
        ("Guten Tag. Sagen Sie bitte, ", "wann ist Kernzeit?", " Vielen Dank!"),
    ],
)
def test_what_is_said_out_of_politeness_is_not_asked(before: str, question: str, behind: str) -> None:
    assert asked_parts(before + question + behind) == (question,)


@pytest.mark.parametrize("message", ["Good morning!", "Thank you very much.", "The pump says hello.", "Thanks pump"])
def test_what_is_nothing_but_polite_or_polite_within_a_clause_stays_whole(message: str) -> None:
    assert asked_parts(message) == ()


@pytest.mark.covers("T6")
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("You are brilliant, thanks a million!", "thanks"),
        ("ok, that's all for today, see you on Monday", "farewell"),
        ("Спасибо, выручили", "thanks"),
        ("Thanks. Send me the price list of pumps.", None),
        ("The boss wrote: thanks for everything, the pump is repaired", None),
        ("Thanks, pump 17?", None),
        ("That is a good pump.", None),
        ("", None),
    ],
)
def test_thanks_and_farewells_with_a_remark_are_told_from_what_asks(message: str, kind: str | None) -> None:
    assert parting_words(message, LANGUAGES) == kind
    assert parting_words(message, ()) is None


@pytest.mark.covers("A2")
@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("I come by bike from the far end of the old town, and I still wonder", "where do bicycles stand?"),
        ("My new boss wants to know before the next meeting", "in which year was the plant built?"),
        ("Ich frage für unsere neue Kollegin aus Riga im zweiten Büro", "wo werden Schlüssel ausgegeben?"),
    ],
)
def test_what_a_colon_announces_is_asked_by_itself(before: str, question: str) -> None:
    assert asked_parts(f"{before}: {question}") == (question,)


@pytest.mark.parametrize(
    "message",
    [
        "Pump 17: when is the filter of the second stage changed in winter?",
        "The old pump of the second hall behind the gate: when was it serviced?",
        "Which of these libraries is the fastest one in practice: orjson or simdjson?",
    ],
)
def test_a_topic_before_a_colon_and_what_a_question_offers_behind_one_belong_to_it(message: str) -> None:
    assert asked_parts(message) == ()


@pytest.mark.covers("A2")
@pytest.mark.parametrize("before", ["Hi there, I hope you are well. ", "Guten Tag! ", "I use a P-7. ", "Я новенький. "])
def test_sentences_before_a_question_are_left_out_when_it_needs_none_of_them(before: str) -> None:
    question = "Where are the spare keys of the pump kept?"
    assert asked_parts(before + question) == (question,)


@pytest.mark.covers("A2")
@pytest.mark.parametrize(
    "message",
    [
        "I have a P-7. How often is its filter of the second stage changed?",
        "The guest wants a second key. Who pays for it?",
        "The warranty of the pump. How long?",
        "Where are the spare keys of the pump kept? (the red one)",
    ],
)
def test_a_short_message_is_asked_whole_when_the_question_leans_or_something_follows_it(message: str) -> None:
    assert asked_parts(message) == ()


def test_two_questions_in_a_long_sentence_are_two_parts() -> None:
    asked = asked_parts("When was the north pumping station built and who pays for the repair of its old valves?")
    assert asked == ("When was the north pumping station built", "and who pays for the repair of its old valves?")


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("Where do bicycles stand? How long must a password be?", 2),
        ("Does the pump start by itself, and can the valve close alone?", 2),
        ("Где выдают пропуск и сколько длится обед?", 2),
        ("Where do bicycles stand?", 0),
        ("Which pump stands in hall 3 and is serviced every 30 days?", 0),
    ],
)
def test_several_questions_are_parts_however_short(message: str, parts: int) -> None:
    assert len(asked_parts(message)) == parts


@pytest.mark.parametrize(
    ("message", "leans"),
    [
        ("How do I switch it off?", True),
        ("Thanks! How long does it take?", True),
        ("In this case, who repairs it?", True),
        ("What is the default of the seconds field and how do I switch it off?", True),
        ("Where are the spare keys kept, and who may take them home?", False),
        ("When the espresso machine leaks, who repairs it?", False),
    ],
)
def test_a_pronoun_points_back_unless_the_message_explains_it(message: str, leans: bool) -> None:
    assert is_follow_up(message) is leans


@pytest.mark.covers("A2", "T6")
@pytest.mark.parametrize(
    "message",
    [
        "Do you happen to know {}",
        "I was wondering: {}",
        "So, um, {}",
        "Hi Anna, {} Cheers, Tom Miller",
        "Dear Mrs Hill, I'd like to know {} Kind regards, T. Miller",
        "{} Any idea?",
        "{} Who knows?",
        "We talked about that at lunch and nobody knew. {capital} Does anybody have a clue?",
        "{} And please tell me the source.",
        "{} My colleague on the second floor did not know it either.",
    ],
)
def test_what_only_leads_to_a_question_or_stands_behind_it_is_not_asked(message: str) -> None:
    question = "in which hall are the spare keys of the pump kept?"
    asked = message.format(question, capital=question.capitalize())
    assert [part.lower() for part in asked_parts(asked)] == [question]


@pytest.mark.covers("A2", "I11")
@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Wissen Sie zufällig, wann das Museum öffnet?", "wann das Museum öffnet?"),
        ("Liebe Frau Hill, wann öffnet das Museum am Montag? LG Jonas", "wann öffnet das Museum am Montag?"),
        ("Вы случайно не знаете, сколько стоит насос?", "сколько стоит насос?"),
        ("Savez-vous combien coûte la pompe ?", "combien coûte la pompe ?"),
        ("¿Sabe usted cuánto cuesta la bomba?", "cuánto cuesta la bomba?"),
    ],
)
def test_what_leads_to_a_question_is_known_in_each_language(message: str, question: str) -> None:
    assert asked_parts(message) == (question,)


@pytest.mark.covers("A2")
@pytest.mark.parametrize(
    "message",
    [
        "What name was given to the western half?",
        "How many days do I need to look for a source?",
        "Do you have rooms which have a view of the river?",
        "Check valves: how often are they replaced?",
        "Do you take American Express?",
        "Is that right?",
        "Что значит, когда узел считается неразложимым?",
    ],
)
def test_what_says_something_of_the_question_is_asked_with_it(message: str) -> None:
    assert question_of(message) == message
