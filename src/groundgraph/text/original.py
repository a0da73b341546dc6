"""Where a piece of evidence stands in its original: the place that a reader opens, and offsets that slice it there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as quoted

from groundgraph.core.document import PDF, XLSX, is_text, media_type_of
from groundgraph.core.evidence import SourceResult
from groundgraph.text.words import language_data

if TYPE_CHECKING:
    # A process that reads files starts in half the time without all that its module needs.
    from groundgraph.core.turn_values import Location

# The line ends of a file whose text is stored with `\n`.

# A run of lines: the number, from 1, of its first, and what ends each of them.
LineEnd = Sequence[object]
LINE_ENDS = "line_ends"
# Every result carries the runs. A file with more of them has line ends by chance, and no offsets.
MAX_RUNS = 50
_END = re.compile(r"\r\n?|\n")
_PAIR = "\r\n"


def line_ends(text: str) -> list[list[object]] | None:
    """The runs of equal line ends in `text`; empty when all are `\\n`, None when there are more than `MAX_RUNS`."""
    if "\r" not in text:
        return []
    if text.count("\r") == text.count(_PAIR) == text.count("\n"):
        return [[1, _PAIR]]
    runs: list[list[object]] = []
    for line, found in enumerate(_END.finditer(text), 1):
        if not runs or runs[-1][1] != found.group():
            runs.append([line, found.group()])
        if len(runs) > MAX_RUNS:
            return None
    return runs


def count_before(runs: Sequence[LineEnd], line: int) -> int:
    """How many characters more than `\\n` the ends of the lines before `line` are."""
    total = 0
    for (first, end), following in zip(runs, [*(run[0] for run in runs[1:]), line], strict=True):
        if end == _PAIR:
            total += max(0, min(_number(following), line) - _number(first))
    return total


def with_line_ends(text: str, runs: Sequence[LineEnd], line: int) -> str:
    """`text`, which begins in `line`, with the line ends of its file."""
    first, *others = text.split("\n")
    return first + "".join(_end_of(runs, line + passed) + other for passed, other in enumerate(others))


def _end_of(runs: Sequence[LineEnd], line: int) -> str:
    return next((str(end) for first, end in reversed(runs) if _number(first) <= line), "\n")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


# What the ingest writes into metadata; a document or a row of a table cannot well have fields of these names.
# How a file differs from the text that is stored of it; absent where it is UTF-8 without a mark and ends lines by `\n`.
FILE_TEXT = "file_text"
ENCODING = "encoding"
# The line, from 1, on which a chunk or a row begins.
FILE_LINE = "file_line"
# The number of a row as a spreadsheet program shows it, and the sheet.
FILE_ROW = "file_row"
FILE_SHEET = "file_sheet"
# The number of a slide, from 1.
FILE_SLIDE = "file_slide"
# Which lines stand at the head or foot of its pages, as `masked_line` writes them.
RUNNING_LINES = "running_lines"
# What a chunk has of its own because of where it stands.
PLACES = frozenset([FILE_LINE, FILE_ROW, FILE_SHEET, FILE_SLIDE, "page"])

_KNOWLEDGE_BASE = "knowledge_base"
_LANGCHAIN = "langchain"
_NUMBERS = ("line", "page", "row", "slide")
_WORDED = ("page", "sheet", "row", "slide", "table", "key")
DIGITS = re.compile(r"\d+")


def masked_line(line: str) -> str:
    """`line` with every number as `#` and every run of white space as one space, so that the head of one page is that
    of the next."""
    return " ".join(DIGITS.sub("#", line).split())


@dataclass(frozen=True)
class Original:
    """The original of one piece of evidence.

    A text file is taken in as it stands, but for its line ends and a byte order mark: offsets in it are those of the
    file. Of a PDF they count in the text of the page. Of its tables and of other files (Word, Excel, CSV, JSONL, web
    pages) a text is made that stands nowhere, so there are none. A source that is no knowledge base is believed.

    Attributes:
        result: the piece.
    """

    result: SourceResult

    @property
    def encoding(self) -> str | None:
        """How the file is to be opened, with `newline=""`; None when it is no file of text."""
        return self._file_text.get(ENCODING, "utf-8") if self._is_text else None

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Where characters `start` to `end` of the content stand in the original, in characters; None for nowhere."""
        first, last = self.offset(start), self.offset(end)
        return None if first is None or last is None else (first, last)

    def offset(self, at: int) -> int | None:
        """The offset in the original of character `at` of the content."""
        origin = self.origin
        if origin is None or not self._counts:
            return None
        if not self._line_ends:
            return origin + at
        line = self._line(at)
        return None if line is None else origin + at + count_before(self._line_ends, line)

    def verbatim(self, start: int, end: int) -> str:
        """Characters `start` to `end` of the content as they stand in the original."""
        text = self.result.content[start:end]
        line = self._line(start)
        return with_line_ends(text, self._line_ends, line) if self._line_ends and line is not None else text

    def derived_span(self) -> tuple[int, int] | None:
        """What a text that a model wrote was made from."""
        end = self._metadata.get("end")
        if self.origin is None or not isinstance(end, int) or not self._counts or self._line_ends:
            return None
        return self.origin, end

    def find(self, quote: str, start: int | None) -> int | None:
        """Where in the content the `quote` of a citation stands that has the offset `start` in the original; its first
        place when it has none, or one that does not fit."""
        text, words = self.result.content, quote.replace("\r\n", "\n").replace("\r", "\n")
        first = at = text.find(words) if words else -1
        while at >= 0 and start is not None:
            if self.offset(at) == start:
                return at
            at = text.find(words, at + 1)
        return first if first >= 0 else None

    def location(self, start: int, end: int, language: str) -> Location:
        """The place of characters `start` to `end` of the content, as far as it is known.

        `shown` is for a reader: `docs/pumps.md:12`, `report.pdf, page 5`, `parts.csv, row 3`; the address or the name
        where there is no file. `url` leads to these words of a page, where its text has them in a row.

        Args:
            start: the first offset in the content.
            end: the one behind the last.
            language: of the words in `shown`.
        """
        place = self._place(start)
        name = (
            place.get("file")
            or self.text("url")
            or ("" if "table" in place else self.text("title") or self.text("document"))
        )
        location: Location = {**place, "shown": _shown(name or "", place, language) or self.result.source_id}  # type: ignore[typeddict-item]
        if url := self.text("url"):
            location["url"] = url + self._fragment(url, place, self.result.content[start:end])
        return location

    def _fragment(self, url: str, place: dict[str, Any], quote: str) -> str:
        # Browsers go to a page of a PDF, and find no words in it.
        if "page" in place and "file" not in place:
            return "" if "#" in url else f"#page={place['page']}"
        return _fragment(url, quote)

    def _place(self, at: int) -> dict[str, Any]:
        if not self._is_stored:
            return self._told()
        if self._media_type is None:
            # What was fetched has an address for its name; of such, a PDF alone has pages.
            page, fetched = self._metadata.get("page"), "://" in (self.text("document") or "")
            return {"page": page} if fetched and type(page) is int else {}
        place: dict[str, Any] = {"file": self.text("document")}
        line, row = self._line(at), self._metadata.get(FILE_ROW)
        if line is not None:
            place["line"] = line
        if self._media_type == PDF and isinstance(self._metadata.get("page"), int):
            place["page"] = self._metadata["page"]
        if isinstance(slide := self._metadata.get(FILE_SLIDE), int):
            place["slide"] = slide
        if self._media_type == XLSX and (sheet := self.text(FILE_SHEET) or self.text("sheet")):
            place["sheet"] = sheet
        return {**place, "row": row} if isinstance(row, int) else place

    def _told(self) -> dict[str, Any]:
        """What a source of another kind says of itself."""
        if self.result.source_type == "sql":
            return {name: text for name in ("table", "key") if (text := self.text(name))}
        if self._media_type is None:
            return {}
        numbers = {key: self._metadata[key] for key in _NUMBERS if type(self._metadata.get(key)) is int}
        return {"file": self.text("document"), **numbers, **self._labelled_page()}

    def _labelled_page(self) -> dict[str, int]:
        """The page as its PDF numbers it. LangChain's loaders, which tell how many there are, count `page` from 0."""
        label, page = self.text("page_label") or "", self._metadata.get("page")
        if label.isdecimal():
            return {"page": int(label)}
        return {"page": page + 1} if type(page) is int and "total_pages" in self._metadata else {}

    def _line(self, at: int) -> int | None:
        line = self._metadata.get(FILE_LINE)
        if not isinstance(line, int):
            return None
        # A text that a model wrote, or that was made of a row, has lines of its own.
        own = self._is_text and not self._metadata.get("derived")
        return line + self.result.content.count("\n", 0, at) if own else line

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        given = self.result.metadata
        source = given.get("source")
        if self.result.source_type != _LANGCHAIN or not isinstance(source, str) or given.keys() & {"document", "url"}:
            return given
        # What LangChain's loaders call the file or the address.
        return {**given, "url" if "://" in source else "document": source}

    @property
    def origin(self) -> int | None:
        """Where the content begins in the text that the source keeps, in characters."""
        start = self._metadata.get("start")
        return start if type(start) is int else None

    @property
    def _is_stored(self) -> bool:
        return self.result.source_type == _KNOWLEDGE_BASE

    @cached_property
    def _media_type(self) -> str | None:
        return media_type_of(self.text("document") or "")

    @property
    def _is_text(self) -> bool:
        return self._is_stored and is_text(self._media_type)

    @property
    def _counts(self) -> bool:
        """Whether offsets of the stored text are offsets of the original."""
        if not self._is_stored:
            return True
        if self._media_type == PDF:
            return FILE_ROW not in self._metadata
        if self._is_text:
            return self._file_text.get(LINE_ENDS, []) is not None
        return self._media_type is None and "url" not in self._metadata

    @property
    def _file_text(self) -> dict[str, Any]:
        told = self._metadata.get(FILE_TEXT)
        return told if isinstance(told, dict) else {}

    @property
    def _line_ends(self) -> Sequence[LineEnd]:
        return (self._file_text.get(LINE_ENDS) or ()) if self._is_text else ()

    def text(self, name: str) -> str | None:
        """What the metadata say under `name`, if anything."""
        value = self._metadata.get(name)
        return str(value) if value not in (None, "") else None


