"""Running the command line as a user does: in a process of its own, in an empty folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pytest
from forks import run_command

from groundgraph.cli import doctor_checks, progress
from groundgraph.cli.doctor_checks import Finding
from groundgraph.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")}


@pytest.fixture
def start(tmp_path: Path) -> Run:
    """Starts `groundgraph` with the given arguments in `tmp_path`: for what is about the start."""

    def start(*arguments: str, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "groundgraph", *arguments],
            cwd=tmp_path,
            env={**clean_environment(), **environment},
            capture_output=True,
            timeout=200,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return start


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `groundgraph` with the given arguments in `tmp_path`, in a process that has loaded it."""

    def run(*arguments: str, **environment: str) -> Ran:
        done = run_command(tmp_path, *arguments, environment={**clean_environment(), **environment})
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def call(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """As `run`, in this process: faster, for what needs no process of its own. `said` is typed at it."""
    # To load the server, in a process of its own, takes seconds; a test that is about it says so in its name.
    if "server" not in request.node.name:
        monkeypatch.setattr(doctor_checks, "server_packages", lambda: Finding("server", "ok", "not looked at"))
    for name in [name for name in os.environ if name.startswith("GROUNDGRAPH_")]:
        monkeypatch.delenv(name)
    # How far it is, it tells by the clock, which a busy machine draws out; that has tests of its own.
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", inf)

    def call(*arguments: str, cwd: Path | None = None, said: str = "", **environment: str) -> Ran:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(cwd or tmp_path)
            patch.setattr("sys.stdin", io.StringIO(said))
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(arguments)
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with an English, a Russian and an unsupported document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tokens.md").write_text(
        "# Tokens\n\nAn access token expires after one hour. 🙂 A refresh token lives for 30 days.\n\n"
        "# Scopes\n\nA scope limits what an application may do.\n",
        "utf-8",
    )
    (folder / "пароли.txt").write_text("Пароль меняют каждые 90 дней. Это делает администратор.\n", "utf-8")
    return folder


@pytest.fixture
def filled(call: Run, docs: Path) -> Run:
    """`call`, in a folder whose knowledge base holds `docs`."""
    assert call("ingest", "docs").code == 0
    return call


@pytest.fixture
def filled_run(filled: Run, run: Run) -> Run:
    """`run`, in a folder whose knowledge base holds `docs`."""
    return run
