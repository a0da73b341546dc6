"""The headings that a PDF marks: by the tags of its pages, or in its outline. Callers hold the lock of pdfium."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from groundgraph.nodes.ingest.optional_package import optional_package

_HEADING = re.compile(r"H([1-6])?")
# Tables and lists hold no headings but most of the tags; going through them would take longer than the text.
_WITHOUT_HEADINGS = frozenset(["Table", "L", "P", "Figure", "TOC", "Link", "Form", "Note", "Caption", "Formula"])
_MAX_DEPTH = 50
_TEXT = 1


@dataclass(frozen=True)
class MarkedHeading:
    """A heading that a page is said to have.

    Attributes:
        level: its level, 1 the outermost.
        title: its words.
    """

    level: int
    title: str


def outline_headings(pdf: Any) -> dict[int, list[MarkedHeading]]:
    """The entries of the outline by the number, from 0, of the page that they lead to."""
    found: dict[int, list[MarkedHeading]] = {}
    for entry in pdf.get_toc():
        destination = entry.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(readable(entry.get_title).split())
        if page is not None and title:
            found.setdefault(page, []).append(MarkedHeading(entry.level + 1, title))
    return found


def readable(read: Callable[[], str | None]) -> str:
    """The string that `read` gives; an empty one when the file has it in no valid encoding."""
    try:
        return read() or ""
    except UnicodeDecodeError:
        return ""


def tagged_headings(page: Any, text_page: Any) -> list[MarkedHeading]:
    """The headings among the tags of a page, in order."""
    raw = optional_package("pypdfium2.raw", "a PDF")
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return []
    try:
        roots = (raw.FPDF_StructTree_GetChildAtIndex(tree, n) for n in range(raw.FPDF_StructTree_CountChildren(tree)))
        marked = [heading for root in roots if root for heading in _marked(raw, root, 0)]
    finally:
        raw.FPDF_StructTree_Close(tree)
    if not marked:
        return []
    texts = _marked_texts(raw, page, text_page)
    titles = ((level, " ".join("".join(texts.get(mark, "") for mark in marks).split())) for level, marks in marked)
    return [MarkedHeading(level, title) for level, title in titles if title]


def _marked(raw: Any, element: Any, depth: int) -> Iterator[tuple[int, list[int]]]:
    """Level and marks of each heading at or below `element`."""
    kind = _string(lambda buffer, size: raw.FPDF_StructElement_GetType(element, buffer, size))
    heading = _HEADING.fullmatch(kind)
    if heading:
        yield int(heading[1] or 1), list(_marks(raw, element, depth))
    elif kind not in _WITHOUT_HEADINGS and depth < _MAX_DEPTH:
        for child in _children(raw, element):
            yield from _marked(raw, child, depth + 1)


def _marks(raw: Any, element: Any, depth: int) -> Iterator[int]:
    for number in range(raw.FPDF_StructElement_GetMarkedContentIdCount(element)):
        yield raw.FPDF_StructElement_GetMarkedContentIdAtIndex(element, number)
    if depth < _MAX_DEPTH:
        for child in _children(raw, element):
            yield from _marks(raw, child, depth + 1)


def _children(raw: Any, element: Any) -> Iterator[Any]:
    for number in range(raw.FPDF_StructElement_CountChildren(element)):
        child = raw.FPDF_StructElement_GetChildAtIndex(element, number)
        if child:
            yield child


def _marked_texts(raw: Any, page: Any, text_page: Any) -> dict[int, str]:
    """The text of the objects of a page by their marks."""
    texts: dict[int, str] = {}
    for number in range(raw.FPDFPage_CountObjects(page)):
        found = raw.FPDFPage_GetObject(page, number)
        mark = raw.FPDFPageObj_GetMarkedContentID(found)
        if mark >= 0 and raw.FPDFPageObj_GetType(found) == _TEXT:
            words = _string(lambda buffer, size, found=found: raw.FPDFTextObj_GetText(found, text_page, buffer, size))
            texts[mark] = texts.get(mark, "") + words
    return texts


def _string(read: Callable[..., int]) -> str:
    """The UTF-16 string that `read` writes into a buffer; pdfium counts the size in bytes."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", errors="ignore")
