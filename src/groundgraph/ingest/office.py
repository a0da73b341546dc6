"""Reads Word documents, the sheets of Excel workbooks and the slides of PowerPoint presentations."""

from __future__ import annotations

import io
import re
import threading
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, time
from itertools import chain, groupby, islice, zip_longest
from pathlib import Path
from typing import Any

from groundgraph.core.characters import clean_text
from groundgraph.core.document import MARKDOWN, PPTX, Document, Heading, Part
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import jsonable
from groundgraph.ingest.load_html import FORMULA, LOWERED, RAISED, html_markdown, with_raised
from groundgraph.ingest.load_text import first_heading
from groundgraph.ingest.read_file import MAX_CHARS, MAX_UNPACKED, MEGABYTE, open_archive, optional_package
from groundgraph.ingest.records import Records, double_head, field_names, left_out, shown
from groundgraph.text.original import FILE_ROW, FILE_SHEET, FILE_SLIDE


@contextmanager
def _opened(data: bytes, kind: str, named: str, *, max_xml: int = MAX_UNPACKED) -> Iterator[zipfile.ZipFile]:
    """As `open_archive`; what a parser makes of a damaged file inside is an `IngestError`, which calls it `named`."""
    with open_archive(data, kind, max_xml=max_xml) as archive:
        try:
            yield archive
        except IngestError:
            raise
        except Exception as error:
            raise IngestError(f"it is no readable {named}: {type(error).__name__}: {error}") from error


# Reads a Word document into the Markdown of its text.

# A reader that keeps the whole tree in memory, which takes twenty times the size of the XML.
MAX_TREE = 20 * MEGABYTE
# mammoth counts each list from 1, and tells neither where Word begins to count nor what it counts with.
_COUNTED = "".join(f"\np:ordered-list({level + 1}) => {'ul|ol > li > ' * level}ul > li:fresh" for level in range(5))
# Without a mark the words on both sides of a break would be one.
_BROKEN = "\nbr[type='page'] => br\nbr[type='column'] => br"
_STYLES = f"p[style-name='Title'] => h1.title:fresh\np[style-name='Subtitle'] => p:fresh{_COUNTED}{_BROKEN}"
_IGNORED = re.compile(r"An unrecognised element was ignored: (.*)")


def load_docx(data: bytes, name: str) -> Document:
    """The document in `data`: headings, paragraphs, lists without numbers, notes and tables, links as their text, no
    pictures and no hidden text.

    Raises:
        IngestError: it is no Word document, damaged, encrypted, too large, without text, or mammoth is not installed.
    """
    mammoth = optional_package("mammoth", "a Word document")
    lxml_html = optional_package("lxml.html", "a Word document")
    with _opened(data, "Word (.docx)", "Word document", max_xml=MAX_TREE) as archive:
        if "[Content_Types].xml" not in archive.namelist():
            raise IngestError("it is a zip archive, but no Word document")
        data, hidden = _legible(archive, data)
        result = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=_without_picture)
        tree = lxml_html.fromstring(f"<div>{result.value}</div>")
        named = [" ".join(node.itertext()) for node in tree.xpath("//h1[@class='title']")][:1]
        text = html_markdown(tree)
    if not re.search(r"\w", text):
        raise IngestError("it holds no text")
    title = " ".join("".join(named).split()) or first_heading(text, 0, MARKDOWN) or Path(name).stem
    return Document(name, text, MARKDOWN, {"title": title}, 0, (*_warnings(result.messages), *hidden))


_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Word has styles that are based on fewer, one on the other.
_MOST_BASES = 20
_STYLES_XML = "word/styles.xml"
_TEXTS = re.compile(r"word/(?:document|footnotes|endnotes)\.xml")


