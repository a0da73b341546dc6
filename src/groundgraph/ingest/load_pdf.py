"""Reads a PDF: the text of its pages, the headings that it marks, and which of its pages are ruled as tables are."""

from __future__ import annotations

import ctypes
import io
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from groundgraph.core.document import PDF, Document, Heading, Part
from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_html import RAISED, with_raised
from groundgraph.ingest.load_text import running_metadata
from groundgraph.ingest.read_file import MAX_CHARS, optional_package

# Whether a page is ruled, by what pdfium tells; callers hold its lock.

# Fewer strokes rule no table of two rows and two columns.
_FEWEST_STROKES = 4


def is_ruled(page: Any) -> bool:
    """Whether a page has the strokes of a table, and stands upright in its own corner, as cells are measured."""
    raw = optional_package("pypdfium2.raw", "a PDF")
    box = page.get_mediabox()
    if page.get_rotation() or tuple(box[:2]) != (0, 0) or page.get_cropbox() != box:
        return False
    objects = (raw.FPDFPage_GetObject(page, number) for number in range(raw.FPDFPage_CountObjects(page)))
    kinds = Counter(map(raw.FPDFPageObj_GetType, objects))
    return kinds[raw.FPDF_PAGEOBJ_PATH] >= _FEWEST_STROKES or kinds[raw.FPDF_PAGEOBJ_FORM] > 0


def may_be_ruled(page: Any) -> bool:
    """As `is_ruled`, and True where that fails: whoever reads the tables tells why."""
    try:
        return is_ruled(page)
    except Exception:  # whatever a damaged page gives in place of its boxes
        return True


# The headings that a PDF marks: by the tags of its pages, or in its outline. Callers hold the lock of pdfium.

_HEADING = re.compile(r"H([1-6])?")
# Tables and lists hold no headings but most of the tags; going through them would take longer than the text.
_WITHOUT_HEADINGS = frozenset(["Table", "L", "P", "Figure", "TOC", "Link", "Form", "Note", "Caption", "Formula"])
_MAX_DEPTH = 50
_TEXT = 1


@dataclass(frozen=True)
class MarkedHeading:
    """A heading that a page is said to have.

    Attributes:
        level: its level, 1 the outermost.
        title: its words.
    """

    level: int
    title: str


def outline_headings(pdf: Any) -> dict[int, list[MarkedHeading]]:
    """The entries of the outline by the number, from 0, of the page that they lead to."""
    found: dict[int, list[MarkedHeading]] = {}
    for entry in pdf.get_toc():
        destination = entry.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(readable(entry.get_title).split())
        if page is not None and title:
            found.setdefault(page, []).append(MarkedHeading(entry.level + 1, title))
    return found


def readable(read: Callable[[], str | None]) -> str:
    """The string that `read` gives; an empty one when the file has it in no valid encoding."""
    try:
        return read() or ""
    except UnicodeDecodeError:
        return ""


def tagged_headings(page: Any, text_page: Any) -> list[MarkedHeading]:
    """The headings among the tags of a page, in order."""
    raw = optional_package("pypdfium2.raw", "a PDF")
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return []
    try:
        roots = _each(raw.FPDF_StructTree_CountChildren, raw.FPDF_StructTree_GetChildAtIndex, tree)
        marked = [heading for root in roots for heading in _marked(raw, root, 0)]
    finally:
        raw.FPDF_StructTree_Close(tree)
    if not marked:
        return []
    texts = _marked_texts(raw, page, text_page)
    titles = ((level, " ".join("".join(texts.get(mark, "") for mark in marks).split())) for level, marks in marked)
    return [MarkedHeading(level, title) for level, title in titles if title]


def _marked(raw: Any, element: Any, depth: int) -> Iterator[tuple[int, list[int]]]:
    """Level and marks of each heading at or below `element`."""
    kind = _string(lambda buffer, size: raw.FPDF_StructElement_GetType(element, buffer, size))
    heading = _HEADING.fullmatch(kind)
    if heading:
        yield int(heading[1] or 1), list(_marks(raw, element, depth))
    elif kind not in _WITHOUT_HEADINGS and depth < _MAX_DEPTH:
        for child in _children(raw, element):
            yield from _marked(raw, child, depth + 1)


