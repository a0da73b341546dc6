"""Reads a table of text whose cells are set apart by a delimiter."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.document import Document
from groundgraph.core.errors import IngestError
from groundgraph.core.original import FILE_LINE, FILE_ROW
from groundgraph.nodes.ingest.records import MAX_RECORDS, Records, field_names, left_out

# What begins with 0 is a code, such as a postal one, and no number.
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][-+]?\d{1,2})?")
_BOOLEANS = {"true": True, "false": False}
_SAMPLE_LINES = 50


def load_csv(text: str, warnings: list[str], name: str, *, delimiters: str = ",;\t|") -> Document:
    """The document with a record for each row of `text` below its first, which names the fields.

    A column of numbers only, or of true and false only, has values of that type. A row with another number of cells
    than the first, or with a quote out of place, is left out with a warning.

    Args:
        text: the table.
        warnings: what was said about the text before.
        name: the name of the document.
        delimiters: the characters that may set cells apart; the one that gives the most even table does.

    Raises:
        IngestError: it holds no records, or too many.
    """
    lines = text.split("\n")
    delimiter = _delimiter(lines[:_SAMPLE_LINES], delimiters)
    rows: list[list[str]] = []
    places: list[dict[str, Any]] = []
    ragged: list[str] = []
    broken: list[str] = []
    for where, row in _rows(lines, delimiter):
        place = str(where)
        if not rows and row is None:
            raise IngestError(
                f"{place}, which must name the fields, has a quote out of place or a cell that is too long"
            )
        width = len(rows[0] if rows else row)
        if row is None:
            broken.append(place)
        elif len(row) < width or any(cell.strip() for cell in row[width:]):
            ragged.append(place)
        elif any(cell.strip() for cell in row):
            rows.append([cell.strip() for cell in row[:width]])
            places.append({FILE_ROW: where.row, FILE_LINE: where.first})
        if len(rows) > MAX_RECORDS + 1:
            raise IngestError(f"it holds more than {MAX_RECORDS:_} records; split it, or make it a SQL source")
    told = [
        *warnings,
        *left_out(ragged, "rows were", f"they do not have the {len(rows[0]) if rows else 0} cells of the first"),
        *left_out(broken, "rows were", "a quote is out of place or a cell is too long"),
    ]
    return _records(rows, places).document(name, told)


def _delimiter(sample: Sequence[str], delimiters: str) -> str:
    """The one under which most rows have as many cells as the first, and then the most."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in _rows(sample, delimiter) if row]
        width = len(rows[0]) if rows else 1
        return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, 1)

    return max(delimiters, key=evenness)


@dataclass(frozen=True)
class _Place:
    """The number of a row as a spreadsheet program shows it, and its lines, from 1."""

    row: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[_Place, Any]]:
    """Where each row stands, and its cells; None for a row that cannot be read, after which the next line is tried."""
    first = number = 0
    while first < len(lines):
        rest = (f"{lines[number]}\n" for number in range(first, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        begun = 0
        try:
            for row in reader:
                number += 1
                if row:
                    yield _Place(number, first + begun + 1, first + reader.line_num), row
                begun = reader.line_num
            return
        except csv.Error:
            number += 1
            yield _Place(number, first + begun + 1, first + begun + 1), None
            first += begun + 1


def _records(rows: list[list[str]], places: Sequence[dict[str, Any]]) -> Records:
    records = Records()
    if rows:
        names = field_names(rows[0])
        columns = [_typed([row[place] for row in rows[1:]]) for place in range(len(names))]
        for number, row in enumerate(rows[1:]):
            cells = [(name, row[at], columns[at][number]) for at, name in enumerate(names)]
            records.add(cells, places[number + 1])
    return records


def _typed(column: list[str]) -> list[Any]:
    """The values of a column; empty cells stay empty."""
    present = [cell for cell in column if cell]
    if all(map(_INTEGER.fullmatch, present)):
        return [int(cell) if cell else cell for cell in column]
    if all(map(_NUMBER.fullmatch, present)):
        return [float(cell) if cell else cell for cell in column]
    if all(cell.lower() in _BOOLEANS for cell in present):
        return [_BOOLEANS.get(cell.lower(), cell) for cell in column]
    return list(column)
