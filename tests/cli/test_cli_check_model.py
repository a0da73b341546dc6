"""`groundgraph check-model` over the wire: figures, page, marks for CI."""

from __future__ import annotations

import pytest
from checked_models import replies_of
from page_policy import allows_its_style

from groundgraph.testing import openai_stub

pytestmark = pytest.mark.covers("U11")
CONFIG = 'llm: {{provider: openai, model: test-model, base_url: "{url}"}}\nlimits: {{attempts: 1}}\n'


@pytest.fixture
def checking(call, tmp_path):
    """Checks a model of that character behind a wire."""

    def checking(name: str, *arguments: str):
        with openai_stub(default=replies_of(name)) as stub:
            (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url=stub.base_url))
            return call("check-model", *arguments, OPENAI_API_KEY="test")

    return checking


def test_an_exact_model_passes_every_mark_and_its_page_is_written(checking, tmp_path) -> None:
    ran = checking("exact", "--json", "-o", "check.html", "--at-least", "1", "--at-least", "injection=1")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["model"], found["right"], found["n"], found["wrong"]) == ("test-model", 85, 85, [])
    assert {form: row["right"] for form, row in found["structured_output"].items()} == {
        "own": 4,
        "json_schema": 4,
        "function_calling": 4,
        "json_mode": 4,
        "text": 4,
    }
    page = (tmp_path / "check.html").read_text("utf-8")
    assert "85 of 85 right" in page
    assert "test-model" in found["advice"]
    assert "http" not in page.replace("http-equiv", "")
    assert allows_its_style(page)


def test_a_mark_that_is_not_reached_ends_with_1_and_is_named(checking) -> None:
    ran = checking("inventive", "--at-least", "0.5", "--at-least", "declines=0.9", "--wrong", "--price", "1/2")
    assert ran.code == 1
    assert "Below the mark: declines." in ran.err
    assert "declines when it must" in ran.out
    assert "a thousand" in ran.out
    assert "What does a crossing cost for a motorcycle?" in ran.out


def test_a_model_that_cannot_be_reached_ends_with_3(call, tmp_path) -> None:
    (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url="http://127.0.0.1:9/v1"))
    ran = call("check-model", OPENAI_API_KEY="test")
    assert ran.code == 3
    assert "cannot be reached" in ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--at-least", "2"], "no share from 0 to 1"),
        (["--at-least", "decline=1"], "Did you mean 'declines'?"),
        (["--price", "cheap"], "write it like 0.25/2"),
        (["-o", "nowhere/page.html"], "there is no folder"),
        ([], "names no model to check"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(call, arguments: list[str], told: str) -> None:
    ran = call("check-model", *arguments)
    assert ran.code == 2
    assert told in ran.err
