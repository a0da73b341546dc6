"""The blocks of a text, paragraphs, code, list items and tables: the one to show for a sentence, and how to show it."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from groundgraph.answers.block_kinds import (
    FENCE,
    Kind,
    code_in,
    figures_in,
    in_markdown_words,
    is_link_only,
    is_row_item,
    is_underlined,
    kind_of,
)
from groundgraph.answers.sentence_index import (
    SENTENCE_ENDS,
    Sentence,
    running_lines,
    sentences_of,
    stems_of,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.text.original import masked_line
from groundgraph.text.wording import TERM
from groundgraph.text.words import sentences

# A paragraph up to this length is shown whole, of a longer one the sentences that answer.
MAX_PARAGRAPH = 300
# What a block may have together with what introduces it; of a longer one the lines round the best one are shown.
MAX_BLOCK = 600
# The same for code, of which a half answers nobody.
MAX_CODE = 1200
# What is shown in the lines that it has, with its sentences or without.
_IN_LINES = ("code", "item", "table", "rows", "figures")
# So far below a paragraph what is set in is code in Markdown.
_MARKDOWN_CODE = 4
# Without a blank line above, another number is one of the paragraph.
_BEGINS_LIST = re.compile(r"\A\s*(?:[-*+•o]|1[.)])\s")
INTRODUCES = (":", "...", "…")
_FENCE_LENGTH = 3
_NEXT_LINE = re.compile(r"[ \t]*\n\s*([^\n]*)")


class Shape(NamedTuple):
    """A text, and what tells its headings from its paragraphs.

    Attributes:
        text: the text.
        heading: the words of the one that it stands under, which in a plain text has no sign of its own.
        running: the lines at the head and foot of its pages, see `running_lines`.
    """

    text: str
    heading: str = ""
    running: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: SourceResult) -> Shape:
        """The shape of the content of `result`."""
        headings = result.metadata.get("headings")
        heading = str(headings[-1]) if isinstance(headings, list) and headings else ""
        return cls(result.content, heading, running_lines(result))

    def kind(self, line: str) -> Kind:
        """What begins with `line`. A line of a page's head or foot is none of the text, as a heading is none."""
        if self.heading and line.split() == self.heading.split():
            return "heading"
        if self.running and masked_line(line) in self.running:
            return "heading"
        return kind_of(line)


class Block(NamedTuple):
    """Characters `start` to `end` of a text, without the white space around them; `aside` when it consists of images,
    badges and link targets alone, which is part of the text and answers nothing."""

    start: int
    end: int
    kind: Kind
    aside: bool = False


@lru_cache(maxsize=1024)
def blocks_of(shape: Shape) -> tuple[Block, ...]:
    """The blocks of a text in order; of a list every item is one."""
    text = shape.text
    blocks: list[Block] = []
    for kind, low, high in _runs(shape):
        own = text[low:high]
        start, end = high - len(own.lstrip()), low + len(own.rstrip())
        example = kind == "prose" and blocks and _is_example(text, blocks[-1], start)
        shown: Kind = "code" if example or kind == "doctest" else kind
        blocks.append(Block(start, end, shown, is_link_only(own, shown)))
    return tuple(_as_lists(blocks))


def _as_lists(blocks: Sequence[Block]) -> Iterator[Block]:
    """`blocks`, where a list is aside as a whole, or none of its items is."""
    for kind, run in groupby(blocks, key=lambda block: block.kind):
        own = list(run)
        stays = kind != "item" or all(block.aside for block in own)
        yield from own if stays else (block._replace(aside=False) for block in own)


class _Line(NamedTuple):
    """A line that is not blank, with where it starts and ends, what it begins, how far it is set in, and whether it
    stands right below another one."""

    start: int
    end: int
    text: str
    kind: Kind
    indent: int
    above: bool


