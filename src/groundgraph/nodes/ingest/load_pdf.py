"""Reads a PDF: the text of its pages, and the headings that it marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from groundgraph.core.document import PDF, Document, Heading, Part
from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.pdf_headings import MarkedHeading
from groundgraph.nodes.ingest.pdf_text import page_texts
from groundgraph.nodes.ingest.read_pdf import PdfContent, read_pdf
from groundgraph.nodes.ingest.running_lines import running_metadata

_BETWEEN_PAGES = "\n\n"
# A page with fewer letters has no text layer (K2).
_MIN_LETTERS = 20
_END_MARK = b"%%EOF"
# Readers look for the mark in so many bytes at the end.
_END = 2048
_NO_TEXT = "it has no text layer: no page holds 20 letters; if it was scanned, it needs text recognition (OCR) first"
# Titles that programs leave behind.
_NO_TITLE = re.compile(r"(?:untitled.*|microsoft \w+ - .*|.*\.[a-z]\w{1,4}|\W*)", re.IGNORECASE)
# The number of a heading, which outline and page write differently if they have it at all.
_NUMBER = re.compile(r"^(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*[.)]?\s+")
_OWN_NUMBER = r"^[ \t]*(?:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*[.)]?\s+)?"
_NAMED = 20


def load_pdf(path: Path, name: str, *, password: str | None = None) -> Document:
    """The document in the PDF at `path`, with a part for each page whose metadata is `{"page": n}`, n from 1.

    The text of a page comes in the order in which the file has it, which in columns is column by column as a rule. A
    word that was divided at the end of a line is whole where the document has it whole elsewhere.

    Raises:
        IngestError: it is no PDF, damaged, encrypted, too large, has no page with a text layer, or pypdfium2 is not
            installed.
    """
    tail = _tail(path)
    if not tail:
        raise IngestError("the file is empty")
    content = read_pdf(path, password)
    content.pages = page_texts(content.pages)
    poor = [number for number, text in enumerate(content.pages, 1) if sum(map(str.isalpha, text)) < _MIN_LETTERS]
    if len(poor) == len(content.pages):
        raise IngestError(_NO_TEXT)
    parts = _parts(content.pages)
    headings = tuple(_headings(content, parts))
    title = _title(content.title) or (headings[0].title if headings else "") or Path(name).stem
    warnings = list(
        _warnings(tail, content.unreadable, [number for number in poor if number not in content.unreadable])
    )
    text = _BETWEEN_PAGES.join(content.pages)
    metadata = {"title": title, **running_metadata(content.pages)}
    return Document(name, text, PDF, metadata, 0, tuple(warnings), parts=parts, headings=headings)


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _END))
            return file.read()
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error


def _parts(pages: Sequence[str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    start = 0
    for number, text in enumerate(pages, 1):
        parts.append(Part(start, start + len(text), {"page": number}))
        start += len(text) + len(_BETWEEN_PAGES)
    return tuple(parts)


def _title(given: str) -> str:
    title = " ".join(given.split())
    return "" if _NO_TITLE.fullmatch(title) else title


def _headings(content: PdfContent, parts: Sequence[Part]) -> Iterator[Heading]:
    for text, marked, part in zip(content.pages, content.headings, parts, strict=True):
        offset = 0
        for heading in marked:
            found = _found(text, heading, offset)
            if found:
                offset = found[1]
                yield Heading(part.start + found[0], part.start + offset, heading.level, heading.title)


def _found(text: str, heading: MarkedHeading, offset: int) -> tuple[int, int] | None:
    """Where the words of a heading stand on whole lines of a page, from `offset` on; None for one that is not there."""
    words = _NUMBER.sub("", heading.title, count=1).split() or heading.title.split()
    pattern = _OWN_NUMBER + r"\s+".join(map(re.escape, words)) + r"[ \t]*$"
    match = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search(text, offset)
    return match.span() if match else None


def _warnings(tail: bytes, unreadable: Sequence[int], poor: Sequence[int]) -> Iterator[str]:
    if _END_MARK not in tail:
        yield "the file has no end mark; it may be cut off and pages may be missing"
    if unreadable:
        yield f"{_pages(unreadable)} cannot be read; the file may be damaged"
    if poor:
        yield f"{_pages(poor)} with fewer than {_MIN_LETTERS} letters: blank, or without a text layer"


def _pages(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"page{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_NAMED]))}{more}"
