"""A page of a PDF as a picture, and where the words of a quote stand on it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from groundgraph.ingest.load_pdf import PDFIUM, opened
from groundgraph.ingest.read_file import optional_package

# Enough for a screen of twice the usual density; a page of unusual size is no larger than this.
_SCALE, _MOST_PIXELS = 2.0, 2400
Box = tuple[float, float, float, float]


def page_picture(path: Path, number: int, password: str | None) -> bytes:
    """Page `number`, from 1, as PNG.

    Raises:
        IngestError: the file cannot be read.
        IndexError: it has no such page.
    """
    pdfium = optional_package("pypdfium2", "a PDF")
    with opened(pdfium, path, password) as pdf, PDFIUM:
        page = pdf[number - 1]
        try:
            scale = min(_SCALE, _MOST_PIXELS / max(page.get_size()))
            bitmap = page.render(scale=scale)
            try:
                return _png(bitmap)
            finally:
                bitmap.close()
        finally:
            page.close()


def _png(bitmap: object) -> bytes:
    picture = bitmap.to_pil()  # type: ignore[attr-defined]
    written = io.BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


def quote_boxes(path: Path, number: int, quotes: Sequence[str], password: str | None) -> list[Box]:
    """Where `quotes` stand on page `number`: left, top, width and height of each line, as shares of the page.

    Raises:
        IngestError: the file cannot be read.
        IndexError: it has no such page.
    """
    pdfium = optional_package("pypdfium2", "a PDF")
    with opened(pdfium, path, password) as pdf, PDFIUM:
        page = pdf[number - 1]
        text_page = page.get_textpage()
        try:
            width, height = page.get_size()
            text = text_page.get_text_range()
            boxes: list[Box] = []
            for start, count in filter(None, (_place(text, quote) for quote in quotes)):
                for at in range(text_page.count_rects(start, count)):
                    left, bottom, right, top = text_page.get_rect(at)
                    boxes.append((left / width, 1 - top / height, (right - left) / width, (top - bottom) / height))
            return boxes
        finally:
            text_page.close()
            page.close()


def _place(text: str, quote: str) -> tuple[int, int] | None:
    """Where `quote` stands in the text of a page, whose line ends and hyphens the ingest may have changed."""
    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    found = "".join(text[at] for at in places).find("".join(filter(str.isalnum, quote)))
    size = sum(map(str.isalnum, quote))
    return (places[found], places[found + size - 1] - places[found] + 1) if size and found >= 0 else None
