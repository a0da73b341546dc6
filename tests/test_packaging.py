"""What is installed: one import name, every prompt, resolved dependencies that go together."""

from __future__ import annotations

import os
import re
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


def git(*words: str | Path, cwd: Path) -> str:
    """What a git command prints that may write in `cwd` only."""
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    return subprocess.run(
        ["git", *map(str, words)], cwd=cwd, check=True, capture_output=True, text=True, env={**os.environ, **identity}
    ).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit: this checkout as it stands, so that building leaves nothing behind in it."""
    copy = tmp_path_factory.mktemp("build") / "groundgraph"
    for name in git("ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        if os.path.lexists(ROOT / name):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    git("init", "-q", cwd=copy)
    git("add", "-A", cwd=copy)
    git("commit", "-qm", "as it stands", cwd=copy)
    return copy


def unpacked_zip(repository: Path, target: Path) -> Path:
    """The tree as "Download ZIP" and `pip install https://.../x.zip` give it: links become small text files."""
    git("archive", "--format=zip", "--prefix=zip/", "-o", target / "tree.zip", "HEAD", cwd=repository)
    with zipfile.ZipFile(target / "tree.zip") as archive:
        archive.extractall(target)
    return target / "zip"


def clone_without_links(repository: Path, target: Path) -> Path:
    """A clone as Windows makes it by default."""
    git("-c", "core.symlinks=false", "clone", "-q", repository, target / "clone", cwd=target)
    return target / "clone"


def unpacked_sdist(repository: Path, target: Path) -> Path:
    """The folder in the archive of the source."""
    with tarfile.open(build(repository, "sdist", target)) as archive:
        archive.extractall(target, filter="data")
    return next(path for path in target.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def wheels(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A wheel built from each form in which the project reaches somebody."""
    built = []
    for form in (lambda repository, target: repository, unpacked_zip, clone_without_links, unpacked_sdist):
        folder = tmp_path_factory.mktemp("form")
        built.append(build(form(repository, folder), "wheel", tmp_path_factory.mktemp("wheel")))
    return built


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_and_nothing_else(wheels: list[Path]) -> None:
    contents = [set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels]
    own = [{name for name in names if ".dist-info/" not in name} for names in contents]
    assert own[1:] == own[:1] * 3, "a wheel from the ZIP, the clone without links or the sdist differs"
    assert {name.split("/")[0] for name in own[0]} == {"groundgraph"}
    package = ROOT / "src" / "groundgraph"
    wanted = {
        f"groundgraph/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.suffix in {".py", ".jinja2", ".yaml", ".md"} or path.name == "py.typed" or path.parent.name == "static"
    }
    assert own[0] == wanted


def test_the_folders_at_the_root_are_links_into_the_package() -> None:
    for name in ("graph", "nodes", "sources", "prompts"):
        assert (ROOT / name).readlink() == Path("src/groundgraph") / name


def installed(wheel: Path, target: Path, code: str) -> str:
    """What `code` prints in a process that has the package from `wheel` alone."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "site")
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=target, env={"PYTHONPATH": str(target / "site")}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
def test_every_module_of_the_installed_wheel_can_be_imported(wheels: list[Path], tmp_path: Path) -> None:
    code = """
import groundgraph, importlib, pkgutil
names = [found.name for found in pkgutil.walk_packages(groundgraph.__path__, "groundgraph.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), groundgraph.__file__)
"""
    count, where = installed(wheels[1], tmp_path, code).split()
    assert where.startswith(str(tmp_path))
    assert int(count) > 300


@pytest.mark.slow
def test_the_installed_wheel_renders_every_prompt_and_answers(wheels: list[Path], tmp_path: Path) -> None:
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
    where, outcome = installed(wheels[0], tmp_path, code).split()
    assert where.startswith(str(tmp_path))
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


@pytest.mark.covers("B2")
def test_what_html_needs_is_named_itself_and_not_by_an_extra_of_lxml() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    reading_html = [needs for needs in extras.values() if any(need.startswith("trafilatura") for need in needs)]
    assert len(reading_html) == 2
    assert all(any(need.startswith("lxml_html_clean") for need in needs) for needs in reading_html)


@pytest.mark.covers("B4")
def test_every_extra_is_said_to_be_for_something() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    told = re.findall(r"^\| `([a-z]+)` \| .{9,} \|$", (ROOT / "docs" / "installing.md").read_text(), re.MULTILINE)
    assert sorted(told) == sorted(extras)


@pytest.mark.covers("B4")
def test_a_plain_install_brings_nothing_that_no_module_of_ours_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=\[]", text)[0] for text in project["dependencies"]}
    assert "langchain-community" not in needed
    modules = {"langgraph-checkpoint-sqlite": "langgraph.checkpoint.sqlite", "weaviate-client": "weaviate"} | {
        "PyStemmer": "Stemmer", "PyYAML": "yaml", "SQLAlchemy": "sqlalchemy", "markdown-it-py": "markdown_it"
    }  # fmt: skip
    sources = "\n".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    for name in needed:
        module = modules.get(name, name.replace("-", "_"))
        assert re.search(rf"^\s*(?:from|import) {re.escape(module)}\b", sources, re.MULTILINE), name
