"""Cues in the data files, and a third language that is a file (I3, I5)."""

from __future__ import annotations

import pytest

from groundgraph.text.follow_up import as_phrase, cue_phrases, says, spoken_stems


def said(message: str, *path: str) -> bool:
    return says(spoken_stems(message), cue_phrases(*path))


@pytest.mark.covers("I3")
@pytest.mark.parametrize(
    ("message", "scope"),
    [
        ("Give me an overview of token lifetimes", "broad"),
        ("Tell me everything about refresh tokens", "broad"),
        ("Сделай обзор по токенам", "broad"),
        ("Расскажи всё о токенах обновления", "broad"),
        ("What exactly does the section say?", "exact"),
        ("Quote the definition verbatim", "exact"),
        ("Приведи определение дословно", "exact"),
        ("Only the lifetime, please", "focused"),
        ("Кратко: сколько живёт токен?", "focused"),
    ],
)
def test_scope_has_cues_in_both_languages(message, scope):
    assert [name for name in ("focused", "broad", "exact") if said(message, "scope", name)] == [scope]


@pytest.mark.covers("I4")
@pytest.mark.parametrize(
    ("message", "style"),
    [
        ("Show me the sources", "structured"),
        ("list the most relevant sections", "structured"),
        ("Покажи мне источники", "structured"),
        ("Перечисли подходящие разделы", "structured"),
        ("Explain grant types along with the sources", "hybrid"),
        ("Объясни простыми словами", "conversational"),
    ],
)
def test_a_listing_or_raw_sources_are_asked_for_in_both_languages(message, style):
    assert said(message, "style", style)


@pytest.mark.covers("I4")
@pytest.mark.parametrize(
    "message", ["What is a linked list?", "Which sources of light are there?", "Что такое список?"]
)
def test_the_words_alone_ask_for_nothing(message):
    assert not any(said(message, "style", style) for style in ("structured", "hybrid", "conversational"))


def test_a_gap_stands_for_up_to_three_words():
    phrase = [as_phrase("list * sources")]
    assert says(spoken_stems("list sources"), phrase)
    assert says(spoken_stems("list all of the sources"), phrase)
    assert not says(spoken_stems("list all of the many sources"), phrase)


def test_a_phrase_stands_in_the_order_of_its_words():
    assert not said("about everything", "scope", "broad")
