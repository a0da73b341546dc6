"""The tests that docs/testing.md shows run as the tests of somebody who installed groundgraph (U7)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documented import ROOT, blocks

from groundgraph.testing import openai_stub

pytestmark = pytest.mark.covers("U7")

PAGE = ROOT / "docs" / "testing.md"
# A recorded test needs a provider.
RECORDED = [code for code in blocks(PAGE, "python") if "pytest.mark.vcr" in code]
BLOCKS = [code for code in blocks(PAGE, "python") if code not in RECORDED]


def pytest_in(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "error", "-rA"]
    given = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("code", BLOCKS, ids=range(1, len(BLOCKS) + 1))
def test_the_tests_of_the_page_pass_in_a_project_of_their_own(code: str, tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(code, "utf-8")
    run = pytest_in(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("PASSED") == len(re.findall(r"^def test_", code, re.MULTILINE)) > 0


@pytest.mark.slow
def test_the_first_one_fails_when_the_answer_cites_something_else(tmp_path: Path) -> None:
    wrong = BLOCKS[0].replace('["Every 90 days [1]."]', '["Every 90 days [2]."]')
    assert wrong != BLOCKS[0]
    (tmp_path / "test_mine.py").write_text(wrong, "utf-8")
    assert pytest_in(tmp_path).returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "passes"), [("Every 90 days [1].", True), ("Every 90 days.", False), (None, False)])
def test_the_recorded_one_passes_when_the_provider_answers_and_cites(
    reply: str | None, passes: bool, tmp_path: Path
) -> None:
    """Its marker is only declared here: what pytest-recording does is pytest-recording's."""
    (code,) = RECORDED
    (tmp_path / "test_mine.py").write_text(code, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    vcr: recorded\n", "utf-8")
    with openai_stub(default=reply) as stub:
        run = pytest_in(tmp_path, OPENAI_API_KEY="not-a-key", OPENAI_BASE_URL=stub.base_url)
        assert stub.requests
    assert (run.stdout.count("PASSED"), run.returncode) == ((1, 0) if passes else (0, 1)), run.stdout + run.stderr


def test_a_test_of_a_turn_takes_at_most_fifteen_lines() -> None:
    assert len([line for line in BLOCKS[0].splitlines() if line]) <= 15


def test_every_name_of_the_kit_that_the_page_tells_of_is_there() -> None:
    import groundgraph.testing

    table = re.search(r"\| name \|.*?\n\n", PAGE.read_text("utf-8"), re.DOTALL)
    told = {name for row in table[0].strip().splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(told) > 5
    assert told <= set(groundgraph.testing.__all__)
