"""Every key of the documents is known: it works, and the full reference loads as it is (U6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.cli.check_config import check_config
from groundgraph.graph.resources import Resources
from groundgraph.settings.knowledge_base import ChainSettings
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.search import CategoryRouterSettings, EnhancedRetrievalSettings
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.settings.yaml_file import read_yaml
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

CONFIGS = Path(__file__).parent / "configs"
REFERENCE = CONFIGS / "reference_config.yaml"
MINIMAL = CONFIGS / "minimal_config.yaml"


@pytest.mark.covers("U6")
def test_the_full_reference_loads_as_it_is_with_its_values():
    settings = load_settings(REFERENCE)
    assert settings.intent.num_queries == 3
    assert [source.name for source in settings.sources] == ["knowledge_base", "faq", "case_db"]
    assert settings.sources[2].options["text_search_fields"] == ["title", "summary"]
    indices = [source.topic_index for source in settings.sources]
    assert indices == [TopicIndexSettings(type="heading_tree"), TopicIndexSettings(type="cluster"), None]
    # What the documents give as defaults are the defaults, but for `keep`: top_k cuts there.
    assert settings.chains.query.keep == 5
    plain = settings.chains.query.model_copy(update={"keep": None})
    assert settings.chains.model_copy(update={"query": plain}) == ChainSettings()


@pytest.mark.covers("U6")
def test_the_values_of_document_004_are_the_defaults():
    settings = load_settings(REFERENCE)
    assert settings.enhanced_autonomous_retrieval is False
    assert settings.enhanced_retrieval == EnhancedRetrievalSettings()
    assert settings.category_router == CategoryRouterSettings()


@pytest.mark.covers("U6")
def test_the_full_reference_passes_the_check_of_the_command_line():
    checked = check_config(REFERENCE)
    assert checked.problems == []
    # The cluster index works with an embedding model, which the reference leaves to Python.
    idle = [notice for notice in checked.notices if "has no effect without" in notice]
    others = [notice for notice in checked.notices if notice not in idle]
    assert [notice.partition(":")[0] for notice in others] == ["sources[1].topic_index.type"]
    # Its defaults for what it leaves off are told with their places.
    assert any("enhanced_retrieval.rrf_k" in notice and f"{REFERENCE}:" in notice for notice in idle)


@pytest.mark.covers("C8")
def test_stages_that_need_a_model_are_a_notice_where_none_is_configured(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("enhanced_autonomous_retrieval: true\n")
    [notice] = check_config(file).notices
    assert notice.startswith("enhanced_autonomous_retrieval: decomposition and rewrite are left out without a model")
    file.write_text("enhanced_autonomous_retrieval: true\nenhanced_retrieval: {stages: [rewrite, decomposition]}\n")
    assert [notice.partition(" needs")[0] for notice in check_config(file).notices] == [
        "enhanced_retrieval.stages: 'decomposition'",
        "enhanced_retrieval.stages: 'rewrite'",
    ]
    file.write_text("category_router: {enabled: true}\n")
    assert [notice.partition(":")[0].partition(" needs")[0] for notice in check_config(file).notices] == [
        "category_router.enabled",
        "category_router",
    ]
    file.write_text("enhanced_autonomous_retrieval: true\nenhanced_retrieval: {stages: [budget]}\n")
    assert check_config(file).notices == []


# For each key of document 004's retrieval, a value that is not its default, and the test of what it changes.
DOCUMENT_004 = {
    "category_router.enabled": (True, "test_routing_needs_no_other_stage"),
    "category_router.top_k": (1, "test_at_most_top_k_categories"),
    "category_router.fallback_categories": (["faq"], "test_an_unknown_intent_means_the_fallback"),
    "enhanced_autonomous_retrieval": (True, "test_without_its_flag_no_stage_is_in_the_picture"),
    "enhanced_retrieval.max_kb_chars": (10, "test_the_separator_is_counted"),
    "enhanced_retrieval.top_k_per_sub_query": (1, "test_each_part_brings_top_k_per_sub_query"),
    "enhanced_retrieval.max_sub_queries": (1, "test_at_most_max_sub_queries"),
    "enhanced_retrieval.rrf_k": (1, "test_question_and_parts_are_fused_with_rrf_k"),
    "enhanced_retrieval.rewrite_min_words": (1, "test_the_least_number_of_words_is_a_setting"),
    "enhanced_retrieval.min_complexity_length": (1, "test_min_complexity_length"),
}


@pytest.mark.covers("U6")
@pytest.mark.parametrize("key", DOCUMENT_004)
def test_every_key_of_document_004_has_a_test_of_what_it_does(key):
    value, name = DOCUMENT_004[key]
    # A key of a step that is off is refused.
    router: dict = {"enabled": True} if key != "category_router.fallback_categories" else {"intents": {"a": ["b"]}}
    on: dict = {"enhanced_autonomous_retrieval": True, "category_router": router}
    section, _, inner = key.partition(".")
    given = {**on, section: {**on.get(section, {}), inner: value} if inner else value}
    assert load_settings(given) != load_settings(on if inner not in ("", "enabled") else {})
    tests = "".join(path.read_text("utf-8") for path in (CONFIGS.parent.parent / "graph").glob("test_autonomous*.py"))
    assert f"def {name}" in tests


@pytest.mark.covers("U6")
def test_no_key_of_document_004_is_left_out():
    given = read_yaml(REFERENCE)
    own = {f"{section}.{key}" for section in ("category_router", "enhanced_retrieval") for key in given[section]}
    assert own | {"enhanced_autonomous_retrieval"} == set(DOCUMENT_004)


@pytest.mark.covers("U6")
def test_the_minimal_configuration_loads():
    settings = load_settings(MINIMAL)
    assert settings.llm is not None
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "llama3.2")
    assert settings.knowledge_base is not None
    assert settings.knowledge_base.path == Path("docs")
    assert settings.knowledge_base.chunker.strategy == "markdown"
    assert settings.intent.domain_context == "OAuth 2.0 authorization framework"
    assert settings.embedding_model is not None
    assert settings.embedding_model.full_name == "ollama:mxbai-embed-large"


@pytest.mark.covers("U6")
def test_the_minimal_configuration_makes_a_graph_with_its_knowledge_base():
    models = {"chat_model": ScriptedChatModel("x"), "embeddings": NgramEmbeddings()}
    assert list(Resources.build(load_settings(MINIMAL), **models).sources) == ["knowledge_base"]