def _marks(raw: Any, element: Any, depth: int) -> Iterator[int]:
    for number in range(raw.FPDF_StructElement_GetMarkedContentIdCount(element)):
        yield raw.FPDF_StructElement_GetMarkedContentIdAtIndex(element, number)
    if depth < _MAX_DEPTH:
        for child in _children(raw, element):
            yield from _marks(raw, child, depth + 1)


def _children(raw: Any, element: Any) -> Iterator[Any]:
    return _each(raw.FPDF_StructElement_CountChildren, raw.FPDF_StructElement_GetChildAtIndex, element)


def _each(count: Callable[[Any], int], child_at: Callable[[Any, int], Any], parent: Any) -> Iterator[Any]:
    for number in range(count(parent)):
        child = child_at(parent, number)
        if child:
            yield child


def _marked_texts(raw: Any, page: Any, text_page: Any) -> dict[int, str]:
    """The text of the objects of a page by their marks."""
    texts: dict[int, str] = {}
    for number in range(raw.FPDFPage_CountObjects(page)):
        found = raw.FPDFPage_GetObject(page, number)
        mark = raw.FPDFPageObj_GetMarkedContentID(found)
        if mark >= 0 and raw.FPDFPageObj_GetType(found) == _TEXT:
            words = _string(lambda buffer, size, found=found: raw.FPDFTextObj_GetText(found, text_page, buffer, size))
            texts[mark] = texts.get(mark, "") + words
    return texts


