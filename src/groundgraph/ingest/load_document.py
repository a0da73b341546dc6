"""Reads one file into a `Document`."""

from __future__ import annotations

from pathlib import Path

from groundgraph.core.document import CSV, DOCX, HTML, JSON_LINES, MARKDOWN, MEDIA_TYPES, PDF, PPTX, XLSX, Document
from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_html import load_html
from groundgraph.ingest.load_pdf import load_pdf
from groundgraph.ingest.load_text import decode_text, first_heading, load_text
from groundgraph.ingest.office import load_docx, load_pptx, load_xlsx
from groundgraph.ingest.read_file import read_file
from groundgraph.ingest.records import load_csv, load_jsonl


def read_document(
    path: Path, name: str, password: str | None = None, encoding: str | None = None
) -> tuple[Document, bool]:
    """As `load_document`, and whether it is a PDF that may have ruled tables."""
    if MEDIA_TYPES.get(path.suffix.lower()) == PDF:
        return load_pdf(path, name, password=password)
    return load_document(path, name, password, encoding), False


def load_document(path: Path, name: str, password: str | None = None, encoding: str | None = None) -> Document:
    """The document in the file at `path`, under `name`.

    Line ends become `\\n`. Of a web page the main text is kept and of a Word document everything but pictures, as
    Markdown; a PDF has a part for each page, a presentation one for each slide, a table (CSV, JSONL, XLSX) one for each
    record. What had to be repaired or left out is told in the document's warnings.

    Args:
        path: the file; its suffix tells what it is.
        name: the stable name of the document.
        password: what opens an encrypted PDF.
        encoding: that of a text, CSV or JSONL file without a byte order mark; None to find out.

    Raises:
        IngestError: the file cannot be read, is too large, damaged, encrypted, of an unsupported kind, or holds no
            text.
    """
    suffix = path.suffix.lower()
    media_type = MEDIA_TYPES.get(suffix)
    if media_type is None:
        raise IngestError(f"{suffix or 'a file without a suffix'} is not supported")
    if media_type == PDF:
        return load_pdf(path, name, password=password)[0]
    data = read_file(path)
    if load := _LOADERS.get(media_type):
        return load(data, name)
    if media_type == JSON_LINES:
        return load_jsonl(*decode_text(data, encoding), name)
    if media_type == CSV:
        return load_csv(*decode_text(data, encoding), name, delimiters="\t" if suffix == ".tsv" else "\t;|,")
    return load_text(data, name, media_type, encoding)


def _load_page(data: bytes, name: str) -> Document:
    page = load_html(data)
    title = page.title or first_heading(page.text, 0, MARKDOWN) or Path(name).stem
    return Document(name, page.text, MARKDOWN, {"title": title}, 0, page.warnings)


# Of the kinds whose bytes tell how they are read.
_LOADERS = {HTML: _load_page, DOCX: load_docx, XLSX: load_xlsx, PPTX: load_pptx}
