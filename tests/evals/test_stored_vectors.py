"""Embeddings from files in place of a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.public_sets.strangers import strangers
from groundgraph import load_settings
from groundgraph.core.errors import ConfigurationError, EmbeddingFailed
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Dataset, DatasetFiles, load_dataset
from groundgraph.evals.run_queries import evaluation_settings, run_queries
from groundgraph.evals.stored_vectors import stored_embedder

PASSAGES = [("a", "Token", "It expires."), ("b", "", "A lion sleeps."), ("c", "Sea", "Penguins swim.")]
QUESTIONS = [
    {"_id": "q1", "text": "token"},
    {"_id": "q2", "text": "when?", "history": ["Do lions sleep?"]},
    {"_id": "q3", "text": "Kühlschrank"},
]


def small_set(folder: Path) -> Dataset:
    folder.mkdir()
    rows = [{"_id": key, "title": title, "text": text} for key, title, text in PASSAGES]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    return load_dataset(DatasetFiles(folder, qrels=None))


def write_vectors(folder: Path, corpus: object, queries: object) -> Path:
    folder.mkdir(exist_ok=True)
    np.save(folder / "small.corpus.npy", corpus)
    np.save(folder / "small.queries.npy", queries)
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return small_set(tmp_path / "small")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Each passage has an axis of its own; q1 is near to the third passage, q2 to the second, q3 to the first."""
    return write_vectors(tmp_path / "vectors", np.eye(3, dtype=np.float16), np.eye(3, dtype=np.float16)[::-1])


async def test_a_text_gets_the_row_of_its_line(dataset, vectors):
    embedder = stored_embedder(vectors, dataset)
    rows = await embedder.embed_texts(["Token It expires.", " A lion sleeps.", "Sea Penguins swim."])
    assert rows.tolist() == np.eye(3).tolist()
    assert (await embedder.embed_query("token")).tolist() == [0, 0, 1]
    assert (await embedder.embed_query("when?")).tolist() == [0, 1, 0]


async def test_a_follow_up_with_the_question_before_it_has_its_own_vector(dataset, vectors):
    embedder = stored_embedder(vectors, dataset)
    assert (await embedder.embed_query("Do lions sleep? when?")).tolist() == [0, 1, 0]


async def test_a_text_that_is_not_stored_is_an_error(dataset, vectors):
    with pytest.raises(EmbeddingFailed, match="no row for the text 'unknown'"):
        await stored_embedder(vectors, dataset).embed_query("unknown")


def test_the_name_follows_the_content(dataset, vectors):
    first = stored_embedder(vectors, dataset).name
    assert stored_embedder(vectors, dataset).name == first
    write_vectors(vectors, np.eye(3, dtype=np.float16)[[1, 0, 2]], np.eye(3, dtype=np.float16))
    assert stored_embedder(vectors, dataset).name != first


@pytest.mark.parametrize(
    ("corpus", "queries", "message"),
    [
        (np.eye(2), np.eye(3), r"corpus\.npy' has 2 rows, but .*corpus\.jsonl' has 3 lines"),
        (np.eye(3), np.eye(4), r"queries\.npy' has 4 rows, but .*queries\.jsonl' has 3 lines"),
        (np.eye(3), np.eye(3, 4), "of several sizes"),
        (np.ones(3), np.eye(3), r"must hold rows of floating-point numbers, not float64 of shape \(3,\)"),
        (np.eye(3, dtype=int), np.eye(3), "must hold rows of floating-point numbers, not int64"),
        (np.array([{}, {}, {}]), np.eye(3), "cannot be read as an array"),
    ],
)
def test_vectors_that_do_not_belong_to_the_lines_are_refused(dataset, tmp_path, corpus, queries, message):
    folder = write_vectors(tmp_path / "vectors", corpus, queries)
    with pytest.raises(ConfigurationError, match=message):
        stored_embedder(folder, dataset)


def test_missing_vectors_are_named(dataset, tmp_path):
    with pytest.raises(ConfigurationError, match="there is no folder"):
        stored_embedder(tmp_path / "gone", dataset)
    with pytest.raises(ConfigurationError, match=r"no file '.*small\.corpus\.npy' with the vectors of 'corpus\.jsonl'"):
        stored_embedder(tmp_path, dataset)
    (tmp_path / "small.corpus.npy").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="cannot be read as an array"):
        stored_embedder(tmp_path, dataset)


async def found(dataset: Dataset, folder: Path, vectors: Path | None, weight: float, languages=()) -> list[tuple]:
    embedder = stored_embedder(vectors, dataset, languages=languages) if vectors else None
    base = await corpus_base(dataset.corpora[0], folder, None, embedder)
    configured = load_settings({"knowledge_base": {"vector_weight": weight}})
    settings = evaluation_settings(configured, {"knowledge_base": base}, as_configured=False)
    answered = await run_queries(settings, dataset.corpora, dataset.queries, None, embedder)
    assert [one.failures for one in answered] == [(), (), ()]
    return [one.documents for one in answered]


async def test_the_vectors_decide_the_order_with_their_weight(dataset, vectors, tmp_path):
    by_vectors = await found(dataset, tmp_path / "bases", vectors, 1.0)
    assert [documents[0] for documents in by_vectors] == ["c", "b", "a"]
    by_words = await found(dataset, tmp_path / "bases", None, 1.0)
    assert by_words == [("a",), ("b",), ()]
    assert len(list((tmp_path / "bases").glob("*.sqlite"))) == 2


async def test_a_question_in_a_language_that_the_model_does_not_know_is_searched_by_words(dataset, vectors, tmp_path):
    only_russian = await found(dataset, tmp_path / "bases", vectors, 1.0, languages=("ru",))
    assert only_russian == [("a",), ("b",), ()]


def test_questions_whose_nearest_passage_shares_no_word_are_strangers(dataset, vectors):
    assert strangers(dataset, stored_embedder(vectors, dataset)) == {"q1", "q2", "q3"}
    write_vectors(vectors, np.eye(3, dtype=np.float16), np.eye(3, dtype=np.float16))
    assert strangers(dataset, stored_embedder(vectors, dataset)) == {"q2", "q3"}
