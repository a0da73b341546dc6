"""Reads Markdown and plain text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT, Document
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import jsonable
from groundgraph.ingest.blocks import code_lines, line_starts, plain_blocks, text_blocks
from groundgraph.settings.yaml_file import FieldLoader
from groundgraph.text.original import DIGITS, ENCODING, FILE_TEXT, LINE_ENDS, RUNNING_LINES, line_ends, masked_line

# The YAML block between `---` lines at the top of a Markdown file.

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<yaml>.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?:[^\s#:][^:\n]{0,99}:|\?)(?:\s|$)", re.MULTILINE)
MAX_CHARS = 65_536
# Each level costs the parser time for all that is inside it.
MAX_DEPTH = 50


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The fields of the front matter as JSON values, and the offset behind it; `({}, 0)` when there is none.

    Raises:
        ValueError: there is such a block, but it is no YAML mapping, has aliases (which can grow without bound) or
            tags of Python, is nested too deeply, or longer than `MAX_CHARS`.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, 0
    source = found["yaml"] or ""
    if len(source) > MAX_CHARS:
        raise ValueError(f"longer than {MAX_CHARS} characters")
    fields = _load(source)
    if fields is None:
        return {}, found.end()
    if not isinstance(fields, dict):
        raise ValueError("not a mapping of fields")
    values: dict[str, Any] = jsonable(fields)
    return values, found.end()


def unread_front_matter(text: str) -> int:
    """The offset behind a block that `front_matter` refuses; 0 where it names no field, and may be text between two
    rules."""
    found = _FRONT_MATTER.match(text)
    return found.end() if found and _FIELD.search(found["yaml"] or "") else 0


def _load(source: str) -> Any:
    try:
        _refuse_growth(source)
        # Ruff cannot see that it is a safe loader.
        return yaml.load(source, Loader=FieldLoader)
    except yaml.constructor.ConstructorError as error:
        raise ValueError(" ".join(str(error.problem).split())) from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _refuse_growth(source: str) -> None:
    depth = 0
    for event in yaml.parse(source):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it uses aliases")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")


# The text in the bytes of a file.

_REPLACEMENT = "\ufffd"
# That of UTF-32 begins with the one of UTF-16, behind which no text has a NUL.
_MARKS = (
    *((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32")),
    *((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")),
)
# Beyond this share of bytes that are not UTF-8, a file is in another encoding or no text at all.
_MAX_REPLACED = 0.1
# Fewer bytes, of a text that has others, do not tell an encoding by themselves; most texts that are not UTF-8 are in
# this one.
_TELLING, _FEW, _WESTERN = 16, 0.3, "cp1252"
# In mails and older files Japanese, Korean and Chinese are ASCII behind this (ISO-2022), which is valid UTF-8.
_ESCAPED = b"\x1b$"
# Coherences within this share are none that tell: "£300" as "Ł300" is taken for better English.
_ALIKE = 0.1
# What letters of other encodings are in the Western one.
_SYMBOL_IN_WORD = re.compile(r"[^\W\d_][¤£¥¦¨©¬®¯°±²³´¶¸¹¼½¾¿×÷\ufffd][^\W\d_]")


def decode_text(data: bytes, encoding: str | None = None) -> tuple[str, list[str]]:
    """The text of `data` with `\\n` as line end, and one sentence for each kind of repair.

    It is UTF-8, UTF-16 or UTF-32 with a byte order mark, or in `encoding` where one is given, or UTF-8, or else in the
    encoding that charset-normalizer takes it for, which a sentence tells. Bytes that are neither and NUL become U+FFFD.

    Raises:
        IngestError: too much would have to be replaced, or it is not in the given encoding.
    """
    text, warnings, _ = _decoded(data, encoding)
    return _with_newlines(text), warnings


def decode_file(data: bytes, given: str | None = None) -> tuple[str, list[str], dict[str, Any]]:
    """As `decode_text`, and the metadata by which places in the text are places in the file (`Original`)."""
    text, warnings, encoding = _decoded(data, given)
    told: dict[str, Any] = {LINE_ENDS: ends} if (ends := line_ends(text)) != [] else {}
    if encoding != "utf-8":
        told[ENCODING] = encoding
    return _with_newlines(text), warnings, {FILE_TEXT: told} if told else {}


def _with_newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text) if "\r" in text else text


def _unicode(data: bytes) -> tuple[str, int, str]:
    """The text as its mark says, how many places of it could not be read, and the encoding."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding), 0, encoding
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return text, text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode()), encoding