def _runs(shape: Shape) -> Iterator[tuple[Kind, int, int]]:
    """Kind, start and end of each run of lines that make a block."""
    fence = _cut_fence(shape.text.split("\n"))
    kind: Kind | None = "code" if fence else None
    start = indent = 0
    last = first = ""
    for line in _lines_of(shape):
        if fence:
            if line.text.lstrip().startswith(fence):
                yield "code", start, line.end
                kind, fence = None, ""
            continue
        depth = _code_below(kind, last, line, indent)
        if depth is not None or (kind and not _goes_on(kind, line, indent, first)):
            if kind:
                yield kind, start, line.start
            kind = None
        if kind is None:
            kind, start, indent, first = line.kind, line.start, line.indent, line.text
            if depth is not None:
                kind, indent = "code", depth
                continue
        elif kind == "code":
            continue
        opening = FENCE.match(line.text) if line.kind == "code" else None
        fence, last = (opening[1] if opening else ""), line.text.rstrip()
    if kind:
        yield kind, start, len(shape.text)


def _lines_of(shape: Shape) -> Iterator[_Line]:
    lines = shape.text.split("\n")
    figures = figures_in(lines)
    at, above, before = 0, False, "heading"
    for place, text in enumerate(lines):
        start, at = at, min(at + len(text) + 1, len(shape.text))
        if not text.strip():
            above = False
            continue
        kind = "figures" if figures[place] else shape.kind(text)
        if kind == "code":
            titled = above and before == "heading" and _is_rule_below(lines, place)
        else:
            below = "".join(lines[place + 1 : place + 2])
            titled = (not above or before == "heading") and is_underlined(text, below)
        kind = "heading" if titled else kind
        yield _Line(start, at, text, kind, len(text) - len(text.lstrip()), above)
        above, before = True, kind


def _is_rule_below(lines: Sequence[str], place: int) -> bool:
    """Whether the line at `place` is a rule below a heading: of tildes, of which three begin code in Markdown, unless a
    blank line follows."""
    below, is_long = "".join(lines[place + 1 : place + 2]), len(lines[place].strip()) > _FENCE_LENGTH
    return place > 0 and (is_long or not below.strip()) and is_underlined(lines[place - 1], lines[place])


def _code_below(kind: Kind | None, last: str, line: _Line, indent: int) -> int | None:
    """How far what is above `line` is set in when that begins the code which the line `last` announces, by what
    reStructuredText or Markdown has for it; None when it does not."""
    if line.above or line.indent <= indent or not last.endswith(":"):
        return None
    if last.endswith("::") and (kind in ("prose", "item") or (kind == "heading" and last.strip() == "::")):
        return indent
    deep = indent + _MARKDOWN_CODE - 1
    return deep if kind == line.kind == "prose" and line.indent > deep else None


def _cut_fence(lines: Sequence[str]) -> str:
    """The fence of the code that the text begins within, because a chunk ends where there is no room; else none."""
    fences = [place for place, line in enumerate(lines) if FENCE.match(line)]
    first = lines[fences[0]].strip() if len(fences) % 2 else ""
    return first if first in ("```", "~~~") and not _is_rule_below(lines, fences[0]) else ""


def _goes_on(kind: Kind, line: _Line, indent: int, first: str) -> bool:
    """Whether a block of `kind`, whose `first` line is set in by `indent`, goes on with `line`, which by itself would
    begin another."""
    deeper = line.indent > indent
    if kind == "code":
        return deeper
    if kind == "item":
        return (line.kind == "prose" and (line.above or deeper)) or (
            deeper and line.kind == kind and is_row_item(first)
        )
    if kind == "rows":
        return line.above or deeper
    if not line.above:
        return False
    if kind == "prose" and line.kind == "item":
        return not _BEGINS_LIST.match(line.text)
    return kind == "doctest" or (kind == line.kind and kind in ("prose", "table", "figures"))


def _is_example(text: str, before: Block, start: int) -> bool:
    """Whether what begins at `start` is set in further than the paragraph `before` it, which introduces it."""
    deeper = indent_of(text, start) >= _depth(text, before) + 2
    return deeper and before.kind == "prose" and text.endswith(INTRODUCES, before.start, before.end)


