"""Writers that are killed in the middle of their work, beside readers that look (faults 48, 49)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from asking import ask, opened
from filled_base import check_counts
from killed_writers import DOCUMENTS, SIZE, few_are, version
from near_texts import look_by_vectors

from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import KnowledgeBaseSource, KnowledgeBaseWriter
from groundgraph.sources.knowledge_base.searcher import Searcher

SCRIPT = Path(__file__).parents[2] / "support" / "killed_writers.py"
KILLS, READERS = 40, 3


@pytest.mark.slow
@pytest.mark.covers("fault 48", "fault 49")
async def test_readers_find_every_document_while_forty_writers_are_killed(tmp_path, monkeypatch):
    few_are(DOCUMENTS // 2, monkeypatch.setattr)
    path = tmp_path / "kb.sqlite"
    writer = KnowledgeBaseWriter(path)
    writer.settle(BaseIdentity("m", SIZE))
    writer.write([version(name, 0) for name in range(DOCUMENTS)])
    writer.close()
    killing = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), str(path), str(KILLS), "7", stdout=asyncio.subprocess.PIPE
    )
    looks = await asyncio.gather(*(look(path, killing) for _ in range(READERS)))
    output, _ = await killing.communicate()
    assert output.split() == [str(KILLS).encode()]
    assert sum(looks) > KILLS
    check_counts(path)


async def look(path: Path, until: asyncio.subprocess.Process) -> int:
    """How often a reader looked: each document is there, once and whole, in whichever version."""
    source = opened(KnowledgeBaseSource(path, lock_timeout=60))
    searcher = Searcher(path, 60, "docs")
    looks = 0
    while until.returncode is None:
        for name in range(DOCUMENTS):
            [found] = await ask(source, f"name{name}", top_k=5)
            assert found.source_id == f"d{name}#0"
            assert found.content.startswith(f"name{name} common version")
            looks += 1
        assert len(await ask(source, "common", top_k=2 * DOCUMENTS)) == DOCUMENTS
        await asyncio.to_thread(look_by_vectors, searcher)
    searcher.close()
    return looks
