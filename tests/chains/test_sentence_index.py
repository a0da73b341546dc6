"""Sentences with their stems, and the snippet around the best one (S4, S7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.chains.sentence_index import (
    best_sentence,
    joined_stems,
    question_weights,
    sentences_of,
    snippet,
    stems_of,
    weights_held,
)
from groundgraph.core.lexical import idf

PIECES = [
    "Tokens expire. ",
    "Срок действия — час. ",
    "\n\n",
    "- item ",
    "word ",
    "👩\u200d💻",
    "שלום ",
    "漢字。",
    "\u0301",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)
TEXT = "Clients get a token. The token expires after one hour. Nothing else is said here."


def equal_weights(stems) -> tuple[tuple[str, float], ...]:
    return tuple((stem, 1.0) for stem in sorted(stems))


def test_s7_the_best_sentence_covers_most_of_the_question():
    best = best_sentence(TEXT, question_weights("When does the token expire?", [TEXT]))
    assert TEXT[best.start : best.end] == "The token expires after one hour."


def test_s7_the_first_of_equal_sentences_is_the_best():
    assert best_sentence("Same words here. Same words here.", equal_weights(["same", "word"])).start == 0


def test_s7_a_text_without_sentences_has_no_best_one():
    assert best_sentence(" \n ", equal_weights(["word"])) is None


def test_s7_a_word_of_every_sentence_weighs_less_than_a_rare_one():
    weights = dict(question_weights("token hour", ["A token is one. A token is two. The token lives an hour."]))
    assert weights["token"] == pytest.approx(idf(3, 3))
    assert weights["hour"] == pytest.approx(idf(3, 1))
    assert weights["hour"] > weights["token"] > 0


@given(TEXTS, st.sets(st.sampled_from(["token", "expir", "час", "срок", "word"])))
def test_s7_each_sentence_holds_the_sum_of_its_words_weights(text, words):
    held = weights_held(text, equal_weights(words))
    assert held == tuple(len(sentence.stems & words) for sentence in sentences_of(text))


@given(TEXTS)
def test_s7_sentences_are_ordered_slices_and_hold_the_texts_stems(text):
    found = sentences_of(text)
    assert all(one.end <= two.start for one, two in zip(found, found[1:], strict=False))
    assert joined_stems([text[one.start : one.end] for one in found]) == stems_of(text)


@pytest.mark.parametrize(
    "text", ["# A heading of many words", "| a cell | of a | table |", "```one two three four", "Too short here"]
)
def test_s7_headings_tables_code_and_fragments_are_not_quotable(text):
    assert not any(sentence.quotable for sentence in sentences_of(text))


def test_s7_a_passage_beyond_any_sentence_is_not_quotable():
    assert not sentences_of("word " * 200)[0].quotable
    assert sentences_of("word " * 100)[0].quotable


@given(TEXTS, st.integers(20, 300))
def test_s4_a_snippet_is_one_line_within_its_limit(text, limit):
    shown = snippet(text, question_weights("When do tokens expire? Какой срок?", [text]), limit)
    assert len(shown) <= limit
    assert shown == " ".join(shown.split())


def test_s4_a_short_text_is_its_own_snippet():
    assert snippet(TEXT, ()) == TEXT


def test_s4_a_snippet_begins_at_the_best_sentence_and_ends_between_words():
    text = "Filler words stand here. " * 30 + "The token expires after one hour. " + "More filler follows. " * 30
    shown = snippet(text, question_weights("When does the token expire?", [text]), 60)
    assert shown.startswith("…The token expires after one hour.")
    assert shown.endswith("…")
    assert shown.strip("…").split()[-1] in text.split()
