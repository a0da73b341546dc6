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


QUESTION = "Which grant types does OAuth have?"


@pytest.fixture
def ask(call, tmp_path):
    """Asks on the thread "t1" a model that says `reply`; what a command behind that does beside the model."""

    def asked(reply, code, *then):
        with openai_stub(default=reply) as stub:
            (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url=stub.base_url))
            ran = call("ask", QUESTION, "--thread", "t1", OPENAI_API_KEY="test")
            assert ran.code == code, ran.err
            return call(*then, OPENAI_API_KEY="test") if then else ran

    return asked


def test_the_command_line_says_that_an_answer_waits_and_where(ask) -> None:
    ran = ask("The moon orbits a cheese [1].", 3)
    assert "waits for a person" in ran.err
    assert "t1" in ran.err
    assert "cheese" not in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_a_chat_goes_on_behind_an_answer_that_waits(ask) -> None:
    ran = ask("The moon orbits a cheese [1].", 3, "chat", "--thread", "t1", "--json")
    assert (ran.code, ran.json) == (0, {"thread_id": "t1", "turns": []})
    assert "waits for a person" in ran.err
    assert "cheese" not in ran.out + ran.err


def test_a_thread_that_waits_is_listed_shown_and_told_by_report(ask, call) -> None:
    ask("The moon orbits a cheese [1].", 3)
    [row] = call("threads", "list", "--json").json["threads"]
    assert (row["thread_id"], row["turns"], row["outcome"], row["waits"]) == ("t1", 0, "", True)
    assert row["question"] == QUESTION
    listed = call("threads")
    assert "waits for a person" in listed.out
    for ran, code in ((call("report", "t1"), 2), (call("threads", "show", "t1"), 0), (listed, 0)):
        assert ran.code == code
        assert "Command(resume=…)" in ran.err
        assert "cheese" not in ran.out + ran.err
    assert QUESTION in call("report", "t1").err


def test_a_turn_that_waits_behind_others_is_told_beside_them(ask, call) -> None:
    ask("OAuth has four grant types [1].", 0)
    ask("The moon orbits a cheese [1].", 3)
    [row] = call("threads", "--json").json["threads"]
    assert (row["turns"], row["waits"]) == (1, True)
    ran = call("report", "t1")
    assert (ran.code, "This is the turn before." in ran.err) == (0, True)
    assert "four grant types" in ran.out
