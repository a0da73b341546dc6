"""The documentation as a site: `python scripts/site/build.py [TARGET]` writes it into `build/site`.

The pages are the Markdown files of the repository as they stand, so that their links lead to the same places on GitHub
and on the site. They are copied into a folder of their own, because a few pages are made there: the reference of
settings, prompts and names, and the side bar, which is what `docs/index.md` links to. Nothing is loaded from a network,
neither here nor by the pages.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from graph_lists import with_lists
from reference_pages import REFERENCE
from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs", "examples", "benchmarks/README.md")
NOT_WRITTEN = shutil.ignore_patterns(".*", "__pycache__", "*.sqlite*")
# Who opens the folder of the site arrives at its first page.
FRONT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
_LINK = re.compile(r"\[([^\]]+)\]\(([\w./]+)\.md\)")


def main(target: Path) -> int:
    """Build the site into `target`; the exit status of Sphinx, to which a warning is an error."""
    with TemporaryDirectory(prefix="site-") as folder:
        pages = Path(folder) / "pages"
        stage(pages)
        options = ["-q", "-W", "--keep-going", "-c", str(Path(__file__).parent), "-d", str(Path(folder) / "read")]
        status = build_main([*options, str(pages), str(target)])
    (target / "index.html").write_text(FRONT, "utf-8")
    return status


def stage(pages: Path) -> None:
    """Everything that the site is made of, in `pages`."""
    for name in PAGES:
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, pages / name, ignore=NOT_WRITTEN)
        else:
            shutil.copy(ROOT / name, pages / name)
    for name, (_, text) in REFERENCE.items():
        (pages / "docs" / "reference").mkdir(exist_ok=True)
        (pages / "docs" / "reference" / name).write_text(text(), "utf-8")
    rewrite(pages / "docs" / "index.md", with_side_bar)
    for page in (pages / "docs").rglob("*.md"):
        rewrite(page, with_lists)


def rewrite(page: Path, change: Callable[[str], str]) -> None:
    """Put what `change` makes of the text of `page` in its place."""
    page.write_text(change(page.read_text("utf-8")), "utf-8")


def with_side_bar(index: str) -> str:
    """The first page with the made pages in its list of the reference, and what it links to in the side bar."""
    made = "\n".join(f"- [{title}](reference/{name})" for name, (title, _) in REFERENCE.items())
    sections = re.split(r"^(?=##+ )", index, flags=re.MULTILINE)
    sections = [f"{one.rstrip()}\n{made}\n" if one.startswith("## Reference") else one for one in sections]
    return "\n".join(f"{one.rstrip()}\n\n{_tree(one)}" for one in sections)


def _tree(section: str) -> str:
    title = section.splitlines()[0].lstrip("# ")
    entries = [f"{' '.join(text.split())} <{page}>" for text, page in _LINK.findall(section)]
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```", ""]) if entries else ""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "site"))
