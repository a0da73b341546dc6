"""Every key of the documents is known: it works, or it is refused as a feature that is not there yet (U6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.load_settings import load_settings
from groundgraph.core.planned_keys import planned_values
from groundgraph.core.yaml_file import read_yaml
from groundgraph.graph.resources import Resources

CONFIGS = Path(__file__).parent / "configs"
REFERENCE = CONFIGS / "reference_config.yaml"
MINIMAL = CONFIGS / "minimal_config.yaml"
# An issue that brings one of these features takes it from this list and from planned_keys.yaml.
NOT_YET = [
    ("retrieval.merge_adjacent", 23),
    ("sources.0.topic_index", 46),
    ("sources.1.topic_index", 63),
    ("retriever.thresholds", 91),
    ("retriever.default_top_k", 92),
    ("chains", 111),
]


def test_u6_the_full_reference_gives_the_refusals_of_features_to_come_and_nothing_else():
    with pytest.raises(ConfigurationError) as caught:
        load_settings(REFERENCE)
    assert [(found.key, found.line) for found in caught.value.problems] == NOT_YET
    assert all("is not available in this version: " in found.message for found in caught.value.problems)
    assert {found.file for found in caught.value.problems} == {str(REFERENCE)}


def test_u6_the_full_reference_without_the_features_to_come_loads_with_its_values():
    given = read_yaml(REFERENCE)
    given["reasoning"]["retrieval"]["merge_adjacent"] = False
    for source in given["reasoning"]["sources"]:
        source.pop("topic_index", None)
    for section in ("retriever", "chains"):
        del given[section]
    settings = load_settings(given)
    assert settings.notices == []
    assert settings.intent.num_queries == 3
    assert [source.name for source in settings.sources] == ["knowledge_base", "faq", "case_db"]
    assert settings.sources[2].options["text_search_fields"] == ["title", "summary"]


def test_u6_the_minimal_configuration_loads_and_says_what_it_does_not_use():
    settings = load_settings(MINIMAL)
    assert settings.llm is not None
    assert (settings.llm.provider, settings.llm.model) == ("ollama", "llama3.2")
    assert settings.knowledge_base is not None
    assert settings.knowledge_base.path == Path("docs")
    assert settings.knowledge_base.chunker.strategy == "markdown"
    assert settings.intent.domain_context == "OAuth 2.0 authorization framework"
    [notice] = settings.notices
    assert notice.startswith("knowledge_base.embeddings: this version does not use embeddings yet")


def test_u6_the_minimal_configuration_makes_a_graph_with_its_knowledge_base():
    settings = load_settings(MINIMAL).model_copy(update={"llm": None})
    assert list(Resources.build(settings).sources) == ["knowledge_base"]


def test_u6_the_reference_sets_planned_keys_of_every_section_that_has_some():
    sections = {found.planned.parts[0] for found in planned_values(load_flat(REFERENCE))}
    assert {"intent", "retrieval", "result_processing", "sources", "retriever", "reranker", "chains"} <= sections


def load_flat(path: Path) -> dict:
    given = read_yaml(path)
    return {**given, **given["reasoning"]}
