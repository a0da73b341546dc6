"""Tables of records as documents: CSV, JSON lines, and what other tables share with them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from groundgraph.core.characters import clean_text, on_one_line
from groundgraph.core.document import RECORDS, Document, Part
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import jsonable
from groundgraph.core.exact_number import exact_number, shown_number
from groundgraph.ingest.read_file import MAX_CHARS
from groundgraph.text.original import FILE_LINE, FILE_ROW

MAX_RECORDS = 200_000
# Each chunk of a record carries all of its fields.
MAX_FIELDS = 2_000
_SPACE = "\n\n"
_NAMED = 10
# More is no name of a column.
_LONGEST_NAME = 100


class Records:
    """Collects the records of one file."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._parts: list[Part] = []
        self._end = 0

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, fields: Iterable[tuple[str, str, Any]], place: Mapping[str, Any]) -> None:
        """Add a record; one without any text is passed over.

        Args:
            fields: name, text and JSON value of each field; one without text is left out. Each is a line of the text.
            place: where it stands in the file, as `Original` reads it.

        Raises:
            IngestError: these are too many records or fields, or too much text.
        """
        lines = ((name, on_one_line(shown), value) for name, shown, value in fields)
        present = [line for line in lines if line[1]]
        if not present:
            return
        if len(present) > MAX_FIELDS:
            raise IngestError(f"one of its records has more than {MAX_FIELDS:_} fields; keep those that are asked for")
        text = _text(present)
        start = self._end + (len(_SPACE) if self._parts else 0)
        self._end = start + len(text)
        self._texts.append(text)
        own = {clean_text(name): value for name, _, value in present}
        self._parts.append(Part(start, self._end, {**own, **place}))
        if len(self._parts) > MAX_RECORDS:
            raise IngestError(f"it holds more than {MAX_RECORDS:_} records; split it, or make it a SQL source")
        if self._end > MAX_CHARS:
            raise IngestError(f"its records have more than {MAX_CHARS:_} characters; split it, or make it a SQL source")

    def document(self, name: str, warnings: Sequence[str], title: str = "") -> Document:
        """The document called `name` with the records so far; without a `title` it has that of its file.

        Raises:
            IngestError: there are none.
        """
        if not self._parts:
            raise IngestError("; ".join(["it holds no records", *warnings]))
        about = {"title": title or Path(name).stem}
        text = _SPACE.join(self._texts)
        return Document(name, text, RECORDS, about, 0, tuple(warnings), parts=tuple(self._parts))


def _text(fields: Iterable[tuple[str, str, Any]]) -> str:
    return clean_text("\n".join([f"{on_one_line(name)}: {shown}" for name, shown, _ in fields]))


def shown(value: Any) -> str:
    """A JSON value as the text of a record shows it; empty for null."""
    if value is None:
        return ""
    if isinstance(value, float):
        return shown_number(value)
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def field_names(header: Iterable[Any]) -> list[str]:
    """The names in the first row of a table, made unique; a column without one is named by its number, from 1."""
    names: dict[str, None] = {}
    following: dict[str, int] = {}
    for number, cell in enumerate(header, 1):
        name = wanted = " ".join(str(cell if cell is not None else "").split()) or f"column {number}"
        again = following.get(wanted, 2)
        while name in names:
            name, again = f"{wanted} {again}", again + 1
        following[wanted] = again
        names[name] = None
    return list(names)


def double_head(above: Iterable[tuple[str, bool, bool]], below: Sequence[str]) -> list[str]:
    """The names of columns that stand in two rows, where cells of the first span several of the second; none where the
    second row names nothing.

    Args:
        above: at each column the text of the first row there, whether its cell spans columns, and whether it reaches
            into the second row.
        below: the cells of the second row in the columns into which none reaches.
    """
    own = iter(below)
    told = [(text, "" if reaches else next(own, ""), spans) for text, spans, reaches in above]
    names = [" ".join(filter(None, one[:2])) for one in told]
    both = [spans for *said, spans in told if all(said)]
    is_head = next(own, None) is None and max(map(len, names)) <= _LONGEST_NAME + 1 and any(both) and all(both)
    return names if is_head else []


def left_out(places: Sequence[str], one: str, many: str, reason: str) -> list[str]:
    """The warning that what stands at `places` was not taken in; none when there is nothing of the kind.

    Args:
        places: where it stands.
        one: what a single one is and does, as "row was".
        many: the same of several.
        reason: why, for any number of them.
    """
    if not places:
        return []
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    told = f"{len(places)} {one if len(places) == 1 else many} left out ({reason})"
    return [f"{told}: {', '.join(places[:_NAMED])}{more}"]


# Reads a table of text whose cells are set apart by a delimiter.

