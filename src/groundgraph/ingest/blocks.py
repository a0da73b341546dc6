"""The blocks of a text, which a chunker packs together and cuts apart: of marked up and plain text and of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import heading as heading_rule
from markdown_it.token import Token

from groundgraph.core.document import MARKDOWN, PDF, PPTX, RECORDS, RESTRUCTURED_TEXT, Document, Heading, Part
from groundgraph.text.words import sentences

# The line ends that markdown-it knows; a text from a loader has only the first.
LINE_END = re.compile(r"\n|\r\n?")


class Block(NamedTuple):
    """One paragraph, heading, table ... with the white space after it.

    Attributes:
        start: offset of its first character.
        end: offset of the next block.
        level: the level of a heading, 1 the outermost; 0 for everything else.
        title: the words of a heading, without markup.
        whole: whether it is a fence or a table, cut only when it is longer than a chunk, and at line ends.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    whole: bool = False


def line_starts(text: str, start: int = 0) -> list[int]:
    """The offsets at which the lines of `text` from `start` on begin, and after them the end of the text."""
    return [start, *(found.end() for found in LINE_END.finditer(text, start)), len(text)]


def tiled(blocks: list[Block], start: int, end: int) -> list[Block]:
    """`blocks` stretched so that each reaches to the next, the first from `start`, the last to `end`.

    What lies between two blocks (blank lines, link definitions) thus belongs to the first of them.
    """
    if not blocks:
        return [Block(start, end)] if start < end else []
    starts = [start, *(block.start for block in blocks[1:]), end]
    return [Block(starts[i], starts[i + 1], block.level, block.title, block.whole) for i, block in enumerate(blocks)]


# The blocks of a plain text: paragraphs between blank lines, and the headings that plain texts have.
#
# Three forms of heading are known: a numbered line alone ("10.  Security Considerations", "10.1. Title",
# "Appendix A. Title"), an underlined line (as in reStructuredText), and, where the text below is indented as in
# RFCs, a short line that is not. Above an indented text a numbered heading may go on in the next line, below the
# beginning of its words. A line of a table of contents, with dots and a page number, is no heading; nor
# is the head or foot of a page, whose parts are set apart by runs of spaces.

_NUMBERED = re.compile(
    r"(?:(?P<number>\d{1,3}(?:\.\d{1,3})+\.?|\d{1,3}\.)|(?:Appendix\s+)?(?P<letter>[A-Z](?:\.\d{1,3})*\.)"
    r"|Appendix\s+(?P<bare>[A-Z])\b[.:]?)\s+(?![a-z])\S"
)
_UNDERLINE = re.compile(r"([=\-~^\"'#*+.`:_])\1{2,}$")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){3,}")
_COLUMNS = re.compile(r"\S {3,}\S|\t\S")
_NO_TITLE_END = tuple(".,;:!?")
_MAX_TITLE = 100


class _Line(NamedTuple):
    """Its text is without white space at the end."""

    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text


@dataclass(frozen=True)
class _Heading:
    first: int
    last: int
    level: int
    title: str
    numbered: bool = False


def plain_blocks(text: str, start: int = 0) -> list[Block]:
    """The paragraphs and headings of `text` from `start` on, without a gap."""
    starts = line_starts(text, start)
    lines = [_Line(begin, end, text[begin:end].rstrip()) for begin, end in pairwise(starts)]
    headings = {heading.first: heading for heading in _without_lists(lines, _headings(lines))}
    return tiled(list(_blocks(lines, headings)), start, len(text))


def _blocks(lines: list[_Line], headings: dict[int, _Heading]) -> Iterator[Block]:
    index, count = 0, len(lines)
    while index < count:
        heading = headings.get(index)
        first = index
        if heading:
            index = heading.last + 1
            yield Block(lines[first].start, lines[heading.last].end, heading.level, heading.title)
        elif lines[index].blank:
            index += 1
        else:
            while index < count and not lines[index].blank and (index == first or index not in headings):
                index += 1
            yield Block(lines[first].start, lines[index - 1].end)


def _headings(lines: list[_Line]) -> list[_Heading]:
    found: list[_Heading] = []
    underlines: dict[str, int] = {}
    index = 0
    while index < len(lines):
        heading = _underlined(lines, index, underlines) or _numbered(lines, index) or _hanging(lines, index)
        if heading:
            found.append(heading)
        index = heading.last + 1 if heading else index + 1
    return found


def _underlined(lines: list[_Line], index: int, known: dict[str, int]) -> _Heading | None:
    # Levels follow the order in which the underlines first appear, as in reStructuredText.
    if not _starts_block(lines, index):
        return None
    over = bool(_UNDERLINE.match(lines[index].text))
    title = index + 1 if over else index
    if title + 1 >= len(lines) or lines[title].blank:
        return None
    under = lines[title + 1].text
    words = lines[title].text.strip()
    if not _stands_over(words, under) or (over and lines[index].text != under):
        return None
    style = under[0] * (2 if over else 1)
    return _Heading(index, title + 1, known.setdefault(style, len(known) + 1), " ".join(words.split()))


