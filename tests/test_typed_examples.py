"""What the documentation and the examples write is clean for the two type checkers that editors use, in strict mode."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented import ROOT, blocks

pytestmark = [pytest.mark.slow, pytest.mark.covers("B5", "U12")]

# basedpyright has rules of its own beside pyright's: "strict" is pyright's mode, and leaves them out.
PYRIGHT = {"typeCheckingMode": "strict", "reportMissingTypeStubs": "none", "pythonVersion": "3.11"}
MYPY = "[mypy]\nstrict = true\n[mypy-reportlab.*]\nignore_missing_imports = true\n"
# What LangGraph gives back is unknown to pyright in part, whatever one writes.
FOREIGN = re.compile(r"langgraph\.graph|langchain\.agents|langgraph_sdk")
UNKNOWN = "".join(
    f"# pyright: reportUnknown{what}Type=false\n" for what in ("Member", "Variable", "Argument", "Lambda")
)


def written() -> Iterator[tuple[str, str]]:
    """Every Python block of a page and every file of the examples, under a module name of its own."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("examples/*/*.md"))]:
        name = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix()).lower()
        for number, text in enumerate(blocks(page, "python"), 1):
            yield f"{name}_{number}.py", text
    for file in sorted(ROOT.glob("examples/*/*.py")):
        own = file.name if file.name != "run.py" else f"run_{file.parent.name}.py"
        yield own, file.read_text("utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    found = list(written())
    assert len({name for name, _ in found}) == len(found)
    for name, text in found:
        (folder / name).write_text((UNKNOWN if FOREIGN.search(text) else "") + text, "utf-8")
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    (folder / "mypy.ini").write_text(MYPY)
    return folder


def told(project: Path, *command: str) -> tuple[int, str]:
    run = subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


def test_pyright_is_clean(project: Path) -> None:
    code, printed = told(project, "basedpyright", "--pythonpath", sys.executable, "-p", ".")
    assert code == 0, printed


def test_mypy_is_clean_without_plugins(project: Path) -> None:
    code, printed = told(project, "mypy", "--config-file", "mypy.ini", ".")
    assert code == 0, printed


WRONG = """
from groundgraph import Context, InMemorySource, turn_graph

graph = turn_graph(sources=[InMemorySource(["Pump 17 is red."])])
result = graph.invoke({"question": "Which pump is red?"}, context=Context(top_k=3))
reveal_type(result)
reveal_type(result["citations"][0]["quote"])
reveal_type(result["provenance"]["results"][0]["label"])
for event in graph.stream({"question": "Which pump is red?"}, stream_mode="custom"):
    reveal_type(event["stage"])
result["citation"]
Context(topk=3)
turn_graph(source=[])
"""


def test_an_editor_knows_what_a_turn_gives_and_what_is_wrong(project: Path) -> None:
    (project / "wrong.py").write_text(WRONG)
    try:
        _, pyright = told(project, "basedpyright", "--pythonpath", sys.executable, "wrong.py")
        _, mypy = told(project, "mypy", "--config-file", "mypy.ini", "wrong.py")
    finally:
        (project / "wrong.py").unlink()
    for name in ("TurnOutput", '"str"', '"int"'):
        assert name in pyright or name.strip('"') in pyright, pyright
    lines = [int(line) for line in re.findall(r"wrong\.py:(\d+): error", mypy)]
    assert lines == [11, 12, 13], mypy
