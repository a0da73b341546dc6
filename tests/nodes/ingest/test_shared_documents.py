"""Every document of the public data: loaded, cut, and quoted exactly (K2, K5)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from groundgraph.core.document import RECORDS, Document
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker
from groundgraph.ingest.find_files import find_files
from groundgraph.ingest.load_document import load_document

pytestmark = pytest.mark.covers("K5")


@cache
def documents(folder: Path) -> tuple[Document, ...]:
    found = find_files(["."], folder)
    return tuple(load_document(file.path, file.name) for file in found.files if not file.name.startswith("errors/"))


def test_every_chunk_of_every_good_document_is_a_slice_of_its_text(data):
    loaded = documents(data / "documents")
    there = [path for path in (data / "documents").rglob("*.*") if path.is_file()]
    assert len(loaded) == len([path for path in there if path.parent.name != "errors"]) > 50
    for document in loaded:
        for chunker in (HeadingChunker(), HeadingChunker(max_chunk_size=120), WholeTextChunker()):
            chunks = chunker(document)
            assert chunks, document.name
            assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks), document.name
            visible = "".join(document.text[document.body_start :].split())
            assert "".join("".join(chunk.text.split()) for chunk in chunks) == visible, document.name


def test_chunks_of_records_carry_the_values_of_their_record(data):
    for document in documents(data / "documents"):
        if document.media_type == RECORDS:
            chunks = HeadingChunker()(document)
            assert [chunk.metadata for chunk in chunks] == [part.metadata for part in document.parts]
            assert all(str(value) in chunk.text or "sheet" in chunk.metadata for chunk in chunks
                       for value in chunk.metadata.values())  # fmt: skip
