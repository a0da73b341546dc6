"""The site is built without a warning, every link in it leads somewhere, and it loads nothing from outside."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from documented import ROOT

import groundgraph
import groundgraph.testing

pytestmark = [pytest.mark.slow, pytest.mark.covers("U12")]


class _Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(filter(None, [given.get("id")]))
        (self.links if tag == "a" else self.loads).extend(filter(None, [given.get("href"), given.get("src")]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built") / "site"
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "site" / "build.py", target], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path) for path in site.rglob("*.html")}


def test_every_link_and_anchor_leads_somewhere(pages: dict[Path, _Page]) -> None:
    checked = 0
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data") or path.name in ("search.html", "genindex.html"):
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert there.is_file(), f"{path.name}: {link}"
            if parts.fragment and there in pages:
                assert unquote(parts.fragment) in pages[there].anchors, f"{path.name}: {link}"
            checked += 1
    assert checked > 1000


def test_nothing_is_loaded_from_outside(pages: dict[Path, _Page]) -> None:
    outside = [link for page in pages.values() for link in page.loads if urlsplit(link).scheme in ("http", "https")]
    assert outside == []


def test_every_markdown_page_of_the_documentation_is_there_and_in_the_side_bar(site: Path) -> None:
    front = _Page(site / "docs" / "index.html")
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / "docs" / name).is_file()
        assert name == "index.html" or name in front.links, name


def test_the_reference_has_every_public_name_setting_and_prompt(site: Path) -> None:
    reference = {path.stem: path.read_text("utf-8") for path in (site / "docs" / "reference").glob("*.html")}
    anchors = _Page(site / "docs" / "reference" / "names.html").anchors
    for package in (groundgraph, groundgraph.testing):
        for name in package.__all__:
            assert anchors & {f"groundgraph.{name}", f"groundgraph.testing.{name}"}, name
    for section in groundgraph.Settings.model_fields.keys() - {"base_dir", "origin"}:
        assert f">{section}<" in reference["settings"], section
    for prompt in (ROOT / "src" / "groundgraph" / "prompts").glob("*.jinja2"):
        assert f">{prompt.stem}<" in reference["prompts"], prompt
