"""The ruled tables of a PDF as records: where pdfplumber sees cells, what pdfium reads in them.

A row that may have been read wrongly is no record; its words stand in the text of the page all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundgraph.core.document import Document, Part
from groundgraph.ingest.load_pdf import PDFIUM, is_ruled, opened
from groundgraph.ingest.read_file import optional_package
from groundgraph.ingest.records import Records, field_names
from groundgraph.text.original import FILE_ROW

_KIND = "a table of a PDF"
_BETWEEN = "\n\n"
# What a cell leaves to the lines around it, in points.
_MARGIN = 0.5
# A table goes on over the page where its columns stand, up to so many points.
_SAME_PLACE = 2.0
_LONGEST_NAME = 60


@dataclass(frozen=True)
class _Table:
    """A table of one page.

    Attributes:
        page: the number, from 1, of the page.
        edges: where its columns begin, in points.
        rows: the lines of each cell; None for one that another cell spans.
    """

    page: int
    edges: tuple[float, ...]
    rows: list[list[list[str] | None]]


def pdf_tables(path: Path, name: str, password: str | None = None) -> Document | None:
    """The document with a record for each row of the ruled tables in the PDF at `path`; None when there are none.

    The first row of a table names the fields, of one that goes on over the page that of the page before. Each part has
    `page` and `FILE_ROW`, the number, from 1, of the row in its table on that page.

    Raises:
        IngestError: it is no PDF, damaged, encrypted, has too many rows, or pdfplumber is not installed.
    """
    records = Records()
    fields: list[str] = []
    previous: _Table | None = None
    for table in _tables(path, password):
        own = _names(table)
        if previous is None or not fields or not _goes_on(previous, table):
            fields = own
        elif own != fields and _may_be_other(own, previous):
            fields = []
        _add_rows(records, table, fields, named=own == fields)
        previous = table
    return records.document(name, []) if records else None


def _add_rows(records: Records, table: _Table, fields: Sequence[str], *, named: bool) -> None:
    """Add each clear row of a table as a record of these fields, without the first where they are `named` by it."""
    for number, row in enumerate(table.rows, 1):
        cells = _cells(row)
        if fields and cells and not (named and number == 1):
            shown = [(field, cell, cell) for field, cell in zip(fields, cells, strict=True)]
            records.add(shown, {"page": table.page, FILE_ROW: number})


def _may_be_other(names: Sequence[str], previous: _Table) -> bool:
    """Whether words where numbers stood in the `previous` part of a table may name the fields of another one."""
    return any(_is_counted(previous.rows[1:], at) for at in range(1, len(names)))


def with_tables(document: Document, tables: Document) -> Document:
    """`document` with the text and the parts of `tables` behind its own."""
    by = len(document.text) + len(_BETWEEN)
    parts = [Part(part.start + by, part.end + by, part.metadata) for part in tables.parts]
    return replace(document, text=document.text + _BETWEEN + tables.text, parts=(*document.parts, *parts))


def _tables(path: Path, password: str | None) -> Iterator[_Table]:
    """The tables in order, without columns in which nothing stands."""
    pdfium = optional_package("pypdfium2", _KIND)
    with opened(pdfium, path, password) as pdf:
        with PDFIUM:
            ruled = [number for number in range(1, len(pdf) + 1) if is_ruled(pdf[number - 1])]
        if not ruled:
            return
        plumber = optional_package("pdfplumber", _KIND)
        with plumber.open(path, pages=ruled, password=password or "") as seen:
            for page in seen.pages:
                for table in page.find_tables():
                    with PDFIUM:
                        rows = _read(pdf[page.page_number - 1].get_textpage(), float(page.height), table)
                    yield _without_empty_columns(page.page_number, table.columns, rows)
                page.close()


def _without_empty_columns(page: int, columns: Sequence[Any], rows: Sequence[Sequence[list[str] | None]]) -> _Table:
    kept = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
    edges = tuple(columns[column].bbox[0] for column in kept)
    return _Table(page, edges, [[row[column] for column in kept] for row in rows])


def _read(text: Any, height: float, table: Any) -> list[list[list[str] | None]]:
    return [[_lines(text, height, cell) for cell in row.cells] for row in table.rows]


def _lines(text: Any, height: float, cell: Sequence[float] | None) -> list[str] | None:
    """The lines in a cell, of which pdfplumber counts from the upper edge of the page and pdfium from the lower one."""
    if cell is None:
        return None
    left, top, right, bottom = cell
    words = text.get_text_bounded(left + _MARGIN, height - bottom + _MARGIN, right - _MARGIN, height - top - _MARGIN)
    return [line for line in map(str.strip, words.splitlines()) if line]


def _names(table: _Table) -> list[str]:
    """The fields of a table by its first row; none for a row that names none, or not clearly."""
    first, *body = table.rows
    cells = _cells(first)
    if not body or not _may_name(cells):
        return []
    # Two columns may as well be a name and a value in every row.
    return field_names(cells) if len(cells) > 2 or _is_counted(body, 1) else []


def _may_name(cells: Sequence[str]) -> bool:
    """Whether the cells of a row may name columns: short words, each another; above the names of rows none need be."""
    if len(cells) < 2 or len(set(cells)) < len(cells) or len(max(cells, key=len)) > _LONGEST_NAME:
        return False
    return all(any(map(str.isalpha, cell)) for cell in cells[1:])


def _is_counted(body: Sequence[Sequence[list[str] | None]], column: int) -> bool:
    """Whether most cells of a column have no letter."""
    bare = [not any(map(str.isalpha, "".join(row[column] or []))) for row in body]
    return sum(bare) * 2 > len(bare)


def _cells(row: Sequence[list[str] | None]) -> list[str]:
    """The cells of a row; none when a cell spans others, or when it is likely several rows without a line between."""
    lines = Counter(len(cell) for cell in row if cell and len(cell) > 1)
    if any(cell is None for cell in row) or any(count > 1 for count in lines.values()):
        return []
    return [" ".join(cell or []) for cell in row]


def _goes_on(previous: _Table, table: _Table) -> bool:
    """Whether a table is what follows of the one on the page before."""
    beside = zip(previous.edges, table.edges, strict=False)
    return (
        table.page == previous.page + 1
        and len(previous.edges) == len(table.edges)
        and all(abs(one - other) <= _SAME_PLACE for one, other in beside)
    )