def _depth(text: str, block: Block) -> int:
    """How far `block` is set in: where a text begins, which may be cut, by its second line."""
    if block.start:
        return indent_of(text, block.start)
    below = text[: block.end].partition("\n")[2]
    return len(below) - len(below.lstrip(" "))


def indent_of(text: str, start: int) -> int:
    """How far what begins at `start` is set in."""
    return start - text.rfind("\n", 0, start) - 1


def _introduces(text: str, block: Block, following: Block) -> bool:
    """A paragraph belongs to the code below it, and to whatever follows its colon."""
    if block.kind != "prose" or following.kind == "heading":
        return False
    return following.kind == "code" or text.endswith(INTRODUCES, block.start, block.end)


# Which sentences have a block that can be shown.


@lru_cache(maxsize=4096)
def quotable(shape: Shape) -> tuple[bool, ...]:
    """For each sentence of a text, whether it can be quoted: by itself, or with the block that it belongs to."""
    blocks = blocks_of(shape)
    alone = answering_alone(shape)
    shown: list[bool] = []
    for sentence, place in zip(sentences_of(shape.text, shape.running), _places(shape), strict=True):
        own = blocks[place]
        says = sentence.quotable and own.kind != "heading"
        with_block = says or own in alone or _shown_with_block(shape.text, blocks[place : place + 2])
        is_cut = own.kind == "prose" and _goes_on_below(shape, sentence.end)
        shown.append(with_block and not own.aside and not is_cut)
    return tuple(shown)


def _places(shape: Shape) -> Iterator[int]:
    """For each sentence of a text, the place of the block that it begins in."""
    blocks, place = blocks_of(shape), 0
    for sentence in sentences_of(shape.text, shape.running):
        while place + 1 < len(blocks) and blocks[place + 1].start <= sentence.start:
            place += 1
        yield place


def sentence_blocks(shape: Shape) -> list[Block]:
    """For each sentence of a text, the block that it begins in."""
    blocks = blocks_of(shape)
    return [blocks[place] for place in _places(shape)]


def _shown_with_block(text: str, blocks: Sequence[Block]) -> bool:
    """Whether what lies in the first of `blocks` is shown with all of it, or with the next one."""
    own = blocks[0]
    if own.kind == "prose" and own.end - own.start <= MAX_PARAGRAPH and len(sentences(text[own.start : own.end])) > 1:
        return True
    return own.kind in _IN_LINES or (len(blocks) > 1 and _introduces(text, own, blocks[1]))


@lru_cache(maxsize=1024)
def answering_alone(shape: Shape) -> frozenset[Block]:
    """The paragraphs that are no fragment, however short: what is all there is below its heading, as in a list of
    questions with answers, and the value of a name, such as "Default: 16"."""
    told = [block for block in blocks_of(shape) if not block.aside]
    around = zip([None, *told], told, [*told[1:], None], strict=False)
    return frozenset(
        one
        for before, one, after in around
        if one.kind == "prose" and (_is_all_below(before, after) or _is_value(shape.text[one.start : one.end]))
    )


def _is_all_below(before: Block | None, after: Block | None) -> bool:
    headed = before is not None and before.kind == "heading"
    return headed and (after is None or after.kind == "heading")


def _is_value(text: str) -> bool:
    return "\n" not in text and TERM.match(text) is not None


def has_lines(shape: Shape, start: int, end: int) -> bool:
    """Whether code, a list or a table stands between `start` and `end`, which is not shortened to a sentence."""
    return any(block.start < end and start < block.end and block.kind in _IN_LINES for block in blocks_of(shape))


# The block of a sentence.


