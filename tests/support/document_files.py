"""Small PDF, Word and Excel files, made where a test needs them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
_STYLES = '<w:styles xmlns:w="{w}">{styles}</w:styles>'
_STYLE = '<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/></w:style>'
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word document."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: Sequence[str]) -> str:
    """A table of a Word document."""
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def zipped(*entries: tuple[str, bytes | str]) -> bytes:
    """An archive of these entries."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def docx(body: str, **others: bytes) -> bytes:
    """A Word document; `others` are further entries of its archive, or such in place of its own."""
    names = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2"}
    styles = "".join(_STYLE.format(id=key, name=name) for key, name in names.items())
    relations = _RELATIONS.replace('/officeDocument"', '/styles"').replace("word/document.xml", "styles.xml")
    own = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "word/_rels/document.xml.rels": relations,
        "word/styles.xml": _STYLES.format(w=W, styles=styles),
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
    }
    return zipped(*{**own, **others}.items())


def pdf(
    path: Path, pages: Sequence[str], *, title: str = "", outline: Sequence[tuple[int, int, str]] = (), **options: Any
) -> Path:
    """A PDF with the lines of each of `pages`; `outline` has page (from 0), level (from 0) and title of each entry."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), **options)
    if title:
        canvas.setTitle(title)
    for number, page in enumerate(pages):
        for _, level, entry in (entry for entry in outline if entry[0] == number):
            canvas.bookmarkPage(entry)
            canvas.addOutlineEntry(entry, entry, level)
        for place, line in enumerate(page.split("\n")):
            canvas.drawString(40, 800 - 12 * place, line)
        canvas.showPage()
    canvas.save()
    return path


def xlsx(sheets: dict[str, Sequence[Sequence[Any]]]) -> bytes:
    """An Excel workbook with the rows of each of `sheets`."""
    import openpyxl

    workbook = openpyxl.Workbook(write_only=True)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(buffer := io.BytesIO())
    return buffer.getvalue()


def pptx(slides: Sequence[tuple[str, Sequence[str]]], *, rows: Sequence[Sequence[str]] = (), notes: str = "") -> bytes:
    """A presentation with a title and paragraphs on each slide; the last one has a table of `rows` and `notes`."""
    from pptx import Presentation

    presentation = Presentation()
    for title, paragraphs in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(paragraphs)
    if rows:
        grid = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, 100, 100).table
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                grid.cell(number, place).text = cell
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    saved = io.BytesIO()
    presentation.save(saved)
    return saved.getvalue()
