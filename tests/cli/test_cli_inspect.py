"""`groundgraph inspect`."""

from __future__ import annotations

import pytest

from groundgraph import register_chain
from groundgraph.cli.matches import find_matches
from groundgraph.ingest.builtin_chains import REGISTRIES
from groundgraph.settings.load_settings import load_settings

KEYS = [
    "rank",
    "source_name",
    "source_id",
    "document",
    "section",
    "relevance",
    "match_score",
    "rerank_score",
    "kept",
    "content",
]


@pytest.mark.covers("U5")
def test_every_match_is_listed_and_what_is_dropped_is_marked(filled, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("retrieval: {score_threshold: 0.3}\n")
    ran = filled("inspect", "access token expires scope zebra", "--json")
    rows = ran.json["results"]
    assert ran.code == 0
    assert list(rows[0]) == KEYS
    assert [row["rank"] for row in rows] == [1, 2]
    assert [(row["document"], row["section"], row["kept"]) for row in rows] == [
        ("docs/tokens.md", "Tokens", True),
        ("docs/tokens.md", "Scopes", False),
    ]
    assert rows[1]["relevance"] < 0.3
    assert rows[0]["rerank_score"] == 1.0, "no reranker is the identity one (K4)"


def test_the_number_of_matches(filled):
    assert len(filled("inspect", "token scope", "--top-k", "1", "--json").json["results"]) == 1
    assert filled("inspect", "token scope", "--top-k", "0").code == 2


def test_text_form(filled):
    ran = filled("inspect", "Пароль 🙂")
    assert ran.code == 0
    assert "1 + knowledge_base: docs/пароли.txt" in ran.out
    assert filled("inspect", "zebra").out == "Nothing matches.\n"


def test_only_identity_chains_can_be_asked_for(filled):
    plain, identity = filled("inspect", "token", "--json"), filled("inspect", "token", "--chains", "identity", "--json")
    assert plain.json == identity.json
    refused = filled("inspect", "token", "--chains", "other")
    assert refused.code == 2
    assert "identity" in refused.err


@pytest.mark.covers("fault 32")
def test_when_every_source_fails_the_code_says_so(call):
    ran = call("inspect", "token", "--json")
    assert (ran.code, ran.json["results"]) == (3, [])
    assert ran.json["failed"][0]["source"] == "knowledge_base"
    assert "groundgraph ingest" in ran.json["failed"][0]["reason"]
    assert "groundgraph ingest" in ran.err


@pytest.mark.covers("fault 30")
def test_when_one_source_fails_the_others_are_listed(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(
        "sources:\n- {type: memory, name: notes, records: [A token is a string.]}\n- {type: knowledge_base, name: kb}\n"
    )
    ran = call("inspect", "token", "--json")
    assert ran.code == 1
    assert [row["source_name"] for row in ran.json["results"]] == ["notes"]
    assert [failure["source"] for failure in ran.json["failed"]] == ["kb"]


SOURCES = [
    {
        "type": "memory",
        "name": "a",
        "records": [
            {"content": "red apple", "tenant": "x"},
            {"content": "red pear", "tenant": "y"},
            {"content": "red plum", "tenant": "x"},
        ],
        "schema": {"fields": {"tenant": {"type": "string"}}},
    },
    {"type": "memory", "name": "b", "weight": 2, "records": ["red wine", "red beet", "red rose"]},
]


async def test_matches_are_merged_as_a_turn_merges_them():
    settings = load_settings({"sources": SOURCES, "retrieval": {"top_k": 2}})
    matches = await find_matches(settings, "red", 10)
    assert [row["source_name"] for row in matches.results] == ["a", "b", "b", "a", "b", "a"]
    assert [row["kept"] for row in matches.results] == [True, True, True, True, False, False]


@pytest.mark.covers("fault 59")
async def test_default_filters_hold_for_inspect():
    settings = load_settings({"sources": SOURCES, "intent": {"default_filters": {"a": {"tenant": "x"}}}})
    matches = await find_matches(settings, "red", 10)
    assert [row["content"] for row in matches.results if row["source_name"] == "a"] == ["red apple", "red plum"]


async def test_a_source_that_needs_a_filter_is_not_searched_without_it():
    needs = {**SOURCES[0], "schema": {"fields": {"tenant": {"type": "string"}}, "required_fields": ["tenant"]}}
    matches = await find_matches(load_settings({"sources": [needs, SOURCES[1]]}), "red", 10)
    assert {row["source_name"] for row in matches.results} == {"b"}
    assert matches.failed == [{"source": "a", "reason": "it needs a filter on tenant"}]


@pytest.fixture
def judged(call, docs, tmp_path, monkeypatch):
    """A base whose reranker says what share of its words a text has in common with this list."""
    reranker = REGISTRIES["reranker"]
    monkeypatch.setattr(reranker, "_entries", dict(reranker._entries))
    register_chain(
        "reranker", "likes_scopes", lambda query, found: [0.9 if "scope" in one.content else 0.1 for one in found]
    )
    (tmp_path / "groundgraph.yaml").write_text("chains: {query: {reranker: likes_scopes}}\n")
    assert call("ingest", "docs").code == 0
    return call


@pytest.mark.covers("K7")
def test_match_and_rerank_score_stand_beside_each_match_and_what_the_filter_drops_is_marked(judged):
    rows = judged("inspect", "token scope", "--json").json["results"]
    assert [(row["section"], row["rerank_score"], row["kept"]) for row in rows] == [
        ("Scopes", 0.9, True),
        ("Tokens", 0.1, False),
    ]
    assert all(0 < row["match_score"] <= 1 for row in rows)
    assert rows[0]["relevance"] == 0.9
    assert "rerank score 0.90" in judged("inspect", "token scope").out


@pytest.mark.covers("K7")
def test_identity_chains_can_be_asked_for_on_one_query(judged):
    rows = judged("inspect", "token scope", "--chains", "identity", "--json").json["results"]
    assert {row["rerank_score"] for row in rows} == {1.0}
    assert all(row["kept"] for row in rows)