def _string(read: Callable[..., int]) -> str:
    """The UTF-16 string that `read` writes into a buffer; pdfium counts the size in bytes."""
    size = read(None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", errors="ignore")


# What stands raised on a page, as exponents and the marks of notes do.

_WORD = re.compile(r"(?<![^\W_])[^\W_]++(?:[-−–+]\d++(?![^\W_]))?")
# Against what stands before it: so small at the most, and raised by at least and at most so much.
_SMALL, _RAISED_BY = 0.85, (0.15, 0.9)


def with_raised_digits(page: Any, text: str) -> str:
    """The `text` of the text page `page`, in which raised digits are told from the word or number before them."""
    whole = page.get_text_range()
    if max(whole, default="") > "\uffff":
        # pdfium counts such a character twice.
        return text
    raw = optional_package("pypdfium2.raw", "a PDF")
    words = (found.span() for found in _WORD.finditer(whole) if found.end() - found.start() > 1)
    raised = [at for start, end in words if whole[end - 1].isdigit() for at in _raised_in(raw, page, start, end)]
    if not raised:
        return text
    ours, theirs = _said(whole), _said(text)
    if [whole[at] for at in ours] != [text[at] for at in theirs]:
        return text
    placed = dict(zip(ours, theirs, strict=True))
    pieces = [text[start:end] for start, end in pairwise([0, *(placed[at] for at in raised), len(text)])]
    return with_raised(RAISED.join(pieces))


def _said(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if not character.isspace()]


def _raised_in(raw: Any, page: Any, start: int, end: int) -> Iterator[int]:
    """Where what stands raised at the end of a word begins, in the text of a page."""
    first = raw.FPDFText_GetCharIndexFromTextIndex(page, start)
    last, size = first + end - 1 - start, _height(raw, page, first) * _SMALL
    if _height(raw, page, last) > size or raw.FPDFText_GetCharIndexFromTextIndex(page, end - 1) != last:
        return
    at = next((at for at in range(last, first - 1, -1) if _height(raw, page, at) > size), last)
    x, base, above = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(page, at, x, base)
    raw.FPDFText_GetCharOrigin(page, at + 1, x, above)
    least, most = (share * _height(raw, page, at) for share in _RAISED_BY)
    upright = not any(raw.FPDFText_GetCharAngle(page, one) for one in (at, at + 1))
    if at < last and upright and least <= above.value - base.value <= most:
        yield start + at + 1 - first


def _height(raw: Any, page: Any, at: int) -> float:
    """The height of a character's line, by the size that it is drawn in."""
    raw.FPDFText_GetLooseCharBox(page, at, box := raw.FS_RECTF())
    return float(box.top - box.bottom)


# The text of PDF pages as a reader would write it down.

_SPACE_AT_END = re.compile(r"(?<![ \t])[ \t]++\n")
# pdfium puts one of these in place of a hyphen at the end of a line and of the line's end.
_MARKS = "\ufffe\x02"
_DIVIDED = re.compile(f"((?:(?<!\\w)\\w++)?)[{_MARKS}]\\s*+(\\w*+)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\uffff\ud800-\udfff]")


def page_texts(pages: Sequence[str]) -> list[str]:
    """`pages` with `\\n` as line end, without control characters and white space at the ends of lines.

    A hyphen at the end of a line goes where the document has the same word without one, and stays otherwise; the
    word is on one line then.
    """
    lined = [_lined(page).strip() for page in pages]
    if any(mark in page for page in lined for mark in _MARKS):
        known = {word.casefold() for page in lined for word in re.findall(r"\w+", page)}
        lined = [_DIVIDED.sub(lambda found: _joined(found, known), page) for page in lined]
    return [_CONTROL.sub("", page) for page in lined]


def _lined(page: str) -> str:
    lined = page.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    # Few pages have such space, and the pattern looks at every character.
    return _SPACE_AT_END.sub("\n", lined) if " \n" in lined or "\t\n" in lined else lined


def _joined(found: re.Match[str], known: set[str]) -> str:
    before, after = found.groups()
    whole = before + after
    return whole if before and after and whole.casefold() in known else f"{before}-{after}"


# What pdfium reads from a PDF.

MAX_PAGES = 50_000
# pdfium may be entered by one thread only.
PDFIUM = threading.Lock()
_WRONG_PASSWORD = 4
# Reading the tags of a page takes as long as reading its text. Without a heading in so many pages, there are none.
_PAGES_WITHOUT_HEADING = 8


@dataclass
class PdfContent:
    """A PDF as pdfium sees it.

    Attributes:
        pages: the text of each page, empty for one that cannot be read.
        headings: the headings that tags or the outline give to each page, in order.
        title: the title in the document's information, or an empty string.
        unreadable: the numbers, from 1, of the pages that cannot be read.
        ruled: a page may have a table, as far as could be told.
    """

    pages: list[str] = field(default_factory=list)
    headings: list[list[MarkedHeading]] = field(default_factory=list)
    title: str = ""
    unreadable: list[int] = field(default_factory=list)
    ruled: bool = False


def read_pdf(path: Path, password: str | None) -> PdfContent:
    """The content of the PDF at `path`.

    Raises:
        IngestError: it is no PDF, damaged, encrypted, too long, or pypdfium2 is not installed.
    """
    pdfium = optional_package("pypdfium2", "a PDF")
    content = PdfContent()
    with opened(pdfium, path, password) as pdf:
        with PDFIUM:
            count, tagged = len(pdf), bool(pdf.is_tagged())
            content.title = readable(lambda: pdf.get_metadata_value("Title"))
            outline = outline_headings(pdf)
        if count > MAX_PAGES:
            raise IngestError(f"it has {count} pages, the most is {MAX_PAGES}; split it")
        length = 0
        for number in range(count):
            tagged = tagged and not outline and (number < _PAGES_WITHOUT_HEADING or any(content.headings))
            # The lock is taken page by page, so that a long file does not keep short ones waiting.
            with PDFIUM:
                text, headings, ruled = _page(pdfium, pdf, number, tagged=tagged, ruled=content.ruled)
            if text is None:
                content.unreadable.append(number + 1)
            content.pages.append(text or "")
            content.headings.append(headings or outline.get(number, []))
            content.ruled = ruled
            length += len(content.pages[-1])
            if length > MAX_CHARS:
                raise IngestError(f"its text has more than {MAX_CHARS:_} characters; split it")
    return content


@contextmanager
def opened(pdfium: Any, path: Path, password: str | None) -> Iterator[Any]:
    """The PDF at `path` as pdfium has it, open; every call goes under `PDFIUM`.

    Raises:
        IngestError: it is no PDF, damaged or encrypted, or cannot be read.
    """
    pdf = None
    try:
        with PDFIUM:
            pdf = pdfium.PdfDocument(path, password=password)
        yield pdf
    except pdfium.PdfiumError as error:
        raise IngestError(_reason(error.err_code, password)) from error
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error
    finally:
        if pdf is not None:
            with PDFIUM:
                pdf.close()


def _reason(code: int | None, password: str | None) -> str:
    if code != _WRONG_PASSWORD:
        return "it is no PDF, or damaged or cut off"
    if password is None:
        return (
            "it is encrypted; give its password under knowledge_base.passwords, for example with the variable "
            """GROUNDGRAPH_KNOWLEDGE_BASE__PASSWORDS='{"*.pdf": "..."}'"""
        )
    return "it is encrypted, and the password under knowledge_base.passwords does not open it"


def _page(
    pdfium: Any, pdf: Any, number: int, *, tagged: bool, ruled: bool
) -> tuple[str | None, list[MarkedHeading], bool]:
    """Text and headings of a page, and whether it or one before, as `ruled` says, may have a table; no text when it
    cannot be read."""
    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
            headings = tagged_headings(page, text_page) if tagged else []
            text = with_raised_digits(text_page, text_page.get_text_bounded())
            return text, headings, ruled or may_be_ruled(page)
    except pdfium.PdfiumError:
        return None, [], True


_BETWEEN_PAGES = "\n\n"
# A page with fewer letters has no text layer.
_MIN_LETTERS = 20
_END_MARK = b"%%EOF"
# Readers look for the mark in so many bytes at the end.
_END = 2048
_NO_TEXT = "it has no text layer: no page holds 20 letters; if it was scanned, it needs text recognition (OCR) first"
# Titles that programs leave behind.
_NO_TITLE = re.compile(r"(?:untitled.*|\(?anonymous\)?|microsoft \w+ - .*|.*\.[a-z]\w{1,4}|\W*)", re.IGNORECASE)
# The number of a heading, which outline and page write differently if they have it at all.
_NUMBER = re.compile(r"^(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*[.)]?\s+")
_OWN_NUMBER = r"^[ \t]*(?:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*[.)]?\s+)?"
_NAMED = 20


def load_pdf(path: Path, name: str, *, password: str | None = None) -> tuple[Document, bool]:
    """The document in the PDF at `path`, and whether it may have ruled tables.

    It has a part for each page whose metadata is `{"page": n}`, n from 1.

    The text of a page comes in the order in which the file has it, which in columns is column by column as a rule. A
    word that was divided at the end of a line is whole where the document has it whole elsewhere.

    Raises:
        IngestError: it is no PDF, damaged, encrypted, too large, has no page with a text layer, or pypdfium2 is not
            installed.
    """
    tail = _tail(path)
    if not tail:
        raise IngestError("the file is empty")
    content = read_pdf(path, password)
    content.pages = page_texts(content.pages)
    poor = [number for number, text in enumerate(content.pages, 1) if not _has_text(text)]
    if len(poor) == len(content.pages):
        raise IngestError(_NO_TEXT)
    parts = _parts(content.pages)
    headings = tuple(_headings(content, parts))
    title = _title(content.title) or (headings[0].title if headings else "") or Path(name).stem
    warnings = list(
        _warnings(tail, content.unreadable, [number for number in poor if number not in content.unreadable])
    )
    text = _BETWEEN_PAGES.join(content.pages)
    metadata = {"title": title, **running_metadata(content.pages)}
    return Document(name, text, PDF, metadata, 0, tuple(warnings), parts=parts, headings=headings), content.ruled


def _has_text(page: str) -> bool:
    return sum(1 for _ in islice(filter(str.isalpha, page), _MIN_LETTERS)) == _MIN_LETTERS


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _END))
            return file.read()
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error


