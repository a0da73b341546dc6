"""Which documents an ingest takes out (fault 54)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.ingest.find_files import FoundFile, FoundFiles
from groundgraph.nodes.ingest.finish_ingest import _gone

pytestmark = pytest.mark.covers("fault 54")


class Ledger:
    def __init__(self, *names: str) -> None:
        self.names = list(names)

    async def names_from_files(self) -> list[str]:
        return self.names


async def test_what_lies_below_a_folder_that_cannot_be_read_is_unknown_and_not_gone(tmp_path):
    found = FoundFiles(
        files=[FoundFile(tmp_path / "docs/a.md", "docs/a.md")],
        failed=[("docs/locked", "the folder cannot be read"), ("docs/b.pdf", "damaged")],
        folders=[tmp_path / "docs"],
    )
    ledger = Ledger("docs/a.md", "docs/b.pdf", "docs/gone.md", "docs/locked/x.md", "docs/locked2.md", "other/y.md")
    assert await _gone(ledger, found, tmp_path) == ["docs/gone.md", "docs/locked2.md"]


async def test_nothing_is_gone_when_the_base_folder_itself_cannot_be_read(tmp_path):
    found = FoundFiles(failed=[(".", "the folder cannot be read")], folders=[tmp_path])
    assert await _gone(Ledger("a.md", "docs/b.md"), found, tmp_path) == []


async def test_a_folder_with_a_like_name_is_another(tmp_path):
    found = FoundFiles(folders=[tmp_path / "docs"])
    assert await _gone(Ledger("docs2/a.md", "docs/a.md", "/elsewhere/a.md"), found, Path(tmp_path)) == ["docs/a.md"]
