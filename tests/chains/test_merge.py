"""From the sources' lists to one ranking (R8, P7)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import Hit
from groundgraph.nodes.works.merge_results import (
    RRF_K,
    STRATEGIES,
    concatenate,
    fuse_queries,
    in_order,
    relative_score,
    round_robin,
    times_found,
)

pytestmark = pytest.mark.covers("R8")

UNIT = st.floats(0, 1)
SCORES = st.floats(-1e6, 1e6)
BY_SOURCE = st.dictionaries(
    st.sampled_from("ABCD"), st.lists(st.builds(Hit, st.text(), st.text(), st.text(), UNIT, SCORES), max_size=9)
)
WEIGHTS = st.fixed_dictionaries({name: st.integers(1, 5) for name in "ABCD"})
LISTS = st.lists(
    st.lists(
        st.builds(lambda n, r, s: Hit(f"k{n}", "A", f"id{n}", r, s), st.integers(0, 6), UNIT, SCORES),
        unique_by=lambda hit: hit.source_id,
        max_size=7,
    ),
    max_size=5,
)


def hits(source: str, *scores: float) -> list[Hit]:
    return [Hit(f"{source}{n}", source, str(n), 0.5, score) for n, score in enumerate(scores)]


def test_weights_three_and_one_give_a_a_a_b_a_a_a_b():
    merged = round_robin({"A": hits("A", *[1] * 6), "B": hits("B", *[1] * 2)}, {"A": 3, "B": 1})
    assert "".join(hit.source_name for hit in merged) == "AAABAAAB"
    assert [hit.source_id for hit in merged if hit.source_name == "A"] == list("012345")


def test_a_source_that_is_used_up_leaves_its_turns_to_the_others():
    merged = round_robin({"A": hits("A", 1), "B": hits("B", 1, 1, 1)}, {"A": 2})
    assert "".join(hit.source_name for hit in merged) == "ABBB"


@pytest.mark.parametrize("strategy", STRATEGIES.values())
@given(BY_SOURCE, WEIGHTS)
def test_merging_is_a_permutation(strategy, by_source, weights):
    assert Counter(strategy(by_source, weights)) == Counter(hit for listed in by_source.values() for hit in listed)


@given(BY_SOURCE, WEIGHTS)
def test_round_robin_keeps_each_sources_order(by_source, weights):
    named = {name: [Hit(str(n), name, str(n), 0, 0) for n, _ in enumerate(found)] for name, found in by_source.items()}
    merged = round_robin(named, weights)
    for name, found in named.items():
        assert [hit for hit in merged if hit.source_name == name] == found


@pytest.mark.covers("Q2")
def test_in_order_gives_one_source_after_another():
    by_source = {"B": hits("B", 0.1, 0.2), "A": hits("A", 1, 0.5)}
    assert [hit.key for hit in in_order(by_source, {"A": 9})] == ["B0", "B1", "A0", "A1"]


def test_relative_score_scales_each_source_by_its_range_and_weight():
    merged = relative_score({"A": hits("A", 10, 5, 0), "B": hits("B", 0.9, 0.8)}, {"A": 1, "B": 2})
    assert [hit.key for hit in merged] == ["B0", "A0", "A1", "A2", "B1"]


def test_one_result_and_equal_scores_count_as_best():
    merged = relative_score({"A": hits("A", 3, 1), "B": hits("B", -7), "C": hits("C", 0, 0)}, {})
    assert [hit.key for hit in merged] == ["A0", "B0", "C0", "C1", "A1"]


@given(st.lists(SCORES, min_size=1, max_size=9))
def test_relative_score_orders_one_source_by_score(scores):
    merged = relative_score({"A": hits("A", *scores)}, {})
    low, span = min(scores), max(scores) - min(scores)
    scaled = [(hit.score - low) / span if span else 1 for hit in merged]
    assert all(first >= second for first, second in pairwise(scaled))


@pytest.mark.covers("P7")
@given(st.lists(st.builds(Hit, st.text(), st.just("A"), st.text(), UNIT, SCORES), unique_by=lambda hit: hit.source_id))
def test_a_single_list_keeps_its_order(found):
    assert fuse_queries([found]) == found


@given(LISTS)
def test_fusing_queries_leaves_each_result_once_with_its_best_relevance(lists):
    fused = fuse_queries(lists)
    ids = [(hit.source_name, hit.source_id) for hit in fused]
    best: dict[str, float] = {}
    for hit in concatenate(lists):
        best[hit.source_id] = max(hit.relevance, best.get(hit.source_id, 0))
    assert len(ids) == len(set(ids))
    assert {hit.source_id: hit.relevance for hit in fused} == best


@pytest.mark.covers("P7")
@given(LISTS)
def test_fusing_orders_by_the_sum_of_reciprocal_ranks(lists):
    def fused_score(name: str) -> float:
        return sum(1 / (RRF_K + rank) for found in lists for rank, hit in enumerate(found, 1) if hit.source_id == name)

    scores = [fused_score(hit.source_id) for hit in fuse_queries(lists)]
    assert all(first >= second for first, second in pairwise(scores))


def test_what_was_found_twice_is_counted_under_its_first_key():
    a, b = hits("A", 1, 1)
    again = Hit("other key", "A", "0", 0.1, 0.1)
    same_id_elsewhere = Hit("B0", "B", "0", 0.1, 0.1)
    assert times_found([[[a, b], [again]], [[same_id_elsewhere]]]) == {"A0": 2}


@given(LISTS)
def test_times_found_counts_all_that_came_more_than_once(lists):
    counts = Counter(hit.source_id for hit in concatenate(lists))
    assert sorted(times_found([lists]).values()) == sorted(n for n in counts.values() if n > 1)


@pytest.mark.covers("F9", "fault 99")
def test_one_id_with_two_texts_is_two_pieces_of_evidence():
    serviced = Hit("k1", "A", "x", 0.5, 0.5, "Pump 17 is serviced every 90 days.")
    painted = Hit("k2", "A", "x", 0.9, 0.9, "Pump 17 is painted blue.")
    assert fuse_queries([[serviced, painted], [serviced]]) == [serviced, painted]
    assert times_found([[[serviced, painted], [serviced]]]) == {"k1": 2}