def _parts(pages: Sequence[str]) -> tuple[Part, ...]:
    parts: list[Part] = []
    start = 0
    for number, text in enumerate(pages, 1):
        parts.append(Part(start, start + len(text), {"page": number}))
        start += len(text) + len(_BETWEEN_PAGES)
    return tuple(parts)


def _title(given: str) -> str:
    title = " ".join(given.split())
    return "" if _NO_TITLE.fullmatch(title) else title


def _headings(content: PdfContent, parts: Sequence[Part]) -> Iterator[Heading]:
    for text, marked, part in zip(content.pages, content.headings, parts, strict=True):
        offset = 0
        for heading in marked:
            found = _found(text, heading, offset)
            if found:
                offset = found[1]
                yield Heading(part.start + found[0], part.start + offset, heading.level, heading.title)


def _found(text: str, heading: MarkedHeading, offset: int) -> tuple[int, int] | None:
    """Where the words of a heading stand on whole lines of a page, from `offset` on; None for one that is not there."""
    words = _NUMBER.sub("", heading.title, count=1).split() or heading.title.split()
    pattern = _OWN_NUMBER + r"\s+".join(map(re.escape, words)) + r"[ \t]*$"
    match = re.compile(pattern, re.MULTILINE | re.IGNORECASE).search(text, offset)
    return match.span() if match else None


