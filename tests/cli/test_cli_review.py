"""An answer that waits for a person, on the command line, which has nobody to ask (U3)."""

from __future__ import annotations

import pytest

from groundgraph.testing import openai_stub

pytestmark = pytest.mark.covers("U3")

CONFIG = """
intent: {{mode: static}}
llm: {{provider: openai, model: test-model, base_url: "{url}"}}
human_review: {{support_below: 0.6}}
sources:
  - type: memory
    name: docs
    records: [OAuth has four grant types.]
"""


def test_the_command_line_says_that_an_answer_waits_and_where(call, tmp_path) -> None:
    with openai_stub(default="The moon orbits a cheese [1].") as stub:
        (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url=stub.base_url))
        ran = call("ask", "Which grant types does OAuth have?", "--thread", "t1", OPENAI_API_KEY="test")
    assert ran.code == 3, ran.err
    assert "waits for a person" in ran.err
    assert "t1" in ran.err
    assert "cheese" not in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_a_chat_goes_on_behind_an_answer_that_waits(call, tmp_path) -> None:
    with openai_stub(default="The moon orbits a cheese [1].") as stub:
        (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url=stub.base_url))
        waiting = ("ask", "Which grant types does OAuth have?", "--thread", "t1")
        assert call(*waiting, OPENAI_API_KEY="test").code == 3
        ran = call("chat", "--thread", "t1", "--json", OPENAI_API_KEY="test")
    assert (ran.code, ran.json) == (0, {"thread_id": "t1", "turns": []})
    assert "waits for a person" in ran.err
    assert "cheese" not in ran.out + ran.err
