"""In which language somebody speaks, also in few words (S5)."""

from __future__ import annotations

import pytest
import turns
from hypothesis import given
from hypothesis import strategies as st

from groundgraph import InMemorySource
from groundgraph.core.evidence import SourceResult
from groundgraph.prompts import Prompts
from groundgraph.text.original import Original
from groundgraph.text.small_talk import language_of
from groundgraph.text.words import LANGUAGES

pytestmark = pytest.mark.covers("S5")

WHOLE = {
    "en": ["How long does the warranty of the oven last?", "What about the fridge?", "What does Clara Weiß earn?"],
    "de": ["Wie lange dauert die Garantie des Herds?", "Was verdient Clara Weiß?", "Was bedeutet E042?"],
    "fr": ["Combien de temps dure la garantie du four ?", "Que veut dire E042 ?", "Quelle est l'adresse ?"],
    "es": ["¿Cuánto dura la garantía del horno?", "¿y a la península?", "¿Y las devoluciones?", "cuánto cuesta"],
    "ru": ["Сколько действует гарантия на печь?", "а в Самаре?"],
}
SHORT = {
    "de": ["Nein, Teilzeitkräfte", "Garantie?", "E042", "Vega, Halle 4"],
    "fr": ["et la réponse ?", "la garantie ?", "E042", "non, du réfrigérateur"],
    "es": ["y a la península", "no, me refería a la península", "perdón, a Canarias", "las devoluciones", "E042"],
    "ru": ["E042", "Vega", "2"],
    "en": ["warranty", "E042", "2", "fridge"],
}


@pytest.mark.parametrize(("language", "message"), [(one, said) for one, own in WHOLE.items() for said in own])
@pytest.mark.parametrize("before", [None, *LANGUAGES])
def test_what_tells_its_language_is_in_it_whatever_was_spoken_before(language: str, message: str, before: str) -> None:
    assert language_of(message, before) == language


@pytest.mark.parametrize(("language", "message"), [(one, said) for one, own in SHORT.items() for said in own])
async def test_what_tells_none_is_in_the_language_of_the_messages_before_it(language: str, message: str) -> None:
    graph = turns.build(sources=[InMemorySource(["The oven stands in hall 4."], name="facts")], base={}, memory=True)
    for said in (WHOLE["en" if language != "en" else "de"][0], *WHOLE[language][:2], message):
        output = await turns.ask(graph, said, "t")
    assert output["provenance"]["language"] == language


@given(st.text(max_size=40), st.sampled_from([None, *LANGUAGES]))
def test_every_message_has_a_language_that_there_is(message: str, before: str | None) -> None:
    assert language_of(message, before) in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_usual_notes_are_there_in_every_language_and_all_others_in_some(language: str) -> None:
    prompts = Prompts()
    for kind, values in {
        "no_model": {},
        "may_not_answer": {"missing": "Vega"},
        "abstained": {"missing": "Vega"},
        "rows_alike": {"count": 12, "shown": 10},
        "needs_computation": {"function": "sum", "tables": ["orders"]},
        "words_unread": {"words": "red", "tables": ["orders"]},
        "rows_unread": {"words": "red", "tables": ["orders"]},
        "quantity_unread": {"column": "stock", "tables": ["orders"]},
        "source_timed_out": {"name": "wiki", "seconds": 5},
        "message_truncated": {"limit": 100},
        "earlier_value": {"values": "Vega"},
    }.items():
        assert (prompts.note(kind, language, **values) == prompts.note(kind, "en", **values)) is (language == "en")
    assert prompts.note("labels_removed", language, numbers=[2])


@pytest.mark.parametrize(("language", "place"), [("fr", "table prix, clé 17"), ("es", "tabla prix, clave 17")])
def test_the_place_of_a_row_is_called_as_in_the_language_of_the_answer(language: str, place: str) -> None:
    row = SourceResult("shop", "17", "nom: carnet", source_type="sql", metadata={"table": "prix", "key": "17"})
    assert Original(row).location(0, 5, language)["shown"] == place


async def test_what_stands_before_a_french_quote_ends_with_a_space_before_its_colon() -> None:
    graph = turns.build(sources=[InMemorySource(["Le four se trouve dans le hall 4."], name="faits")], base={})
    output = await turns.ask(graph, "Où se trouve le four ?")
    assert output["answer"].startswith("D'après les sources\u00a0:\n")
