"""`groundgraph chat` (U5): a conversation that nothing interrupts for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundgraph.testing import Reply, Rule, openai_stub

pytestmark = pytest.mark.covers("U5")

CONFIG = """
llm: {{provider: openai, model: test-model, base_url: "{url}"}}
intent: {{mode: static}}
sources:
  - type: memory
    name: docs
    records: [Pump 17 is serviced every 90 days., The filter of pump 17 is changed once a year.]
"""


@pytest.fixture
def docs_only(tmp_path: Path) -> Path:
    """A folder whose configuration has a source and no model."""
    text = CONFIG.format(url="").replace('llm: {provider: openai, model: test-model, base_url: ""}\n', "")
    (tmp_path / "groundgraph.yaml").write_text(text)
    return tmp_path


def test_a_conversation_goes_on_after_a_restart(call, docs_only: Path) -> None:
    (docs_only / "groundgraph.yaml").write_text(
        (docs_only / "groundgraph.yaml").read_text().replace("intent: {mode: static}\n", "")
    )
    first = call("chat", said="How often is pump 17 serviced?\n\n/quit\nnever read\n")
    assert first.code == 0, first.err
    assert "90 days" in first.out
    turns = call("chat", "--json", said="And why is it?\n").json["turns"]
    assert len(turns) == 1
    assert turns[0]["provenance"]["intent"]["text_queries"][0].startswith("How often is pump 17 serviced?")
    assert len(turns[0]["messages"]) == 4


def test_a_chat_killed_in_the_middle_of_an_answer_loses_and_doubles_nothing(call, tmp_path: Path) -> None:
    slow = Reply("Pump 17 is serviced every 90 days [1]. " * 40, delay=0.2, token_delay=0.05)
    rules = [Rule("And its filter", "Once a year [1]."), Rule("How often", [slow, "Every 90 days [1]."])]
    with openai_stub(rules=rules) as stub:
        (tmp_path / "groundgraph.yaml").write_text(CONFIG.format(url=stub.base_url))
        environment = {**os.environ, "OPENAI_API_KEY": "test"}
        process = subprocess.Popen(
            [sys.executable, "-m", "groundgraph", "chat"],
            cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        process.stdin.write("How often is pump 17 serviced?\n")
        process.stdin.flush()
        deadline = time.monotonic() + 200
        while not stub.requests and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdin.close()
        again = call("chat", "--json", said="And its filter?\n", OPENAI_API_KEY="test")
    assert again.code == 0, again.err
    assert "Going on with it" in again.err
    turns = again.json["turns"]
    assert [turn["answer"] for turn in turns] == ["Every 90 days [1].", "Once a year [1]."]
    assert [message["role"] for message in turns[-1]["messages"]] == ["user", "assistant"] * 2
