"""The chunkers: by headings, paragraphs and sentences (the default), a whole text as one chunk, and digests."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from groundgraph.core.chain import Chunker
from groundgraph.core.document import PDF, PPTX, RECORDS, Chunk, Document, Part
from groundgraph.ingest.blocks import LINE_END, Block, column_names, document_blocks
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.resilience.blocking import call_chain
from groundgraph.text.original import FILE_ROW
from groundgraph.text.words import sentences

# A chunker that does not cut a document but digests it: short pieces that a model writes.

_BULLET = re.compile(r"\A\s*(?:[-*•]|\(?\d{1,3}[.)](?!\d))\s+")
_BETWEEN = re.compile(r"\n\s*\n")
# What the prompt asks for when a stretch holds nothing worth keeping.
_NOTHING = re.compile(r"\W*none\W*", re.IGNORECASE)


@dataclass(frozen=True)
class DigestChunker:
    """Asks a model, stretch by stretch, for paragraphs that each hold one idea of the document.

    Args:
        model: the model.
        cut: cuts the document into the stretches that the model reads one at a time.
        prompt: its instructions.
    """

    model: ChainModel
    cut: Chunker
    prompt: str = "write_digest"

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return f"digest 1 {self.cut.signature} {self.model.signature(self.prompt)}"

    async def __call__(self, document: Document) -> list[Chunk]:
        """The paragraphs as chunks, `derived`, each spanning the stretch that it was made from.

        Raises:
            ModelError: the model failed or refused.
        """
        chunks: list[Chunk] = []
        for stretch in await call_chain(self.cut, document):
            for paragraph in await self._digested(stretch):
                chunks.append(replace(stretch, position=len(chunks), text=paragraph, derived=True))
        return chunks

    async def _digested(self, stretch: Chunk) -> list[str]:
        passages = [Passage("title", stretch.document.title), Passage("document", stretch.text)]
        return paragraphs(await self.model.text(self.prompt, passages))


def paragraphs(reply: str) -> list[str]:
    """The paragraphs of a model's reply, each on one line; a list without blank lines gives its items."""
    pieces = list(filter(str.strip, _BETWEEN.split(reply)))
    lines = list(filter(str.strip, reply.splitlines()))
    if len(pieces) == 1 and all(map(_BULLET.match, lines)):
        pieces = lines
    told = [" ".join(_BULLET.sub("", piece).split()) for piece in pieces]
    return [piece for piece in dict.fromkeys(told) if piece and not _NOTHING.fullmatch(piece) and piece[-1] != ":"]


# The parts of a document, which no chunk crosses.


def parts_of(document: Document) -> tuple[Part, ...]:
    """The parts of `document`; its whole body when it has none."""
    return document.parts or (Part(document.body_start, len(document.text)),)


def trimmed(text: str, part: Part) -> tuple[int, int]:
    """Where the text of `part` starts and ends without the white space around it; equal when there is no other."""
    start, end = part.start, part.end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


class Above(NamedTuple):
    """The headings above a text, the outermost first, and their levels where these are known."""

    headings: tuple[str, ...] = ()
    levels: tuple[int, ...] = ()


TOP = Above()


def chunk_of(document: Document, part: Part, position: int, span: tuple[int, int], above: Above = TOP) -> Chunk:
    """The chunk at `span`, which lies in `part`; offsets of a page are counted from its beginning."""
    start, end = span
    origin = part.start if document.media_type == PDF else 0
    return Chunk(
        document, position, start, end, above.headings, document.text[start:end], above.levels, part.metadata, origin
    )


# The identity chunker: a whole text is one chunk.


@dataclass(frozen=True)
class WholeTextChunker:
    """Makes one chunk of each document, with everything from `body_start` on; none of an empty one.

    Of a document with pages or records it makes one of each of these.
    """

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return "whole text 1"

    def __call__(self, document: Document, /) -> list[Chunk]:
        """The chunks of `document`, without the white space around them."""
        chunks: list[Chunk] = []
        for part in parts_of(document):
            span = trimmed(document.text, part)
            if span[0] < span[1]:
                chunks.append(chunk_of(document, part, len(chunks), span))
        return chunks


DEFAULT_MAX_CHUNK_SIZE = 800


