"""Every document of the public data: loaded, cut, and quoted exactly (K2, K5)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from groundgraph.core.document import MARKDOWN, PDF, RECORDS, Document
from groundgraph.core.errors import IngestError
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker
from groundgraph.ingest.find_files import find_files
from groundgraph.ingest.load_document import load_document

# From each kind of file a phrase that a reader of it sees.
PHRASES = {
    "pdf/federal-register-2020-17221.pdf": "MCAS functions are inoperative",
    "pdf/ca-warn-report.pdf": "Southern California Edison Company Rosemead",
    "pdf/pdf_structure_fr.pdf": "Chose 2 Truc 2",
    "docx/sample_docx.docx": "We want to get our country back",
    "html/what_is_haystack.html": "open source Python framework",
    "markdown/httpx_timeouts.md": "timeout",
    "text/rfc6749.txt": "The OAuth 2.0 authorization framework enables",
    "xlsx_pptx_csv/sample_1.csv": "Jane Smith",
    "xlsx_pptx_csv/sample_pptx_with_link.pptx": "Visit Example for more info.",
    "xlsx_pptx_csv/basic_tables_two_sheets.xlsx": "col_a: 1.5",
}


@cache
def documents(folder: Path) -> tuple[Document, ...]:
    found = find_files(["."], folder)
    return tuple(load_document(file.path, file.name) for file in found.files if not file.name.startswith("errors/"))


@pytest.mark.covers("K5")
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


@pytest.mark.covers("K5")
def test_every_chunk_of_a_pdf_lies_on_its_page_and_is_quoted_by_offsets_of_the_page(data):
    pages = 0
    for document in documents(data / "documents"):
        if document.media_type != PDF:
            continue
        by_number = {part.metadata["page"]: part for part in document.parts}
        assert list(by_number) == list(range(1, len(document.parts) + 1))
        pages += len(by_number)
        for chunk in HeadingChunker()(document):
            page = by_number[chunk.metadata["page"]]
            text = document.text[page.start : page.end]
            assert page.start <= chunk.start < chunk.end <= page.end
            assert text[chunk.start - chunk.origin : chunk.end - chunk.origin] == chunk.text
    assert pages == 47


@pytest.mark.covers("K5")
def test_chunks_of_records_carry_the_values_of_their_record(data):
    for document in documents(data / "documents"):
        if document.media_type == RECORDS:
            chunks = HeadingChunker()(document)
            assert [chunk.metadata for chunk in chunks] == [part.metadata for part in document.parts]
            assert all(str(value) in chunk.text or "sheet" in chunk.metadata for chunk in chunks
                       for value in chunk.metadata.values())  # fmt: skip


@pytest.mark.covers("K2")
def test_a_phrase_of_every_kind_of_file_is_in_a_chunk(data):
    loaded = {document.name: document for document in documents(data / "documents")}
    for name, phrase in PHRASES.items():
        chunks = HeadingChunker()(loaded[name])
        assert any(phrase in " ".join(chunk.text.split()) for chunk in chunks), name
    assert loaded["docx/sample_docx_1.docx"].media_type == MARKDOWN


@pytest.mark.covers("K2")
def test_nothing_of_the_data_is_lost_without_a_reason(data):
    folder = data / "documents"
    found = find_files(["."], folder)
    reasons = dict(found.failed)
    for file in found.files:
        try:
            load_document(file.path, file.name)
        except IngestError as error:
            reasons[file.name] = str(error)
    bad = {path.relative_to(folder).as_posix() for path in (folder / "errors").iterdir()}
    assert set(reasons) == bad
    assert all(len(reason.split()) > 3 for reason in reasons.values())
    assert not found.ignored
