"""Sentences with their stems, and the snippet around the best one (S4, S7)."""

from __future__ import annotations

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.sentence_index import (
    Weights,
    best_sentence,
    joined_stems,
    question_weights,
    running_lines,
    sentences_of,
    snippet,
    stems_of,
    weights_held,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.text.original import RUNNING_LINES, masked_line
from groundgraph.text.words import idf, stems

pytestmark = pytest.mark.covers("S7")

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


def weights_of(question: str, text: str) -> Weights:
    return question_weights(question, [SourceResult(text, "1", "docs", "memory", 1.0)])


def equal_weights(stems) -> tuple[tuple[str, float], ...]:
    return tuple((stem, 1.0) for stem in sorted(stems))


def test_the_best_sentence_covers_most_of_the_question():
    best = best_sentence(TEXT, weights_of("When does the token expire?", TEXT))
    assert TEXT[best.start : best.end] == "The token expires after one hour."


def test_the_first_of_equal_sentences_is_the_best():
    assert best_sentence("Same words here. Same words here.", equal_weights(["same", "word"])).start == 0


def test_a_text_without_sentences_has_no_best_one():
    assert best_sentence(" \n ", equal_weights(["word"])) is None


def test_a_word_of_every_sentence_weighs_less_than_a_rare_one():
    weights = dict(weights_of("token hour", "A token is one. A token is two. The token lives an hour."))
    assert weights["token"] == pytest.approx(idf(3, 3))
    assert weights["hour"] == pytest.approx(idf(3, 1))
    assert weights["hour"] > weights["token"] > 0


@given(TEXTS, st.sets(st.sampled_from(["token", "expir", "час", "срок", "word"])))
def test_each_sentence_holds_the_sum_of_its_words_weights(text, words):
    held = weights_held(text, equal_weights(words))
    assert held == tuple(len(sentence.stems & words) for sentence in sentences_of(text))


def test_equal_words_weigh_the_same_to_the_last_digit_in_every_process():
    weights = tuple((f"stem{number}", 1 / number) for number in range(1, 30))
    text = " ".join(stem for stem, _ in weights)
    # One after the other, as in the question; a set has another order in each process, and another last digit.
    assert weights_held(text, weights) == (reduce(add, (weight for _, weight in weights)),)


@given(TEXTS)
def test_sentences_are_ordered_slices_and_hold_the_texts_stems(text):
    found = sentences_of(text)
    assert all(one.end <= two.start for one, two in zip(found, found[1:], strict=False))
    assert joined_stems([text[one.start : one.end] for one in found]) == stems_of(text)
    assert [stem for one in found for stem in one.said] == stems(text)
    assert all(one.stems == frozenset(one.said) for one in found)


@pytest.mark.parametrize(
    "text", ["# A heading of many words", "| a cell | of a | table |", "```one two three four", "Too short here"]
)
def test_headings_tables_code_and_fragments_are_not_quotable(text):
    assert not any(sentence.quotable for sentence in sentences_of(text))


def test_a_passage_beyond_any_sentence_is_not_quotable():
    assert not sentences_of("word " * 200)[0].quotable
    assert sentences_of("word " * 100)[0].quotable


@pytest.mark.covers("S4")
@given(TEXTS, st.integers(20, 300))
def test_a_snippet_is_one_line_within_its_limit(text, limit):
    shown = snippet(text, weights_of("When do tokens expire? Какой срок?", text), limit)
    assert len(shown) <= limit
    assert shown == " ".join(shown.split())


@pytest.mark.covers("S4")
def test_a_short_text_is_its_own_snippet():
    assert snippet(TEXT, ()) == TEXT


@pytest.mark.covers("S4")
@pytest.mark.parametrize(
    "headings", ["# Manual\n\n## Tokens\n\n", "Manual\n======\n\nTokens\n------\n\n", "\n## Tokens\n"]
)
@pytest.mark.parametrize("limit", [60, 300])
def test_a_snippet_leaves_out_the_headings_that_a_text_begins_with(headings, limit):
    weights = weights_of("Which client gets a token?", TEXT)
    assert snippet(headings + TEXT, weights, limit) == snippet(TEXT, weights, limit)


@pytest.mark.parametrize(
    "text", ["## Tokens", "## Tokens\n", "Tokens\n---\n", "Tokens expire.\nAll of them.\n---\nMore."]
)
def test_a_snippet_of_nothing_else_is_the_heading(text):
    assert snippet(text, ()) == " ".join(text.split())


def test_a_snippet_begins_at_the_best_sentence_and_ends_between_words():
    text = "Filler words stand here. " * 30 + "The token expires after one hour. " + "More filler follows. " * 30
    shown = snippet(text, weights_of("When does the token expire?", text), 60)
    assert shown.startswith("…The token expires after one hour.")
    assert shown.endswith("…")
    assert shown.strip("…").split()[-1] in text.split()


HEAD, FOOT = "RFC #   OAuth #.#   October #", "Page # of #"
RUNNING = tuple(masked_line(line) for line in (HEAD, FOOT))
LINES = [
    "Tokens expire after",
    "one hour of use.",
    "Page 3 of 76",
    "RFC 6749    OAuth 2.0  October 2012",
    "",
    "- item here",
]


@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join))
def test_a_running_line_belongs_to_no_sentence_and_all_else_to_the_same_ones(text):
    found = sentences_of(text, RUNNING)
    assert all(text[one.start : one.end] == text[one.start : one.end].strip() for one in found)
    lines = [line for one in found for line in text[one.start : one.end].split("\n")]
    assert not {masked_line(line) for line in lines} & set(RUNNING)
    covered = "".join(text[one.start : one.end] for one in found)
    kept = [line for line in text.split("\n") if masked_line(line) not in RUNNING]
    assert "".join(covered.split()) == "".join("".join(kept).replace("- item", "item").split())
    assert len(weights_held(text, equal_weights(["token"]), RUNNING)) == len(found)


