"""What stands between neighbouring chunks of a base (R9)."""

from __future__ import annotations

from pathlib import Path

import pytest
from asking import opened
from filled_base import fill

from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, Chunk, Document, Part
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

pytestmark = pytest.mark.covers("R9")

TEXT = "Токены истекают.\n \n\nTokens expire.\tThey do."
SPANS = [(0, 16), (20, 34), (35, 43)]


def cut(document: Document) -> list[Chunk]:
    return [Chunk(document, n, start, end, (), document.text[start:end]) for n, (start, end) in enumerate(SPANS)]


async def between(folder: Path, *pairs: tuple[str, str], parts: tuple[Part, ...] = (), chunker=cut) -> list[str | None]:
    path = folder / "kb.sqlite"
    await fill(path, [Document("a#b", TEXT, PLAIN_TEXT, parts=parts), Document("c", TEXT, MARKDOWN)], chunker=chunker)
    source = KnowledgeBaseSource(path)
    try:
        return await source.texts_between(pairs)
    finally:
        await source.close()


async def test_the_text_between_two_chunks_is_that_of_the_document(tmp_path):
    found = await between(tmp_path, ("a#b#0", "a#b#1"), ("a#b#1", "a#b#2"), ("a#b#0", "a#b#2"))
    assert found == ["\n \n\n", "\t", "\n \n\nTokens expire.\t"]


async def test_nothing_is_told_of_other_documents_unknown_chunks_or_the_wrong_order(tmp_path):
    pairs = [("a#b#0", "c#1"), ("a#b#0", "a#b#9"), ("a#b#1", "a#b#0"), ("nonsense", "a#b#1"), ("a#b#x", "a#b#1")]
    assert await between(tmp_path, *pairs) == [None] * len(pairs)
    assert await between(tmp_path) == []


async def test_chunks_of_two_parts_are_not_neighbours(tmp_path):
    parts = (Part(0, 18), Part(18, 43))
    found = await between(tmp_path, ("a#b#0", "a#b#1"), ("a#b#1", "a#b#2"), parts=parts)
    assert found == [None, "\t"]


async def test_what_a_model_wrote_has_no_neighbours(tmp_path):
    def written(document: Document) -> list[Chunk]:
        return [Chunk(document, n, *span, (), f"digest {n}", derived=True) for n, span in enumerate(SPANS)]

    assert await between(tmp_path, ("a#b#0", "a#b#1"), chunker=written) == [None]


async def test_chunks_that_are_far_apart_are_not_read_for(tmp_path):
    def apart(document: Document) -> list[Chunk]:
        text = document.text
        return [Chunk(document, 0, 0, 6, (), text[:6]), Chunk(document, 1, len(text) - 3, len(text), (), text[-3:])]

    path = tmp_path / "kb.sqlite"
    await fill(path, [Document("d", TEXT + " x" * 60, PLAIN_TEXT)], chunker=apart)
    source = opened(KnowledgeBaseSource(path))
    assert await source.texts_between([("d#0", "d#1")]) == [None]
