"""Lemmas and stems (C1): all forms of a word become one."""

from __future__ import annotations

import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import groundgraph.text.lemmatizer as lemmatizer_module
from groundgraph.core.errors import ConfigurationError
from groundgraph.text.lemmatizer import (
    DictionaryLemmatizer,
    SnowballLemmatizer,
    configured_lemmatizer,
    lemmas,
    query_lemmas,
)
from groundgraph.text.words import query_stems, stems

pytestmark = pytest.mark.covers("C1")

SNOWBALL, DICTIONARY = SnowballLemmatizer(), DictionaryLemmatizer()


@pytest.mark.parametrize("lemmatizer", [SNOWBALL, DICTIONARY], ids=["snowball", "dictionary"])
@pytest.mark.parametrize(
    ("form", "word"),
    [("ставки", "ставка"), ("rates", "rate"), ("ёлки", "елка"), ("Кассы", "КАСС"), ("ставок", "ставка")],
)
def test_forms_of_a_word_have_one_lemma(lemmatizer, form, word):
    assert lemmas(form, lemmatizer) == lemmas(word, lemmatizer) != []


@pytest.mark.parametrize(("form", "word"), [("сижу", "сидеть"), ("better", "good"), ("lit", "light")])
def test_a_dictionary_knows_irregular_forms(form, word):
    assert lemmas(form, DICTIONARY) == lemmas(word, DICTIONARY)
    assert lemmas(form, SNOWBALL) != lemmas(word, SNOWBALL)


def test_dictionaries_of_other_languages_are_taken_in_their_order():
    assert DictionaryLemmatizer(["de"]).lemma("häuser") == "haus"
    assert DictionaryLemmatizer(["en", "de"]).lemma("rates") == "rate"


@given(st.text(max_size=60))
# A stop word of French alone.
@example("IL")
def test_snowball_gives_the_stems_of_the_other_sources(text):
    assert lemmas(text, SNOWBALL) == stems(text)
    assert query_lemmas(text, SNOWBALL) == query_stems(text)


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12))
def test_every_word_has_a_lemma(word):
    assert all(query_lemmas(word, DICTIONARY))


@pytest.mark.parametrize("word", ["ж𗀀", "𗀀ставки", "rate𗀀"])
def test_a_word_with_a_letter_that_has_no_name_is_its_own_lemma(word):
    assert DICTIONARY.lemma(word) == word


def test_a_dictionary_may_be_used_by_several_threads_at_once():
    lemmatizer, wrong = DictionaryLemmatizer(), []

    def work() -> None:
        wrong.extend(form for form in ("ставки", "rates", "ёлки") * 50 if not lemmatizer.lemma(form))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_memory_for_lemmas_is_bounded(monkeypatch):
    monkeypatch.setattr(lemmatizer_module, "_REMEMBERED", 10)
    lemmatizer = DictionaryLemmatizer()
    for number in range(100):
        lemmatizer.lemma(f"word{number}")
    assert lemmatizer._known.cache_info().currsize <= 10


def test_a_lemmatizer_is_chosen_by_name():
    assert isinstance(configured_lemmatizer("snowball", ["xx"], "retriever"), SnowballLemmatizer)
    assert isinstance(configured_lemmatizer("dictionary", ["en", "de"], "retriever"), DictionaryLemmatizer)


def test_missing_packages_and_dictionaries_are_refused_with_what_to_do(monkeypatch):
    with pytest.raises(ConfigurationError, match=r"sources\[0\]\.languages: there is no dictionary of 'xx'"):
        configured_lemmatizer("dictionary", ["xx"], "sources[0]")
    monkeypatch.setattr(lemmatizer_module, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="needs pymorphy3 and simplemma: pip install"):
        configured_lemmatizer("dictionary", ["en"], "retriever")
