"""What proves that a rebuilding changed nothing (`scripts/golden.py`) sees it when something did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
GOLDEN = Path(__file__).parent.parent / "scripts" / "golden.py"
SAMPLE = ("fixtures/memory", "fixtures/langchain*", "turns/conversational", "turns/review", "pictures/turn")


def golden(*words: str | Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GOLDEN), *map(str, words)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
    )
    assert run.returncode in (0, 1), run.stderr
    return run


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two of the same code."""
    folder = tmp_path_factory.mktemp("golden")
    made = folder / "one", folder / "two"
    for seed, target in enumerate(made):
        golden("record", target, "--only", *SAMPLE, seed=str(seed))
    return made


def changed(recordings: tuple[Path, Path], name: str, old: str, new: str) -> str:
    """What is told of the second recording when one passage of a file of it was another."""
    file = recordings[1] / name
    text = file.read_text("utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), "utf-8")
    run = golden("compare", *recordings)
    file.write_text(text, "utf-8")
    assert run.returncode == 1
    return run.stdout


def test_two_recordings_of_one_commit_are_equal(recordings: tuple[Path, Path]) -> None:
    run = golden("compare", *recordings)
    assert run.returncode == 0, run.stdout
    assert run.stdout == "9 files compared, 0 differ\n"


def test_no_recording_holds_a_time_or_a_path_of_this_machine(recordings: tuple[Path, Path]) -> None:
    for file in filter(Path.is_file, recordings[0].rglob("*")):
        text = file.read_text("utf-8")
        assert str(Path.home()) not in text
        assert "/tmp" not in text
        assert "elapsed_ms" not in text


def test_a_changed_score_is_told_with_its_question(recordings: tuple[Path, Path]) -> None:
    first = json.loads((recordings[0] / "fixtures/memory.jsonl").read_text("utf-8").splitlines()[0])
    key, relevance, score, *_ = first["found"][0]
    told = changed(recordings, "fixtures/memory.jsonl", f"{relevance}, {score}", f"{relevance}, {score + 0.25}")
    assert "fixtures/memory.jsonl: 1 difference\n" in told
    assert f"{key} score {score} -> {score + 0.25}" in told
    assert "Why did pump 17 leak?" in told


def test_a_last_decimal_that_was_rounded_the_other_way_is_no_difference(recordings: tuple[Path, Path]) -> None:
    file = recordings[1] / "fixtures/memory.jsonl"
    text = file.read_text("utf-8")
    score = json.loads(text.splitlines()[0])["found"][0][2]
    file.write_text(text.replace(str(score), str(round(score + 1e-6, 6)), 1), "utf-8")
    assert file.read_text("utf-8") != text
    run = golden("compare", *recordings)
    file.write_text(text, "utf-8")
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("turns/review.json", '"answered"', '"insufficient"', 'outcome "answered" -> "insufficient"'),
        ("turns/conversational.prompts.txt", "every 90 days", "every 91 days", "+Pump 17 is serviced every 91 days"),
        ("pictures/turn.mmd", "begin_turn(begin_turn)", "start(start)", "-\tbegin_turn(begin_turn)"),
    ],
)
def test_whatever_else_changed_is_told(recordings: tuple[Path, Path], name: str, old: str, new: str, told: str) -> None:
    assert told in changed(recordings, name, old, new)


def test_what_could_not_run_is_told_and_is_no_difference(recordings: tuple[Path, Path]) -> None:
    (recordings[1] / "skipped.json").write_text('{"fixtures/memory": "no memory"}', "utf-8")
    (recordings[1] / "fixtures/memory.jsonl").unlink()
    run = golden("compare", *recordings)
    assert run.returncode == 0
    assert "not compared, skipped in the new recording: fixtures/memory (no memory)" in run.stdout
    assert "8 files compared, 0 differ" in run.stdout
