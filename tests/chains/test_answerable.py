"""The chance that evidence answers a question, from its words and cosines alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.agreement import (
    MOST_BY,
    Agreement,
    agreement,
    answerable,
    lacks_name,
    missing_words,
)
from groundgraph.core.evidence import SourceResult

PIECES = ["access tokens expire", "an hour", "Токен действует час", "penguins", "access", "", "[1]", "👩\u200d💻 שלום"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map(". ".join)
COSINES = st.none() | st.floats(-1, 1)


def result(content: str, cosine: float | None = None, **metadata: str) -> SourceResult:
    scores = {} if cosine is None else {"vector": cosine}
    return SourceResult(content, "id", "docs", "knowledge_base", 0.0, metadata, scores=scores)


@given(TEXTS, st.lists(st.tuples(TEXTS, COSINES), max_size=5))
def test_a_chance_lies_between_0_and_1_and_does_not_depend_on_the_order(question, rows):
    evidence = [result(*row) for row in rows]
    chance = answerable(question, evidence)
    assert 0 <= chance < 1
    assert all(one.words >= 0 for one in agreement(question, evidence))
    for other in list(permutations(evidence))[:10]:
        assert answerable(question, other) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("question", "texts", "lacks"),
    [
        ("Who runs the museum in Warsaw?", ["The museum is run by Lena."], True),
        ("Who runs the museum in Warsaw?", ["The museum in Warsaw is run by Lena."], False),
        # Told by its vector: the name may stand there in other letters.
        ("Кто руководит музеем в Варшаве?", ["The museum in Warsaw is run by Lena."], False),
        ("Кто руководит музеем в Варшаве?", ["Музеем руководит Лена."], True),
        ("Who runs the museum?", ["The library is run by Lena."], False),
        ("Who runs the museum in Warsaw?", [], False),
    ],
)
def test_a_name_is_lacking_where_pieces_in_its_letters_do_not_hold_it(question, texts, lacks):
    assert lacks_name(question, [result(text) for text in texts], "ru" if "К" in question else "en") == lacks


def test_where_all_nouns_have_a_capital_none_is_lacking():
    assert not lacks_name("Wann öffnet das Museum in Warschau?", [result("Die Bibliothek öffnet um neun.")], "de")
    assert lacks_name("Wann öffnet das DHM?", [result("Die Bibliothek öffnet um neun.")], "de")


@given(st.floats(0, 3), st.floats(0, 3), st.floats(-1, 1), st.floats(-1, 1))
def test_more_words_and_a_larger_cosine_never_lower_the_chance(words, more_words, cosine, larger):
    words, more_words = sorted((words, more_words))
    cosine, larger = sorted((cosine, larger))
    assert Agreement(words).probability <= Agreement(more_words).probability
    assert Agreement(words, cosine).probability <= Agreement(more_words, larger).probability


@given(st.integers(0, 5), st.integers(0, 4))
def test_a_piece_of_the_same_length_that_holds_one_more_word_of_the_question_fits_better(held, others):
    asked = ["penguin", "token", "museum", "harbour", "violin", "carriage"]
    rest = [result("granite lantern meadow") for _ in range(others)]

    def share(count: int) -> float:
        piece = " ".join([*asked[:count], *["filler"] * (len(asked) - count)])
        return agreement(" ".join(asked), [result(piece), *rest])[0].words

    assert share(held) < share(held + 1)


def test_without_evidence_or_a_word_in_common_there_is_no_chance():
    assert answerable("When do tokens expire?", []) == 0
    assert answerable("When do tokens expire?", [result("Penguins swim.")]) == 0
    assert answerable("", [result("Penguins swim.")]) == 0


def test_a_cosine_speaks_for_a_piece_that_shares_no_word():
    question = "When do tokens expire?"
    near, far = (answerable(question, [result("Sessions end after an hour.", cosine)]) for cosine in (0.9, 0.1))
    assert near > 0.5 > far > 0


def test_words_that_only_say_how_a_question_asks_need_not_stand_in_the_evidence():
    piece = [result("Pump 17 is serviced every 90 days.")]
    how = answerable("How often is pump 17 serviced?", piece)
    assert how == answerable("Is pump 17 serviced?", piece) > answerable("Is pump 17 of Lisbon serviced?", piece)


@given(st.floats(0, 3), st.floats(0, 1), TEXTS, TEXTS)
def test_what_a_source_tells_of_the_words_goes_before_what_is_counted(told, relevance, question, content):
    piece = SourceResult(content, "id", "docs", "any_kind", relevance, {}, scores={"lexical": told})
    (fitting,) = agreement(question, [piece])
    assert told <= fitting.words <= told + 1


def test_a_word_in_another_form_counts_as_one_of_those_that_were_asked_for():
    piece = SourceResult("Der Jahresurlaub beträgt 30 Tage Urlaub.", "id", "docs", "any_kind", scores={"lexical": 0.25})
    asked = ("Urlaub Elternzeit", "Urlaubstage Elternzeit", "Urne Elternzeit")
    assert [agreement(question, [piece])[0].words for question in asked] == [0.25, 0.75, 0.25]


def test_numbers_that_begin_alike_are_no_forms_of_one():
    piece = SourceResult("Part 100200.", "id", "docs", "any_kind", scores={"lexical": 0.25})
    assert agreement("part 100201", [piece]) == [Agreement(0.25)]


def test_a_piece_whose_source_does_not_tell_by_what_it_was_found_counts_for_less_than_its_relevance():
    found = SourceResult("Penguins swim.", "id", "docs", "retriever", 0.8)
    fits = [Agreement(pytest.approx(least)) for least in (0.5, MOST_BY, MOST_BY)]
    assert [agreement("When do tokens expire?", [replace(found, relevance=one)])[0] for one in (0.5, 0.8, 1.0)] == fits


def test_words_and_cosine_must_meet_in_one_piece():
    question = "When do access tokens expire?"
    apart = [result("Access tokens expire.", 0.0), result("Penguins swim.", 0.7)]
    together = [result("Access tokens expire.", 0.7), result("Penguins swim.", 0.0)]
    assert answerable(question, together) > answerable(question, apart)


def test_title_and_section_count_as_text():
    bare, named = result("Nothing."), result("Nothing.", title="Widget", section="Expiry")
    assert answerable("expiry of the widget", [bare]) == 0
    assert answerable("expiry of the widget", [named]) > 0.3


def test_the_whole_question_in_one_piece_is_better_than_its_parts_in_several():
    question = "When do access tokens of the mobile client expire?"
    one = [result("Access tokens of the mobile client expire soon.")]
    parts = [result("Access control lists."), result("Tokens are strings."), result("The mobile client is new.")]
    assert answerable(question, one) > 0.5 > answerable(question, parts)


def test_a_word_that_few_pieces_hold_counts_more_than_one_that_all_hold():
    others = [result(f"Tokens of kind number {number}.") for number in range(10)]
    rare, common = agreement("tokens penguins", [result("Penguins."), result("Tokens."), *others])[:2]
    assert rare.words > common.words


def test_evidence_about_something_else_that_shares_a_common_word_has_a_small_chance():
    assert answerable("What is the capital of Peru?", [result("You can use any capital letter here.")]) < 0.5


def test_the_words_that_no_piece_holds_are_named_as_the_question_writes_them():
    evidence = [result("Tokens expire."), result("Nothing.", title="Widgets", section="Время жизни")]
    assert missing_words("When do the Lisbon tokens of a widget expire in Lisbon or Peru?", evidence) == [
        "Lisbon",
        "Peru",
    ]
    assert missing_words("Каково время жизни Widgets в Перу?", evidence) == ["Перу"]
    assert missing_words("When did it?", evidence) == []
    # What only says how it is asked need stand nowhere.
    assert missing_words("Since when may someone still use a widget per week?", evidence) == ["may", "use", "week"]
    assert missing_words("Darf ich Tokens benutzen, und möchte es jemand?", evidence) == ["benutzen"]
    assert missing_words("tokens", []) == ["tokens"]
    assert missing_words("What happens to the widget in Peru?", evidence) == ["Peru"]
    assert missing_words("Was passiert mit Tokens, und was bedeutet Token?", evidence) == []
    assert missing_words("Que se passe-t-il avec les Tokens ?", evidence) == []


def test_a_word_that_only_asks_in_another_language_or_phrase_is_named():
    evidence = [result("Tokens expire.")]
    assert missing_words("Which tokens pass the gate?", evidence) == ["pass", "gate"]
    assert missing_words("How large are the tokens?", evidence) == []
    assert missing_words("Which tokens are large?", evidence) == ["large"]
    assert missing_words("Wie schwer sind Tokens?", evidence) == []
    assert missing_words("Sind Tokens schwer?", evidence) == ["schwer"]


@pytest.mark.parametrize(
    "question",
    [
        "Is it allowed to use widgets?",
        "Are tokens permitted, widgets too?",
        "Ist es erlaubt oder gestattet, Widgets zu haben?",
        "Est-il permis d'avoir des widgets, est-ce autorisé ?",
        "¿Están permitidos los widgets? ¿Está permitido?",
        "Разрешено ли иметь widgets, допускается ли это?",
    ],
)
def test_what_asks_for_leave_need_stand_nowhere_as_may_and_can_need_not(question):
    evidence = [result("Nobody may use or have (avoir, haben, иметь) widgets or tokens.")]
    assert missing_words(question, evidence) == []


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_a_missing_word_stands_in_the_question_and_in_no_piece(question, contents):
    missing = missing_words(question, [result(content) for content in contents])
    assert all(word in question for word in missing)
    held = " ".join(contents).split()
    assert not set(missing) & set(held)


@pytest.mark.covers("A9")
@pytest.mark.parametrize(
    ("question", "held"),
    [
        ("In which hall is Robot R7?", True),
        ("In which hall is robot r-7?", True),
        ("In which hall is Robot R9?", False),
        ("In which hall is Robot R77?", False),
        ("Does parse_hall name the hall of Robot R7?", False),
        ("Is Robot R7 in hall C since the 80s?", True),
    ],
)
def test_what_is_said_of_one_code_is_no_answer_about_another(question, held):
    pieces = [result("Robot R7 stands in hall C and is named."), result("Halls are counted.")]
    assert (answerable(question, pieces) > 0) is held


def test_a_code_that_is_all_that_is_asked_about_is_found_in_a_long_list_of_codes():
    codes = result("\n".join(f"TM{number}: the {fault} is broken, stop and wait." for number, fault in enumerate(
        ["belt", "motor", "seal", "valve", "sensor", "hopper", "door", "lamp", "fan", "pump"], 2010)))  # fmt: skip
    others = [result(f"The mean value of month {month} is shown below.") for month in range(4)]
    assert answerable("I get TM2013, what does it mean?", [*others, codes]) > 0.7
    # It says nothing of what else is asked.
    assert answerable("What does TM2013 cost per month?", [*others, codes]) < 0.5
