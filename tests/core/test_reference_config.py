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
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

pytestmark = pytest.mark.covers("U6")

CONFIGS = Path(__file__).parent / "configs"
REFERENCE = CONFIGS / "reference_config.yaml"
MINIMAL = CONFIGS / "minimal_config.yaml"


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


def test_the_values_of_document_004_are_the_defaults():
    settings = load_settings(REFERENCE)
    assert settings.enhanced_autonomous_retrieval is False
    assert settings.enhanced_retrieval == EnhancedRetrievalSettings()
    assert settings.category_router == CategoryRouterSettings()


def test_the_full_reference_passes_the_check_of_the_command_line():
    checked = check_config(REFERENCE)
    assert checked.problems == []
    # The cluster index works with an embedding model, which the reference leaves to Python.
    idle = [notice for notice in checked.notices if "has no effect without" in notice]
    others = [notice for notice in checked.notices if notice not in idle]
    assert [notice.partition(":")[0] for notice in others] == [
        "sources[1].topic_index.type",
        "no turn is run from this file alone",
    ]
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
        "no turn is run from this file alone: what a notice names has to come from Python",
    ]
    file.write_text("category_router: {enabled: true}\n")
    assert [notice.partition(":")[0].partition(" needs")[0] for notice in check_config(file).notices] == [
        "category_router.enabled",
        "category_router",
        "no turn is run from this file alone",
    ]
    file.write_text("enhanced_autonomous_retrieval: true\nenhanced_retrieval: {stages: [budget]}\n")
    assert check_config(file).notices == []


def test_the_minimal_configuration_loads():
    settings = load_settings(MINIMAL)
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "llama3.2")
    assert settings.knowledge_base.path == Path("docs")
    assert settings.knowledge_base.chunker.strategy == "markdown"
    assert settings.intent.domain_context == "OAuth 2.0 authorization framework"
    assert settings.embedding_model.full_name == "ollama:mxbai-embed-large"


def test_the_minimal_configuration_makes_a_graph_with_its_knowledge_base():
    models = {"chat_model": ScriptedChatModel("x"), "embeddings": NgramEmbeddings()}
    assert list(Resources.build(load_settings(MINIMAL), **models).sources) == ["knowledge_base"]
