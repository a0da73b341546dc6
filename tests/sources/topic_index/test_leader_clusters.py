"""Clusters of vectors (X4), for any vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.sources.topic_index import cluster as module
from groundgraph.sources.topic_index.cluster import TooMuchToCluster, labels, leader_clusters

pytestmark = pytest.mark.covers("X4")

THRESHOLDS = st.sampled_from([0.0, 0.5, 0.7, 0.9, 1.0])


def rows(seed: int, count: int, dimension: int = 4) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(3, dimension))
    made = centres[generator.integers(0, 3, count)] + generator.normal(scale=0.4, size=(count, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def named(count: int) -> list[str]:
    return [f"d#{number}" for number in range(count)]


@given(st.integers(0, 1000), st.integers(0, 60), THRESHOLDS)
def test_every_vector_is_in_one_cluster_near_to_its_leader(seed, count, threshold):
    vectors = rows(seed, count)
    found = leader_clusters(named(count), vectors, threshold)
    assert sorted(int(row) for own in found.members for row in own) == list(range(count))
    for number, (own, leader) in enumerate(zip(found.members, found.leaders, strict=True)):
        assert leader in own.tolist()
        near = vectors[own] @ vectors[leader]
        assert (near >= threshold - 1e-5).all()
        others = vectors[own] @ vectors[list(found.leaders)].T
        assert (others.max(axis=1) <= near + 1e-5).all(), "each goes to the leader that it is nearest to"
        mean = vectors[own].mean(axis=0)
        np.testing.assert_allclose(found.centroids[number], mean / np.linalg.norm(mean), atol=1e-4)
    apart = vectors[list(found.leaders)] @ vectors[list(found.leaders)].T
    assert (apart[~np.eye(len(apart), dtype=bool)] < threshold + 1e-5).all()


@settings(max_examples=50)
@given(st.integers(0, 1000), st.integers(1, 60), THRESHOLDS, st.integers(0, 100))
def test_the_order_of_the_vectors_does_not_matter(seed, count, threshold, shuffle):
    vectors, ids = rows(seed, count), named(count)
    order = np.random.default_rng(shuffle).permutation(count)

    def groups(found: module.Clusters, given_ids: list[str]) -> set[frozenset[str]]:
        return {frozenset(given_ids[row] for row in own.tolist()) for own in found.members}

    first = groups(leader_clusters(ids, vectors, threshold), ids)
    shuffled = [ids[place] for place in order]
    assert groups(leader_clusters(shuffled, vectors[order], threshold), shuffled) == first
    assert groups(leader_clusters(ids, vectors, threshold), ids) == first


def test_blocks_do_not_change_the_clusters(monkeypatch):
    vectors = rows(1, 100)
    whole = leader_clusters(named(100), vectors, 0.9)
    monkeypatch.setattr(module, "_BLOCK", 7)
    blocked = leader_clusters(named(100), vectors, 0.9)
    assert [own.tolist() for own in whole.members] == [own.tolist() for own in blocked.members]


def test_what_would_take_minutes_is_refused_with_the_figure(monkeypatch):
    monkeypatch.setattr(module, "MAX_VECTORS", 10)
    with pytest.raises(TooMuchToCluster, match="it has 11 passages, and at most 10"):
        leader_clusters(named(11), rows(0, 11), 0.7)
    monkeypatch.setattr(module, "MAX_CLUSTERS", 2)
    with pytest.raises(TooMuchToCluster, match="more than 2 clusters at cluster_threshold 1"):
        leader_clusters(named(9), rows(0, 9), 1.0)


def test_labels_are_the_words_that_tell_a_group_from_the_others():
    groups = [["the pump leaks", "a pump leaks oil"], ["cats like milk", "a cat sleeps"]]
    first, second = labels(groups, top_terms=2, min_word_length=3)
    assert first == "leaks, pump"
    assert second.split(", ")[0] in ("cat", "cats")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_terms": 1, "min_word_length": 3}, "leaks"),
        ({"top_terms": 3, "min_word_length": 3}, "leaks, pump, oil"),
        ({"top_terms": 3, "min_word_length": 5}, "leaks"),
        ({"top_terms": 3, "min_word_length": 3, "stopwords": ["leaks", "the"]}, "pump, oil"),
    ],
)
def test_label_options(options, expected):
    assert labels([["the pump leaks", "pump leaks oil"], ["other words"]], **options)[0] == expected


@given(st.lists(st.lists(st.text(max_size=20), max_size=3), max_size=3), st.integers(1, 4))
def test_any_texts_have_labels_of_at_most_so_many_words(groups, top_terms):
    found = labels(groups, top_terms=top_terms, min_word_length=1)
    assert len(found) == len(groups)
    assert all(len(label.split(", ")) <= top_terms for label in found)
