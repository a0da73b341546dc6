"""The pages of docs/ are true: their code and configurations run, their links lead somewhere, and so do those that a
newcomer reads first."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from documented import ROOT, all_blocks, blocks, build_configuration, run_commands
from forks import run_code

PAGES = sorted((ROOT / "docs").rglob("*.md"))
ALL = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *PAGES]
# A block without a kind is a drawing; `text` is what the commands print; `yml` is YAML that is no
# configuration, `console` what a server is needed for.
KINDS = {"", "text", "bash", "python", "yaml", "yml", "json", "sql", "console", "mermaid"}


def _each(kind: str, pages: list[Path]) -> list[object]:
    return [
        pytest.param(text, id=f"{page.stem}-{number}")
        for page in pages
        for number, text in enumerate(blocks(page, kind), 1)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    assert {kind for kind, _ in all_blocks(page)} <= KINDS


@pytest.mark.slow
@pytest.mark.parametrize("code", _each("python", PAGES))
def test_the_python_code_runs(code: str, tmp_path: Path) -> None:
    ended, printed = run_code(code, tmp_path)
    assert ended == 0, printed


@pytest.mark.parametrize("text", _each("yaml", ALL))
def test_the_configuration_loads_and_builds(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    build_configuration(text, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_run(page: Path, tmp_path: Path) -> None:
    run = run_commands([line for text in blocks(page, "bash") for line in text.splitlines()], tmp_path)
    assert run.returncode == 0, run.stderr
    # The tutorial is followed block by block: tests/test_tutorial.py.
    assert page.stem == "tutorial" or [text for text in blocks(page, "text") if text.strip() not in run.stdout] == []


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_the_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), link


def test_every_page_is_found_from_the_index_and_that_from_the_readme() -> None:
    index = ROOT / "docs" / "index.md"
    assert "](docs/index.md)" in (ROOT / "README.md").read_text("utf-8")
    for page in [*PAGES, *(ROOT / "examples").glob("*/README.md")]:
        place = os.path.relpath(page, index.parent)
        assert page == index or f"]({place})" in index.read_text("utf-8"), place
