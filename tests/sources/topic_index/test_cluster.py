"""The index over clusters (X4): every key of it, and what it may never do."""

from __future__ import annotations

from pathlib import Path

import pytest
from topic_bases import WordVectors, ask, base, indexed

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import collect_degradations
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.topic_index import TopicIndexSource
from groundgraph.sources.topic_index import cluster as clustering

pytestmark = pytest.mark.covers("X4")

WORDS = ["pump", "valve", "cat", "milk", "moon"]
TEXTS = {
    "p1": "pump leaks",
    "p2": "pump noise",
    "p3": "pump pump valve seals",
    "c1": "cat sleeps",
    "c2": "cat cat milk",
    "moon": "moon",
}


@pytest.fixture
async def source(tmp_path: Path) -> KnowledgeBaseSource:
    return await base(tmp_path / "kb.sqlite", TEXTS, words=WORDS)


def documents(results: list[SourceResult]) -> list[str]:
    return [result.metadata["document"] for result in results]


async def test_a_question_gives_the_clusters_that_it_is_near_to(source):
    found = await ask(indexed(source, "cluster"), "pump", 0.3)
    assert documents(found) == ["p1", "p2", "p3"]
    assert found[0].relevance > found[2].relevance
    assert {result.metadata["found_under"] for result in found} == {"pump, leaks, noise"}


async def test_a_cluster_never_hides_the_best_match_because_it_stands_alone(source):
    found = await ask(indexed(source, "cluster", centroid_score_threshold=0.1), "moon moon moon pump", 0.1)
    assert documents(found) == ["moon", "p1", "p2", "p3"]
    assert "found_under" not in found[0].metadata
    assert documents(await ask(indexed(source, "cluster", max_total_results=1), "moon moon pump", 0.1)) == ["moon"]


PUMPS, CATS = {"p1", "p2", "p3"}, {"c1", "c2"}


@pytest.mark.covers("X5")
@pytest.mark.parametrize(
    ("options", "question", "score_threshold", "expected"),
    [
        ({"cluster_threshold": 0.95}, "pump", 0.3, {"p1", "p2"}),
        ({"cluster_threshold": 0.0, "centroid_score_threshold": 0.0}, "pump", 0.3, set(TEXTS)),
        ({}, "pump cat", 0.1, PUMPS | CATS),
        ({"min_cluster_size": 3}, "pump pump cat", 0.1, PUMPS),
        ({"top_clusters": 1}, "pump pump cat", 0.1, PUMPS),
        ({"max_results_per_cluster": 1}, "pump pump cat", 0.1, {"p1", "c1"}),
        ({"max_total_results": 4}, "pump cat", 0.1, 4),
        ({"centroid_score_threshold": 0.8}, "pump pump cat", 0.1, PUMPS),
        ({"centroid_score_threshold": 1.0}, "pump cat cat", 0.1, {"c1"}),
        # The threshold of the retrieval is about the nearest passage: those of the cat are below it.
        ({}, "pump cat moon", 0.7, set()),
        ({}, "pump pump cat", 0.6, PUMPS),
    ],
)
async def test_each_option_decides_which_passages_come(source, options, question, score_threshold, expected):
    found = documents(await ask(indexed(source, "cluster", **options), question, score_threshold))
    assert (len(found) if isinstance(expected, int) else set(found)) == expected


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, "pump, leaks, noise"),
        ({"label_top_terms": 1}, "pump"),
        ({"label_min_word_length": 5}, "leaks, noise, seals"),
        ({"label_stopwords": ["pump"]}, "leaks, noise, seals"),
    ],
)
async def test_labels(source, options, label):
    found = await ask(indexed(source, "cluster", top_clusters=2, **options), "pump pump cat", 0.1)
    assert set(found[0].metadata["found_under"].split(", ")) == set(label.split(", "))


async def test_nothing_but_the_question_is_embedded(source):
    vectors = source.embedder.model  # type: ignore[union-attr]
    assert isinstance(vectors, WordVectors)
    written = list(vectors.written)
    index = indexed(source, "cluster")
    for question in ("pump", "cat", "pump"):
        await ask(index, question)
    assert vectors.asked == ["pump", "cat", "pump"]
    assert vectors.written == written