def test_a_sentence_that_a_running_line_is_glued_to_is_quoted_without_it():
    text = "This is a header. Page 2 of 4\nA wiki is a web site\nthat anyone may edit."
    best = best_sentence(text, equal_weights(["page", "wiki"]), ("This is a header. Page # of #",))
    assert text[best.start : best.end] == "A wiki is a web site\nthat anyone may edit."


def test_a_line_of_columns_without_an_end_is_no_sentence_to_quote():
    text = "RFC 6749                        OAuth 2.0                   October 2012"
    assert [one.quotable for one in sentences_of(text)] == [False]
    assert [one.quotable for one in sentences_of("The token   expires after   one hour of use.")] == [True]
    assert [one.quotable for one in sentences_of("3.1.2.1.")] == [False]


def test_a_sentence_with_a_word_in_bold_can_be_quoted_and_a_line_that_is_bold_as_a_whole_is_no_better_than_before():
    text = "Pump 17 is serviced every **90 days**. Its filter is changed once a year. **How the pump is serviced**"
    assert [one.quotable for one in sentences_of(text)] == [True, True, False]


def test_a_snippet_begins_at_a_sentence_and_not_at_the_head_of_a_page():
    text = "Filler stands here. " * 30 + "\nToken list of page 12\n" + "The token expires. " + "More filler. " * 30
    weights = weights_of("token list page", text)
    assert snippet(text, weights, 80).startswith("…Token list of page 12")
    assert snippet(text, weights, 80, (masked_line("Token list of page 12"),)).startswith("…The token expires.")


@pytest.mark.parametrize("given", [None, "text", 7, ["a", 1, "b"], []])
def test_running_lines_are_taken_from_metadata_whatever_stands_there(given):
    result = SourceResult("x", "1", "docs", "knowledge_base", metadata={RUNNING_LINES: given})
    assert running_lines(result) == (("a", "b") if isinstance(given, list) and given else ())