# What mammoth leaves out with the words in it, such as the number of a caption, and what it reads as the same.
_READ_AS = ((b"<w:fldSimple", b"<w:smartTag"), (b"</w:fldSimple", b"</w:smartTag"), (b"<w:cr/>", b"<w:br/>"))
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def _legible(archive: zipfile.ZipFile, data: bytes) -> tuple[bytes, list[str]]:
    """The document in `data` without its hidden text and with words for what mammoth does not know, and what is said
    about that."""
    texts = {name: archive.read(name) for name in archive.namelist() if _TEXTS.fullmatch(name)}
    styles = _hiding_styles(archive)
    known = {name: _known(text) for name, text in texts.items()}
    shown = {name: _shown(text, styles) for name, text in known.items() if styles or b":vanish" in text}
    told = [] if shown.items() <= known.items() else ["hidden text was left out"]
    if any(map(_has_formula, texts.values())):
        told.append(f"formulas cannot be read, {FORMULA} stands for each")
    if {**known, **shown} == texts:
        return data, told
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as kept:
        for entry in archive.infolist():
            text = shown.get(entry.filename) or known.get(entry.filename)
            kept.writestr(entry.filename, text or archive.read(entry))
    return buffer.getvalue(), told


def _has_formula(text: bytes) -> bool:
    return b":oMath" in text


def _known(text: bytes) -> bytes:
    for unknown, known in _READ_AS:
        text = text.replace(unknown, known)
    if not _has_formula(text):
        return text
    etree = optional_package("lxml.etree", "a Word document")
    root = _parsed(text)
    for formula in [*root.iter(f"{_M}oMath")]:
        above = formula.getparent()
        # Its symbols alone say something else, as on a page.
        run = etree.Element(f"{_W}r")
        etree.SubElement(run, f"{_W}t").text = FORMULA
        run.tail = formula.tail
        above.replace(formula, run)
        above.tag = f"{_W}smartTag" if above.tag == f"{_M}oMathPara" else above.tag
    return bytes(etree.tostring(root))


def _hiding_styles(archive: zipfile.ZipFile) -> dict[str | None, bool]:
    """The styles that say whether their text is hidden, by themselves or by what they are based on."""
    text = archive.read(_STYLES_XML) if _STYLES_XML in archive.namelist() else b""
    if b":vanish" not in text:
        return {}
    styles = {style.get(f"{_W}styleId"): style for style in _parsed(text).iter(f"{_W}style")}
    return {name: hides for name in styles if (hides := _hides(styles, name)) is not None}


def _hides(styles: dict[str | None, Any], name: str | None) -> bool | None:
    for _ in range(_MOST_BASES):
        style = styles.get(name)
        if style is None:
            return None
        if (mark := style.find(f"{_W}rPr/{_W}vanish")) is not None:
            return _is_on(mark)
        name = _named(style, "basedOn")
    return None


def _named(node: Any, path: str) -> str | None:
    found = node.find("/".join(_W + step for step in path.split("/")))
    return None if found is None else found.get(f"{_W}val")


def _parsed(text: bytes) -> Any:
    etree = optional_package("lxml.etree", "a Word document")
    return etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))


def _shown(text: bytes, styles: dict[str | None, bool]) -> bytes:
    root = _parsed(text)
    hidden = [run for run in root.iter(f"{_W}r") if _is_hidden(run, styles)]
    for run in hidden:
        run.getparent().remove(run)
    return bytes(optional_package("lxml.etree", "a Word document").tostring(root)) if hidden else text


def _is_hidden(run: Any, styles: dict[str | None, bool]) -> bool:
    """Whether a run of characters is, as it says itself, else its style, else that of its paragraph."""
    if (mark := run.find(f"{_W}rPr/{_W}vanish")) is not None:
        return _is_on(mark)
    own = styles.get(_named(run, "rPr/rStyle"))
    if own is None and styles:
        above = next(run.iterancestors(f"{_W}p"), run)
        own = styles.get(_named(above, "pPr/pStyle"))
    return bool(own)


def _is_on(mark: Any) -> bool:
    return mark.get(f"{_W}val", "true") not in ("0", "false", "off")


def _without_picture(_image: Any) -> list[Any]:
    return []


def _warnings(messages: Any) -> list[str]:
    """What was left out; styles that mean nothing for the text are not told."""
    found = (_IGNORED.fullmatch(message.message) for message in messages)
    names = sorted({match[1].rpartition(":")[2].rpartition("}")[2] for match in found if match})
    return [f"elements of unknown kinds were left out: {', '.join(names)}"] if names else []


