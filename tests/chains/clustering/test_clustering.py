"""Results that say similar things, grouped and labelled (P5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.clustering import (
    Cluster,
    EmbeddingSimilarity,
    TermOverlap,
    TfIdf,
    arrange,
    clusters,
    group,
    labels,
)
from groundgraph.core.embedder import Embedder
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("P5")

TOKENS = "Access tokens expire after one hour."
TOKENS_AGAIN = "An access token expires after an hour."
PUMPS = "Pump seventeen is serviced every ninety days."
PUMPS_AGAIN = "The pump seventeen was serviced in ninety days."
RUSSIAN = "Токены доступа истекают через час."
RUSSIAN_AGAIN = "Токен доступа истекает спустя час."
WORDS = st.lists(st.text(alphabet="ab токен 漢 1.", max_size=20), max_size=7)
METHODS = [TermOverlap, TfIdf]


def members(found: list[Cluster]) -> list[tuple[int, ...]]:
    return sorted(cluster.members for cluster in found)


@pytest.mark.parametrize("method", METHODS)
def test_texts_that_share_their_words_make_a_cluster_in_any_script(method):
    texts = [TOKENS, PUMPS, RUSSIAN, TOKENS_AGAIN, PUMPS_AGAIN, RUSSIAN_AGAIN, "Nothing of the kind."]
    found = clusters(texts, method("tokens", texts), threshold=0.5, min_size=2)
    assert members(found) == [(0, 3), (1, 4), (2, 5)]


async def test_an_embedding_model_makes_clusters():
    texts = [TOKENS, PUMPS, TOKENS_AGAIN, PUMPS_AGAIN]
    embedder = Embedder(NgramEmbeddings(512), "ngrams", batch_size=3)
    near = await EmbeddingSimilarity.of(embedder, "When does a token expire?", texts)
    found = clusters(texts, near, threshold=0.6, min_size=2)
    assert members(found) == [(0, 2), (1, 3)]
    assert found[0].members == (0, 2)
    assert found[0].score > found[1].score


def test_opposite_vectors_are_not_similar_and_a_zero_vector_is_near_to_nothing():
    near = EmbeddingSimilarity(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]))
    assert near.between(0, 1) == 0
    assert near.between(0, 2) == 0
    assert near.to_question([2]) == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_cluster_about_the_question_scores_higher_and_comes_first(method):
    texts = [PUMPS, PUMPS_AGAIN, TOKENS, TOKENS_AGAIN]
    found = clusters(texts, method("When do access tokens expire?", texts), threshold=0.5, min_size=2)
    assert [cluster.members for cluster in found] == [(2, 3), (0, 1)]
    assert found[0].score > 0.5 > found[1].score


def test_a_label_has_the_words_that_tell_the_cluster_from_the_others():
    texts = [TOKENS, TOKENS_AGAIN, PUMPS, PUMPS_AGAIN]
    first, second = labels([[TOKENS, TOKENS_AGAIN], [PUMPS, PUMPS_AGAIN]], texts)
    assert set(first.split(", ")) == {"access", "expire", "hour"}
    assert set(second.split(", ")) <= {"pump", "seventeen", "serviced", "ninety", "days"}
    assert labels([["1 2 of the"]], ["1 2 of the"]) == [""]


@pytest.mark.parametrize("method", METHODS)
@given(
    texts=WORDS, question=st.text(alphabet="ab токен", max_size=9), threshold=st.floats(0, 1), size=st.integers(1, 4)
)
def test_whatever_the_texts_clusters_are_disjoint_and_their_scores_from_0_to_1(
    method, texts, question, threshold, size
):
    found = clusters(texts, method(question, texts), threshold=threshold, min_size=size)
    places = [place for cluster in found for place in cluster.members]
    assert len(places) == len(set(places))
    assert set(places) <= set(range(len(texts)))
    assert all(0 <= cluster.score <= 1 and len(cluster.members) >= size for cluster in found)
    assert clusters(texts, method(question, texts), threshold=threshold, min_size=size) == found


@pytest.mark.parametrize("method", METHODS)
@given(texts=WORDS)
def test_similarity_is_symmetric_from_0_to_1_and_1_for_the_same_words(method, texts):
    near = method("", texts)
    for one in range(len(texts)):
        for other in range(len(texts)):
            value = near.between(one, other)
            assert 0 <= value <= 1
            assert value == pytest.approx(near.between(other, one))
        assert near.between(one, one) in (0, pytest.approx(1))


@given(st.integers(0, 12), st.floats(0, 1), st.randoms(use_true_random=False))
def test_grouping_puts_every_number_into_exactly_one_group(count, threshold, random):
    values = {(a, b): random.random() for a in range(count) for b in range(a)}
    groups = group(lambda a, b: values[max(a, b), min(a, b)], count, threshold)
    assert sorted(number for one in groups for number in one) == list(range(count))


def test_a_similarity_that_is_no_number_joins_nothing():
    assert group(lambda a, b: float("nan"), 3, 0.1) == [[0], [1], [2]]


def test_the_threshold_is_about_the_mean_similarity_to_all_members():
    near = {(1, 0): 1.0, (2, 0): 1.0, (2, 1): 0.0}
    similarity = lambda a, b: near[max(a, b), min(a, b)]  # noqa: E731
    assert group(similarity, 3, 0.5) == [[0, 1, 2]]
    assert group(similarity, 3, 0.6) == [[0, 1], [2]]


SPLIT = st.integers(0, 9).flatmap(
    lambda count: st.lists(st.integers(0, 3), min_size=count, max_size=count)
)  # the number of the cluster of each place; 0 for none


@given(SPLIT, st.booleans())
def test_arranging_loses_nothing_and_members_stand_together(split, both_ends):
    given_ = [
        Cluster(str(number), 0.5, tuple(place for place, own in enumerate(split) if own == number))
        for number in sorted(set(split) - {0})
    ]
    order, found = arrange(len(split), given_, both_ends=both_ends)
    assert sorted(order) == list(range(len(split)))
    for before, after in zip(given_, found, strict=True):
        assert sorted(order[place] for place in after.members) == list(before.members)
        assert list(after.members) == list(range(after.members[0], after.members[0] + len(after.members)))


@pytest.mark.covers("P8")
@given(st.integers(2, 12))
def test_without_clusters_the_best_two_stand_at_both_ends(count):
    order, _ = arrange(count, [], both_ends=True)
    assert (order[0], order[-1]) == (0, 1)


@pytest.mark.covers("P8")
def test_with_clusters_the_best_two_of_clusters_and_single_results_stand_at_both_ends():
    order, [found] = arrange(5, [Cluster("c", 0.9, (1, 3))], both_ends=True)
    assert order == [0, 2, 4, 3, 1]
    assert found.members == (3, 4)
    assert arrange(3, [Cluster("c", 1, (0, 1, 2))], both_ends=True)[0] == [0, 2, 1]
