"""Descriptions of packages without what only a web page shows: badges, images, HTML, link targets."""

from __future__ import annotations

import re

from groundgraph.core.document import MARKDOWN

_FENCED = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[ \t]*+$|\Z))", re.MULTILINE | re.DOTALL)
_MARKDOWN = (
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), ""),
    (re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE), ""),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    # A badge is an image inside a link; images go first, and the link is empty then.
    (re.compile(r"!\[[^\[\]]*+\](?:\([^()]*+\)|\[[^\[\]]*+\])"), ""),
    (re.compile(r"\[\s*+\](?:\([^()]*+\)|\[[^\[\]]*+\])"), ""),
    (re.compile(r"(?<![\w\])])\[([^\[\]]+)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"(?<![\w\])])\[([^\[\]]+)\]\[[^\]]*\]"), r"\1"),
    (re.compile(r"^ {0,3}\[[^\[\]]++\]:\s++\S.*$", re.MULTILINE), ""),
)
_RESTRUCTURED = (
    (
        re.compile(
            r"^\.\. (?:\|[^|]+\| )?(?:image|figure|raw|badge)::.*\n(?:[ \t]+\S.*\n?|[ \t]*\n(?=[ \t]+:))*", re.M
        ),
        "",
    ),
    (re.compile(r"^\.\. _[^:\n]+:.*$|^\.\. \|[^|]+\| .*$", re.MULTILINE), ""),
    (re.compile(r"(?<![a-z:]):[a-z][a-z:]*+(?<=:)`~?((?>[^`<]*[^`<\s]))\s*+(?:<[^`>]*+>)?`"), r"\1"),
    (re.compile(r"`((?>[^`<]*[^`<\s]))\s*+<[^`>]++>`__?"), r"\1"),
    (re.compile(r"`([^`\n]+)`__?"), r"\1"),
    (re.compile(r"\\([:*_`|<>])"), r"\1"),
    (re.compile(r"(?:^|(?<=\s))\|[^|\s][^|\n]*\|_{0,2}(?=\s|$)"), ""),
)
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def readable(text: str, media_type: str) -> str:
    """`text` with prose, headings and code; what stands in fenced code blocks is left alone."""
    text = text.replace("\r\n", "\n")
    if media_type == MARKDOWN:
        # Every second piece is a fenced block.
        pieces = [piece if n % 2 else _without(piece, _MARKDOWN) for n, piece in enumerate(_FENCED.split(text))]
        text = "".join(pieces)
    else:
        text = _without(text, _RESTRUCTURED)
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def _without(text: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
