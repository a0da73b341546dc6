"""Reads the slides of a PowerPoint presentation: their words, each slide a part of its own."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from groundgraph.core.characters import clean_text
from groundgraph.core.document import PPTX, Document, Heading, Part
from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_html import LOWERED, RAISED, with_raised
from groundgraph.ingest.office import MAX_TREE, open_archive
from groundgraph.ingest.read_file import MAX_CHARS, optional_package
from groundgraph.ingest.records import left_out
from groundgraph.text.original import FILE_SLIDE

_BETWEEN = "\n\n"
# How a run of characters is set, and what says that it is not struck out.
_FORM = "{http://schemas.openxmlformats.org/drawingml/2006/main}rPr"
_NOT_STRUCK = "noStrike"


def load_pptx(data: bytes, name: str) -> Document:
    """The document in `data` with a part for each slide that has words: title, texts, tables row by row, and notes.

    Titles are headings. A slide keeps its number, from 1, also behind slides without words.

    Raises:
        IngestError: it is no presentation, damaged, encrypted, too large, without text, or python-pptx is not
            installed.
    """
    pptx = optional_package("pptx", "a PowerPoint presentation")
    with open_archive(data, "PowerPoint (.pptx)", max_xml=MAX_TREE):
        try:
            unread: list[str] = []
            slides = [list(_slide_texts(slide, unread)) for slide in pptx.Presentation(io.BytesIO(data)).slides]
        except Exception as error:  # whatever a parser makes of a damaged presentation
            raise IngestError(f"it is no readable presentation: {type(error).__name__}: {error}") from error
    return _document(slides, name, left_out(unread, "charts were", "their values cannot be read"))


def _document(slides: list[list[tuple[bool, str]]], name: str, warnings: list[str]) -> Document:
    texts: list[str] = []
    parts: list[Part] = []
    headings: list[Heading] = []
    end = -len(_BETWEEN)
    for number, slide in enumerate(slides, 1):
        start = end + len(_BETWEEN)
        for is_title, text in slide:
            texts.append(text)
            first, end = end + len(_BETWEEN), end + len(_BETWEEN) + len(text)
            if is_title:
                headings.append(Heading(first, end, 1, " ".join(text.split())))
        if slide:
            parts.append(Part(start, end, {FILE_SLIDE: number}))
    if not parts:
        raise IngestError("it holds no text")
    if end > MAX_CHARS:
        raise IngestError(f"its text has more than {MAX_CHARS:_} characters; split it")
    title = headings[0].title if headings else Path(name).stem
    about, told = {"title": title}, tuple(warnings)
    return Document(name, _BETWEEN.join(texts), PPTX, about, 0, told, parts=tuple(parts), headings=tuple(headings))


def _slide_texts(slide: Any, unread: list[str]) -> Iterator[tuple[bool, str]]:
    """The words of a slide, its title first, each with whether it is the title; `unread` takes the charts that cannot
    be read."""
    title = slide.shapes.title
    said = [(True, _frame_text(title.text_frame) if title is not None else "")]
    said += [(False, text) for shape in slide.shapes for text in _texts(shape, title, unread)]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        said += [(False, _said(paragraph)) for paragraph in slide.notes_slide.notes_text_frame.paragraphs]
    for is_title, text in said:
        # A line break within a paragraph is a vertical tab.
        words = clean_text(text.replace("\v", "\n")).strip()
        if words:
            yield is_title, words


def _texts(shape: Any, title: Any, unread: list[str]) -> Iterator[str]:
    if title is not None and shape.shape_id == title.shape_id:
        return
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _texts(inner, title, unread)
    elif getattr(shape, "has_table", False):
        cells = ([_frame_text(cell.text_frame) for cell in row.cells] for row in shape.table.rows)
        yield _table_text(cells)
    elif getattr(shape, "has_chart", False):
        try:
            yield from list(_chart_texts(shape.chart))
        except Exception:  # whatever a parser makes of a damaged chart
            unread.append(shape.name)
    elif shape.has_text_frame:
        yield from map(_said, shape.text_frame.paragraphs)


def _frame_text(frame: Any) -> str:
    return "\n".join(map(_said, frame.paragraphs))


def _said(paragraph: Any) -> str:
    """The words of a paragraph: what is struck out is not among them, and what stands raised or lowered is told."""
    said = ""
    for run in paragraph._element.content_children:
        form = run.find(_FORM)
        if form is None or form.get("strike", _NOT_STRUCK) == _NOT_STRUCK:
            baseline = int(form.get("baseline", 0)) if form is not None else 0
            said += (RAISED if baseline > 0 else LOWERED if baseline < 0 else "") + run.text
    return with_raised(said)


def _chart_texts(chart: Any) -> Iterator[str]:
    """The title of a chart, and the values of each of its plots as a table, a column for each series."""
    if chart.has_title:
        yield _frame_text(chart.chart_title.text_frame)
    for plot in chart.plots:
        series = [(one.name, list(one.values)) for one in plot.series]
        across = [one.text for one in plot._element.xpath("c:ser[1]/c:xVal//c:v")]
        labels = [str(label) for label in plot.categories] or across
        rows = zip_longest(labels, *(values for _, values in series))
        yield _table_text([["", *(name for name, _ in series)], *([_number(one) for one in row] for row in rows)])


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _table_text(rows: Iterable[Sequence[str]]) -> str:
    told = ([" ".join(cell.split()) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in told if any(cells))
