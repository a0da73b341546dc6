"""The settings of autonomous retrieval: defaults of document 004, bounds, and what each key changes (C3 to C8)."""

from __future__ import annotations

import pytest
from refused_settings import problems

from groundgraph import load_settings
from groundgraph.settings.search import STAGES, EnhancedRetrievalSettings

pytestmark = pytest.mark.covers("C8")


def test_the_defaults_are_those_of_the_document_and_the_flag_is_off():
    settings = load_settings({})
    own = settings.enhanced_retrieval
    assert settings.enhanced_autonomous_retrieval is False
    assert (own.max_kb_chars, own.max_kb_tokens, own.top_k_per_sub_query, own.max_sub_queries) == (40_000, None, 3, 4)
    assert (own.rrf_k, own.rewrite_min_words, own.min_complexity_length) == (60, 4, 30)
    router = settings.category_router
    assert (router.enabled, router.top_k, router.fallback_categories) == (False, 3, ["faq", "features"])
    assert settings.stages == frozenset()
    assert list(settings.paths) == ["cascade"]
    assert settings.paths["cascade"] is settings.result_processing


def test_the_flag_switches_all_stages_on_or_those_that_are_named():
    assert load_settings({"enhanced_autonomous_retrieval": True}).stages == frozenset(STAGES)
    named = {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["reorder", "budget", "budget"]}}
    assert load_settings(named).enhanced_retrieval.stages == ["budget", "reorder"]
    assert load_settings({"enhanced_autonomous_retrieval": False}).stages == frozenset()


def test_each_path_has_its_own_result_processing():
    settings = load_settings({"enhanced_autonomous_retrieval": True, "result_processing": {"rotation": "suppress"}})
    assert list(settings.paths) == ["enhanced", "state_facts", "cascade"]
    own = settings.paths["enhanced"]
    assert (own.max_kb_chars, own.rotation, own.reorder, own.rrf_k) == (40_000, "suppress", "zigzag", 60)
    assert settings.paths["state_facts"] == own
    assert settings.paths["cascade"] == settings.result_processing
    assert load_settings({"enhanced_autonomous_retrieval": True}).paths["enhanced"].rotation == "demote"


@pytest.mark.covers("fault 11")
@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("enhanced_retrieval", "max_kb_chars", [0, -1, "many"]),
        ("enhanced_retrieval", "max_kb_tokens", [0]),
        ("enhanced_retrieval", "top_k_per_sub_query", [0, 1001]),
        ("enhanced_retrieval", "max_sub_queries", [0, 11]),
        ("enhanced_retrieval", "rrf_k", [0]),
        ("enhanced_retrieval", "rewrite_min_words", [0]),
        ("enhanced_retrieval", "min_complexity_length", [0]),
        ("enhanced_retrieval", "stages", [["nonsense"], "budget"]),
        ("category_router", "top_k", [0, 101]),
        ("category_router", "intents", [{"a": "pricing"}, ["a"]]),
    ],
)
def test_values_out_of_bounds_are_refused(section, key, values):
    for value in values:
        assert all(found.key.startswith(f"{section}.{key}") for found in problems({section: {key: value}}))


def test_without_models_the_stages_that_need_one_are_left_out():
    given = {"enhanced_autonomous_retrieval": True, "category_router": {"enabled": True}}
    bare = load_settings(given).without_models()
    assert bare.stages == frozenset(STAGES) - {"rewrite", "decomposition"}
    assert bare.category_router.enabled is False
    plain = EnhancedRetrievalSettings(stages=["rewrite"])
    alone = {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": plain.stages}}
    assert load_settings(alone).without_models().enhanced_retrieval.stages == []
