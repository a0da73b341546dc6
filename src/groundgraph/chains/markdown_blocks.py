"""The blocks of a Markdown text, by the line maps of markdown-it-py; the text itself is never rebuilt."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from groundgraph.chains.blocks import Block, line_starts, tiled

_BLOCK_RULES = MarkdownIt("commonmark").enable("table")
# Inline markup matters for headings only; leaving it out makes a long text several times faster.
_BLOCK_RULES.core.ruler.enableOnly(["normalize", "block"])
_INLINE_RULES = MarkdownIt("commonmark")
_WHOLE = ("fence", "code_block", "table_open")


def markdown_blocks(text: str, start: int = 0) -> list[Block]:
    """The outermost blocks of `text` from `start` on, without a gap; headings have their level."""
    lines = line_starts(text, start)
    found = list(_outermost(_BLOCK_RULES.parse(text[start:]), lines))
    return tiled(found, start, len(text))


def _outermost(tokens: list[Token], lines: list[int]) -> Iterator[Block]:
    for index, token in enumerate(tokens):
        if token.level == 0 and token.map is not None and token.nesting >= 0:
            first, last = (lines[min(line, len(lines) - 1)] for line in token.map)
            if token.type == "heading_open":
                yield Block(first, last, int(token.tag[1:]), _plain(tokens[index + 1].content))
            else:
                yield Block(first, last, whole=token.type in _WHOLE)


def _plain(markup: str) -> str:
    children = _INLINE_RULES.parseInline(markup)[0].children or []
    words = (
        child.content if child.type in ("text", "code_inline", "image") else " "
        for child in children
        if child.content or child.type in ("softbreak", "hardbreak")
    )
    return " ".join("".join(words).split())