@dataclass(frozen=True)
class HeadingChunker:
    """Cuts a text so that no chunk crosses a heading, a page or a record.

    A heading line belongs to the first chunk of its section, and a heading without text of its own to the
    first chunk below it, so that every visible character of the body is in exactly one chunk. Chunks are
    slices of the original text. The heading path goes on from page to page, and from no slide to the next. A record
    that fits is one chunk. Rows of a table that stand in another chunk than the names of its columns have these as
    their innermost heading, and share their chunk with nothing else.

    Args:
        max_chunk_size: characters that no chunk exceeds, at least 1.
        min_chunk_size: characters up to which paragraphs under one heading are packed together; half of
            `max_chunk_size` when it is not given.

    Raises:
        ValueError: `max_chunk_size` is below 1.
    """

    max_chunk_size: int = DEFAULT_MAX_CHUNK_SIZE
    min_chunk_size: int | None = None

    def __post_init__(self) -> None:
        if self.max_chunk_size < 1:
            raise ValueError(f"max_chunk_size must be at least 1, not {self.max_chunk_size}")

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return f"headings 6 {self.max_chunk_size} {self.min_chunk_size}"

    def __call__(self, document: Document, /) -> list[Chunk]:
        """The chunks of `document` in order."""
        chunks: list[Chunk] = []
        section = _Section()
        for part in parts_of(document):
            start, end = trimmed(document.text, part)
            # A row of a table in a PDF stands behind its pages, and below none of their headings.
            is_record = document.media_type == RECORDS or FILE_ROW in part.metadata
            if is_record and 0 < end - start <= self.max_chunk_size:
                chunks.append(chunk_of(document, part, len(chunks), (start, end)))
            elif start < end:
                begins = is_record or document.media_type == PPTX
                section = self._cut(document, part, _Section() if begins else section, chunks)
        return chunks

    def _cut(self, document: Document, part: Part, section: _Section, chunks: list[Chunk]) -> _Section:
        """Add the chunks of `part`, which begins below the headings of `section`; the section that it ends in."""
        smallest = self.max_chunk_size // 2 if self.min_chunk_size is None else self.min_chunk_size
        last = section
        for last in _sections(document_blocks(document, part), section):
            cutter = _Cutter(document.text, last, self.max_chunk_size, smallest)
            for span in cutter.spans():
                above = last.above_rows(cutter.columns(span[0]))
                chunks.append(chunk_of(document, part, len(chunks), span, above))
        return last


@dataclass
class _Section:
    """The blocks below one heading; `own` counts the heading lines at the front."""

    above: Above = TOP
    blocks: list[Block] = field(default_factory=list)
    own: int = 0

    def below(self, heading: Block) -> _Section:
        """The section that `heading` opens after this one."""
        headings, levels = self.above
        kept = sum(level < heading.level for level in levels)
        above = Above((*headings[:kept], heading.title), (*levels[:kept], heading.level))
        return _Section(above, [heading], 1)

    def above_rows(self, columns: str) -> Above:
        """What stands above rows below the names of `columns`; without names, what does above the section."""
        headings, levels = self.above
        return Above((*headings, columns), (*levels, max(levels, default=0) + 1)) if columns else self.above


def _sections(blocks: list[Block], above: _Section) -> Iterator[_Section]:
    """The sections of `blocks`, the first one below the headings of `above`."""
    section = _Section(above.above)
    for block in blocks:
        if not block.level:
            section.blocks.append(block)
            continue
        opened = section.below(block)
        # A heading without text takes in the one directly below it.
        if 0 < section.own == len(section.blocks) and section.above.levels[-1] < block.level:
            opened.blocks, opened.own = [*section.blocks, block], section.own + 1
        elif section.blocks:
            yield section
        section = opened
    if section.blocks:
        yield section


