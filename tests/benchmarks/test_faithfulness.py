"""The measures of limit L15, on answers of our own and on the public ones."""

from __future__ import annotations

import pytest

from benchmarks.public_sets.faithfulness import (
    MarkedAnswer,
    auc,
    auc_difference_interval,
    auc_interval,
    flags_of,
    plant_labels,
    plant_negations,
    plant_numbers,
    plant_quotes,
    plant_sentences,
    plant_swaps,
    read_answers,
    support_score,
    word_overlap,
)
from groundgraph.core.evidence import SourceResult

pytestmark = pytest.mark.covers("L15")

PASSAGE = SourceResult(
    "Access tokens are valid for 3600 seconds. Refresh tokens live for 14 days.", "p", "docs", "memory"
)
OTHER = SourceResult("Elephants drink a lot of muddy water. They are grey and large animals.", "e", "docs", "memory")
GOOD = MarkedAnswer("Access tokens are valid for 3600 seconds.", "How long?", (PASSAGE,), 4.0)
FOREIGN = MarkedAnswer("Elephants drink a lot of muddy water.", "What do they drink?", (OTHER,), 4.0)
BAD = MarkedAnswer("Tokens are eaten by purple dragons at midnight.", "How long?", (PASSAGE,), 2.0)
ANSWERS = [GOOD, FOREIGN, BAD]


def test_the_auc_counts_pairs_and_halves_for_equal_scores():
    assert auc(ANSWERS, lambda answer: answer.mark) == 1
    assert auc(ANSWERS, lambda answer: -answer.mark) == 0
    assert auc(ANSWERS, lambda _: 1.0) == 0.5
    assert auc(ANSWERS, support_score) == auc(ANSWERS, word_overlap) == 1


def test_the_interval_of_the_auc_holds_it_and_is_none_for_a_perfect_score():
    marks = [4.0, 4.0, 3.8, 2.0, 2.5, 1.0]
    answers = [MarkedAnswer(f"Text {number}.", "", (), mark) for number, mark in enumerate(marks)]

    def perfect(answer: MarkedAnswer) -> float:
        return answer.mark

    def noisy(answer: MarkedAnswer) -> float:
        return {4.0: 0.4, 3.8: 0.9, 2.0: 0.8, 2.5: 0.1, 1.0: 0.2}[answer.mark]

    assert auc_interval(answers, perfect) == (1.0, 1.0)
    low, high = auc_interval(answers, noisy)
    assert low < auc(answers, noisy) < high
    least, most = auc_difference_interval(answers, perfect, noisy)
    assert least <= auc(answers, perfect) - auc(answers, noisy) <= most


@pytest.mark.parametrize("plant", [plant_labels, plant_quotes, plant_numbers, plant_sentences])
def test_a_planted_fault_is_flagged_and_the_answer_without_it_is_not(plant):
    planted = list(plant(ANSWERS))
    assert planted
    assert all(one.is_flagged() for one in planted)
    assert flags_of(GOOD) == flags_of(FOREIGN) == []


@pytest.mark.parametrize("plant", [plant_negations, plant_swaps])
def test_the_blind_spots_are_planted_too(plant):
    planted = list(plant(ANSWERS))
    assert planted
    assert all(one.after.text != one.before.text for one in planted)


def test_an_unaltered_quotation_is_not_flagged():
    assert not any(one.is_flagged() for one in plant_quotes(ANSWERS, altered=False))


def test_the_same_faults_are_planted_in_every_run():
    assert [one.after.text for one in plant_numbers(ANSWERS)] == [one.after.text for one in plant_numbers(ANSWERS)]


def test_on_the_public_answers_the_score_beats_word_overlap(data):
    answers = read_answers(data / "mtrag_faithfulness" / "answers.jsonl")
    assert len(answers) > 200
    assert auc(answers, support_score) >= max(0.91, auc(answers, word_overlap))
