"""Every key of the documents is known: it works, or it is refused as a feature that is not there yet (U6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.load_settings import load_settings
from groundgraph.core.planned_keys import planned_values
from groundgraph.core.settings import ChainSettings
from groundgraph.core.topic_settings import TopicIndexSettings
from groundgraph.core.yaml_file import read_yaml
from groundgraph.graph.resources import Resources
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

CONFIGS = Path(__file__).parent / "configs"
REFERENCE = CONFIGS / "reference_config.yaml"
MINIMAL = CONFIGS / "minimal_config.yaml"
# An issue that brings one of these features takes it from this list and from planned_keys.yaml.
NOT_YET = [
    ("retriever.thresholds", 91),
    ("retriever.default_top_k", 92),
]


def test_u6_the_full_reference_gives_the_refusals_of_features_to_come_and_nothing_else():
    with pytest.raises(ConfigurationError) as caught:
        load_settings(REFERENCE)
    assert [(found.key, found.line) for found in caught.value.problems] == NOT_YET
    assert all("is not available in this version: " in found.message for found in caught.value.problems)
    assert {found.file for found in caught.value.problems} == {str(REFERENCE)}


def test_u6_the_full_reference_without_the_features_to_come_loads_with_its_values():
    given = read_yaml(REFERENCE)
    del given["retriever"]
    settings = load_settings(given)
    assert settings.notices == []
    assert settings.intent.num_queries == 3
    assert [source.name for source in settings.sources] == ["knowledge_base", "faq", "case_db"]
    assert settings.sources[2].options["text_search_fields"] == ["title", "summary"]
    indices = [source.topic_index for source in settings.sources]
    assert indices == [TopicIndexSettings(type="heading_tree"), TopicIndexSettings(type="cluster"), None]
    # What the documents give as defaults are the defaults, but for `keep`: top_k cuts there.
    assert settings.chains.query.keep == 5
    plain = settings.chains.query.model_copy(update={"keep": None})
    assert settings.chains.model_copy(update={"query": plain}) == ChainSettings()


def test_u6_the_minimal_configuration_loads():
    settings = load_settings(MINIMAL)
    assert settings.llm is not None
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "llama3.2")
    assert settings.knowledge_base is not None
    assert settings.knowledge_base.path == Path("docs")
    assert settings.knowledge_base.chunker.strategy == "markdown"
    assert settings.intent.domain_context == "OAuth 2.0 authorization framework"
    assert settings.embedding_model is not None
    assert settings.embedding_model.full_name == "ollama:mxbai-embed-large"
    assert settings.notices == []


def test_u6_the_minimal_configuration_makes_a_graph_with_its_knowledge_base():
    models = {"chat_model": ScriptedChatModel("x"), "embeddings": NgramEmbeddings()}
    assert list(Resources.build(load_settings(MINIMAL), **models).sources) == ["knowledge_base"]


def test_u6_the_reference_sets_planned_keys_of_every_section_that_has_some():
    sections = {found.planned.parts[0] for found in planned_values(load_flat(REFERENCE))}
    assert {"retriever", "category_router", "enhanced_retrieval"} <= sections


def load_flat(path: Path) -> dict:
    given = read_yaml(path)
    return {**given, **given["reasoning"]}
