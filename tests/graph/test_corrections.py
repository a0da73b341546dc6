"""Conversations in which a message corrects the one before it (I11, S8)."""

from __future__ import annotations

import pytest
import turns

from groundgraph import InMemorySource

FACTS = {
    "en": [
        "The warranty of the oven lasts two years.",
        "The warranty of the fridge lasts five years.",
    ],
    "de": [
        "Die Garantie des Herds dauert zwei Jahre.",
        "Die Garantie des Kühlschranks dauert fünf Jahre.",
    ],
    "fr": [
        "La garantie du four dure deux ans.",
        "La garantie du réfrigérateur dure cinq ans.",
    ],
    "es": [
        "La garantía del horno dura dos años.",
        "La garantía del frigorífico dura cinco años.",
    ],
    "ru": [
        "Гарантия на печь действует два года.",
        "Гарантия на холодильник действует пять лет.",
    ],
}
ASKED = {
    "en": "How long does the warranty of the oven last?",
    "de": "Wie lange dauert die Garantie des Herds?",
    "fr": "Combien de temps dure la garantie du four ?",
    "es": "¿Cuánto dura la garantía del horno?",
    "ru": "Сколько действует гарантия на печь?",
}
SAID = {
    "en": [
        "no, I meant the fridge",
        "sorry, the fridge",
        "not the oven but the fridge",
        "I was talking about the fridge",
    ],
    "de": [
        "nein, ich meinte des Kühlschranks",
        "Entschuldigung, des Kühlschranks",
        "nicht des Herds, sondern des Kühlschranks",
    ],
    "fr": [
        "non, je voulais dire du réfrigérateur",
        "pardon, du réfrigérateur",
        "je parlais du réfrigérateur",
        "pas du four mais du réfrigérateur",
    ],
    "es": [
        "no, me refería al frigorífico",
        "perdón, del frigorífico",
        "quería decir el frigorífico",
        "no del horno, sino del frigorífico",
    ],
    "ru": [
        "я имел в виду холодильник",
        "нет, холодильник",
        "извините, не на печь, а на холодильник",
        "я про холодильник",
    ],
}


@pytest.mark.covers("I11", "S8")
@pytest.mark.parametrize(("language", "said"), [(language, said) for language, own in SAID.items() for said in own])
async def test_a_correction_is_answered_without_a_doubt(language: str, said: str) -> None:
    facts = [fact for own in FACTS.values() for fact in own]
    graph = turns.build(
        sources=[InMemorySource(facts, name="facts")], base={"synthesis": {"style": "structured"}}, memory=True
    )
    await turns.ask(graph, ASKED[language], "t")
    result = await turns.ask(graph, said, "t")
    assert result["outcome"] == "answered"
    assert result["citations"][0]["quote"] == FACTS[language][1]
    assert result["notes"] == []
    assert result["provenance"]["answerable"] >= 0.5
