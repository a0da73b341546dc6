"""Keys whose feature is not there yet: refused by name, or tolerated with a notice (U6)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.load_settings import load_settings
from groundgraph.core.planned_keys import PlannedKey, planned_keys
from groundgraph.core.settings_keys import is_setting

REFUSED = [key for key in planned_keys() if not key.tolerated]
TOLERATED = [key for key in planned_keys() if key.tolerated]


def config(key: PlannedKey, value) -> dict:
    """A configuration that sets `key`."""
    inner = value
    for part in reversed(key.parts):
        inner = [{"type": "vector_kb", **inner}] if part == "[]" else {part: inner}
    return inner


def problems(source) -> list:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(source)
    return caught.value.problems


@pytest.mark.parametrize("key", REFUSED, ids=lambda key: key.key)
@pytest.mark.parametrize("below", [False, True])
def test_u6_a_planned_key_is_refused_by_its_name(key, below):
    given = config(key, "some value")
    [found] = problems({"reasoning": given} if below else given)
    assert found.key == key.key.replace("[]", ".0")
    assert "is not available in this version: " in found.message
    assert "known key" not in found.message


@pytest.mark.parametrize("key", planned_keys(), ids=lambda key: key.key)
def test_u6_the_values_with_which_nothing_would_be_different_are_accepted(key):
    for value in key.off:
        assert load_settings(config(key, value)).notices == []


@pytest.mark.parametrize("key", planned_keys(), ids=lambda key: key.key)
def test_u6_no_key_is_both_planned_and_a_setting(key):
    assert not is_setting(key), "take it out of planned_keys.yaml"


@pytest.mark.parametrize("key", TOLERATED, ids=lambda key: key.key)
def test_u6_a_tolerated_key_gives_a_notice_that_says_what_happens_instead(key):
    assert load_settings(config(key, {"provider": "p", "model": "m"})).notices == [f"{key.key}: {key.tolerated}"]


def test_u6_true_is_not_taken_for_one_nor_false_for_zero():
    assert problems({"enhanced_autonomous_retrieval": 0})
    assert problems({"result_processing": {"min_results": True}})


@pytest.mark.parametrize(
    ("given", "key", "hint"),
    [
        ({"rerankr": {}}, "rerankr", "'reranker'"),
        ({"reranker": {"enabeld": False}}, "reranker.enabeld", "'enabled'"),
        ({"result_processing": {"min_result": 3}}, "result_processing.min_result", "'min_results'"),
        ({"intent": {"extraction_confg": None}}, "intent.extraction_confg", "'extraction_config'"),
        ({"reranker": 3}, "reranker", "must be a mapping"),
    ],
)
def test_fault_09_a_mistake_beside_a_planned_key_is_an_unknown_key(given, key, hint):
    [found] = problems(given)
    assert found.key == key
    assert hint in found.message


@pytest.mark.parametrize("empty", [None, {}])
def test_u6_an_empty_planned_section_asks_for_nothing(empty):
    assert load_settings({"result_processing": empty, "reranker": empty}).notices == []


@pytest.mark.parametrize(
    ("variable", "value", "key"),
    [
        ("GROUNDGRAPH_RERANKER__ENABLED", "true", "reranker.enabled"),
        ("GROUNDGRAPH_ENHANCED_AUTONOMOUS_RETRIEVAL", "true", "enhanced_autonomous_retrieval"),
        ("GROUNDGRAPH_INTENT__EXTRACTION_CONFIG", '{"model": "m"}', "intent.extraction_config"),
        ("GROUNDGRAPH_CHAINS__QUERY", "x", "chains"),
    ],
)
def test_u6_the_environment_cannot_ask_for_a_planned_feature_either(monkeypatch, variable, value, key):
    monkeypatch.setenv(variable, value)
    [found] = problems(None)
    assert found.key == key
    assert "is not available in this version" in found.message


def test_u6_the_environment_may_turn_a_planned_feature_off(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_RERANKER__ENABLED", "false")
    assert load_settings().notices == []
