"""A process that ends under load: its turns finish, or another process goes on with them (fault 80)."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from interruptible import interruptible
from run_apart import told_by

pytestmark = pytest.mark.covers("fault 80")

SUPPORT = Path(__file__).parent.parent / "support"
ANSWER = "OAuth has four grant types [1]."
TURNS = 20


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split() if path.exists() else []


def ended_by(number: signal.Signals, folder: Path, durability: str) -> int:
    """The exit code of a process that was sent a signal while it answered."""
    command = [sys.executable, "shutdown_load.py", "serve", str(folder), durability]
    with interruptible():
        process = subprocess.Popen(command, cwd=SUPPORT, stderr=subprocess.PIPE, text=True)
    with process:
        until = time.monotonic() + 120
        while len(lines(folder / "begun")) < TURNS and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        process.send_signal(number)
        try:
            return process.wait(200)
        finally:
            process.kill()


def recovered(folder: Path) -> Any:
    return told_by("shutdown_load.py", "recover", folder)


@pytest.mark.slow
def test_told_to_end_it_finishes_what_it_began(tmp_path: Path) -> None:
    assert ended_by(signal.SIGTERM, tmp_path, "async") == 0
    assert set(lines(tmp_path / "begun")) == set(lines(tmp_path / "ended"))
    found = recovered(tmp_path)
    assert len(found) >= TURNS
    assert not any(one["pending"] for one in found.values())
    assert all((one["answers"], one["messages"], one["records"]) == (1, 2, 1) for one in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_or_interrupted_every_turn_that_had_begun_is_finished_elsewhere(
    number: signal.Signals, tmp_path: Path
) -> None:
    assert ended_by(number, tmp_path, "sync") != 0
    cut_short = set(lines(tmp_path / "begun")) - set(lines(tmp_path / "ended"))
    assert cut_short, "nothing was under way"
    found = recovered(tmp_path)
    assert len(found) >= TURNS
    assert any(found[name]["pending"] for name in cut_short)
    assert {one["answer"] for one in found.values()} == {ANSWER}
    assert all((one["answers"], one["messages"], one["records"]) == (1, 2, 1) for one in found.values())


@pytest.mark.slow
def test_with_the_default_durability_a_lost_question_is_never_answered_by_another_turns_answer(
    tmp_path: Path,
) -> None:
    assert ended_by(signal.SIGKILL, tmp_path, "async") == -signal.SIGKILL
    ended = set(lines(tmp_path / "ended"))
    for name, one in recovered(tmp_path).items():
        assert one["answer"] in ({ANSWER} if name in ended else {ANSWER, None}), name
        assert one["answers"] == (one["answer"] is not None)
