"""A move says what it could not keep (K8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from filled_base import prepared

from groundgraph.core.document import Document
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.graph.knowledge_base_files import move_base
from groundgraph.sources.knowledge_base import EmbeddedStore


class Lossy(EmbeddedStore):
    """Has lost two documents when it is opened, one of which is in the other base too."""

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:
        await super().open(identity, rebuild=rebuild)
        return ["d1", "only here"]


@pytest.mark.covers("F16", "fault 97")
async def test_what_opening_the_other_base_had_to_take_out_is_listed_unless_the_move_brings_it_back(
    tmp_path: Path,
) -> None:
    embedded, other = EmbeddedStore(tmp_path / "a.sqlite"), Lossy(tmp_path / "b.sqlite")
    await embedded.open(BaseIdentity())
    await embedded.write([await prepared(Document(f"d{number}", "Text.")) for number in range(3)])
    moved = await move_base(embedded, other)
    assert moved.written == 3
    assert list(moved.failed) == ["only here"]
    assert "was taken out" in moved.failed["only here"]
    await embedded.close()
    await other.close()
