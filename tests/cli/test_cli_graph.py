"""`groundgraph graph`: pictures of the configured graphs (U5)."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.covers("U5")


def test_the_turn_is_shown_as_mermaid_text(call, tmp_path):
    ran = call("graph")
    assert ran.code == 0
    assert "graph TD;" in ran.out
    assert "begin_turn" in ran.out
    assert "record_turn" in ran.out
    assert call("graph", "turn", "--json").json == {"graph": "turn", "mermaid": ran.out.strip()}
    assert not (tmp_path / ".groundgraph").exists()


def test_the_retrieval_graph_writes_no_answer(call):
    ran = call("graph", "retrieval")
    assert ran.code == 0
    assert "works = merge_results, join_neighbours, judge_evidence<" in ran.out
    assert "answer_" not in ran.out


def test_no_package_or_key_of_a_model_is_needed(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: anthropic, model: m}\nquery_llm: {model: gpt-x}\n")
    assert call("graph").code == 0


def test_the_ingest_graph_shows_its_steps_and_embeds_when_a_model_is_configured(call, tmp_path):
    plain = call("graph", "ingest")
    assert plain.code == 0
    assert "write_documents" in plain.out
    assert "embed_texts" not in plain.out
    (tmp_path / "groundgraph.yaml").write_text(
        "embeddings: {model: nobody:has-this}\nsources:\n- {type: knowledge_base, name: a, path: a}\n"
        "- {type: knowledge_base, name: b, path: b}\n"
    )
    ran = call("graph", "ingest", "--json")
    assert (ran.code, ran.json["graph"]) == (0, "ingest")
    assert "embed_texts" in ran.json["mermaid"]
    assert [path.name for path in tmp_path.iterdir()] == ["groundgraph.yaml"]
