"""Chains of no kind of data, and two rerankers (K7, decision 4)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.idle_settings import two_rerankers
from groundgraph.settings.knowledge_base import ChainSettings
from groundgraph.settings.load_settings import load_settings

SCHEMAS = "knowledge_base:\n  schemas:\n    facts: {fields: {text: {type: string}}}\n"


def problems(tmp_path, text: str) -> list[tuple[int, int, str, str]]:
    file = tmp_path / "groundgraph.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load_settings(file)
    return [(found.line, found.column, found.key, found.message) for found in caught.value.problems]


@pytest.mark.covers("K7")
@pytest.mark.parametrize("section", ["chains", "bindings"])
def test_chains_of_no_kind_of_data_are_refused_with_their_place(tmp_path, section):
    text = f"{SCHEMAS}{section}:\n  fact: {{chunker: identity}}\n"
    [(line, column, key, message)] = problems(tmp_path, text)
    assert (line, column, key) == (5, 3, "chains.fact")
    assert "Did you mean 'facts'" in message


@pytest.mark.covers("K7")
def test_a_declared_schema_may_have_chains(tmp_path):
    (tmp_path / "g.yaml").write_text(f"{SCHEMAS}chains:\n  facts: {{chunker: identity}}\n", "utf-8")
    assert load_settings(tmp_path / "g.yaml").chains.of_kind("facts").chunker == "identity"


@pytest.mark.covers("K7")
def test_a_schema_cannot_be_called_like_a_section_of_chains(tmp_path):
    [(line, _, key, message)] = problems(tmp_path, "knowledge_base:\n  schemas:\n    query: {fields: {}}\n")
    assert (line, key) == (3, "knowledge_base.schemas.query")
    assert "another name" in message


@pytest.mark.covers("K7")
def test_one_kind_in_both_sections_is_refused(tmp_path):
    text = "chains:\n  documents: {chunker: identity}\nbindings:\n  documents: {chunker: document}\n"
    [(line, column, key, message)] = problems(tmp_path, text)
    assert (line, column, key) == (4, 3, "bindings.documents")
    assert "stands in `chains` as well" in message


@pytest.mark.covers("K7")
def test_bindings_that_are_no_mapping_are_refused(tmp_path):
    [(line, _, key, message)] = problems(tmp_path, "bindings: [documents]\n")
    assert (line, key) == (1, "bindings")
    assert "must be a mapping" in message


def test_two_rerankers_are_refused(tmp_path):
    text = "reranker: {enabled: true, type: identity}\nchains:\n  query:\n    reranker: {name: judge}\n"
    [(line, column, key, message)] = problems(tmp_path, text)
    assert (line, column, key) == (4, 5, "chains.query.reranker")
    assert "two rerankers" in message


@pytest.mark.parametrize("chosen", ["identity", {"name": "identity"}])
def test_the_identity_reranker_is_none(chosen):
    chains = ChainSettings.model_validate({"query": {"reranker": chosen}})
    assert not two_rerankers(chains, merged=True)
    assert two_rerankers(ChainSettings.model_validate({"query": {"reranker": "judge"}}), merged=True)
    assert not two_rerankers(ChainSettings.model_validate({"query": {"reranker": "judge"}}), merged=False)


@pytest.mark.covers("U6")
def test_a_wrong_key_of_a_kind_is_refused_with_its_place_also_in_bindings(tmp_path):
    [(line, column, _, message)] = problems(tmp_path, "bindings:\n  documents:\n    chunkr: identity\n")
    assert (line, column) == (3, 5)
    assert "Did you mean 'chunker'" in message
