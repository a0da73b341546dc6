"""How well the words of a text fit a question."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.search.rank import HEADED, K1, Question, Rule, Scorer, stems_in, written_above
from groundgraph.sources.sql.search_rows import ROWS
from groundgraph.text.words import bm25, coverage, idf

WORDS = ["apple", "pear", "fig", "plum", "quince"]
TEXTS = st.lists(st.sampled_from([*WORDS, "other"]), max_size=12)
ASKED = st.lists(st.sampled_from(WORDS), min_size=1, unique=True)


@st.composite
def questions(draw):
    asked = draw(ASKED)
    texts = draw(st.integers(1, 100))
    df = {stem: draw(st.integers(1, texts)) for stem in asked if draw(st.booleans())}
    return Question(asked, dict(sorted(df.items(), key=lambda pair: pair[1])), texts, draw(st.sampled_from([0.0, 5.0])))


@pytest.mark.covers("R5")
@given(questions(), TEXTS, TEXTS)
def test_a_chunk_is_as_relevant_as_the_rare_words_that_it_or_its_headings_hold(question, body, above):
    share = Scorer(question).relevance(body, above)
    assert share == pytest.approx(coverage(question.relevance_weights(), {*body, *above}))
    assert 0 <= share <= 1


@pytest.mark.covers("R3")
@given(questions(), TEXTS, TEXTS)
def test_a_row_is_as_relevant_as_the_best_fields_that_hold_the_words(question, body, above):
    held = [1.0 if stem in body else 0.5 if stem in above else 0.0 for stem in question.stems]
    assert Scorer(question, ROWS).relevance(body, above) == pytest.approx(max(0.05, sum(held) / len(held)))


@given(questions(), TEXTS, TEXTS)
def test_a_text_with_no_word_of_the_question_scores_nothing(question, body, above):
    one = Scorer(question).passage("a", body, above)
    assert (one.lexical > 0) == bool({*question.stems} & {*body, *above}) == (one.share > 0)


@given(questions(), TEXTS, TEXTS, st.randoms())
def test_words_that_stand_together_only_add_to_bm25(question, body, above, random):
    weights = question.ranking_weights()
    plain = sum(
        weight * bm25(body.count(stem) + 3 * above.count(stem), len(body) + len(above), question.average_length, k1=K1)
        for stem, weight in weights.items()
        if stem in {*body, *above}
    )
    score = Scorer(question, Rule(above_weight=3)).score(body, above) * question.weight
    assert score >= plain - 1e-9
    assert score <= plain + 0.5 * sum(weights.values()) + 1e-9


def test_side_by_side_is_better_than_near_and_near_better_than_far():
    scorer = Scorer(Question(["apple", "pear"], {"apple": 1, "pear": 1}, 10, 20.0))
    filling = ["other"] * 20
    texts = (["apple", "pear", *filling], ["apple", *filling[:3], "pear", *filling[3:]], ["apple", *filling, "pear"])
    together, near, far = (scorer.score(text, []) for text in texts)
    share = 0.25 * idf(10, 1) / (2 * idf(10, 1))
    assert together - near == near - far == pytest.approx(share)


@given(questions(), st.integers(1, 30))
def test_a_text_of_average_length_that_holds_each_word_once_scores_1(question, filling):
    body = [one for stem in question.stems for one in (stem, *[f"other{place}" for place in range(filling)])]
    known = Question(question.stems, dict.fromkeys(question.stems, 1), max(1, question.texts), float(len(body)))
    alone = Rule(above_weight=1)
    near = Scorer(known, alone)._proximity(body, frozenset(question.stems)) / known.weight
    assert Scorer(known, alone).score(body, []) - near == pytest.approx(1.0)


@pytest.mark.covers("K10")
@given(questions(), TEXTS, TEXTS, TEXTS, st.lists(TEXTS.filter(bool), max_size=3))
def test_headings_and_terms_that_say_all_that_is_asked_about_add_their_worth_and_nothing_else_does(
    question, body, higher, lowest, terms
):
    scorer, above = Scorer(question), written_above([higher, lowest], terms)
    assert stems_in(above) == [*higher, *lowest]
    asked, own = set(question.stems), set(lowest)
    # The lowest heading holds nothing else, and what it lacks stands above it.
    headed = bool(own) and own <= asked <= own.union(higher)
    headed |= any(set(said) <= asked <= own.union(higher, said) for said in terms)
    best = scorer.best_texts([("a", " ".join(body), above)])["a"]
    assert best.lexical == pytest.approx(scorer.score(body, [*higher, *lowest]) + (HEADED if headed else 0.0))


def test_what_is_headed_by_a_name_of_code_comes_before_what_uses_it_whatever_else_is_asked_of_it():
    stems = ["default", "max", "connect"]
    question = Question(stems, dict.fromkeys(stems, 2), 30, 8.0, names=[("max", "connect")])
    setting = ("a", "default 16 largest number", "set\nmax connect")
    use = ("b", "max connect per host default max connect", "set\nmax connect per host")
    found = Scorer(question).best_texts([setting, use])
    assert found["a"].lexical > found["b"].lexical
    reversed_words = Scorer(question).best_texts([("a", setting[1], "set\nconnect max")])
    assert reversed_words["a"].lexical < found["a"].lexical


def test_what_is_headed_by_a_name_of_one_word_comes_first_and_answers_no_more_for_that():
    stems = ["argument", "framereader"]
    question = Question(stems, dict.fromkeys(stems, 2), 30, 8.0, names=[("framereader",)])
    own, use = ("a", "size byte frame", "set\nframereader"), ("b", "argument framereader", "set\nsession")
    texts = [own, use, ("a", "frame", "set\nframereader")]
    found = Scorer(question).best_texts(texts)
    plain = Scorer(replace(question, names=[])).best_texts(texts)
    assert found["a"].lexical == pytest.approx(plain["a"].lexical + HEADED)
    assert found["a"].told == plain["a"].told
    assert found["b"] == plain["b"]


def test_what_is_headed_by_the_subject_comes_before_what_speaks_of_it_more_often():
    question = Question(["migration"], {"migration": 9}, 30, 8.0)
    definition = ("a", "migration are changes of a model that a database is told", "django\nmigration")
    use = ("b", "migration new migration old migration", "django\nsquash migration")
    found = Scorer(question).best_texts([definition, use])
    assert found["a"].lexical > found["b"].lexical
    # The number of a section says nothing of what it is about.
    numbered = ("a", definition[1], "django\n1 3 migration")
    assert Scorer(question).best_texts([numbered])["a"].lexical > found["b"].lexical


def test_a_passage_is_as_good_as_the_best_of_its_texts():
    scorer = Scorer(Question(["apple", "pear"], {"apple": 2, "pear": 2}, 10, 3.0))
    texts = ["apple apple", "apple pear", "pear other other"]
    one, both, other = (scorer.passage("a", text.split(), []) for text in texts)
    assert both.lexical > max(one.lexical, other.lexical)
    assert both.share > one.share
    for order in permutations(texts):
        best = scorer.best_texts([("b", "pear", "fruit"), *(("a", text, "") for text in order)])
        assert best["a"] == both
        assert best["b"].share == 0.5


def test_a_question_without_words_is_held_by_nothing():
    nothing = Question([], {}, 10, 3.0)
    assert Scorer(nothing).relevance(["apple"]) == 0.0
    assert Scorer(nothing, ROWS).relevance(["apple"]) == 0.05


@given(questions(), TEXTS, TEXTS)
def test_a_name_of_code_counts_as_its_words_do_once_more_where_they_stand_together(question, body, above):
    name = tuple(question.stems[:2])
    score = Scorer(replace(question, names=[name])).score(body, above) * question.weight
    together = len(name) > 1 and any(name in pairwise(text) for text in (body, above))
    more = sum(map(question.ranking_weights().__getitem__, name)) if together else 0.0
    expected = Scorer(question).score(body, above) * question.weight + more
    assert len(name) < 2 or score == pytest.approx(expected)
