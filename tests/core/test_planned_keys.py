"""Keys whose feature is not there yet: refused by name, or tolerated with a notice (U6)."""

from __future__ import annotations

import pytest

import groundgraph.core.planned_keys as core_planned_keys
from groundgraph.core import settings_keys
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.load_settings import load_settings
from groundgraph.core.planned_keys import PlannedKey, planned_keys
from groundgraph.core.settings_keys import is_setting

REFUSED = [key for key in planned_keys() if not key.tolerated]


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


def test_u6_a_tolerated_key_gives_a_notice_that_says_what_happens_instead(monkeypatch):
    key = PlannedKey("future.sense", "sensing", tolerated="it is not used yet")
    for module in (core_planned_keys, settings_keys):
        monkeypatch.setattr(module, "planned_keys", lambda: (key,))
    assert load_settings(config(key, {"model": "m"})).notices == ["future.sense: it is not used yet"]


def test_u6_true_is_not_taken_for_one_nor_false_for_zero():
    assert problems({"enhanced_autonomous_retrieval": 0})
    assert problems({"category_router": {"top_k": True}})


@pytest.mark.parametrize(
    ("given", "key", "hint"),
    [
        ({"category_ruter": {}}, "category_ruter", "'category_router'"),
        ({"category_router": {"enabeld": False}}, "category_router.enabeld", "'enabled'"),
        ({"enhanced_retrieval": {"rrf": 60}}, "enhanced_retrieval.rrf", "'rrf_k'"),
        ({"intent": {"extraction_confg": None}}, "intent.extraction_confg", "'extraction_config'"),
        ({"category_router": 3}, "category_router", "must be a mapping"),
    ],
)
def test_fault_09_a_mistake_beside_a_planned_key_is_an_unknown_key(given, key, hint):
    [found] = problems(given)
    assert found.key == key
    assert hint in found.message


@pytest.mark.parametrize("empty", [None, {}])
def test_u6_an_empty_planned_section_asks_for_nothing(empty):
    assert load_settings({"enhanced_retrieval": empty, "category_router": empty}).notices == []


@pytest.mark.parametrize(
    ("variable", "value", "key"),
    [
        ("GROUNDGRAPH_CATEGORY_ROUTER__ENABLED", "true", "category_router.enabled"),
        ("GROUNDGRAPH_ENHANCED_AUTONOMOUS_RETRIEVAL", "true", "enhanced_autonomous_retrieval"),
        ("GROUNDGRAPH_RETRIEVER__DEFAULT_TOP_K", "2", "retriever.default_top_k"),
    ],
)
def test_u6_the_environment_cannot_ask_for_a_planned_feature_either(monkeypatch, variable, value, key):
    monkeypatch.setenv(variable, value)
    [found] = problems(None)
    assert found.key == key
    assert "is not available in this version" in found.message


def test_u6_the_environment_may_turn_a_planned_feature_off(monkeypatch):
    monkeypatch.setenv("GROUNDGRAPH_CATEGORY_ROUTER__ENABLED", "false")
    assert load_settings().notices == []
