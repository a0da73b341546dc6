"""Chains of no kind of data, and two rerankers (K7, decision 4)."""

from __future__ import annotations

import pytest
from refused_settings import problem

from groundgraph.settings.idle_settings import two_rerankers
from groundgraph.settings.knowledge_base import ChainSettings
from groundgraph.settings.load_settings import load_settings

SCHEMAS = "knowledge_base:\n  schemas:\n    facts: {fields: {text: {type: string}}}\n"


BOTH = "chains:\n  documents: {chunker: identity}\nbindings:\n  documents: {chunker: document}\n"
TWO = "reranker: {enabled: true, type: identity}\nchains:\n  query:\n    reranker: {name: judge}\n"


@pytest.mark.covers("K7", "U6")
@pytest.mark.parametrize(
    ("text", "place", "key", "told"),
    [
        (f"{SCHEMAS}chains:\n  fact: {{chunker: identity}}\n", (5, 3), "chains.fact", "Did you mean 'facts'"),
        (f"{SCHEMAS}bindings:\n  fact: {{chunker: identity}}\n", (5, 3), "chains.fact", "Did you mean 'facts'"),
        (SCHEMAS.replace("facts", "query"), (3, 5), "knowledge_base.schemas.query", "another name"),
        (BOTH, (4, 3), "bindings.documents", "stands in `chains` as well"),
        ("bindings: [documents]\n", (1, 1), "bindings", "must be a mapping"),
        (TWO, (4, 5), "chains.query.reranker", "two rerankers"),
        ("bindings: {documents:\n  {chunkr: a}}\n", (2, 4), "chains.documents.chunkr", "Did you mean 'chunker'"),
    ],
)
def test_chains_that_contradict_are_refused_with_their_place(file, text, place, key, told):
    found = problem(file(text))
    assert (found.line, found.column, found.key) == (*place, key)
    assert told in found.message


@pytest.mark.covers("K7")
def test_a_declared_schema_may_have_chains(file):
    assert (
        load_settings(file(f"{SCHEMAS}chains:\n  facts: {{chunker: identity}}\n")).chains.of_kind("facts").chunker
        == "identity"
    )


@pytest.mark.parametrize("chosen", ["identity", {"name": "identity"}])
def test_the_identity_reranker_is_none(chosen):
    chains = ChainSettings.model_validate({"query": {"reranker": chosen}})
    assert not two_rerankers(chains, merged=True)
    assert two_rerankers(ChainSettings.model_validate({"query": {"reranker": "judge"}}), merged=True)
    assert not two_rerankers(ChainSettings.model_validate({"query": {"reranker": "judge"}}), merged=False)
