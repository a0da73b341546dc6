"""Saved runs and their comparison."""

from __future__ import annotations

import json

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.report import (
    NO_DIFFERENCE,
    Difference,
    compare,
    comparison_lines,
    evaluation_lines,
    load,
    refusal_evaluation,
    retrieval_evaluation,
    save,
)


def run(values: list[float]):
    return retrieval_evaluation("set", {"MRR": {f"q{n}": value for n, value in enumerate(values)}})


def test_what_is_saved_is_loaded(tmp_path):
    evaluation = run([0.5, 1.0, 0.25])
    save(evaluation, tmp_path / "run.json")
    assert load(tmp_path / "run.json").values == evaluation.values
    assert compare(evaluation, load(tmp_path / "run.json")) == (3, {"MRR": Difference(0.0, (0.0, 0.0), 3)})


def test_an_improvement_in_every_query_is_higher_and_its_reverse_lower():
    worse, better = run([0.1, 0.4, 0.2] * 2), run([0.2, 0.6, 0.4] * 2)
    assert compare(better, worse)[1]["MRR"].verdict == "higher"
    assert compare(worse, better)[1]["MRR"].verdict == "lower"


@pytest.mark.covers("L14")
@pytest.mark.parametrize("number", [1, 5])
def test_so_few_queries_show_no_difference_and_no_interval_that_says_something(number):
    worse, better = run([0.1] * number), run([0.9] * number)
    assert compare(better, worse)[1]["MRR"].verdict == NO_DIFFERENCE
    assert evaluation_lines(better)[-1].endswith("Over fewer than 6 it says nothing.")
    assert "fewer" not in evaluation_lines(run([0.9] * 6))[-1]


@pytest.mark.covers("L14")
def test_a_difference_whose_interval_covers_0_is_never_an_improvement(tmp_path):
    old, new = run([0.5] * 20), run([1.0, 0.1] * 10)
    shared, differences = compare(new, old)
    assert differences["MRR"].value > 0
    assert differences["MRR"].verdict == NO_DIFFERENCE
    assert differences["MRR"].to_dict()["verdict"] == "no difference shown"
    assert comparison_lines(differences, shared, tmp_path, "queries")[1].endswith("no difference shown")
    assert Difference(0.1, (0.0, 0.2)).verdict == NO_DIFFERENCE


def test_only_queries_of_both_runs_are_compared():
    assert compare(run([1.0, 1.0, 0.0]), run([0.5, 0.5]))[0] == 2
    with pytest.raises(ConfigurationError, match="share no queries"):
        compare(retrieval_evaluation("set", {"MRR": {"other": 1.0}}), run([1.0]))


def test_areas_are_compared_by_class():
    answerable = {"a": True, "b": True, "c": False, "d": False}
    good = refusal_evaluation("set", {"a": 0.9, "b": 0.8, "c": 0.1, "d": 0.2}, answerable)
    bad = refusal_evaluation("set", {"a": 0.1, "b": 0.2, "c": 0.9, "d": 0.8}, answerable)
    assert compare(good, bad) == (4, {"AUC": Difference(1.0, (1.0, 1.0), 4)})
    with pytest.raises(ConfigurationError, match="one run measured refusal, the other retrieval"):
        compare(good, run([1.0]))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 9}', json.dumps({"format": 1, "values": []})])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ConfigurationError, match="no evaluation that --save wrote"):
        load(tmp_path / "run.json")
    with pytest.raises(ConfigurationError, match="there is no file"):
        load(tmp_path / "missing.json")