class _Cutter:
    """Finds the cuts within one section."""

    def __init__(self, text: str, section: _Section, largest: int, smallest: int) -> None:
        self._text = text
        self._blocks = section.blocks
        self._starts = [block.start for block in section.blocks]
        self._end = section.blocks[-1].end
        self._end = self._before_space(self._starts[0], self._end)
        # Behind the heading lines: before it a cut would leave a heading without its text.
        self._body = section.blocks[section.own].start if section.own < len(section.blocks) else self._end
        self._largest = largest
        self._smallest = smallest
        self._inner: tuple[int, list[int]] = (-1, [])
        self._named: tuple[int, str] = (-1, "")

    def spans(self) -> Iterator[tuple[int, int]]:
        """The spans of the section's chunks, without the white space around them."""
        start = self._skip_space(self._starts[0])
        while start < self._end:
            cut = self._cut(start)
            yield start, self._before_space(start, cut)
            start = self._skip_space(cut)

    def columns(self, start: int) -> str:
        """The names of the columns of the table within which `start` is; empty at its beginning and elsewhere."""
        block = self._block_at(start)
        if self._named[0] != block.start:
            self._named = (block.start, column_names(self._text, block) if block.whole else "")
        return self._named[1] if start > block.start else ""

    def _cut(self, start: int) -> int:
        edges = self._edges(start)
        if edges and self.columns(start):
            return edges[0]
        for edge, following in pairwise(edges):
            if edge - start >= self._smallest <= self._before_space(edge, following) - edge:
                return edge
        if edges and (edges[-1] == self._end or self._stays_whole(edges[-1])):
            return edges[-1]
        return self._cut_inside(start, edges)

    def _edges(self, start: int) -> list[int]:
        """The block edges at which a chunk from `start` on may end without being too long."""
        first = bisect_right(self._starts, max(start, self._body - 1))
        edges: list[int] = []
        for edge in (*self._starts[first : first + self._largest], self._end):
            if self._before_space(start, edge) - start > self._largest:
                break
            if edge > self._body or edge == self._end:
                edges.append(edge)
        return [edge for edge in edges if not self._parts_code(start, edge)] or edges

    def _parts_code(self, start: int, edge: int) -> bool:
        """Whether a cut at `edge` parts code from the paragraph above that announces it, without whose "::" nothing
        tells that it is code, though both fit into a chunk without what else stands above from `start` on."""
        place = bisect_right(self._starts, edge) - 1
        above, below = self._blocks[place - 1 : place + 1] if place else (self._blocks[0], self._blocks[0])
        return (
            below.whole
            and start < above.start < below.start == edge
            and self._text.endswith("::", above.start, self._before_space(above.start, above.end))
            and self._before_space(above.start, below.end) - above.start <= self._largest
        )

    def _stays_whole(self, edge: int) -> bool:
        block = self._block_at(edge)
        return block.whole or self._fits(block)

    def _cut_inside(self, start: int, edges: list[int]) -> int:
        limit = start + self._largest
        least = edges[-1] if edges else max(start, self._body)
        block = self._block_at(least)
        if not edges and start < block.start <= limit and block.whole and self._fits(block):
            return block.start
        ends = self._inner_ends(block)
        found = bisect_right(ends, limit)
        if found and ends[found - 1] > least:
            return ends[found - 1]
        return edges[-1] if edges else self._cut_at_space(start, limit)

    def _block_at(self, offset: int) -> Block:
        return self._blocks[bisect_right(self._starts, offset) - 1]

    def _fits(self, block: Block) -> bool:
        return self._before_space(block.start, block.end) - block.start <= self._largest

    def _inner_ends(self, block: Block) -> list[int]:
        """The offsets at which lines (of a table or fence) or sentences of `block` end."""
        if self._inner[0] != block.start:
            body = self._text[block.start : block.end]
            if block.whole:
                ends = [block.start + found.end() for found in LINE_END.finditer(body)]
            else:
                ends = [block.start + end for _, end in sentences(body)]
            self._inner = (block.start, ends)
        return self._inner[1]

    def _cut_at_space(self, start: int, limit: int) -> int:
        least = max(start, min(self._body, limit - 1))
        line_end = self._text.rfind("\n", max(least, limit - self._largest // 2), limit + 1)
        if line_end > least:
            return line_end
        for lowest in (least, start):
            space = max(self._text.rfind(mark, lowest + 1, limit + 1) for mark in " \n\t")
            if space > lowest:
                return space
        return limit

    def _skip_space(self, offset: int) -> int:
        while offset < self._end and self._text[offset].isspace():
            offset += 1
        return offset

    def _before_space(self, start: int, offset: int) -> int:
        while offset > start and self._text[offset - 1].isspace():
            offset -= 1
        return offset