def block_around(
    shape: Shape, sentence: Sentence, worths: Mapping[int, float], wanted: frozenset[str] = frozenset()
) -> tuple[int, int]:
    """Where the block begins and ends that `sentence` belongs to.

    The paragraph, list, code or table whole, with the paragraph that introduces it or with what it introduces itself,
    as far as there is room for each; of what is too long, what is round the sentence.

    Args:
        shape: of the text.
        sentence: one of its sentences.
        worths: what a sentence is worth that has to do with the question, by its start.
        wanted: the stems by which the best line of code or of a table is told.
    """
    text, blocks = shape.text, blocks_of(shape)
    place = max(0, bisect_right(blocks, sentence.start, key=lambda block: block.start) - 1)
    own = blocks[place]
    start, end = own.start, own.end
    if own.kind == "prose":
        # Without its term nothing says of what an entry of a glossary tells.
        is_entry = end - start <= MAX_BLOCK and _is_entry(text[start:end], _further_in(text, start))
        if end - start > MAX_PARAGRAPH and not is_entry:
            start, end = _sentences_around(shape, own, sentence, worths)
    elif own.kind == "figures":
        return _row_of_figures(text, blocks, place, sentence.start)
    elif end - start > _room(own):
        return _lines_around(text, own, _best_line(text, sentence, wanted))
    start, end = _with_neighbours(text, blocks, place, (start, end))
    if own.kind == "prose" and start == own.start:
        start = _first_sentence(shape, own, sentence)
    return start, (_last_whole(shape, own, sentence) if own.kind == "prose" and end == own.end else end)


def _with_neighbours(text: str, blocks: Sequence[Block], place: int, span: tuple[int, int]) -> tuple[int, int]:
    """`span` of the block at `place` with its list, with what introduces it, and with what it introduces."""
    own, (start, end) = blocks[place], span
    first, last = _list_of(blocks, place)
    if first < last and blocks[last].end - blocks[first].start <= MAX_BLOCK:
        start, end = blocks[first].start, blocks[last].end
    else:
        first = last = place
    if first and start == blocks[first].start and _introduces(text, blocks[first - 1], own):
        start = _introduction(text, blocks[first - 1], end, _room(own)) or start
    if last + 1 < len(blocks) and end == own.end and _introduces(text, own, blocks[last + 1]):
        end = _introduced(text, blocks, last + 1, (start, end))
    return start, end


def _first_sentence(shape: Shape, block: Block, best: Sentence) -> int:
    """Where the first sentence of a paragraph begins: behind a mark such as `.. note::`, and behind the rest of one
    that began on the page before, but where that is the `best`."""
    own = [one for one in sentences_of(shape.text, shape.running) if block.start <= one.start < block.end]
    spoken = [one.start for one in own if any(map(str.isalnum, shape.text[one.start : one.end]))]
    is_rest = bool(spoken) and spoken[0] < best.start and began_above(shape, spoken[0])
    return next(iter(spoken[is_rest:]), block.start)


def began_above(shape: Shape, start: int) -> bool:
    """Whether what begins at `start` began on the page before: in lower case, but no term of a glossary, below the head
    or foot of a page, or where a text of pages begins."""
    if (
        not shape.running
        or not shape.text[start].islower()
        or _is_entry(shape.text[start:], _further_in(shape.text, start))
    ):
        return False
    above = shape.text[:start].rstrip().rpartition("\n")[2]
    return not above or masked_line(above) in shape.running


def _last_whole(shape: Shape, block: Block, best: Sentence) -> int:
    """Where the last sentence of a paragraph ends, but for one behind the `best` that goes on on the next page."""
    ends = [one.end for one in sentences_of(shape.text, shape.running) if best.start <= one.start < block.end]
    return ends[-2] if len(ends) > 1 and _goes_on_below(shape, ends[-1]) else block.end


def _goes_on_below(shape: Shape, end: int) -> bool:
    """Whether what ends at `end` goes on on the next page: no mark ends it above the foot of a page, below which
    nothing is known, or something begins in lower case."""
    if not shape.running or shape.text.endswith(SENTENCE_ENDS, 0, end):
        return False
    below, is_foot = _NEXT_LINE.match(shape.text, end), False
    while below and masked_line(below[1]) in shape.running:
        below, is_foot = _NEXT_LINE.match(shape.text, below.end()), True
    return is_foot and (below is None or not below[1] or below[1][0].islower())


