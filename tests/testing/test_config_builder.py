"""GroundedConfigBuilder: document 000's fluent methods and the sections beside them."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import GroundedConfigBuilder


def test_document_000s_example():
    config = (
        GroundedConfigBuilder()
        .intent(mode="extract", num_queries=2)
        .retrieval(top_k=3)
        .synthesis(require_citations=True)
        .build()
    )
    assert config == {
        "intent": {"mode": "extract", "num_queries": 2},
        "retrieval": {"top_k": 3},
        "synthesis": {"require_citations": True},
    }


def test_every_other_section():
    config = (
        GroundedConfigBuilder()
        .llm("openai", "test-model", temperature=0)
        .knowledge_base(path="docs")
        .result_processing(min_results=1)
        .source("memory", "a", weight=3, records=["x"])
        .source("memory", "b")
        .option("store_provenance", False)
        .option("deadlines.turn", 5)
        .build()
    )
    assert config == {
        "llm": {"provider": "openai", "model": "test-model", "temperature": 0},
        "knowledge_base": {"path": "docs"},
        "result_processing": {"min_results": 1},
        "sources": [
            {"type": "memory", "name": "a", "weight": 3, "records": ["x"]},
            {"type": "memory", "name": "b"},
        ],
        "store_provenance": False,
        "deadlines": {"turn": 5},
    }


def test_a_section_can_be_added_to_and_a_built_config_stays_as_it_is():
    queries = ["a"]
    builder = GroundedConfigBuilder().intent(mode="static", text_queries=queries)
    first = builder.build()
    queries.append("b")
    second = builder.intent(scope="broad").build()
    assert first == {"intent": {"mode": "static", "text_queries": ["a"]}}
    assert second["intent"] == {"mode": "static", "text_queries": ["a", "b"], "scope": "broad"}


def test_an_option_within_a_value_is_refused_with_the_name_of_that():
    builder = GroundedConfigBuilder().option("a", 1).option("b.c", "x").option("sources", 2).option("intent", [])
    ways = {
        "a": lambda: builder.option("a.b", 2),
        "c": lambda: builder.option("b.c.d", 2),
        "sources": lambda: builder.source("memory", "a"),
        "intent": lambda: builder.intent(mode="static"),
    }
    for name, way in ways.items():
        with pytest.raises(ConfigurationError, match=f"^{name}: was set to a value of type .* leave one out"):
            way()
    assert builder.build() == {"a": 1, "b": {"c": "x"}, "sources": 2, "intent": []}