_WORKBOOK = "an Excel workbook"
# A row of one cell in the last column counts as 16 384 cells, all of which are gone through.
MAX_CELLS = 20_000_000
_BLOCK = 1 << 20
_FILTERS = threading.Lock()
_FORMULA_ALONE = re.compile(rb"<f(?:>[^<]*</f>| [^>]*/>| [^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>|</c>)")


def load_xlsx(data: bytes, name: str) -> Document:
    """The document with a record for each row of each sheet below the first, which names the fields.

    A title above that row stands beside the sheet's name, which `sheet` holds. Empty rows and columns are passed over,
    hidden sheets, rows and columns with a warning. Values keep their types, dates become ISO 8601, a percentage is
    shown as one, and a cell that spans rows stands in each. Of a formula the stored value is taken; one without gives a
    warning.

    Raises:
        IngestError: it is no such workbook, damaged, encrypted, too large, without records, or openpyxl is not
            installed.
    """
    openpyxl = optional_package("openpyxl", _WORKBOOK)
    records = Records()
    with _opened(data, "Excel (.xlsx)", "Excel workbook") as archive:
        with (
            _without_warnings(),
            closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as workbook,
        ):
            told = _add_sheets(records, workbook, archive)
        told += _unknown_formulas(archive)
    return records.document(name, told)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """openpyxl warns of what it does not know, such as styles and validation rules; none of it is text.

    The filters of warnings belong to the whole process, so one thread at a time changes them and puts them back.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")
        yield


# A cell that spans others; the formats that show a number as a percentage, without the words in them.
_MERGED = re.compile(rb'mergeCell ref="([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})"')
_HIDDEN = re.compile(rb'<(?:\w+:)?(?:row|col) [^>]*?\bhidden="(?:1|true)"[^>]*>')
_NUMBERS = re.compile(rb' (r|min|max|outlineLevel)="([0-9]{1,7})"')
_MAX_COLUMNS = 16_384
_QUOTED = re.compile(r'"[^"]*"|\\.')
# Above the row that names the fields: a title, and a line below it.
_MAX_TITLES = 2
# More of them say no more of a workbook.
_MAX_DOUBTS = 3
# The text and the value of a cell.
_Cell = tuple[str, Any]
_Row = tuple[int, list[_Cell]]


def _add_sheets(records: Records, workbook: Any, archive: zipfile.ZipFile) -> list[str]:
    """Takes in the sheets that are shown; the warnings."""
    percent, left = _percent_styles(workbook), [MAX_CELLS]
    hidden = [sheet.title for sheet in workbook.worksheets if sheet.sheet_state != "visible"]
    partly: list[str] = []
    doubts: list[str] = []
    for sheet in workbook.worksheets:
        if sheet.title not in hidden:
            layout = _layout(archive, sheet._worksheet_path)
            _add_sheet(records, sheet.title, _rows(sheet, layout, percent, left), layout)
            partly += [sheet.title] if layout.lost else []
            doubts += layout.doubts[:_MAX_DOUBTS]
    some = "rows or columns that were"
    unseen = left_out(partly, f"sheet has {some}", f"sheets have {some}", "hidden")
    return [*left_out(hidden, "sheet was", "sheets were", "hidden"), *unseen, *doubts[:_MAX_DOUBTS]]


def _add_sheet(records: Records, sheet: str, rows: Iterator[_Row], layout: _Layout) -> None:
    title, head, below = _headed(rows, layout)
    table = _Table(sheet, title, head)
    # Rows without an empty one between them have the same distance from their place among those that are not.
    for _, group in groupby(enumerate(below), key=lambda one: one[1][0] - one[0]):
        block = (row for _, row in group)
        lead = [*islice(block, _MAX_TITLES + 2)]
        at = table.opened_by(lead, layout.doubts)
        if at is not None:
            table, lead = _Table(sheet, _titles(lead[:at]), lead[at][1]), lead[at + 1 :]
        for number, cells in chain(lead, block):
            if number in layout.rows:
                layout.lost = True
            else:
                records.add(table.fields(cells), {FILE_ROW: number, FILE_SHEET: sheet})


class _Table:
    """The table of a sheet below a row `head` that names its fields."""

    def __init__(self, sheet: str, title: str, head: list[_Cell]) -> None:
        self._names = field_names(value for _, value in head)
        self._place = ("sheet", f"{sheet}: {title}" if title else sheet, sheet)
        # The columns with words in them, and those with numbers, dates and so on.
        self._worded: set[int] = set()
        self._measured: set[int] = set()

    def fields(self, cells: list[_Cell]) -> list[tuple[str, str, Any]]:
        """The name, text and value of each cell of a row."""
        names = self._names
        names += field_names([*names, *[None] * (len(cells) - len(names))])[len(names) :]
        for at, (text, value) in enumerate(cells):
            if text:
                (self._worded if isinstance(value, str) else self._measured).add(at)
        fields = [(name, *cell) for name, cell in zip(names, cells, strict=False)]
        return fields if "sheet" in names else [*fields, self._place]

    def opened_by(self, lead: Sequence[_Row], doubts: list[str]) -> int | None:
        """Which of the first rows behind an empty one names the fields of another table, with words in several columns
        that have none here, or in one and below a title; None where this table goes on.

        Args:
            lead: the rows.
            doubts: takes in what may be such a row.
        """
        at = next((at for at, row in enumerate(lead[:-1]) if _filled(row) > 1), None)
        if at is None or not _names_fields(lead[at]):
            return None
        number, cells = lead[at]
        places = (self._measured - self._worded) & {*range(len(cells))}
        names = {cells[place][0] for place in places} - {""}
        if len(names) == 1 and not at:
            doubts.append(
                f"row {number} of {self._place[2]} may name the fields of another table; it was read as a row"
            )
            return None
        return at if names else None


def _titles(rows: Iterable[_Row]) -> str:
    return " ".join(text for _, cells in rows for text, _ in cells if text)


def _headed(rows: Iterator[_Row], layout: _Layout) -> tuple[str, list[_Cell], Iterator[_Row]]:
    """The title of a table, the row that names its fields, and the rows below it. A title stands alone in its row,
    above a row of names; two rows that name the fields together are one."""
    lead: list[_Row] = [(0, [])]
    for row in rows:
        lead.append(row)
        if _filled(row) > 1 or len(lead) > _MAX_TITLES + 1:
            break
    head = len(lead) - 1 if _names_fields(lead[-1]) else min(1, len(lead) - 1)
    below = chain(lead[head + 1 :], rows)
    second = [*islice(below, 1)]
    if names := second and layout.double_head(lead[head], second[0]):
        return _titles(lead[:head]), [(name, name) for name in names], below
    return _titles(lead[:head]), lead[head][1], chain(second, below)


def _filled(row: _Row) -> int:
    return sum(bool(text) for text, _ in row[1])


def _names_fields(row: _Row) -> bool:
    return _filled(row) > 1 and all(isinstance(value, str) for text, value in row[1] if text)


def _rows(sheet: Any, layout: _Layout, percent: frozenset[int], left: list[int]) -> Iterator[_Row]:
    """The rows with any text by their numbers; a cell that spans rows stands in each of them, and none of a hidden
    column in any.

    Args:
        sheet: of a workbook that is only read.
        layout: what it says of its rows and columns.
        percent: the styles of cells that show percentages.
        left: how many cells may still be gone through.
    """
    # What a sheet says of its own size is often wrong, and would cut rows off.
    sheet.reset_dimensions()
    # By column, what reaches down, and to which row.
    below: dict[int, tuple[int, _Cell]] = {}
    for number, row in enumerate(sheet.iter_rows(values_only=not percent), 1):
        left[0] -= len(row) + len(below)
        if left[0] < 0:
            raise IngestError(f"its sheets span more than {MAX_CELLS:_} cells; split it")
        cells = [_cell(one, percent) for one in row]
        for at in layout.columns & {*range(len(cells) if layout.columns else 0)}:
            layout.lost |= bool(cells[at][0])
            cells[at] = ("", None)
        given = any(text for text, _ in cells)
        _fill(cells, number, below)
        below |= {at: (last, cells[at]) for at, last in layout.merged.get(number, ()) if at < len(cells)}
        if given:
            yield number, cells


def _fill(cells: list[_Cell], number: int, below: dict[int, tuple[int, _Cell]]) -> None:
    """Puts what reaches down into the row `number` into its empty cells; what ends above it is no longer `below`."""
    for at, (last, cell) in [*below.items()]:
        if last < number:
            del below[at]
            continue
        cells += [("", None)] * (at + 1 - len(cells))
        cells[at] = cells[at] if cells[at][0] else cell


def _cell(cell: Any, percent: frozenset[int]) -> _Cell:
    if not percent:
        value = _value(cell)
        return shown(value), value
    value = _value(cell.value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and cell._style_id in percent:
        return f"{round(value * 100, 9):.12g} %", value
    return shown(value), value


def _percent_styles(workbook: Any) -> frozenset[int]:
    """The numbers of the styles that show a number as a percentage."""
    known = optional_package("openpyxl.styles.numbers", _WORKBOOK)
    own = dict(enumerate(workbook._number_formats, known.BUILTIN_FORMATS_MAX_SIZE))
    formats = {number: _QUOTED.sub("", text) for number, text in {**known.BUILTIN_FORMATS, **own}.items()}
    styles = enumerate(workbook._cell_styles)
    return frozenset(number for number, style in styles if "%" in formats.get(style.numFmtId, ""))


def _layout(archive: zipfile.ZipFile, path: str) -> _Layout:
    numbered = optional_package("openpyxl.utils", _WORKBOOK).column_index_from_string
    layout, end = _Layout(), b""
    for block in _blocks(archive, path):
        layout.hide(block)
        end = block
    # They stand behind the last cell.
    for left, first, right, last in _MERGED.findall(end):
        column = numbered(left.decode()) - 1
        if int(last) > int(first):
            layout.merged.setdefault(int(first), []).append((column, int(last)))
        if left != right:
            layout.across.setdefault(int(first), {})[column] = numbered(right.decode())
    if b"<filterColumn" in end:
        # A filter is taken off with a click, and hides what the file is about.
        layout.rows.clear()
    return layout


@dataclass
class _Layout:
    """What a sheet says of its rows and columns.

    Attributes:
        merged: by the row in which they begin, column (from 0) and last row of the cells that span rows.
        across: by the row in which they begin, first column (from 0) and the one behind the last of the cells that span
            columns.
        rows: the numbers of those that are hidden.
        columns: the numbers, from 0, of those that are hidden.
        lost: whether any text was left out with them.
        doubts: what may be said of it, one sentence each.
    """

    merged: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    across: dict[int, dict[int, int]] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    lost: bool = False
    doubts: list[str] = field(default_factory=list)

    def double_head(self, above: _Row, below: _Row) -> list[str]:
        """The names of the fields where both rows have them together, which a cell that reaches from one into the other
        tells; none elsewhere."""
        number, cells = above
        reach = dict(self.merged.get(number, ()))
        if {*reach.values()} != {number + 1} or below[0] != number + 1 or below[0] in self.merged:
            return []
        told: list[tuple[str, bool, bool]] = []
        while len(told) < max(len(cells), len(below[1])):
            at = len(told)
            end = max(at + 1, min(self.across.get(number, {}).get(at, 0), _MAX_COLUMNS))
            text = cells[at][0] if at < len(cells) else ""
            told += [
                ("" if at in reach and column > at else text, end > at + 1, at in reach) for column in range(at, end)
            ]
        return double_head(told, [text for (text, _), (_, _, taken) in zip(below[1], told, strict=False) if not taken])

    def hide(self, block: bytes) -> None:
        """Note what some XML of the sheet hides, but for what a click on its outline shows."""
        for said in _HIDDEN.findall(block):
            numbers = {name: int(number) for name, number in _NUMBERS.findall(said)}
            if b"outlineLevel" not in numbers:
                self.rows |= {numbers[b"r"]} if b"r" in numbers else set()
                first, last = numbers.get(b"min", 1) - 1, min(numbers.get(b"max", 0), _MAX_COLUMNS)
                # None is told twice, and each would take as long again.
                self.columns |= {*range(first, last)} if first not in self.columns else set()


def _value(cell: Any) -> Any:
    # A date without a time is stored as midnight.
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    if not isinstance(cell, str):
        return jsonable(cell)
    if "_x" in cell:
        cell = clean_text(optional_package("openpyxl.utils.escape", _WORKBOOK).unescape(cell))
    return cell.strip()


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


# The slides of a presentation: their words, each slide a part of its own.

_BETWEEN = "\n\n"
# How a run of characters is set, and what says that it is not struck out.
_FORM = "{http://schemas.openxmlformats.org/drawingml/2006/main}rPr"
_NOT_STRUCK = "noStrike"
_NO = ("0", "false")
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"


def load_pptx(data: bytes, name: str) -> Document:
    """The document in `data` with a part for each slide that has words: title, texts, tables row by row, and notes.

    Titles are headings. A slide keeps its number, from 1, also behind slides without words.

    Raises:
        IngestError: it is no presentation, damaged, encrypted, too large, without text, or python-pptx is not
            installed.
    """
    pptx = optional_package("pptx", "a PowerPoint presentation")
    with _opened(data, "PowerPoint (.pptx)", "presentation", max_xml=MAX_TREE):
        unread: list[str] = []
        seen = [(slide._element.get("show") not in _NO, slide) for slide in pptx.Presentation(io.BytesIO(data)).slides]
        slides = [list(_slide_texts(slide, unread)) if shown else [] for shown, slide in seen]
    hidden = [f"slide {number}" for number, (shown, _) in enumerate(seen, 1) if not shown]
    told = left_out(unread, "chart or diagram was", "charts and diagrams were", "with words that cannot be read")
    return _document(slides, name, told + left_out(hidden, "slide was", "slides were", "hidden"))


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
    said = [(True, _frame_text(title.text_frame))] if title is not None else []
    said += [(False, text) for shape in slide.shapes for text in _texts(shape, title and title.shape_id, unread)]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        said += [(False, _said(paragraph)) for paragraph in slide.notes_slide.notes_text_frame.paragraphs]
    for is_title, text in said:
        # A line break within a paragraph is a vertical tab.
        words = clean_text(text.replace("\v", "\n")).strip()
        if words:
            yield is_title, words


def _texts(shape: Any, title: int | None, unread: list[str]) -> Iterator[str]:
    """The words of a shape but for the one that is the `title`; `unread` takes what cannot be read."""
    if shape.shape_id == title or shape._element._nvXxPr.cNvPr.get("hidden", "0") not in _NO:
        return
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _texts(inner, title, unread)
    elif getattr(shape, "has_table", False):
        yield _table_text(map(_row_texts, shape.table.rows))
    elif getattr(shape, "has_chart", False):
        yield from _chart_texts(shape, unread)
    elif shape.has_text_frame:
        yield from map(_said, shape.text_frame.paragraphs)
    elif _DIAGRAM in shape._element.xpath("./a:graphic/a:graphicData/@uri"):
        unread.append(shape.name)


def _row_texts(row: Any) -> list[str]:
    return [_frame_text(cell.text_frame) for cell in row.cells]


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


def _chart_texts(shape: Any, unread: list[str]) -> list[str]:
    try:
        return [*_plots(shape.chart)]
    except Exception:  # whatever a parser makes of a damaged chart
        unread.append(shape.name)
        return []


def _plots(chart: Any) -> Iterator[str]:
    """The title of a chart, and the values of each of its plots as a table, a column for each series."""
    if chart.has_title:
        yield _frame_text(chart.chart_title.text_frame)
    for plot in chart.plots:
        across = [one.text for one in plot._element.xpath("c:ser[1]/c:xVal//c:v")]
        labels = [*map(str, plot.categories)] or across
        columns = [["", *labels], *([one.name, *map(_number, one.values)] for one in plot.series)]
        yield _table_text(zip_longest(*columns, fillvalue=""))


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _table_text(rows: Iterable[Sequence[str]]) -> str:
    told = ([" ".join(cell.split()) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in told if any(cells))
