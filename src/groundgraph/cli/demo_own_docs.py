"""The second source of the demo: what groundgraph says about itself, in a checkout and in an installed wheel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import groundgraph
from groundgraph.cli.demo_packages import OWN_NAME, description_of
from groundgraph.cli.demo_texts import readable
from groundgraph.core.document import MARKDOWN, Document

_FILES = {
    "README.md": "groundgraph",
    "ARCHITECTURE.md": "groundgraph: architecture",
    "CHANGELOG.md": "groundgraph: changelog",
}
# Of less interest to a reader of the demo than what a turn does.
_LEFT_OUT = {"__pycache__", "cli", "testing"}
_Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def own_documents() -> list[Document]:
    """README, ARCHITECTURE and CHANGELOG where there are such, and the docstrings of the modules.

    An installed wheel holds of the former only the README, as its description.
    """
    root = _package_folder().parent.parent
    in_checkout = (root / "pyproject.toml").is_file()
    return [*(_checkout_files(root) if in_checkout else _description()), *_modules()]


def _checkout_files(root: Path) -> Iterator[Document]:
    for name, title in _FILES.items():
        if (root / name).is_file():
            yield _markdown(name, title, (root / name).read_text("utf-8"))


def _description() -> Iterator[Document]:
    try:
        found = metadata(OWN_NAME)
    except PackageNotFoundError:
        return
    yield _markdown("README.md", _FILES["README.md"], description_of(found))


def _markdown(name: str, title: str, text: str) -> Document:
    return Document(name, readable(text, MARKDOWN), MARKDOWN, {"title": title})


def _package_folder() -> Path:
    return Path(groundgraph.__file__).parent


def _modules() -> Iterator[Document]:
    folder = _package_folder()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        document = None if _LEFT_OUT & set(parts) else _module(path, ".".join((OWN_NAME, *parts)))
        if document:
            yield document


def _module(path: Path, name: str) -> Document | None:
    """The docstrings of one module as Markdown, public names only; None when there are none."""
    tree = ast.parse(path.read_text("utf-8"))
    name = name.removesuffix(".__init__")
    parts = [ast.get_docstring(tree) or "", *(part for node in tree.body for part in _parts(node))]
    text = "\n\n".join(part for part in parts if part)
    return Document(name, f"# {name}\n\n{text}\n", MARKDOWN, {"title": name}) if text else None


def _parts(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _Documented) and not node.name.startswith("_"):
        docstring = ast.get_docstring(node)
        if docstring:
            yield f"## {node.name}\n\n{docstring}"
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                yield from (part.replace("## ", f"## {node.name}.", 1) for part in _parts(method))
