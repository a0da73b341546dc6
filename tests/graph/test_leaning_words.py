"""Short follow-ups whose words stand in the base, but not with what was asked before (I11, S8)."""

from __future__ import annotations

import pytest
import turns

from groundgraph import InMemorySource
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.prompts import Prompts

pytestmark = pytest.mark.covers("I11", "S8")

# What is asked first; then what stands with it, and what stands only elsewhere.
FACTS = {
    "en": ["Access logs are kept for 180 days and recordings for 72 hours.", "Invoices may be sent encrypted only."],
    "de": [
        "Protokolle werden 180 Tage aufbewahrt, Aufnahmen 72 Stunden.",
        "Rechnungen gehen nur verschlüsselt hinaus.",
    ],
    "fr": ["Les journaux sont conservés 180 jours, les enregistrements 72 heures.", "Les factures partent chiffrées."],
    "es": ["Los registros se guardan 180 días y las grabaciones 72 horas.", "Las facturas salen cifradas siempre."],
    "ru": ["Журналы хранятся 180 дней, а записи 72 часа.", "Счета отправляются только зашифрованными."],
}
ASKED = {
    "en": ("How long are access logs kept?", "and recordings?", "and invoices?"),
    "de": ("Wie lange werden Protokolle aufbewahrt?", "Und Aufnahmen?", "Und Rechnungen?"),
    "fr": ("Combien de temps les journaux sont-ils conservés ?", "Et les enregistrements ?", "Et les factures ?"),
    "es": ("¿Cuánto tiempo se guardan los registros?", "¿Y las grabaciones?", "¿Y las facturas?"),
    "ru": ("Сколько хранятся журналы?", "А записи?", "А счета?"),
}
RELEASES = [
    "Release 3.4.0 of the controller has a new user interface.",
    "Release 3.4.1 of the controller has a new time zone.",
    "For each of 3 weeks of delay the supplier pays a penalty of 0.5 % of the order value, at most 5 %.",
]
AUDIT = [
    "Finding 1 of the audit is about access. Finding 2 of the audit is about invoices.",
    "The draft of 4.8 million euros was not approved. 4 members voted against it.",
]


async def _asked(facts: list[str], *questions: str) -> dict[str, object]:
    graph = turns.build(
        sources=[InMemorySource(facts, name="facts")], base={"synthesis": {"style": "structured"}}, memory=True
    )
    for question in questions:
        output = await turns.ask(graph, question, "t")
    return output


@pytest.mark.parametrize("language", FACTS)
async def test_a_word_that_stands_apart_from_what_was_asked_makes_a_doubt(language: str) -> None:
    first, _, apart = ASKED[language]
    output = await _asked(FACTS[language], first, apart)
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())


@pytest.mark.parametrize("language", FACTS)
@pytest.mark.parametrize("between", [False, True])
async def test_a_word_that_stands_with_it_is_answered_whatever_was_asked_between(language: str, between: bool) -> None:
    first, together, apart = ASKED[language]
    output = await _asked(FACTS[language], first, *([apart] if between else []), together)
    assert output["outcome"] == "answered"
    assert not has_doubt(output, Prompts())
    assert output["citations"][0]["quote"] == FACTS[language][0]


async def test_the_note_names_the_word() -> None:
    output = await _asked(FACTS["en"], *ASKED["en"][::2])
    assert Prompts().note("may_not_answer", "en", missing="invoices", why="apart") in output["notes"]


async def test_a_version_is_one_number() -> None:
    asked = "What is new in release 3.4.0 of the controller?"
    right = await _asked(RELEASES, asked, "And in 3.4.1?")
    assert right["citations"][0]["quote"] == RELEASES[1]
    assert not has_doubt(right, Prompts())
    wrong = await _asked(RELEASES, asked, "And 3.5?")
    assert wrong["outcome"] == "insufficient" or has_doubt(wrong, Prompts())


@pytest.mark.parametrize("said", ["And finding 4?", "And 4?"])
async def test_a_number_must_stand_with_what_was_asked(said: str) -> None:
    output = await _asked(AUDIT, "What was finding 2 of the audit about?", said)
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())
    right = await _asked(AUDIT, "What was finding 2 of the audit about?", "And finding 1?")
    assert right["outcome"] == "answered"
    assert not has_doubt(right, Prompts())
