"""Reads Word documents and the sheets of Excel workbooks, whose archives are checked before anything is unpacked."""

from __future__ import annotations

import io
import re
import threading
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, time
from pathlib import Path
from typing import Any

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import jsonable
from groundgraph.ingest.load_html import html_markdown
from groundgraph.ingest.load_text import first_heading
from groundgraph.ingest.read_file import MEGABYTE, optional_package
from groundgraph.ingest.records import Records, field_names, shown
from groundgraph.text.original import FILE_ROW, FILE_SHEET

# The zip archive that a Word or Excel file is, checked before anything is unpacked.

MAX_RATIO = 100
MAX_UNPACKED = 200 * MEGABYTE
MAX_ENTRIES = 10_000
# Below this size a ratio says nothing: a few empty rows reach any.
_RATIO_FROM = MEGABYTE
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_DOCTYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))


def open_archive(data: bytes, kind: str, *, max_xml: int = MAX_UNPACKED) -> zipfile.ZipFile:
    """The archive in `data`, which is small enough to unpack. The caller closes it.

    Sizes are those that the archive declares; `zipfile` unpacks no more of an entry than was declared.

    Args:
        data: the file.
        kind: what the file is said to be, for messages.
        max_xml: the most bytes that one XML entry may have.

    Raises:
        IngestError: it is no such archive, is damaged or encrypted, or would unpack to far more than it is.
    """
    if not data:
        raise IngestError("the file is empty")
    if data.startswith(_OLD_OFFICE):
        raise IngestError(f"it is no {kind} file but one in the older format, or encrypted; save it anew without both")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise IngestError(f"it is no {kind} file, or a damaged one: it is no zip archive ({error})") from error
    try:
        _refuse_bombs(archive.infolist(), max_xml)
        for entry in archive.infolist():
            if entry.filename.endswith((".xml", ".rels")):
                _check_xml(archive, entry, kind)
    except BaseException:
        archive.close()
        raise
    return archive


def _refuse_bombs(entries: list[zipfile.ZipInfo], max_xml: int) -> None:
    if len(entries) > MAX_ENTRIES:
        raise IngestError(f"its archive has {len(entries)} entries, the most is {MAX_ENTRIES}")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise IngestError(f"it would unpack to more than {MAX_UNPACKED // MEGABYTE} MB; split it")
    for entry in entries:
        if entry.file_size > max(_RATIO_FROM, MAX_RATIO * entry.compress_size):
            raise IngestError(f"'{entry.filename}' in it would unpack to more than {MAX_RATIO} times its size")
        if entry.file_size > max_xml and entry.filename.endswith(".xml"):
            raise IngestError(f"'{entry.filename}' in it has more than {max_xml // MEGABYTE} MB; split it")


def _check_xml(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kind: str) -> None:
    # The format allows no document type; with one, entities could grow without bound in the parser.
    before = b""
    try:
        with archive.open(entry) as file:
            while block := file.read(_BLOCK):
                if any(mark in before + block for mark in _DOCTYPE):
                    raise IngestError(f"'{entry.filename}' in it declares a document type, as no {kind} file may")
                before = block[-32:]
    except IngestError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise IngestError(f"'{entry.filename}' in it is damaged or encrypted: {error}") from error


# Reads a Word document into the Markdown of its text.

# A reader that keeps the whole tree in memory, which takes twenty times the size of the XML.
MAX_TREE = 20 * MEGABYTE
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
_IGNORED = re.compile(r"An unrecognised element was ignored: (.*)")


def load_docx(data: bytes, name: str) -> Document:
    """The document in `data`: headings, paragraphs, lists, notes and tables, links as their text, no pictures.

    Raises:
        IngestError: it is no Word document, damaged, encrypted, too large, without text, or mammoth is not installed.
    """
    mammoth = optional_package("mammoth", "a Word document")
    lxml_html = optional_package("lxml.html", "a Word document")
    with open_archive(data, "Word (.docx)", max_xml=MAX_TREE) as archive:
        if "[Content_Types].xml" not in archive.namelist():
            raise IngestError("it is a zip archive, but no Word document")
        try:
            result = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=_without_picture)
            text = html_markdown(lxml_html.fromstring(f"<div>{result.value}</div>"))
        except Exception as error:  # whatever a parser makes of a damaged document
            raise IngestError(f"it is no readable Word document: {type(error).__name__}: {error}") from error
    if not re.search(r"\w", text):
        raise IngestError("it holds no text")
    title = first_heading(text, 0, MARKDOWN) or Path(name).stem
    return Document(name, text, MARKDOWN, {"title": title}, 0, tuple(_warnings(result.messages)))


def _without_picture(_image: Any) -> list[Any]:
    return []


def _warnings(messages: Any) -> list[str]:
    """What was left out; styles that mean nothing for the text are not told."""
    found = (_IGNORED.fullmatch(message.message) for message in messages)
    names = sorted({match[1].rpartition(":")[2].rpartition("}")[2] for match in found if match})
    return [f"elements of unknown kinds were left out: {', '.join(names)}"] if names else []


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