def _decoded(data: bytes, given: str | None) -> tuple[str, list[str], str]:
    """The text, what is said about it, and its encoding."""
    if given and not data.startswith(tuple(mark for mark, _ in _MARKS)):
        return _repaired(_given(data, given), 0, given)
    text, replaced, encoding = _unicode(data)
    refused = replaced + text.count("\0") > _MAX_REPLACED * len(text)
    if encoding == "utf-8" and (refused or _may_be_other(data, text, replaced)):
        few = replaced < min(_TELLING, _FEW * len(text)) and _ESCAPED not in data
        if detected := _detected(data, few=few):
            return (
                detected[0],
                [f"it was read as {detected[1]}, by what it holds; --encoding names another"],
                detected[1],
            )
    if refused:
        raise IngestError(f"it is not {_shown(encoding)} text")
    return _repaired(text, replaced, encoding)


def _repaired(text: str, replaced: int, encoding: str) -> tuple[str, list[str], str]:
    """`text` without NUL characters, what is said about these and what else was `replaced`, and its encoding."""
    repairs = ((replaced, f"places that are not {_shown(encoding)}"), (text.count("\0"), "NUL characters"))
    told = [f"{count} {what} were replaced" for count, what in repairs if count]
    return text.replace("\0", _REPLACEMENT), told, encoding


def _shown(encoding: str) -> str:
    return encoding.removesuffix("-sig").upper()


def _given(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError) as error:
        raise IngestError(
            f"it is not {encoding} text, as --encoding or knowledge_base.encodings says: {error}"
        ) from error


def _may_be_other(data: bytes, text: str, replaced: int) -> bool:
    """Whether `data`, read as UTF-8, may be in another encoding. Text that was damaged has other characters that are
    whole."""
    doubtful = replaced or text.count("\0") >= _TELLING
    return _ESCAPED in data or bool(doubtful and text.replace(_REPLACEMENT, "").isascii())


def _detected(data: bytes, *, few: bool) -> tuple[str, str] | None:
    """The text of `data` in the encoding that it is likeliest in, and its name; None for what is hardly text."""
    name = _likeliest(data, few=few)
    try:
        text = data.decode(name) if name else ""
    except UnicodeDecodeError:
        # Of a long text, samples are looked at.
        return None
    return (text, name) if text and "\0" not in text else None


def _likeliest(data: bytes, *, few: bool) -> str:
    """The encoding that `data` is likeliest in, empty for none: the Western one where a `few` bytes in a text of others
    tell, or where another explains it hardly better."""
    # Not loaded for text in UTF-8.
    from charset_normalizer import from_bytes

    western = b"\0" not in data and not _SYMBOL_IN_WORD.search(data.decode(_WESTERN, errors="replace"))
    likely = [one for one in from_bytes(data) if western or _WESTERN not in one.could_be_from_charset]
    if western and (few or _explains_as_well(likely)):
        return _WESTERN
    return likely[0].encoding if likely else ""


def _explains_as_well(likely: Sequence[Any]) -> bool:
    """Whether the Western encoding explains a text hardly worse than the first of the `likely` ones."""
    own = next((one for one in likely if _WESTERN in one.could_be_from_charset), None)
    return bool(own and own.chaos <= likely[0].chaos and own.coherence >= likely[0].coherence - _ALIKE)


# What Markdown says to nobody.

_CODE = r"(?<!\\)`[^`\n]{1,256}`"
# Behind one that does not end no other does.
_COMMENT = re.compile(rf"{_CODE}|(?P<comment><!--.*?-->)|<!--.*", re.DOTALL)
# A link definition that leads nowhere, as people write comments: `[//]: # (text)`.
_POINTLESS = re.compile(
    rf"{_CODE}|(?P<comment>^[ ]{{0,3}}\[[^\]\n]{{1,99}}\]:[ \t]{{1,9}}(?:#|<#?>)[ \t]{{1,9}}[(\"'][^\n]*[)\"'][ \t]*$)",
    re.MULTILINE,
)
_MAY_BE_COMMENT = re.compile(r"<!--|\]:[ \t]{1,9}[#<]")