def _sentences_around(shape: Shape, block: Block, best: Sentence, worths: Mapping[int, float]) -> tuple[int, int]:
    """The sentences of `block` round the `best` one that are worth most, as many as a short paragraph has room for."""
    own = [one for one in sentences_of(shape.text, shape.running) if block.start <= one.start < block.end]
    first = last = own.index(best)
    while True:
        wider = [
            (worths.get(own[new].start, 0.0), low, high)
            for new, low, high in ((first - 1, first - 1, last), (last + 1, first, last + 1))
            if 0 <= new < len(own) and own[high].end - own[low].start <= MAX_PARAGRAPH
        ]
        if not wider:
            return own[first].start, own[last].end
        _, first, last = max(wider)


def _list_of(blocks: Sequence[Block], place: int) -> tuple[int, int]:
    """The places of the first and the last item of the list that a block is in; its own twice where it is in none."""
    first = last = place
    if blocks[place].kind == "item":
        while first and blocks[first - 1].kind == "item":
            first -= 1
        while last + 1 < len(blocks) and blocks[last + 1].kind == "item":
            last += 1
    return first, last


def _room(block: Block) -> int:
    """How many characters a block may have together with what introduces it."""
    return MAX_CODE if block.kind == "code" else MAX_BLOCK


def _introduction(text: str, block: Block, end: int, room: int) -> int | None:
    """Where `block`, or its last sentence, begins that introduces what ends at `end`; None when there is no `room`."""
    for start in (block.start, block.start + sentences(text[block.start : block.end])[-1][0]):
        if end - start <= room:
            return start
    return None


def _introduced(text: str, blocks: Sequence[Block], place: int, span: tuple[int, int]) -> int:
    """Where `span` ends together with what it introduces: the list, the block, or the lines for which there is room."""
    start, end = span
    block, room = blocks[place], start + _room(blocks[place])
    for whole in (blocks[_list_of(blocks, place)[1]].end, block.end):
        if whole <= room:
            return whole
    return max(end, text.rfind("\n", block.start, room)) if block.kind == "code" else end


def _best_line(text: str, sentence: Sentence, wanted: frozenset[str]) -> int:
    """Where the line of `sentence` begins that holds most of `wanted`: code may have no end of a sentence."""
    at = best = sentence.start
    most = 0
    for line in text[sentence.start : sentence.end].split("\n"):
        held = len(wanted & stems_of(line))
        if held > most:
            best, most = at, held
        at += len(line) + 1
    return best


def _row_of_figures(text: str, blocks: Sequence[Block], place: int, at: int) -> tuple[int, int]:
    """The row that `at` is in of the block at `place`, from the line of text right above that on if near: it says of
    what the row is."""
    own, before = blocks[place], blocks[place - 1] if place else None
    end = _line_end(text, own, at)
    if before and before.kind == "prose" and text[before.end : own.start].count("\n") == 1:
        above = _line_start(text, before, before.end)
        if end - above <= MAX_PARAGRAPH:
            return above, end
    return _line_start(text, own, at), end


def _lines_around(text: str, block: Block, at: int) -> tuple[int, int]:
    """The lines of `block` round the one that `at` is in, as many as there is room for."""
    low, high, room = _line_start(text, block, at), _line_end(text, block, at), _room(block)
    while True:
        below, above = _line_end(text, block, high + 1), _line_start(text, block, low - 1)
        if high < below <= low + room:
            high = below
        elif high - room <= above < low:
            low = above
        else:
            return low, min(high, low + room)


def _line_start(text: str, block: Block, at: int) -> int:
    return max(block.start, text.rfind("\n", block.start, max(block.start, at)) + 1)