def _stands_over(words: str, under: str) -> bool:
    """Whether `words` are text, and `under` is a rule beneath them that is long enough."""
    return bool(_UNDERLINE.match(under)) and not _UNDERLINE.match(words) and len(under) >= len(words) >= 2


def _numbered(lines: list[_Line], index: int) -> _Heading | None:
    text = lines[index].text
    number = _NUMBERED.match(text)
    if not number or not _starts_block(lines, index) or not _is_title(text):
        return None
    last = index if _alone(lines, index) else _wrapped(lines, index, number)
    if last is None:
        return None
    title = " ".join(word for line in lines[index : last + 1] for word in line.text.split())
    return _Heading(index, last, _depth(number), title, numbered=True)


def _wrapped(lines: list[_Line], index: int, number: re.Match[str]) -> int | None:
    """The line in which a numbered heading that is longer than a line ends; None when it is none."""
    last = index + 1
    column = number.end() - 1
    rest = lines[last].text
    # A wrapped item of a list looks the same, but is a sentence, and the text below it is no deeper than itself.
    aligned = rest[:column].isspace() and not rest[column : column + 1].isspace()
    alone = last + 1 == len(lines) or lines[last + 1].blank
    return last if aligned and alone and _is_title(rest) and _above_indented(lines, last) else None


def _depth(number: re.Match[str]) -> int:
    mark = number["number"] or number["letter"] or number["bare"]
    return len(mark.rstrip(".").split("."))


def _hanging(lines: list[_Line], index: int) -> _Heading | None:
    text = lines[index].text
    if not text[:1].isupper() or not _alone(lines, index) or not _is_title(text):
        return None
    return _Heading(index, index, 1, " ".join(text.split())) if _above_indented(lines, index) else None


def _above_indented(lines: list[_Line], index: int) -> bool:
    """Whether the next text below the line at `index` is indented."""
    below = next((line.text for line in lines[index + 1 :] if not line.blank), "")
    return below[:2].isspace() and len(below) > 2


def _is_title(text: str) -> bool:
    return not (
        len(text) > _MAX_TITLE or text.endswith(_NO_TITLE_END) or _LEADERS.search(text) or _COLUMNS.search(text)
    )


def _starts_block(lines: list[_Line], index: int) -> bool:
    return not lines[index].blank and (index == 0 or lines[index - 1].blank)


def _alone(lines: list[_Line], index: int) -> bool:
    return _starts_block(lines, index) and (index + 1 == len(lines) or lines[index + 1].blank)


def _without_lists(lines: list[_Line], headings: list[_Heading]) -> list[_Heading]:
    """`headings` without the numbered ones that follow one another with nothing between: those are a list."""
    listed: set[int] = set()
    for one, other in pairwise(headings):
        adjacent = all(line.blank for line in lines[one.last + 1 : other.first])
        if one.numbered and other.numbered and one.level == other.level and adjacent:
            listed |= {one.first, other.first}
    return [heading for heading in headings if heading.first not in listed]


# The blocks of a page or slide whose text has lines but no markup.

_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
# Running text has an end of a sentence every so many characters; a table has next to none.
_LONGEST_MEAN = 300


def _page_blocks_of(text: str, start: int, end: int, headings: Sequence[Heading]) -> Iterator[Block]:
    """The blocks from `start` to `end`: the headings that are given, and a block for each line of a run without
    sentences, such as a table, so that no row is cut."""
    for heading in headings:
        if start <= heading.start and heading.end <= end:
            yield from _runs(text, start, heading.start)
            yield Block(heading.start, heading.end, heading.level, heading.title)
            start = heading.end
    yield from _runs(text, start, end)


def _runs(text: str, start: int, end: int) -> Iterator[Block]:
    edges = [start, *(found.end() for found in _BLANK_LINES.finditer(text, start, end)), end]
    for first, last in pairwise(edges):
        run = text[first:last]
        if not run.strip():
            continue
        if len(run) <= _LONGEST_MEAN * max(1, len(sentences(run))):
            yield Block(first, last)
        else:
            yield from _lines(text, first, last)


def _lines(text: str, start: int, end: int) -> Iterator[Block]:
    starts = line_starts(text[start:end])
    for first, last in pairwise(starts):
        if text[start + first : start + last].strip():
            yield Block(start + first, start + last)


# The blocks of a Markdown text, by the line maps of markdown-it-py; the text itself is never rebuilt.

_BLOCK_RULES = MarkdownIt("commonmark").enable("table")
# Inline markup matters for headings only; leaving it out makes a long text several times faster.
_BLOCK_RULES.core.ruler.enableOnly(["normalize", "block"])
_INLINE_RULES = MarkdownIt("commonmark")
_WHOLE = ("fence", "code_block", "table_open")
# Lines that begin with a letter, up to a blank one: a paragraph, whatever stands around it.
_PLAIN_LINES = re.compile(r" {0,3}[^\W\d_][^\n]*+(?:\n {0,3}[^\W\d_][^\n]*+)*+(?=\n[ \t]*+(?:\n|\Z)|\Z)")