# So many words of a page in a row tell where they stand; with fewer any page has them.
_LEAST_WORDS, _MOST_WORDS = 3, 8
# Raised signs among it, which a page may write as others, set higher.
_MARKUP = re.compile(r"[*_`\[\]()|<>#\\~^²³¹⁰-⁻]|^(?:\W+|\d{1,3}[.)])$")


def _fragment(url: str, quote: str) -> str:
    """The text fragment that leads to `quote` on a page: its first words in a row without markup; perhaps none."""
    for line in quote.split("\n"):
        by_markup = groupby(line.split(), lambda word: bool(_MARKUP.search(word)))
        rows = (list(islice(row, _MOST_WORDS)) for marked, row in by_markup if not marked)
        row = next((row for row in rows if len(row) >= _LEAST_WORDS), None)
        if row:
            words = quoted(" ".join(row), safe="").replace("-", "%2D")
            return f"{'' if '#' in url else '#'}:~:text={words}"
    return ""


def _shown(name: str, place: dict[str, Any], language: str) -> str:
    words = {**language_data("en", "places"), **language_data(language, "places")}
    # A row has a line too, which says less: a cell may span lines.
    line = f":{place['line']}" if "line" in place and "row" not in place else ""
    return ", ".join(
        [*filter(None, [f"{name}{line}"]), *(words[key].format(place[key]) for key in _WORDED if key in place)]
    )
