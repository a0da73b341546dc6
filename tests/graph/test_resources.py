"""The live objects behind a graph: what is built from settings, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from turns import ask, build, docs

import groundgraph.graph.resources as resources
import groundgraph.models.chat_model as quiet_model
from groundgraph import InMemorySource, load_settings, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import Rule, openai_stub


@pytest.mark.covers("I9")
async def test_thinking_is_switched_off_for_queries_that_the_main_model_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The providers that have a switch are not installed here; the stub's provider is given one.
    monkeypatch.setattr(quiet_model, "thinking_switches", lambda: {"openai": {"reasoning_effort": "minimal"}})
    rules = [Rule("Write search queries", "OAuth grant types"), Rule("", "Four [1].")]
    with openai_stub(rules=rules) as stub:
        llm = {"provider": "openai", "model": "m", "base_url": stub.base_url, "api_key": "test"}
        result = await ask(build(base={}, llm=llm, sources=[docs()]))
    assert result["answer"] == "Four [1]."
    sent = [request.body for request in stub.requests]
    assert [body.get("reasoning_effort") for body in sent] == ["minimal", None]


@pytest.mark.covers("I9")
def test_the_switches_are_data_that_name_known_options() -> None:
    switches = quiet_model.thinking_switches()
    assert switches["ollama"] == {"reasoning": False}
    assert all(isinstance(options, dict) and options for options in switches.values())


@pytest.mark.covers("U1")
@pytest.mark.parametrize(
    ("settings", "sources", "told"),
    [
        (7, [InMemorySource(name="b")], "of type int"),
        (load_settings(), ["docs"], "of type str, which is no source"),
        (load_settings(), [InMemorySource], "the class InMemorySource and no object"),
        (
            load_settings(),
            [SimpleNamespace(name="b", query=list)],
            "SimpleNamespace, which lacks source_type, .*get_sch",
        ),
    ],
)
def test_what_is_no_settings_and_no_source_is_told_in_plain_words(settings, sources, told) -> None:
    with pytest.raises(ConfigurationError, match=told):
        turn_graph(settings, sources=sources)


@pytest.mark.covers("R11")
def test_a_configured_source_and_one_from_python_stand_side_by_side() -> None:
    settings = load_settings({"sources": [{"type": "memory", "name": "a", "records": ["x"]}]})
    built = resources.Resources.build(settings, sources=[InMemorySource(name="b")])
    assert list(built.sources) == ["a", "b"]
    assert [source.name for source in built.owned] == ["a"], "what Python passed in is not ours to close"
    with pytest.raises(ConfigurationError, match="two sources are called 'a'"):
        resources.Resources.build(settings, sources=[InMemorySource(name="a")])


@pytest.mark.covers("R11")
def test_an_unknown_source_type_offers_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"sources\[0\].type: .*Did you mean 'memory'"):
        resources.Resources.build(load_settings({"sources": [{"type": "memori", "name": "a"}]}))


def test_the_default_knowledge_base_exists_only_when_nothing_else_is_named() -> None:
    assert list(resources.Resources.build(load_settings({})).sources) == ["knowledge_base"]
    only = resources.Resources.build(load_settings({}), sources=[InMemorySource(name="a")])
    assert list(only.sources) == ["a"]
    both = resources.Resources.build(load_settings({"knowledge_base": {}}), sources=[InMemorySource(name="a")])
    assert list(both.sources) == ["knowledge_base", "a"]


def test_a_missing_integration_names_the_package() -> None:
    with pytest.raises(ConfigurationError, match="langchain-groq"):
        resources.Resources.build(load_settings({"llm": {"provider": "groq", "model": "m"}}))
