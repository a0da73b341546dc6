"""The measures: by hand, and as ir-measures gives them for the whole."""

from __future__ import annotations

from math import log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.dataset import Query
from groundgraph.evals.measures import (
    RETRIEVAL_MEASURES,
    classes,
    means,
    refusal_area,
    retrieval_values,
)


def test_values_by_hand():
    judged = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"b": 1}}
    values = retrieval_values(judged, {"q1": ["c", "b", "x", "a"], "q2": ["b", "c", "d", "e", "f", "a"], "q3": ["a"]})
    ideal = 2 + 1 / log2(3)
    assert values["nDCG@5"] == {"q1": pytest.approx((1 / log2(3) + 2 / log2(5)) / ideal), "q2": 0.0, "q4": 0.0}
    assert values["nDCG@10"]["q2"] == pytest.approx(1 / log2(7))
    assert values["R@5"] == {"q1": 1.0, "q2": 0.0, "q4": 0.0}
    assert values["R@10"] == {"q1": 1.0, "q2": 1.0, "q4": 0.0}
    assert values["MRR"] == {"q1": 0.5, "q2": pytest.approx(1 / 6), "q4": 0.0}
    assert means(values)["MRR"] == pytest.approx((1 / 2 + 1 / 6) / 3)


DOCUMENTS = [f"d{n}" for n in range(14)]
JUDGED = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1).map(lambda gains: {**gains, "d0": 1}),
    min_size=1,
)
RANKINGS = st.fixed_dictionaries({name: st.permutations(DOCUMENTS) for name in ("q1", "q2", "q3")})


@settings(max_examples=40, deadline=None)
@given(JUDGED, RANKINGS)
def test_means_are_those_of_ir_measures(judged, rankings):
    run = {query: {d: 1 / (rank + 1) for rank, d in enumerate(rankings[query])} for query in judged}
    names = {name: ir_measures.parse_measure(name.replace("MRR", "RR")) for name in RETRIEVAL_MEASURES}
    whole = ir_measures.calc_aggregate(list(names.values()), judged, run)
    own = means(retrieval_values(judged, rankings))
    assert own == pytest.approx({name: whole[measure] for name, measure in names.items()})


def test_refusal_needs_both_labels_and_passes_over_others():
    labels = ("ANSWERABLE", "UNANSWERABLE", "PARTIAL", None)
    queries = [Query(f"q{n}", (("user", "?"),), label) for n, label in enumerate(labels)]
    assert classes(queries) == {"q0": True, "q1": False}
    assert refusal_area({"q0": 0.9, "q1": 0.1}, classes(queries)) == (1.0, (1.0, 1.0))
    with pytest.raises(ConfigurationError, match="UNANSWERABLE"):
        classes(queries[:1])
