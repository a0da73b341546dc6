"""The settings of result processing and reranking (P1 to P10)."""

from __future__ import annotations

from pathlib import Path

import pytest
from refused_settings import problem

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.answers import ResultProcessingSettings
from groundgraph.settings.load_settings import load_settings


def processing(**given) -> ResultProcessingSettings:
    return load_settings({"result_processing": given}).result_processing


@pytest.mark.covers("P1")
def test_to_p10_nothing_is_on_by_default():
    settings = load_settings({})
    plain = settings.result_processing
    assert [plain.scores, plain.bounds, plain.arranges, settings.reranker.enabled] == [False] * 4
    assert (plain.min_results, plain.cluster_threshold, plain.cluster_min_size, plain.rrf_k) == (3, 0.7, 2, 60)
    assert (settings.reranker.threshold, settings.reranker.candidates_count) == (0.5, 10)


@pytest.mark.covers("P6")
@pytest.mark.parametrize(
    "given", ["tfidf", {"method": "tfidf"}, ["tfidf"], [{"method": "tfidf"}]], ids=["name", "mapping", "names", "list"]
)
def test_a_strategy_is_a_name_a_mapping_or_a_list_of_either(given):
    [step] = processing(cluster_strategy=given, cluster_threshold=0.4, cluster_min_size=3).cluster_steps
    assert (step.method, step.threshold, step.min_size) == ("tfidf", 0.4, 3)


@pytest.mark.covers("P6")
def test_a_step_may_have_options_of_its_own():
    own, other = processing(
        cluster_strategy=[{"method": "term_overlap", "threshold": 0.2, "min_size": 5}, "tfidf"]
    ).cluster_steps
    assert (own.threshold, own.min_size) == (0.2, 5)
    assert (other.threshold, other.min_size) == (0.7, 2)


@pytest.mark.covers("P6")
@pytest.mark.parametrize(
    "given",
    [
        {"method": "embedding", "provider": "ollama", "model": "nomic", "dimensions": 3},
        {"method": "embedding", "embedding": {"provider": "ollama", "model": "nomic", "dimensions": 3}},
    ],
)
def test_the_embedding_model_of_a_step_may_stand_beside_the_method_or_below_it(given):
    [step] = processing(cluster_strategy=given).cluster_steps
    assert step.embedding == {"provider": "ollama", "model": "nomic", "dimensions": 3}


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("normalize_strategy", "minmax", "Did you mean 'min_max'?"),
        ("normalize_strategy", ["rank", "z_scor"], "Did you mean 'z_score'?"),
        ("cluster_strategy", "kmeans", "Known: term_overlap, tfidf, embedding."),
        ("cluster_strategy", {"threshold": 0.5}, "there is no strategy 'None'"),
        ("cluster_strategy", {"method": "tfidf", "embedding": {"model": "m"}}, "'tfidf' needs no embedding model"),
        ("cluster_strategy", {"method": "embedding", "embedding": {}}, "must name a model"),
        ("relative_threshold", 1.5, "less than or equal to 1"),
        ("min_results", -1, "greater than or equal to 0"),
        ("cluster_min_size", 0, "greater than 0"),
        ("reorder", "zagzig", "'zigzag'"),
        ("rotation", "drop", "'demote', 'suppress' or 'shown'"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_right(key, value, told):
    found = problem({"result_processing": {key: value}})
    assert found.key == f"result_processing.{key}"
    assert told in found.message


@pytest.mark.covers("fault 9")
def test_an_unknown_option_of_a_step_is_refused():
    found = problem({"result_processing": {"cluster_strategy": {"method": "tfidf", "treshold": 0.5}}})
    assert found.key == "result_processing.cluster_strategy.treshold"


@pytest.mark.covers("P4")
def test_a_chain_of_rerankers_takes_the_options_of_the_section_where_it_has_none():
    given = {"enabled": True, "type": ["cohere", {"method": "cohere", "model": "own"}], "model": "shared"}
    first, second = load_settings({"reranker": given}).reranker.steps
    assert (first.method, first.model, second.model) == ("cohere", "shared", "own")
    named = load_settings({"reranker": {"enabled": True, "provider": "identity"}}).reranker
    assert [step.method for step in named.steps] == ["identity"]
    assert [step.method for step in load_settings({"reranker": {}}).reranker.steps] == ["judge"]


@pytest.mark.covers("P4")
def test_type_and_provider_are_one_thing():
    assert "another name of 'type'" in problem({"reranker": {"type": "cohere", "provider": "cohere"}}).message


@pytest.mark.covers("P4")
def test_a_key_in_a_file_is_refused_and_comes_from_the_environment(tmp_path: Path, monkeypatch):
    path = tmp_path / "groundgraph.yaml"
    path.write_text("reranker: {enabled: true, type: cohere, api_key: abc123}\n")
    with pytest.raises(ConfigurationError, match="a secret must not stand in this file"):
        load_settings(path)
    path.write_text("reranker: {enabled: true, type: cohere}\nresult_processing: {max_kb_tokens: 500}\n")
    monkeypatch.setenv("GROUNDGRAPH_RERANKER__API_KEY", "abc123")
    settings = load_settings(path)
    assert settings.reranker.api_key.get_secret_value() == "abc123"
    assert "abc123" not in repr(settings.reranker)
    assert settings.result_processing.max_kb_tokens == 500
