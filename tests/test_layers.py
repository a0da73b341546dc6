"""Nothing imports upward, and the sources load no code of models."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "groundgraph"
SUPPORT = Path(__file__).parent / "support"
MAY_IMPORT = {
    "core": set(),
    "resilience": {"core"},
    "text": {"core"},
    "settings": {"core", "text"},
    "prompts": {"core", "text", "settings"},
    "models": {"core", "resilience", "text", "settings", "prompts"},
    "search": {"core", "resilience", "text"},
    "sources": {"core", "resilience", "text", "settings", "search"},
    "answers": {"core", "resilience", "text", "settings", "prompts", "models"},
    "ingest": {"core", "resilience", "text", "settings", "prompts", "models", "answers"},
    "nodes": {"core", "resilience", "text", "settings", "prompts", "models", "sources", "answers", "ingest"},
    "storage": {"core", "resilience", "answers", "nodes"},
    "tracing": {"core", "resilience", "settings", "answers", "nodes"},
}
BELOW = set(MAY_IMPORT)
MAY_IMPORT |= {
    "graph": BELOW - {"search"},
    "bot": BELOW | {"graph"},
    "report": {"core", "text", "settings", "prompts", "answers"},
    "testing": {"core", "text", "settings", "search", "sources", "graph"},
    "evals": BELOW | {"graph"},
    "serve": BELOW | {"graph", "report"},
    "cli": BELOW | {"graph", "report", "testing", "evals", "serve"},
}
FILES = sorted(
    path for folder in MAY_IMPORT for path in (PACKAGE / folder).rglob("*.py") if "__pycache__" not in path.parts
)


@cache
def imports_in(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The statements of a file that import, lazily or for types alone as well."""
    return [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def imported(path: Path) -> set[str]:
    """The parts of groundgraph that a file imports."""
    names: set[str] = set()
    for node in imports_in(path):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = {name.split(".")[1] for name in names if name.startswith("groundgraph.")}
    return parts & set(MAY_IMPORT)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_file_imports_upward() -> None:
    upward = {}
    for path in FILES:
        folder = path.relative_to(PACKAGE).parts[0]
        upward[str(path.relative_to(PACKAGE))] = imported(path) - MAY_IMPORT[folder] - {folder}
    assert {name: parts for name, parts in upward.items() if parts} == {}
    assert len(upward) > 300


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """Those of `modules` that a file imports.

    `from package import module` is an import of the module: the package is loaded before any of its modules anyway.
    """
    found: set[str] = set()
    for node in imports_in(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if names <= modules else {node.module, *names}
    return (found & modules) - {module_of(path)}


def test_no_module_imports_what_imports_it() -> None:
    # Raises a CycleError that names the modules of a circle.
    files = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    imports = {module: imports_of(path, set(files)) for module, path in files.items()}
    assert len(list(TopologicalSorter(imports).static_order())) == len(files) > 300


def test_the_package_needs_nothing_that_stands_beside_it() -> None:
    beside = {"benchmarks", "tests", "scripts", "examples"} | {path.stem for path in SUPPORT.glob("*.py")}
    for path in PACKAGE.rglob("*.py"):
        for node in imports_in(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            assert not {name.split(".")[0] for name in names} & beside, path


def test_nodes_know_of_sources_only_the_contract() -> None:
    nodes = [path for path in FILES if "nodes" in path.relative_to(PACKAGE).parts]
    assert len(nodes) > 30
    for path in nodes:
        for line in path.read_text("utf-8").splitlines():
            if "groundgraph.sources" in line:
                assert "groundgraph.sources.contract" in line, path


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh process has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_sources_loads_no_library_of_models_graphs_or_servers() -> None:
    modules = loaded_by("import groundgraph.sources")
    assert not {"langchain", "langchain_core", "langgraph", "weaviate", "grpc"} & modules
