"""The blocks of a plain text: paragraphs between blank lines, and the headings that plain texts have.

Three forms of heading are known: a numbered line alone ("10.  Security Considerations", "10.1. Title",
"Appendix A. Title"), an underlined line (as in reStructuredText), and, where the text below is indented as in
RFCs, a short line that is not. Above an indented text a numbered heading may go on in the next line, below the
beginning of its words. A line of a table of contents, with dots and a page number, is no heading; nor
is the head or foot of a page, whose parts are set apart by runs of spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from groundgraph.chains.blocks import Block, line_starts, tiled

_NUMBERED = re.compile(
    r"(?:(?P<number>\d{1,3}(?:\.\d{1,3})+\.?|\d{1,3}\.)|(?:Appendix\s+)?(?P<letter>[A-Z](?:\.\d{1,3})*\.)"
    r"|Appendix\s+(?P<bare>[A-Z])\b[.:]?)\s+(?![a-z])\S"
)
_UNDERLINE = re.compile(r"([=\-~^\"'#*+.`:_])\1{2,}$")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){3,}")
_COLUMNS = re.compile(r"\S {3,}\S|\t\S")
_NO_TITLE_END = tuple(".,;:!?")
_MAX_TITLE = 100


@dataclass(frozen=True)
class _Line:
    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


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
    if not _UNDERLINE.match(under) or _UNDERLINE.match(words) or len(under) < len(words) or len(words) < 2:
        return None
    if over and lines[index].text != under:
        return None
    style = under[0] * (2 if over else 1)
    return _Heading(index, title + 1, known.setdefault(style, len(known) + 1), " ".join(words.split()))


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
