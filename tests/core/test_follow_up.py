"""One rule says which message leans on the conversation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.text.follow_up import asked_parts, corrected, is_follow_up, own_words, question_behind
from groundgraph.text.words import LANGUAGES, language_data


@pytest.mark.covers("I5", "I11", "A1")
@pytest.mark.parametrize(
    "message",
    [
        "Tell me more",
        "Show me an example",
        "Give me details",
        "Explain further",
        "And in winter?",
        "How long are they valid for in practice?",
        "Which one?",
        "Почему?",
        "Покажи ещё примеры",
        "А какие примеры есть у такой схемы входа?",
        "Was kostet es?",
        "¿Les puedo llamar?",
        "Combien coûte-t-il ?",
        "¿Cuándo empieza?",
    ],
)
def test_a_message_leans_by_a_pronoun_a_connective_or_for_want_of_a_subject(message: str) -> None:
    assert is_follow_up(message)


@pytest.mark.covers("I5", "I11", "A1")
@pytest.mark.parametrize(
    "message",
    [
        "grant types",
        "Who is Putin?",
        "What is OAuth?",
        "Show me an example of a grant",
        "Which one-time password length does the bank require?",
        "Расскажи подробнее про насосы",
        "Какие бывают потоки авторизации OAuth",
        "Quel est le salaire d'un vendeur ?",
        "Quels sont les horaires ?",
        "¿Quién es responsable de la campaña?",
        "¿Cuánto cuesta el microchip?",
        "How far is El Paso?",
        "",
        "?!",
    ],
)
def test_a_message_with_a_subject_of_its_own_stands_alone_however_short(message: str) -> None:
    assert not is_follow_up(message)


def test_what_only_says_how_a_message_asks_is_no_subject() -> None:
    assert own_words("Could you give me another example of that?") == []
    assert own_words("How often is pump 17 serviced?") == ["pump", "17", "servic"]


@pytest.mark.covers("A1")
def test_only_a_message_of_few_words_is_about_what_was_asked_before() -> None:
    before = "Which pump is in hall 3?"

    def behind(message: str) -> str:
        return question_behind(message, {"mode": "message", "text_queries": [f"{before} {message}"]})

    assert behind("And its filter?") == before
    assert behind("What did Luther tell monks about their vows?") == ""
    assert question_behind("What is OAuth?", {"mode": "message", "text_queries": ["What is OAuth?"]}) == ""


CORRECTIONS = [phrase for language in LANGUAGES for phrase in language_data(language, "follow_up", "corrections")]


# Not of every pair: "lo siento. me refería al." before a question in English makes it lean.
@pytest.mark.covers("I11")
@settings(max_examples=100)
@given(st.lists(st.sampled_from(CORRECTIONS), min_size=1, max_size=2), st.sampled_from([", ", " – ", ". ", ": "]))
def test_what_corrects_is_left_out_and_leans_on_what_was_said(phrases: list[str], mark: str) -> None:
    said = mark.join(phrase.replace("*", "pump 18") for phrase in phrases)
    assert corrected(f"{said}{mark}filter F2") == "filter F2"
    assert is_follow_up(f"{said}{mark}filter F2")
    assert asked_parts(f"{said}{mark}filter F2") == ("filter F2",)
    assert not is_follow_up(f"{said}{mark}how often is pump 17 serviced?")


@pytest.mark.parametrize(
    "message",
    [
        "No pump runs in hall 4",
        "Sorry page of the handbook",
        "Non payée facture",
        "Нет доступа к порталу",
        "no, ",
        "Not only the filter, the pump of hall 4 and the valves of the north station need service in the winter",
    ],
)
def test_a_word_that_belongs_to_what_is_asked_corrects_nothing(message: str) -> None:
    assert corrected(message) == message
