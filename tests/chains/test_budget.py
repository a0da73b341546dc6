"""How much evidence a turn may show (P9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.budget import Budget, cut_to, estimated_tokens, facts_that_fit, fit
from groundgraph.prompts import Prompts

pytestmark = pytest.mark.covers("P9")

TEXTS = st.lists(st.text(alphabet="ab токен \n", max_size=30), max_size=12)
SEPARATOR = "\n\n"
SEPARATORS = {language: Prompts().render("state_separator", language=language).strip() for language in ("en", "ru")}


@given(TEXTS, st.integers(0, 120), st.integers(0, 40))
def test_what_is_kept_fits_every_budget_with_its_separators(texts, characters, tokens):
    places = fit(texts, [Budget(characters), Budget(tokens, estimated_tokens)], SEPARATOR)
    whole = SEPARATOR.join(texts[place] for place in places)
    assert len(whole) <= characters
    assert estimated_tokens(whole) <= tokens
    assert places == sorted(set(places))


@given(TEXTS, st.integers(0, 120))
def test_a_piece_is_left_out_only_when_it_does_not_fit(texts, characters):
    places = fit(texts, [Budget(characters)], SEPARATOR)
    for place in set(range(len(texts))) - set(places):
        before = [texts[kept] for kept in places if kept < place]
        assert len(SEPARATOR.join([*before, texts[place]])) > characters


@given(st.text(alphabet="ab я\n", max_size=60), st.integers(0, 60))
def test_a_text_is_cut_between_words_only(text, limit):
    cut = cut_to(text, lambda beginning: len(beginning) <= limit)
    assert text.startswith(cut)
    assert len(cut) <= limit
    if cut and cut != text:
        assert not cut[-1].isspace()
        assert text[len(cut)].isspace()
    following = text[len(cut) :].lstrip()
    longer = text[: len(text) - len(following)] + (following.split() or [""])[0]
    assert cut == text or len(longer.rstrip()) > limit or not following


def test_state_facts_fill_what_is_left_behind_the_separator_of_the_language():
    facts = ["Тариф: базовый", "Очень длинный факт " * 9, "Этап: счёт"]
    whole = "Найденное.\n\n=== КОНТЕКСТ ЭТАПА ===\n\nТариф: базовый\n\nЭтап: счёт"
    assert facts_that_fit("Найденное.", facts, SEPARATORS["ru"], [Budget(len(whole))]) == [0, 2]
    assert facts_that_fit("Найденное.", facts, SEPARATORS["ru"], [Budget(len(whole) - 1)]) == [0]


def test_without_evidence_the_state_facts_stand_alone_and_without_room_they_are_left_out():
    assert facts_that_fit("", ["a fact"], SEPARATORS["en"], [Budget()]) == [0]
    assert facts_that_fit("", ["a fact"], "", [Budget(6)]) == [0]
    assert facts_that_fit("evidence", ["a fact"], SEPARATORS["en"], [Budget(20)]) == []
    assert facts_that_fit("evidence", [], SEPARATORS["en"], [Budget()]) == []


@given(st.text(max_size=30), TEXTS, st.integers(0, 150), st.integers(0, 60))
def test_evidence_comes_first_whole_and_the_facts_never_exceed_a_budget(evidence, facts, limit, tokens):
    budgets = [Budget(limit), Budget(tokens, estimated_tokens)]
    kept = facts_that_fit(evidence, facts, SEPARATORS["ru"], budgets)
    assert kept == sorted(set(kept))
    text = "\n\n".join(part for part in (evidence, SEPARATORS["ru"], *(facts[place] for place in kept)) if part)
    assert not kept or all(budget.size(text) <= budget.limit for budget in budgets)


def test_a_count_that_does_not_add_up_still_holds_for_the_whole():
    def square(text: str) -> int:
        return len(text) ** 2

    assert fit(["one", "two"], [Budget(19, square)], "|") == [0]
    assert fit(["one", "two"], [Budget(49, square)], "|") == [0, 1]
