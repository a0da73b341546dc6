"""What `config check` says of rerankers and clustering (P4, P6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.cli.check_config import Checked, check_config

pytestmark = pytest.mark.covers("P4", "P6")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CO_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def checked(folder: Path, text: str) -> Checked:
    path = folder / "groundgraph.yaml"
    path.write_text(text)
    return check_config(path)


def test_a_judge_without_a_model_is_a_problem_of_the_file_and_with_one_is_none(tmp_path):
    [problem] = checked(tmp_path, "reranker: {enabled: true}\n").problems
    assert problem.key == "reranker"
    assert "needs a model" in problem.message
    assert problem.line == 1
    assert checked(tmp_path, "llm: {provider: openai, model: m}\nreranker: {enabled: true}\n").problems == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reranker: {enabled: true, type: coher}\n", "Did you mean 'cohere'"),
        ("reranker: {enabled: true, type: langchain}\n", "compressor"),
        ("result_processing: {cluster_strategy: embedding}\n", "needs a model"),
        ("reranker: {enabled: true}\nchains: {query: {reranker: judge}}\n", "two rerankers"),
    ],
)
def test_what_no_machine_can_build_is_a_problem(tmp_path, text, told):
    assert any(told in problem.message for problem in checked(tmp_path, text).problems)


def test_a_chain_with_an_alternative_is_no_problem(tmp_path):
    text = "result_processing: {cluster_strategy: [embedding, tfidf]}\n"
    text += "reranker: {enabled: true, type: [cohere, identity]}\n"
    assert checked(tmp_path, text).problems == []