def _line_end(text: str, block: Block, at: int) -> int:
    found = text.find("\n", at, block.end)
    return block.end if found < 0 else found


# A block in Markdown, with the form that it has in the original.

_CODE = "```"
# Signs of an item that Markdown does not know.
_BULLETS = ("o", "•", ":")
_LONGEST_TERM = 60
# What ends a sentence or a part of one, or begins what code holds.
_NO_TERM = (".", "!", "?", ",", ";", ":", "(", "[", "{")
# What Markdown puts before each line of a quotation.
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)


def in_markdown(shape: Shape, start: int, end: int) -> str:
    """Characters `start` to `end` of a text: code and rows between fences, tables as they are, every item of a
    list and every paragraph in a line of its own."""
    parts = [block for block in blocks_of(shape) if block.start < end and start < block.end]
    base = next((indent_of(shape.text, part.start) for part in parts if part.kind == "item"), 0)
    text = ""
    for before, whole in zip([None, *parts[:-1]], parts, strict=True):
        part = Block(max(start, whole.start), min(end, whole.end), whole.kind)
        listed = whole.kind == "item" and not shape.text.startswith(_BULLETS, part.start)
        if before:
            text += "\n" if listed and before.kind == "item" else "\n\n"
        text += " " * (indent_of(shape.text, whole.start) - base) * listed + _part(shape.text, whole, part)
    return text


def ends_in_lines(text: str) -> bool:
    """Whether a block that is shown as `text` ends in code or a table, where nothing can be written behind it."""
    return text.endswith((_CODE, "|"))


def _part(text: str, whole: Block, part: Block) -> str:
    own = text[part.start : part.end]
    if part.kind == "item" and is_row_item(text[whole.start : whole.end]):
        return textwrap.dedent(" " * indent_of(text, part.start) + own)
    if part.kind not in ("code", "table", "rows", "figures"):
        quoted = text.startswith(">", whole.start)
        return _in_one_line(_QUOTED.sub("", own) if quoted else own, _further_in(text, part.start))
    language, own = code_in(own) if part.start == whole.start else ("", own)
    lines = textwrap.dedent(" " * indent_of(text, part.start) + own).split("\n")
    if part.kind == "table":
        return "\n".join(line.rstrip() for line in lines)
    opening = text[whole.start : whole.end].partition("\n")[0]
    return _fenced(lines, opening if FENCE.match(opening) else None, language)


def _in_one_line(own: str, indent: int) -> str:
    """A paragraph in one line; an entry of a glossary in two, the term and below it what is told of it."""
    lines = own.split("\n", 1) if _is_entry(own, indent) else [own]
    return "  \n".join(in_markdown_words(" ".join(line.split())) for line in lines)


def _is_entry(own: str, indent: int) -> bool:
    """Whether a paragraph is an entry of a glossary: a term, and set in by `indent` or more what is told of it."""
    term, _, told = own.partition("\n")
    further_in = len(told) - len(told.lstrip()) >= indent and not term.startswith(":")
    return further_in and len(term) <= _LONGEST_TERM and not term.rstrip().endswith(_NO_TERM)


def _further_in(text: str, start: int) -> int:
    """How far a line must be set in to stand below the one that begins at `start`. Where a text begins, which may be
    cut, the first line of a paragraph lacks its own indent, and the next one has that of a list."""
    return indent_of(text, start) + 2 if start else _MARKDOWN_CODE


def _fenced(lines: Sequence[str], opening: str | None, language: str = "") -> str:
    """`lines` between fences; they may have both, either or none of their own, the first of which is `opening`."""
    lines = lines[lines[0] == opening :]
    lines = lines[: len(lines) - bool(lines and FENCE.match(lines[-1]))]
    body = "\n".join(lines).strip("\n")
    language = language or (opening or "").strip("`~ ").split(" ")[0]
    return " ".join(body.split()) if _CODE in body else f"{_CODE}{language}\n{body}\n{_CODE}"