# What begins with 0 is a code, such as a postal one, and no number.
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][-+]?\d{1,2})?")
_BOOLEANS = {"true": True, "false": False}
# What a column is of, the first that fits all of its cells.
_TYPES: tuple[tuple[Callable[[str], Any], Callable[[str], Any]], ...] = (
    (_INTEGER.fullmatch, int),
    (_NUMBER.fullmatch, float),
    (lambda cell: cell.lower() in _BOOLEANS, lambda cell: _BOOLEANS[cell.lower()]),
)
_SAMPLE_LINES = 50
# Above the row that names the fields: a title, and a line below it.
_MAX_TITLES = 2
# More of them say no more of a file.
_MAX_DOUBTS = 3
# What spreadsheet programs read in place of showing it.
_SAID = re.compile(r"\"?sep=([,;|\t])\"?[,;|]*", re.IGNORECASE)


def load_csv(text: str, warnings: list[str], name: str, *, delimiters: str = "\t;|,") -> Document:
    """The document with a record for each row of `text` below its first, which names the fields.

    What stands alone above an empty line is a title. A row behind an empty line may name the fields of another table. A
    column of numbers only, or of true and false only, has values of that type. A row with another number of cells
    than the first, or with a quote out of place, is left out with a warning.

    Args:
        text: the table.
        warnings: what was said about the text before.
        name: the name of the document.
        delimiters: the characters that may set cells apart; the one that gives the most even table does, of equal ones
            the first. A first line `sep=;` tells it.

    Raises:
        IngestError: it holds no records, or too many.
    """
    lines = text.split("\n")
    said = _SAID.fullmatch(lines[0])
    delimiter = said[1] if said else _delimiter(lines[:_SAMPLE_LINES], delimiters)
    tables, doubts = _tables(_blocks(_rows(lines, delimiter, 1 if said else 0)))
    told = [*warnings, *(said for table in tables for said in table.left_out()), *doubts[:_MAX_DOUBTS]]
    title = tables.pop(0).title if len(tables) > 1 and tables[0].title else ""
    records = Records()
    for table in tables:
        table.add_to(records)
    return records.document(name, told, title)


def _tables(blocks: Iterator[Iterator[_Read]]) -> tuple[list[_Table], list[str]]:
    """The tables that the blocks are of, and which rows may begin another."""
    tables, doubts = [_Table()], list[str]()
    for block in blocks:
        lead = [*islice(block, 2)]
        if tables[-1].rows and tables[-1].ends_before(lead, doubts):
            tables.append(_Table())
        for where, row in chain(lead, block):
            tables[-1].take(where, row)
    return tables, doubts


def _names_in(lead: Sequence[_Read]) -> list[str]:
    """The cells of the first of two rows where they are words, several; none where one cannot be read."""
    if len(lead) < 2 or any(row is None for _, row in lead):
        return []
    names = [cell.strip() for cell in lead[0][1]]
    return names if len(names) > 1 and all(any(map(str.isalpha, name)) for name in names) else []


def _blocks(rows: Iterator[_Read]) -> Iterator[Iterator[_Read]]:
    """The rows between which none is empty."""
    number, last, empty = 0, 0, False

    def block(read: _Read) -> int:
        nonlocal number, last, empty
        where, row = read
        behind = empty or where.first > last + 1
        last, empty = where.last, row is not None and not any(map(str.strip, row))
        number += behind or empty
        return number

    return (group for _, group in groupby(rows, key=block))


