"""Reads the sheets of an Excel workbook."""

from __future__ import annotations

import io
import re
import threading
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time
from typing import Any

from groundgraph.core.document import Document
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import jsonable
from groundgraph.core.original import FILE_ROW, FILE_SHEET
from groundgraph.nodes.ingest.open_archive import open_archive
from groundgraph.nodes.ingest.optional_package import optional_package
from groundgraph.nodes.ingest.records import Records, field_names, shown

# A row of one cell in the last column counts as 16 384 cells, all of which are gone through.
MAX_CELLS = 20_000_000
_BLOCK = 1 << 20
_FILTERS = threading.Lock()
_FORMULA_ALONE = re.compile(rb"<f(?:>[^<]*</f>| [^>]*/>| [^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>|</c>)")


def load_xlsx(data: bytes, name: str) -> Document:
    """The document with a record for each row of each sheet below the sheet's first, which names the fields.

    Empty rows and columns are passed over. Values keep their types, dates become ISO 8601, and `sheet` names the
    sheet. Of a formula the stored value is taken; one without gives a warning.

    Raises:
        IngestError: it is no such workbook, damaged, encrypted, too large, without records, or openpyxl is not
            installed.
    """
    openpyxl = optional_package("openpyxl", "an Excel workbook")
    records = Records()
    with open_archive(data, "Excel (.xlsx)") as archive:
        try:
            with _without_warnings():
                workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
                try:
                    _add_sheets(records, workbook)
                finally:
                    workbook.close()
        except IngestError:
            raise
        except Exception as error:  # whatever a parser makes of a damaged workbook
            raise IngestError(f"it is no readable Excel workbook: {type(error).__name__}: {error}") from error
        told = _unknown_formulas(archive)
    return records.document(name, told)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """openpyxl warns of what it does not know, such as styles and validation rules; none of it is text.

    The filters of warnings belong to the whole process, so one thread at a time changes them and puts them back.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")
        yield


def _add_sheets(records: Records, workbook: Any) -> None:
    cells = 0
    for sheet in workbook.worksheets:
        # What a sheet says of its own size is often wrong, and would cut rows off.
        sheet.reset_dimensions()
        names: list[str] = []
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells += len(row)
            if cells > MAX_CELLS:
                raise IngestError(f"its sheets span more than {MAX_CELLS:_} cells; split it")
            values = [_value(cell) for cell in row]
            if not any(shown(value) for value in values):
                continue
            if names:
                names += field_names([*names, *[None] * (len(values) - len(names))])[len(names) :]
                fields = [(field, shown(value), value) for field, value in zip(names, values, strict=False)]
                place = {FILE_ROW: number, FILE_SHEET: sheet.title}
                records.add(fields if "sheet" in names else [*fields, ("sheet", sheet.title, sheet.title)], place)
            else:
                names = field_names(values)


def _value(cell: Any) -> Any:
    # A date without a time is stored as midnight.
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return cell.strip() if isinstance(cell, str) else jsonable(cell)


def _unknown_formulas(archive: zipfile.ZipFile) -> list[str]:
    sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
    count = sum(len(_FORMULA_ALONE.findall(block)) for name in sheets for block in _blocks(archive, name))
    if not count:
        return []
    return [f"{count} formulas have no stored value and were left out; save the workbook in a spreadsheet program"]


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The XML of a sheet in blocks that end with a cell."""
    kept = b""
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            whole, mark, kept = (kept + block).rpartition(b"</c>")
            yield whole + mark
    yield kept
