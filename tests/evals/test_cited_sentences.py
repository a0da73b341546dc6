"""Precision and recall of cited sentences, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_sets.citers import by_quotes, by_shared_words, by_word_overlap
from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.dataset import Dataset, DatasetFiles, load_dataset
from groundgraph.evals.measures import by_sentence_scores, citation_values

SENTENCES = ["Access tokens expire after one hour .", "Lions sleep .", "A refresh token lives for thirty days ."]
PASSAGE = {"_id": "p", "title": "Tokens", "text": " ".join(SENTENCES), "sentences": SENTENCES}
HOUR = {"answer": "Access tokens expire after one hour.", "selected_sentences": SENTENCES[:1]}


def load(folder: Path, query: dict[str, object], passage: dict[str, object] = PASSAGE) -> Dataset:
    (folder / "corpus.jsonl").write_text(json.dumps(passage) + "\n")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "When do access tokens expire?", **query}))
    return load_dataset(DatasetFiles(folder, qrels=None))


def values(dataset: Dataset, citer) -> tuple[float, float]:
    found = citation_values(dataset.queries, dataset.corpora, citer)
    return found["precision"]["q"], found["recall"]["q"]


def test_precision_and_recall_are_means_over_the_answers(tmp_path):
    both = {"answer": "They live one hour.", "selected_sentences": [SENTENCES[0], SENTENCES[2]]}
    dataset = load(tmp_path, {"passage": "p", "answers": [HOUR, both, {"answer": "x", "selected_sentences": []}]})
    assert values(dataset, lambda *_: {0, 1}) == (0.5, 0.75)
    assert values(dataset, lambda *_: set()) == (0, 0)


@pytest.mark.parametrize(
    ("citer", "places"),
    [(by_sentence_scores, {0}), (by_word_overlap, {0}), (by_quotes, {0, 1, 2}), (by_shared_words, {0, 1, 2})],
)
def test_what_is_cited_or_quoted(tmp_path, citer, places):
    dataset = load(tmp_path, {"passage": "p", "answers": [HOUR]})
    passage, query = dataset.corpora[0].passages[0], dataset.queries[0]
    assert citer(query, HOUR["answer"], passage) == places


def test_sentences_cut_in_another_way_are_matched_by_their_place(tmp_path):
    parts = ["Access tokens", "expire after one hour .", "Lions sleep ."]
    passage = {"_id": "p", "text": " ".join(parts), "sentences": parts}
    dataset = load(tmp_path, {"passage": "p", "answers": [{**HOUR, "selected_sentences": parts[:2]}]}, passage)
    assert values(dataset, by_sentence_scores) == (1, 1)


@pytest.mark.parametrize(
    ("query", "passage", "message"),
    [
        ({}, PASSAGE, "citations need queries with `passage` and `answers`"),
        ({"passage": "x", "answers": [HOUR]}, PASSAGE, "the passage 'x' of the query 'q' has no `sentences`"),
        ({"passage": "p", "answers": [HOUR]}, {"_id": "p", "text": "x"}, "has no `sentences`"),
        (
            {"passage": "p", "answers": [{"answer": "x", "selected_sentences": ["y"]}]},
            PASSAGE,
            "no marked sentence of the query 'q'",
        ),
        ({"passage": "p", "answers": [HOUR]}, {**PASSAGE, "text": "Lions."}, "are not those of its text"),
    ],
)
def test_a_set_without_marked_sentences_is_refused(tmp_path, query, passage, message):
    dataset = load(tmp_path, query, passage)
    with pytest.raises(ConfigurationError, match=message):
        citation_values(dataset.queries, dataset.corpora, by_sentence_scores)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"passage": "p", "answers": [{"answer": "x", "selected_sentences": "y"}]}, "must be a list of texts"),
        ({"passage": "p", "answers": [{"selected_sentences": []}]}, "'answer' must be a text"),
        ({"passage": 1.5, "answers": [HOUR]}, "'passage' must be a text"),
    ],
)
def test_reference_answers_that_cannot_be_read_are_problems_with_their_place(tmp_path, query, message):
    with pytest.raises(ConfigurationError, match=message):
        load(tmp_path, query)


def test_answers_of_another_form_are_left_alone(tmp_path):
    assert load(tmp_path, {"answers": ["Paris"]}).queries[0].answers == ()


def test_a_sentence_of_which_less_than_half_is_cited_does_not_count(tmp_path):
    parts = ["Access tokens expire after one hour . On", "some days lions sleep much longer than that ."]
    passage = {"_id": "p", "text": "Access tokens expire after one hour . On " + parts[1], "sentences": parts}
    dataset = load(tmp_path, {"passage": "p", "answers": [{**HOUR, "selected_sentences": parts[:1]}]}, passage)
    assert values(dataset, by_sentence_scores) == (1, 1)
    about_lions = {"answer": "On some days lions sleep longer.", "selected_sentences": parts[1:]}
    dataset = load(tmp_path, {"passage": "p", "answers": [about_lions]}, passage)
    assert values(dataset, by_sentence_scores) == (1, 1)
