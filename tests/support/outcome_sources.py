"""The sources that the conversations in `tests/data/outcomes` ask: made in a folder, which is given as the argument."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from plant_database import fill

from groundgraph import KnowledgeBase, load_settings
from groundgraph.core.document import Document

SET = Path(__file__).parents[1] / "data" / "outcomes"
PACKAGES, FOLDERS = (
    ("packages", "libraries"),
    ("handbook", "plant", "club", "garten", "clinic", "museum", "relay", "bakery", "kanzlei", "sdk", "poliklinika"),
)
_KINDS = {".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}


def make_sources(folder: Path) -> Path:
    """The configuration, in `folder`, of the knowledge bases and databases."""
    told = {name: described(name) for name in PACKAGES} | {name: written(name) for name in FOLDERS}
    for name, documents in told.items():
        with KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(folder / f"{name}.sqlite")}})) as base:
            base.add_documents(documents)
    for script in SET.glob("*.sql"):
        fill(folder / f"{script.stem}.sqlite", script.read_text("utf-8"))
    return Path(shutil.copy(SET / "groundgraph.yaml", folder))


def described(name: str) -> Iterator[Document]:
    """The texts of installed packages that the file `name` lists: document, package, and file or METADATA."""
    for line in (SET / f"{name}.txt").read_text("utf-8").splitlines():
        document, package, file = line.split()
        found = distribution(package)
        # What a package says about itself stands behind the headers of its metadata.
        text = str(found.metadata.get_payload()) if file == "METADATA" else _text(Path(str(found.locate_file(file))))
        yield _document(document, text)


def written(folder: str) -> Iterator[Document]:
    """The documents in `folder` of the set, which were written for it."""
    for path in sorted((SET / folder).iterdir()):
        yield _document(path.name, _text(path))


def _document(name: str, text: str) -> Document:
    return Document(name, text, _KINDS[Path(name).suffix])


def _text(path: Path) -> str:
    return path.read_text("utf-8")


if __name__ == "__main__":
    print(make_sources(Path(sys.argv[1])))
