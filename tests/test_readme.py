"""The documentation is true: its commands and code run, its pictures and paths are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme_parts import with_parts

from groundgraph import load_settings, turn_graph

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for kind, text in BLOCKS if kind == "bash" for line in text.splitlines()]


def blocks(kind: str) -> list[str]:
    """The code blocks of one kind."""
    return [text for found, text in BLOCKS if found == kind]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {kind for kind, _ in BLOCKS} == {"bash", "python", "yaml", "mermaid"}


def test_the_first_two_commands_are_make_demo_and_make_test() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("target", [line.split()[1] for line in COMMANDS if line.startswith("make ")])
def test_each_make_command_is_a_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_commands_run(tmp_path: Path) -> None:
    lines = [line for line in COMMANDS if not line.startswith("make ")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Pump 17 is serviced every 90 days." in run.stdout
    assert (tmp_path / ".groundgraph" / "knowledge_base.sqlite").exists()


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_code_runs(code: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("text", blocks("yaml"))
def test_the_configuration_loads_and_builds(text: str, tmp_path: Path) -> None:
    path = tmp_path / "groundgraph.yaml"
    path.write_text(text)
    settings = load_settings(path)
    assert not settings.notices, "everything that it asks for is used"
    named = {entry.name for entry in settings.sources} or {"knowledge_base"}
    assert set(turn_graph(settings).resources.sources) == named


def test_the_picture_is_the_graph() -> None:
    assert with_parts(README) == README, "run `make docs`"


def test_the_paths_in_the_documentation_exist() -> None:
    for name in ("README.md", "ARCHITECTURE.md"):
        for link in re.findall(r"\]\((?!https?://)([^)#]+)\)", (ROOT / name).read_text("utf-8")):
            assert (ROOT / link).exists(), f"{name} links to {link}"


def test_the_paths_of_the_where_do_i_add_table_exist() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("Where do I add")[1]
    paths = re.findall(r"`([\w./]+/[\w.]*)`", table)
    assert len(paths) > 8
    for path in paths:
        assert (ROOT / path).exists() or (ROOT / "src" / "groundgraph" / path).exists(), path


def test_the_changelog_names_the_version() -> None:
    from groundgraph import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.slow
def test_a_clean_clone_runs_the_demo(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    run = subprocess.run(
        ["make", "demo"], cwd=clone, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "[1]" in run.stdout
