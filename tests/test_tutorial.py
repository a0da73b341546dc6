"""The tutorial, followed word for word in an environment that has nothing but the built wheel and what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import ROOT, all_blocks, blocks

TUTORIAL = ROOT / "docs" / "tutorial.md"
BUILD = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
UV = shutil.which("uv") or shutil.which("uv", path=ROOT / ".venv-uv" / "bin")


def _run(*command: str | Path, folder: Path, **more: str) -> str:
    own = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    run = subprocess.run(command, cwd=folder, env={**own, **more}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{command}: {run.stdout}{run.stderr}"
    return run.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The commands of a fresh environment, from the versions of the lock file, without a network."""
    if UV is None:
        pytest.skip("uv is not there; `make setup` without it on the path puts it into .venv-uv")
    copy, venv = tmp_path / "repository", tmp_path / "venv"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "uv.lock"):
        shutil.copy(ROOT / name, copy)
    _run(sys.executable, "-c", BUILD, str(tmp_path), folder=copy)
    wheel = next(tmp_path.glob("*.whl"))
    extras = ("--extra", "documents", "--extra", "page")
    locked = (UV, "sync", "-q", "--frozen", "--offline", "--no-default-groups", "--no-install-project", *extras)
    try:
        _run(*locked, folder=copy, UV_PROJECT_ENVIRONMENT=str(venv), UV_PYTHON=sys.executable)
    except AssertionError as error:
        pytest.skip(f"uv keeps no copy of what the lock file names: {error}")
    _run(UV, "pip", "install", "-q", "--offline", "--no-deps", "--python", venv / "bin/python", wheel, folder=copy)
    return venv / "bin"


@pytest.mark.slow
@pytest.mark.covers("U12")
def test_a_newcomer_gets_what_the_tutorial_shows(environment: Path, tmp_path: Path) -> None:
    assert any('".[documents,page]"' in text for text in blocks(TUTORIAL, "console"))
    work = tmp_path / "first-answers"
    work.mkdir()
    path = f"{environment}{os.pathsep}{os.environ['PATH']}"
    assert str(environment.parent) in _run("python", "-c", "import groundgraph as g; print(g)", folder=work, PATH=path)
    assert "Everything that is needed is there, but no documents yet: groundgraph ingest PATH" in _run(
        "groundgraph", "doctor", folder=work, PATH=path
    )
    printed = ""
    for kind, text in all_blocks(TUTORIAL):
        if kind == "bash":
            printed = _run("bash", "-euo", "pipefail", "-c", text, folder=work, PATH=path)
        elif kind == "python":
            printed = _run("python", "-W", "error", "-c", text, folder=work, PATH=path)
        elif kind == "text":
            assert text.strip() in printed
    assert (work / "turn.html").exists()
