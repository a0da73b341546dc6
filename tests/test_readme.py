"""README and ARCHITECTURE are true: their commands and code run, their pictures and paths are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from documented import ROOT, all_blocks, blocks, run_commands
from forks import run_code
from pictures import GRAPHS, PAGE, with_pictures

from groundgraph import load_settings

README = ROOT / "README.md"
COMMANDS = [line for text in blocks(README, "bash") for line in text.splitlines()]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {kind for kind, _ in all_blocks(README)} == {"bash", "python", "yaml", "text"}


def test_the_first_two_commands_are_make_demo_and_make_test() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("target", [line.split()[1] for line in COMMANDS if line.startswith("make ")])
def test_each_make_command_is_a_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path) -> None:
    run = run_commands([line for line in COMMANDS if not line.startswith("make ")], tmp_path)
    assert run.returncode == 0, run.stderr
    [answer] = blocks(README, "text")
    assert answer in run.stdout
    assert (tmp_path / ".groundgraph" / "knowledge_base.sqlite").exists()


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_the_python_code_runs(code: str, tmp_path: Path) -> None:
    ended, printed = run_code(code, tmp_path)
    assert ended == 0, printed


def test_the_pictures_are_the_graphs() -> None:
    text = PAGE.read_text("utf-8")
    assert with_pictures(text) == text, "run `make docs`"


def test_the_documents_that_a_newcomer_reads_are_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 150
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 90


def test_the_paths_in_the_architecture_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    paths = re.findall(r"`([\w./]+/[\w.]*)`", text)
    assert len(paths) > 40
    for path in paths:
        assert (ROOT / path).exists() or (ROOT / "src" / "groundgraph" / path).exists(), path


def test_the_steps_in_the_architecture_are_those_of_the_graph() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for name in GRAPHS:
        build, given = GRAPHS[name]
        for step in build(load_settings({}), **given).get_graph().nodes:
            assert step.startswith("__") or step in text or step == "give_context", step


def test_the_changelog_names_the_version() -> None:
    from groundgraph import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize(
    "given", [pytest.param(["--uv"], marks=pytest.mark.slow), pytest.param([], marks=pytest.mark.long)]
)
def test_a_newcomer_gets_from_a_clean_clone_to_a_larger_agent(given: list[str]) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "newcomers_path.py"), *given]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ok  a larger agent" in run.stdout