async def test_clusters_are_made_once_per_state_of_the_base(tmp_path, monkeypatch):
    made: list[int] = []
    original = clustering.leader_clusters

    def counting(ids, rows, threshold):
        made.append(len(ids))
        return original(ids, rows, threshold)

    monkeypatch.setattr("groundgraph.sources.topic_index.cluster.leader_clusters", counting)
    path = tmp_path / "kb.sqlite"
    source = await base(path, TEXTS, words=WORDS)
    index = indexed(source, "cluster")
    await ask(index, "pump")
    await ask(index, "cat")
    assert made == [6]
    await base(path, {"c3": "cat purrs"}, words=WORDS)
    assert "c3" in documents(await ask(index, "cat"))
    assert made == [6, 7]


async def test_the_same_question_gives_the_same_answer(source, tmp_path):
    other = await base(tmp_path / "other.sqlite", dict(reversed(TEXTS.items())), words=WORDS)
    for question in ("pump", "cat moon", "valve milk"):
        first, again = await ask(indexed(source, "cluster"), question), await ask(indexed(other, "cluster"), question)
        assert documents(first) == documents(again)


async def test_several_matching_texts_of_a_chunk_are_one_vector(source):
    stored = await source.topic_store().vectors()
    assert sorted(stored.ids) == sorted(f"{name}#0" for name in TEXTS)
    assert stored.rows.shape == (6, len(WORDS) + 1)


TENANTS = {"a": {"tenant": "a"}, "b": {"tenant": "b"}, "c": {"tenant": "a"}}
FIELDS = {"tenant": {"type": "string"}}


@pytest.mark.covers("fault 60")
async def test_no_cluster_and_no_label_escapes_a_filter(tmp_path):
    texts = {"a": "pump one", "b": "pump secret", "c": "pump two"}
    source = await base(tmp_path / "t.sqlite", texts, words=WORDS, metadata=TENANTS, fields=FIELDS)
    found = await ask(indexed(source, "cluster"), "pump", filters={"docs": {"tenant": "a"}})
    assert documents(found) == ["a", "c"]
    assert "secret" not in found[0].metadata["found_under"]
    [alone] = await ask(indexed(source, "cluster"), "pump", filters={"docs": {"tenant": "b"}})
    assert alone.metadata["document"] == "b"
    assert await ask(indexed(source, "cluster"), "pump", filters={"docs": {"tenant": "x"}}) == []


async def test_too_much_to_cluster_is_told(source, monkeypatch):
    monkeypatch.setattr(clustering, "MAX_VECTORS", 3)
    with pytest.raises(SourceUnavailable, match=r"6 passages, and at most 3 .* Use `type: heading_tree`"):
        await ask(indexed(source, "cluster"), "pump")


async def test_vectors_need_a_model_and_an_ingest_that_wrote_them(tmp_path):
    words_only = await base(tmp_path / "w.sqlite", {"a": "pump"})
    with pytest.raises(ConfigurationError, match="type: 'cluster' works with vectors"):
        indexed(words_only, "cluster")
    late = KnowledgeBaseSource(tmp_path / "w.sqlite", name="docs", embedder=Embedder(WordVectors(WORDS), "words"))
    with pytest.raises(SourceUnavailable, match=r"it holds no vectors. Configure `embeddings`"):
        await ask(indexed(late, "cluster"), "pump")


async def test_a_question_without_a_vector_is_answered_by_its_words(tmp_path):
    await base(tmp_path / "kb.sqlite", {"a": "pump", "b": "насос течёт"}, words=WORDS)
    english = Embedder(WordVectors(WORDS), "words", frozenset({"en"}))
    index: TopicIndexSource = indexed(
        KnowledgeBaseSource(tmp_path / "kb.sqlite", name="docs", embedder=english), "cluster"
    )
    with collect_degradations() as told:
        assert documents(await ask(index, "насос")) == ["b"]
    assert told[0]["part"] == "topic_index"
