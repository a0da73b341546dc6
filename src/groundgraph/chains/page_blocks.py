"""The blocks of a page whose text has lines but no markup, as a PDF gives it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from groundgraph.chains.blocks import Block, line_starts, tiled
from groundgraph.core.document import Heading
from groundgraph.core.text import sentences

_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
# Running text has an end of a sentence every so many characters; a table has next to none.
_LONGEST_MEAN = 300


def page_blocks(text: str, start: int, end: int, headings: Sequence[Heading] = ()) -> list[Block]:
    """The blocks of `text` from `start` to `end`, without a gap.

    Headings are only those that are given. A run of text without sentences, such as a table, has a block for each
    line, so that no row is cut.
    """
    return tiled(list(_blocks(text, start, end, headings)), start, end)


def _blocks(text: str, start: int, end: int, headings: Sequence[Heading]) -> Iterator[Block]:
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
