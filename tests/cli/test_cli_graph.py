"""`groundgraph graph`: pictures of the configured graphs (U5)."""

from __future__ import annotations

import pytest


def test_u5_the_turn_is_shown_as_mermaid_text(call, tmp_path):
    ran = call("graph")
    assert ran.code == 0
    assert "graph TD;" in ran.out
    assert "begin_turn" in ran.out
    assert "record_turn" in ran.out
    assert call("graph", "turn", "--json").json == {"graph": "turn", "mermaid": ran.out.strip()}
    assert not (tmp_path / ".groundgraph").exists()


def test_u5_the_retrieval_graph_writes_no_answer(call):
    ran = call("graph", "retrieval")
    assert ran.code == 0
    assert "merge_results" in ran.out
    assert "answer_" not in ran.out


def test_u5_no_package_or_key_of_a_model_is_needed(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: anthropic, model: m}\nquery_llm: {model: gpt-x}\n")
    assert call("graph").code == 0


@pytest.mark.parametrize("name", ["ingest", "nonsense"])
def test_u5_another_graph_is_wrong_use(call, name):
    ran = call("graph", name)
    assert (ran.code, ran.out) == (2, "")
    assert "retrieval" in ran.err