def _warnings(tail: bytes, unreadable: Sequence[int], poor: Sequence[int]) -> Iterator[str]:
    if _END_MARK not in tail:
        yield "the file has no end mark; it may be cut off and pages may be missing"
    if unreadable:
        yield f"{_pages(unreadable)} cannot be read; the file may be damaged"
    if poor:
        yield f"{_pages(poor)} with fewer than {_MIN_LETTERS} letters: blank, or without a text layer"


def _pages(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"page{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_NAMED]))}{more}"


# A page as it is seen, and where words stand on it.

# Enough for a screen of twice the usual density; a page of unusual size is no larger than this.
_SCALE, _MOST_PIXELS = 2.0, 2400
Box = tuple[float, float, float, float]


def page_picture(path: Path, number: int, password: str | None) -> bytes:
    """Page `number`, from 1, as PNG.

    Raises:
        IngestError: the file cannot be read.
        IndexError: it has no such page.
    """
    with _opened_page(path, number, password) as page:
        scale = min(_SCALE, _MOST_PIXELS / max(page.get_size()))
        with closing(page.render(scale=scale)) as bitmap:
            bitmap.to_pil().save(written := io.BytesIO(), "PNG")
    return written.getvalue()


@contextmanager
def _opened_page(path: Path, number: int, password: str | None) -> Iterator[Any]:
    """Page `number`, which no other thread may use meanwhile: PDFium is used by one at a time."""
    pdfium = optional_package("pypdfium2", "a PDF")
    with opened(pdfium, path, password) as pdf, PDFIUM, closing(pdf[number - 1]) as page:
        yield page


def quote_boxes(path: Path, number: int, quotes: Sequence[str], password: str | None) -> list[Box]:
    """Where `quotes` stand on page `number`: left, top, width and height of each line, as shares of the page.

    Raises:
        IngestError: the file cannot be read.
        IndexError: it has no such page.
    """
    with _opened_page(path, number, password) as page, closing(page.get_textpage()) as text_page:
        width, height = page.get_size()
        text = text_page.get_text_range()
        boxes: list[Box] = []
        for start, count in filter(None, (_place(text, quote) for quote in quotes)):
            for at in range(text_page.count_rects(start, count)):
                left, bottom, right, top = text_page.get_rect(at)
                boxes.append((left / width, 1 - top / height, (right - left) / width, (top - bottom) / height))
        return boxes


def _place(text: str, quote: str) -> tuple[int, int] | None:
    """Where `quote` stands in the text of a page, whose line ends and hyphens the ingest may have changed."""
    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    found = "".join(text[at] for at in places).find("".join(filter(str.isalnum, quote)))
    size = sum(map(str.isalnum, quote))
    return (places[found], places[found + size - 1] - places[found] + 1) if size and found >= 0 else None
