"""What is installed: one import name, every prompt, resolved dependencies that go together."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parent.parent
BUILD = "import setuptools.build_meta as b, sys; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"


def build(source: Path, kind: str, target: Path) -> Path:
    """A wheel or sdist of `source`, built with the installed setuptools, so that no network is needed."""
    command = [sys.executable, "-c", BUILD, kind, str(target)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return target / run.stdout.split()[-1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that building leaves nothing behind in it."""
    copy = tmp_path_factory.mktemp("build") / "groundgraph"
    skipped = shutil.ignore_patterns(".git", ".venv*", "*.egg-info", "build", "dist", ".*_cache", "__pycache__",
                                     ".hypothesis", ".groundgraph", ".langgraph_api")  # fmt: skip
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
    return copy


@pytest.fixture(scope="module")
def wheels(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel from the checkout, and the one from the sdist."""
    folder = tmp_path_factory.mktemp("wheels")
    sdist = build(checkout, "sdist", folder)
    unpacked = folder / "unpacked"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    direct, through = folder / "direct", folder / "through"
    for target in (direct, through):
        target.mkdir()
    return [build(checkout, "wheel", direct), build(next(unpacked.iterdir()), "wheel", through)]


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheels: list[Path]) -> None:
    contents = [set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels]
    own = [{name for name in names if ".dist-info/" not in name} for names in contents]
    assert own[0] == own[1], "the wheel from the sdist differs"
    assert {name.split("/")[0] for name in own[0]} == {"groundgraph"}
    package = ROOT / "src" / "groundgraph"
    kinds = {".py", ".jinja2", ".yaml", ".typed"}
    wanted = {
        f"groundgraph/{path.relative_to(package)}"
        for folder in [package, *(link for link in package.iterdir() if link.is_symlink())]
        for path in folder.rglob("*")
        if path.is_file() and (path.suffix in kinds or path.name == "py.typed") and "__pycache__" not in path.parts
    }
    assert own[0] == wanted


def test_the_installed_wheel_renders_every_prompt_and_answers(wheels: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "site"
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(target)
    code = """
import groundgraph, asyncio
from importlib.resources import files
from groundgraph.prompts import Prompts
names = [entry.name for entry in files("groundgraph.prompts").iterdir() if entry.name.endswith(".jinja2")]
assert len(names) > 10, names
environment = Prompts()._environment
for name in names:
    environment.get_template(name)
source = groundgraph.InMemorySource(["Pump 17 is serviced every 90 days."])
graph = groundgraph.turn_graph(groundgraph.load_settings({}), sources=[source])
print(groundgraph.__file__, asyncio.run(graph.ainvoke({"question": "When is pump 17 serviced?"}))["outcome"])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(target)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    where, outcome = run.stdout.split()
    assert where.startswith(str(target))
    assert outcome == "answered"


def test_a_current_server_and_a_current_weaviate_client_are_resolved_together() -> None:
    locked = {
        package["name"]: package["version"] for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    }
    for versions in (locked, {name: version(name) for name in ("langgraph-api", "weaviate-client", "grpcio")}):
        assert Version(versions["langgraph-api"]) >= Version("0.16.7"), "an end-of-life server was resolved"
        assert Version(versions["weaviate-client"]) >= Version("4.23")
        assert Version(versions["grpcio"]) >= Version("1.81")


def test_both_can_be_imported_in_one_environment() -> None:
    code = "import weaviate, langgraph_api; print('ok')"
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "ok", run.stderr


def test_a_resolver_without_the_override_cannot_fall_back_to_an_old_server() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    serve = project["project"]["optional-dependencies"]["serve"]
    assert any(need.startswith("langgraph-api>=0.16") for need in serve)
    assert "grpcio>=1.81,<1.82" in project["tool"]["uv"]["override-dependencies"]