@dataclass
class _Table:
    """The rows of a table that can be read, the first of which names the fields, and the places of the others.

    Attributes:
        rows: their cells.
        places: where each of them stands, as metadata.
        ragged: the places of rows with another number of cells than the first.
        broken: the places of what is no row.
    """

    rows: list[list[str]] = field(default_factory=list)
    places: list[dict[str, Any]] = field(default_factory=list)
    ragged: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    # How many rows were looked at for what is in their columns: words, and numbers.
    _seen: int = 1
    _worded: set[int] = field(default_factory=set)
    _counted: set[int] = field(default_factory=set)

    @property
    def title(self) -> str:
        """The words of what names no fields, but what stands below it; empty where there are records."""
        alone = len(self.rows) == 1 or (self.width == 1 and len(self.rows) <= _MAX_TITLES)
        return " ".join(cell for row in self.rows for cell in row if cell) if alone else ""

    def ends_before(self, lead: Sequence[_Read], doubts: list[str]) -> bool:
        """Whether the first row behind these and an empty one names the fields of another table: it has words alone,
        and stands below a title, has another number of cells, as the next row has, or words in several columns that
        have none here.

        Args:
            lead: it and the next row.
            doubts: takes in what may be such a row.
        """
        names = _names_in(lead)
        if not names:
            return False
        (where, _), (_, following) = lead
        alone = len(self.rows) == 1 < self.width and sum(map(bool, self.rows[0])) == 1
        other = len(following) == len(names) != self.width
        counted = len(self._numbers()) if len(names) == self.width else 0
        ends = alone or other or counted > 1
        if counted == 1 and not ends:
            doubts.append(f"{where} may name the fields of another table; it was read as a row")
        elif ends and not self.title:
            doubts.append(f"{where} was read as the names of the fields of another table")
        return ends

    def _numbers(self) -> set[int]:
        """The columns that have numbers and no words."""
        for row in self.rows[self._seen :]:
            for at, cell in enumerate(row):
                if cell:
                    (self._counted if _NUMBER.fullmatch(cell) else self._worded).add(at)
        self._seen = len(self.rows)
        return self._counted - self._worded

    def left_out(self) -> list[str]:
        """The warnings."""
        return [
            *left_out(self.ragged, "row was", "rows were", f"not the {self.width} cells of the first"),
            *left_out(self.broken, "row was", "rows were", "a quote is out of place or a cell is too long"),
        ]

    def add_to(self, records: Records) -> None:
        """Adds a record for each row below the first."""
        if self.rows:
            names = field_names(self.rows[0])
            columns = [_typed([row[place] for row in self.rows[1:]]) for place in range(len(names))]
            for number, row in enumerate(self.rows[1:]):
                cells = [(name, row[at], columns[at][number]) for at, name in enumerate(names)]
                records.add(cells, self.places[number + 1])

    @property
    def width(self) -> int:
        """How many cells the first row has."""
        return len(self.rows[0]) if self.rows else 0

    def take(self, where: _Place, row: Sequence[str] | None) -> None:
        """Take one row in; None is one that cannot be read.

        Raises:
            IngestError: it would name the fields and cannot be read, or there are too many.
        """
        if row is None:
            if not self.rows:
                fault = "has a quote out of place or a cell that is too long"
                raise IngestError(f"{where}, which must name the fields, {fault}")
            self.broken.append(str(where))
            return
        cells = [cell.strip() for cell in row]
        width = self.width or len(cells)
        if len(cells) < width or any(cells[width:]):
            self.ragged.append(str(where))
        elif any(cells):
            self.rows.append(cells[:width])
            self.places.append({FILE_ROW: where.row, FILE_LINE: where.first})
        if len(self.rows) > MAX_RECORDS + 1:
            raise IngestError(f"it holds more than {MAX_RECORDS:_} records; split it, or make it a SQL source")


def _delimiter(sample: Sequence[str], delimiters: str) -> str:
    """The one under which most rows have as many cells as the first, and then the most. Where the first has one cell
    under each, it may be a title, and the rows behind an empty line tell."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = [row for _, row in _rows(sample, delimiter) if row]
        width = len(rows[0]) if rows else 1
        return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, 1)

    best = max(delimiters, key=evenness)
    if "" in sample and evenness(best)[1] == 1:
        return _delimiter(sample[sample.index("") + 1 :], delimiters)
    return best


@dataclass(frozen=True)
class _Place:
    """The number of a row as a spreadsheet program shows it, and its lines, from 1."""

    row: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"


# Where a row stands, and its cells; None for one that cannot be read.
_Read = tuple[_Place, Any]


def _rows(lines: Sequence[str], delimiter: str, first: int = 0) -> Iterator[_Read]:
    """Where each row from line `first`, from 0, on stands, and its cells; None for a row that cannot be read, after
    which the next line is tried."""
    number = 0
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


def _typed(column: list[str]) -> list[Any]:
    """The values of a column; empty cells stay empty."""
    present = list(filter(None, column))
    for fits, read in _TYPES:
        if all(map(fits, present)):
            return [read(cell) if cell else cell for cell in column]
    return list(column)


# Reads one JSON object per line.


def load_jsonl(text: str, warnings: list[str], name: str) -> Document:
    """The document with a record for each line of `text`; a line that holds no JSON object gives a warning.

    Raises:
        IngestError: no line holds a record, or there are too many.
    """
    records = Records()
    broken: list[str] = []
    other: list[str] = []
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=exact_number)
        except (ValueError, RecursionError):
            broken.append(f"line {number}")
            continue
        if not isinstance(row, dict):
            other.append(f"line {number}")
            continue
        cells = ((clean_text(field), value) for field, value in row.items())
        records.add([(field, shown(value), jsonable(value)) for field, value in cells], {FILE_LINE: number})
    warnings = [
        *warnings,
        *left_out(broken, "line was", "lines were", "no JSON"),
        *left_out(other, "line was", "lines were", "JSON, but no object"),
    ]
    return records.document(name, warnings)


def _lines(text: str) -> Iterator[str]:
    """The lines of `text` one by one: a list of all would double the memory."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1
