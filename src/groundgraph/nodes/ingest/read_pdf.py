"""What pdfium reads from a PDF; the only place that calls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.optional_package import optional_package
from groundgraph.nodes.ingest.pdf_headings import MarkedHeading, outline_headings, readable, tagged_headings
from groundgraph.nodes.ingest.read_file import MAX_CHARS

MAX_PAGES = 50_000
# pdfium may be entered by one thread only.
_PDFIUM = threading.Lock()
_WRONG_PASSWORD = 4
# Reading the tags of a page takes as long as reading its text. Without a heading in so many pages, there are none.
_PAGES_WITHOUT_HEADING = 8


@dataclass
class PdfContent:
    """A PDF as pdfium sees it.

    Attributes:
        pages: the text of each page, empty for one that cannot be read.
        headings: the headings that tags or the outline give to each page, in order.
        title: the title in the document's information, or an empty string.
        unreadable: the numbers, from 1, of the pages that cannot be read.
    """

    pages: list[str] = field(default_factory=list)
    headings: list[list[MarkedHeading]] = field(default_factory=list)
    title: str = ""
    unreadable: list[int] = field(default_factory=list)


def read_pdf(path: Path, password: str | None) -> PdfContent:
    """The content of the PDF at `path`.

    Raises:
        IngestError: it is no PDF, damaged, encrypted, too long, or pypdfium2 is not installed.
    """
    pdfium = optional_package("pypdfium2", "a PDF")
    content = PdfContent()
    with _opened(pdfium, path, password) as pdf:
        with _PDFIUM:
            count, tagged = len(pdf), bool(pdf.is_tagged())
            content.title = readable(lambda: pdf.get_metadata_value("Title"))
            outline = outline_headings(pdf)
        if count > MAX_PAGES:
            raise IngestError(f"it has {count} pages, the most is {MAX_PAGES}; split it")
        length = 0
        for number in range(count):
            tagged = tagged and not outline and (number < _PAGES_WITHOUT_HEADING or any(content.headings))
            # The lock is taken page by page, so that a long file does not keep short ones waiting.
            with _PDFIUM:
                text, headings = _page(pdfium, pdf, number, tagged=tagged)
            if text is None:
                content.unreadable.append(number + 1)
            content.pages.append(text or "")
            content.headings.append(headings or outline.get(number, []))
            length += len(content.pages[-1])
            if length > MAX_CHARS:
                raise IngestError(f"its text has more than {MAX_CHARS:_} characters; split it")
    return content


@contextmanager
def _opened(pdfium: Any, path: Path, password: str | None) -> Iterator[Any]:
    pdf = None
    try:
        with _PDFIUM:
            pdf = pdfium.PdfDocument(path, password=password)
        yield pdf
    except pdfium.PdfiumError as error:
        raise IngestError(_reason(error.err_code, password)) from error
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error
    finally:
        if pdf is not None:
            with _PDFIUM:
                pdf.close()


def _reason(code: int | None, password: str | None) -> str:
    if code != _WRONG_PASSWORD:
        return "it is no PDF, or damaged or cut off"
    if password is None:
        return (
            "it is encrypted; give its password under knowledge_base.passwords, for example with the variable "
            """GROUNDGRAPH_KNOWLEDGE_BASE__PASSWORDS='{"*.pdf": "..."}'"""
        )
    return "it is encrypted, and the password under knowledge_base.passwords does not open it"


def _page(pdfium: Any, pdf: Any, number: int, *, tagged: bool) -> tuple[str | None, list[MarkedHeading]]:
    """Text and headings of a page; no text when it cannot be read."""
    try:
        page = pdf[number]
    except pdfium.PdfiumError:
        return None, []
    try:
        text_page = page.get_textpage()
        try:
            return text_page.get_text_bounded(), tagged_headings(page, text_page) if tagged else []
        finally:
            text_page.close()
    except pdfium.PdfiumError:
        return None, []
    finally:
        page.close()
