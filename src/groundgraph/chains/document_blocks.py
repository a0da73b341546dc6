"""The blocks of one part of a document, by what kind of text it is."""

from __future__ import annotations

from itertools import pairwise

from groundgraph.chains.blocks import Block, line_starts
from groundgraph.chains.markdown_blocks import markdown_blocks
from groundgraph.chains.page_blocks import page_blocks
from groundgraph.chains.plain_blocks import plain_blocks
from groundgraph.core.document import MARKDOWN, PDF, RECORDS, Document, Part


def document_blocks(document: Document, part: Part) -> list[Block]:
    """The blocks of `part`, without a gap."""
    start, body = part.start, document.text[part.start : part.end]
    if document.media_type == RECORDS:
        lines = line_starts(body)
        found = [Block(first, last) for first, last in pairwise(lines)]
    elif document.media_type == PDF:
        return page_blocks(document.text, start, part.end, document.headings)
    else:
        # What stands outside of the part must not be read: it could be taken for an end of one of its blocks.
        found = (markdown_blocks if document.media_type == MARKDOWN else plain_blocks)(body)
    return [_moved(block, start) for block in found] if start else found


def _moved(block: Block, by: int) -> Block:
    return Block(block.start + by, block.end + by, block.level, block.title, block.whole)