def _quickly(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for outermost paragraphs and headings that no other rule can claim; asking all of them takes longer."""
    if silent or state.parentType != "root" or state.level or state.blkIndent:
        return False
    if state.src.startswith("#", state.bMarks[start]) and (start + 1 == end or state.isEmpty(start + 1)):
        return heading_rule(state, start, end, silent)
    found = _PLAIN_LINES.match(state.src, state.bMarks[start])
    if found is None:
        return False
    state.line = start + 1 + found.group().count("\n")
    state.push("paragraph", "p", 0).map = [start, state.line]
    return True


_BLOCK_RULES.block.ruler.before("table", "quick", _quickly)
# Without any of these, what a heading says is what stands there.
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]!<&\r\n\0]")


def markdown_blocks(text: str, start: int = 0) -> list[Block]:
    """The outermost blocks of `text` from `start` on, without a gap; headings have their level."""
    lines = line_starts(text, start)
    found = list(_outermost(_BLOCK_RULES.parse(text[start:]), lines))
    return tiled(found, start, len(text))


def code_lines(text: str) -> Iterator[tuple[int, int]]:
    """The first line, from 0, of each block of code in a Markdown text, those in lists too, and the line behind it."""
    for token in _BLOCK_RULES.parse(text):
        if token.map is not None and token.type in ("fence", "code_block"):
            yield token.map[0], token.map[1]


def _outermost(tokens: list[Token], lines: list[int]) -> Iterator[Block]:
    for index, token in enumerate(tokens):
        if token.level == 0 and token.map is not None and token.nesting >= 0:
            first, last = (lines[min(line, len(lines) - 1)] for line in token.map)
            if token.type == "heading_open":
                yield Block(first, last, int(token.tag[1:]), _plain(tokens[index + 1].content))
            else:
                yield Block(first, last, whole=token.type in _WHOLE)


# What stands between the names of the columns and the rows.
_DELIMITERS = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+")
# Longer ones would be more than the rows below them; as they are written, they may be set apart by many spaces.
_MOST_NAMES, _MOST_WRITTEN = 200, 2000


def column_names(text: str, block: Block) -> str:
    """The names of the columns of the table `block` of a Markdown text, between bars; empty where it is none."""
    first = text.find("\n", block.start, block.end)
    second = text.find("\n", first + 1, block.end)
    if first < 0 or second < 0 or first - block.start > _MOST_WRITTEN:
        return ""
    names = text[block.start : first]
    is_table = "|" in names and _DELIMITERS.fullmatch(text, first + 1, second)
    told = _plain(names.strip().strip("|")) if is_table else ""
    return told if len(told) <= _MOST_NAMES else ""


def _plain(markup: str) -> str:
    if not _INLINE_MARKUP.search(markup):
        return " ".join(markup.split())
    children = _INLINE_RULES.parseInline(markup)[0].children or []
    words = (
        child.content if child.type in ("text", "code_inline", "image") else " "
        for child in children
        if child.content or child.type in ("softbreak", "hardbreak")
    )
    return " ".join("".join(words).split())


# The blocks of a reStructuredText, by the lines that docutils tells.


def rst_blocks(text: str, start: int = 0) -> list[Block]:
    """The outermost blocks of `text` from `start` on, without a gap; headings have their level."""
    # Not loaded where there is no such text.
    from groundgraph.ingest.rst_structure import rst_structure

    starts = line_starts(text, start)
    found = rst_structure([text[first:last] for first, last in pairwise(starts)])
    blocks = [Block(starts[block.line], len(text), block.level, block.title, block.whole) for block in found]
    return tiled(blocks, start, len(text))


# The blocks of one part of a document, by what kind of text it is.

_BLOCKS_OF = {MARKDOWN: markdown_blocks, RESTRUCTURED_TEXT: rst_blocks}


def text_blocks(text: str, media_type: str, start: int = 0) -> list[Block]:
    """The blocks of `text` from `start` on, without a gap, by what kind of text it is."""
    return _BLOCKS_OF.get(media_type, plain_blocks)(text, start)


def document_blocks(document: Document, part: Part) -> list[Block]:
    """The blocks of `part`, without a gap."""
    start, body = part.start, document.text[part.start : part.end]
    if document.media_type == RECORDS:
        lines = line_starts(body)
        found = [Block(first, last) for first, last in pairwise(lines)]
    elif document.media_type in (PDF, PPTX):
        return tiled(list(_page_blocks_of(document.text, start, part.end, document.headings)), start, part.end)
    else:
        # What stands outside of the part must not be read: it could be taken for an end of one of its blocks.
        found = text_blocks(body, document.media_type)
    return [_moved(block, start) for block in found] if start else found


def _moved(block: Block, by: int) -> Block:
    return Block(block.start + by, block.end + by, block.level, block.title, block.whole)
