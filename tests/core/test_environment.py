"""Settings from variables of the environment (U6)."""

from __future__ import annotations

import pytest
from refused_settings import problems

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.load_settings import load_settings, variable_of

pytestmark = pytest.mark.covers("U6")


@pytest.mark.parametrize("name", ["GROUNDGRAPH_CONFIG", "GROUNDGRAPH_DATA", "GROUNDGRAPH_SOMETHING_ELSE"])
def test_a_variable_that_is_meant_for_something_else_is_left_alone(monkeypatch, name):
    monkeypatch.setenv(name, "x")
    assert load_settings()


@pytest.mark.covers("fault 9")
def test_a_value_of_the_environment_is_blamed_on_its_variable_and_not_on_the_file(file, monkeypatch):
    path = file("retrieval:\n  top_k: 7\n  score_threshold: 3\n")
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL__TOP_K", "many")
    by_key = {found.key: found for found in problems(path)}
    assert by_key["retrieval.top_k"].file == ""
    assert "GROUNDGRAPH_RETRIEVAL__TOP_K" in by_key["retrieval.top_k"].message
    assert "'many'" in by_key["retrieval.top_k"].message
    assert by_key["retrieval.score_threshold"].line == 3


@pytest.mark.covers("fault 9")
def test_an_unknown_key_of_the_environment_is_blamed_on_its_variable(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL__TOP_KK", "3")
    [found] = problems({"retrieval": {"top_k": 3}})
    assert found.key == "retrieval.top_kk"
    assert "Did you mean 'top_k'?" in found.message
    assert "GROUNDGRAPH_RETRIEVAL__TOP_KK" in found.message


@pytest.mark.covers("fault 9")
def test_a_value_of_python_is_not_blamed_on_a_variable_that_it_overrides(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL__TOP_K", "3")
    [found] = problems({"reasoning": {"retrieval": {"top_k": 0}}})
    assert "GROUNDGRAPH" not in found.message


def test_a_list_or_section_in_json_that_cannot_be_read_is_an_error_without_its_value(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_SOURCES", "[{secret-value")
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL", "")
    monkeypatch.setenv("GROUNDGRAPH_LLM__MODEL", "right")
    found = {problem.key: problem.message for problem in problems()}
    assert set(found) == {"GROUNDGRAPH_SOURCES", "GROUNDGRAPH_RETRIEVAL"}
    assert all("JSON" in message for message in found.values())
    assert "GROUNDGRAPH_RETRIEVAL__KEY" in found["GROUNDGRAPH_RETRIEVAL"]
    assert "secret-value" not in found["GROUNDGRAPH_SOURCES"]
    assert "EnvSettingsSource" not in str(found)


def test_sources_can_be_given_in_json(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_SOURCES", '[{"type": "memory", "name": "a"}]')
    assert [source.name for source in load_settings().sources] == ["a"]


def test_a_key_of_one_source_can_be_set_below_python_and_above_the_file(file, monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_SOURCES__MY_DOCS__WEIGHT", "3")
    entry = {"type": "memory", "name": "my docs"}
    assert load_settings({"sources": [entry]}).sources[0].weight == 3
    assert load_settings({"sources": [{**entry, "weight": 2}]}).sources[0].weight == 2
    path = file("sources:\n- {type: memory, name: my docs, weight: 2}\n- {type: memory, name: other}\n")
    assert [source.weight for source in load_settings(path).sources] == [3, 1]


def test_the_variable_of_a_key():
    assert variable_of(("llm", "api_key")) == "GROUNDGRAPH_LLM__API_KEY"
    assert variable_of(("sources", 3, "password"), "case-db") == "GROUNDGRAPH_SOURCES__CASE_DB__PASSWORD"


def test_a_variable_may_name_its_section_below_reasoning(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_REASONING__RETRIEVAL__TOP_K", "4")
    monkeypatch.setenv("GROUNDGRAPH_REASONING__INTENT__NUM_QUERIES", "2")
    monkeypatch.setenv("GROUNDGRAPH_INTENT__NUM_QUERIES", "6")
    settings = load_settings({})
    assert (settings.retrieval.top_k, settings.intent.num_queries) == (4, 6)
    monkeypatch.setenv("GROUNDGRAPH_REASONING__RETREIVAL__TOP_K", "4")
    with pytest.raises(ConfigurationError, match="no section 'retreival'"):
        load_settings({})