def without_comments(text: str) -> str:
    """Markdown with spaces in place of comments, so that everything stays where it is; in code there are none."""
    if not _MAY_BE_COMMENT.search(text):
        return text
    starts, pieces, at = line_starts(text), [], 0
    for first, last in code_lines(text):
        pieces += [_blanked(text[at : starts[first]]), text[starts[first] : starts[last]]]
        at = starts[last]
    return "".join([*pieces, _blanked(text[at:])])


def _blanked(text: str) -> str:
    return _POINTLESS.sub(_spaces, _COMMENT.sub(_spaces, text))


def _spaces(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0]) if found["comment"] else found[0]


# The lines that stand at the head or foot of many pages, which are no sentences to quote.

# How many lines at either end of a page are looked at.
_EDGE = 2
# A line that runs stands on at least so many pages, and on this share of them: left and right pages may have their own,
# and a list may by chance go on at the top of a few.
MIN_PAGES = 3
MIN_SHARE = 0.25
# A document has few; what goes beyond would be the rows of a table that goes on from page to page.
MAX_LINES = 8
_MAX_CHARS = 200
# The number of a page may be smaller than its place, by covers and prefaces, and hardly larger.
_MAX_BEHIND, _MAX_AHEAD = 100, 1
# More of a number are not looked at.
_DIGITS = 15


def running_lines(pages: Sequence[str]) -> list[str]:
    """The lines that run, as `masked_line` writes them, the most frequent first; empty for fewer than three pages.

    Only lines with a letter count: a page number alone is no sentence anyway. Their numbers are the same on all those
    pages, or those of the pages: what has others is a fact of its page, such as the price on a data sheet.

    Args:
        pages: their texts in order.
    """
    found: defaultdict[str, list[tuple[int, list[int]]]] = defaultdict(list)
    # A long text without form feeds is one page, whose lines nobody wants to have in memory twice.
    for number, page in enumerate(pages if len(pages) >= MIN_PAGES else (), 1):
        for masked, line in _edge_lines(page).items():
            found[masked].append((number, [int(digits[-_DIGITS:]) for digits in DIGITS.findall(line)]))
    least = max(MIN_PAGES, MIN_SHARE * len(pages))
    counts = {masked: _running(masked, places) for masked, places in found.items() if len(places) >= least}
    return [line for line, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if count >= least][
        :MAX_LINES
    ]


def _edge_lines(page: str) -> dict[str, str]:
    """The lines at the head and the foot of a page that may run, by how they are masked."""
    lines = list(filter(str.strip, page.split("\n")))
    edges = {masked_line(line): line for line in (*lines[:_EDGE], *lines[-_EDGE:]) if len(line) <= _MAX_CHARS}
    return {masked: line for masked, line in edges.items() if any(map(str.isalpha, masked))}


def _running(masked: str, places: Sequence[tuple[int, list[int]]]) -> int:
    """On how many of the pages in `places`, each with the numbers of the line there, it runs."""
    pages = [page for page, _ in places]
    columns = list(zip(*(numbers for _, numbers in places), strict=True))
    # Where a number of a page ends a line or begins it, it may be of the work that the pages are out of.
    ends = [place for place, one in ((0, masked[0]), (len(columns) - 1, masked.rstrip("])")[-1:])) if one == "#"]
    runs = [True] * len(places)
    for place, column in enumerate(columns):
        held = zip(runs, _holding(column, pages, anywhere=place in ends), strict=True)
        runs = [known and one for known, one in held]
    return sum(runs)


def _holding(column: Sequence[int], pages: Sequence[int], *, anywhere: bool) -> Iterator[bool]:
    """Whether a number of a line is, on each of its `pages`, the one of most of them, or counts them as on most; that
    may be those of a work that begins `anywhere`."""
    ahead = [number - page for number, page in zip(column, pages, strict=True)]
    counted, same = (Counter(values).most_common(1)[0][0] for values in (ahead, column))
    counts = anywhere or -_MAX_BEHIND <= counted <= _MAX_AHEAD
    for number, off in zip(column, ahead, strict=True):
        yield number == same or (counts and off == counted)


