"""The blocks of a text: what a chunker packs together and cuts apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The line ends that markdown-it knows; a text from a loader has only the first.
LINE_END = re.compile(r"\n|\r\n?")


@dataclass(frozen=True)
class Block:
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
