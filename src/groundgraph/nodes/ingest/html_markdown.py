"""The content of a web page as Markdown: its words as they are, its headings, lists, code and tables marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset(
    [
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "math", "meter", "nobr", "q", "s", "samp", "small", "span", "strike"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    ]
)
_LINE_BREAK = "\x1e"
# What Markdown would take for a heading, a fence or a rule although the page means words.
_MISREAD = re.compile(r"#{1,6}(?:\s|$)|```|~~~|=+$|-{2,}$|>\s")


def html_markdown(root: Any) -> str:
    """The text below the lxml element `root`, blocks set apart by blank lines."""
    return "\n\n".join(_block(root)) + "\n"


def is_layout(table: Any) -> bool:
    """Whether a table only places things on the page: it holds another one, or headings."""
    return bool(table.xpath(".//table|.//h1|.//h2|.//h3"))


def table_rows(table: Any) -> list[list[str]]:
    """The cells of each row that has any text."""
    rows = [[_words("".join(_inline_text(cell))) for cell in row.xpath("./td|./th")] for row in table.iter("tr")]
    return [[cell.replace("\n", " ") for cell in row] for row in rows if any(row)]


def _blocks(node: Any) -> Iterator[str]:
    """The blocks below `node`; text that stands loose between them is a block of its own."""
    loose = [node.text or ""]
    for child in node:
        if _is_inline(child):
            loose += _inline_text(child)
        else:
            yield from _paragraph(loose)
            loose = []
            yield from _block(child)
        loose.append(child.tail or "")
    yield from _paragraph(loose)


def _is_inline(node: Any) -> bool:
    if not isinstance(node.tag, str) or node.tag == "br":
        return True
    # Some pages wrap whole sections into a link or a span.
    return node.tag in _INLINE and not any(child.tag not in _INLINE for child in node.iter() if _is_block(child))


def _is_block(node: Any) -> bool:
    return isinstance(node.tag, str) and node.tag not in _INLINE and node.tag != "br"


def _block(node: Any) -> Iterator[str]:
    if node.tag in _HEADINGS:
        words = _words("".join(_inline_text(node))).replace("\n", " ")
        if words:
            yield f"{'#' * _HEADINGS[node.tag]} {words}"
    elif node.tag == "pre":
        yield from _code(node)
    elif node.tag in ("ul", "ol"):
        yield from _list(node)
    elif node.tag == "blockquote":
        quoted = "\n\n".join(_blocks(node))
        if quoted:
            yield "\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))
    elif node.tag == "table" and not is_layout(node):
        yield from _table(node)
    else:
        yield from _blocks(node)


def _paragraph(parts: list[str]) -> Iterator[str]:
    words = _words("".join(parts))
    if words:
        yield "\n".join(f"\\{line}" if _MISREAD.match(line) else line for line in words.split("\n"))


def _inline_text(node: Any) -> list[str]:
    """The text of `node` and below, without its tail; blocks inside are set apart by a space."""
    if not isinstance(node.tag, str):
        return []
    if node.tag == "br":
        return [_LINE_BREAK]
    parts = [node.text or ""]
    for child in node:
        parts += _inline_text(child) if _is_inline(child) else [" ", *_inline_text(child), " "]
        parts.append(child.tail or "")
    return parts


def _words(text: str) -> str:
    """`text` with white space as a browser shows it."""
    lines = (" ".join(line.split()) for line in text.split(_LINE_BREAK))
    return "\n".join(line for line in lines if line)


def _code(node: Any) -> Iterator[str]:
    code = "".join(node.itertext()).strip("\n").rstrip()
    if code.strip():
        longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
        fence = "`" * (longest + 1)
        yield f"{fence}\n{code}\n{fence}"


def _list(node: Any) -> Iterator[str]:
    items: list[str] = []
    for number, item in enumerate((child for child in node if isinstance(child.tag, str)), 1):
        mark = f"{number}. " if node.tag == "ol" else "- "
        text = "\n".join(_blocks(item) if item.tag not in ("ul", "ol") else _list(item))
        if text:
            items.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    if items:
        yield "\n".join(items)


def _table(node: Any) -> Iterator[str]:
    yield from (" ".join(caption.itertext()).strip() for caption in node.xpath("./caption") if caption.text)
    rows = table_rows(node)
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if rows and len(rows[0]) > 1:
        # Markdown knows only tables whose first row is a heading.
        lines.insert(1, "|" + "---|" * len(rows[0]))
    if lines:
        yield "\n".join(lines)