def running_metadata(pages: Sequence[str]) -> dict[str, list[str]]:
    """What the metadata of a document says about its running lines; empty when it has none."""
    found = running_lines(pages)
    return {RUNNING_LINES: found} if found else {}


# A title further down than this many characters is none.
_TITLE_WITHIN = 20_000
# What can make a line of Markdown a heading; where nothing else can, the rest need not be looked at.
_MAY_BE_HEADING = re.compile(r"^ {0,3}(?:#|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
# So many lines of a plain text tell whether its first ones are a heading, or an item of a list.
_FIRST_LINES = re.compile(r"(?:\s*+\S[^\n]*+\n){8}")
# A plain text is none that has a directive or a link target of reStructuredText, and a line with a rule below it: the
# documentation of many a package is called `.txt`.
_RST_MARKUP = re.compile(r"^\.\. +(?:[a-z][\w-]{1,40} ?::(?:\s|\Z)|_[^\n:]{1,200}:\s)", re.MULTILINE)
_RST_HEADING = re.compile(r"^[^\W_][^\n]{1,199}\n([=\-~^\"'#*+])\1{2,}$", re.MULTILINE)


def load_text(data: bytes, name: str, media_type: str, encoding: str | None = None) -> Document:
    """The document in `data`; front matter of Markdown and the first fields of reStructuredText become metadata.

    A plain text with the markup of reStructuredText is one.

    Raises:
        IngestError: it is no text, or not in the given encoding.
    """
    text, warnings, reading = decode_file(data, encoding)
    if media_type == PLAIN_TEXT and _RST_MARKUP.search(text) and _RST_HEADING.search(text):
        media_type = RESTRUCTURED_TEXT
    text, metadata, start = _with_head_read(text, media_type, warnings)
    title = metadata.get("title") or first_heading(text, start, media_type) or Path(name).stem
    running = {} if media_type == MARKDOWN else running_metadata(text.split("\f"))
    return Document(
        name, text, media_type, {**metadata, "title": str(title), **running, **reading}, start, tuple(warnings)
    )


def _with_head_read(text: str, media_type: str, warnings: list[str]) -> tuple[str, dict[str, Any], int]:
    """`text` with spaces in place of comments, the fields at its head, and the offset behind those; of what cannot be
    read there, one of `warnings`."""
    if media_type == RESTRUCTURED_TEXT:
        # Not loaded where there is no such text.
        from groundgraph.ingest.rst_structure import head_fields
        from groundgraph.ingest.rst_structure import without_comments as without_rst_comments

        text = without_rst_comments(text)
        return text, *head_fields(text)
    if media_type != MARKDOWN:
        return text, {}, 0
    try:
        metadata, start = front_matter(text)
    except ValueError as error:
        metadata, start = {}, unread_front_matter(text)
        told = "cannot be read and was left out" if start else "was taken as text"
        warnings.append(f"the front matter {told}: {error}")
    return text[:start] + without_comments(text[start:]), metadata, start


def first_heading(text: str, start: int, media_type: str) -> str:
    """The words of the heading that can serve as the title of `text`, or an empty string. The first of several of one
    level names its section alone, unless nothing stands in that."""
    head = text[: start + _TITLE_WITHIN]
    if media_type == PLAIN_TEXT:
        return _plain_heading(head, start)
    if media_type == MARKDOWN:
        head = _first_part(head, start)
    headings = [(place, block) for place, block in enumerate(text_blocks(head, media_type, start)) if block.title]
    if not headings:
        return ""
    first, named = headings[0]
    equal = next((place for place, block in headings[1:] if block.level == named.level), None)
    return named.title if equal in (None, first + 1) else ""


def _first_part(head: str, start: int) -> str:
    """What stands before the first blank line, where no heading may stand behind it: it changes nothing above it, and
    most titles are the first line."""
    near = head.find("\n\n", start)
    return head[:near] if near >= 0 and not _MAY_BE_HEADING.search(head, near) else head


def _plain_heading(head: str, start: int) -> str:
    """The first block of a plain text, where it is a heading: one further down is that of a section, "Abstract"."""
    head = head[: found.end()] if (found := _FIRST_LINES.match(head, start)) else head
    blocks = plain_blocks(head, start)
    first = next((block for block in blocks if head[block.start : block.end].strip()), None)
    return first.title if first else ""
