"""A document as inert HTML, with the words of a citation marked: Markdown, plain text, records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from groundgraph.core.document import Document, Part
from groundgraph.report.words import Span, joined, marked, visible

# So many characters are shown around a passage: a browser need not lay out a book.
WINDOW = 60_000
_AROUND_ROWS = 25
# Stand for where a mark begins and ends while Markdown is read; in a text of others they are taken out.
_BEGIN, _END = "\ue000", "\ue001"
_SIGNS = re.compile(f"[{_BEGIN}{_END}]")
_WORD_SIGN = re.compile(r"\w")
# What ends a sentence is no sign of Markdown.
_SENTENCE_END = re.compile(r"[.,;:!?…]*")
_TOP = 1


def window(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of `text` that is shown around `start` to `end`: whole paragraphs where they are short enough."""
    if len(text) <= WINDOW:
        return 0, len(text)
    spare = max(0, WINDOW - (end - start)) // 2
    low, high = max(0, start - spare), min(len(text), end + spare)
    first, last = text.find("\n\n", low, start), text.rfind("\n\n", end, high)
    return (first + 2 if low and first >= 0 else low), (last if high < len(text) and last >= 0 else high)


def plain_html(text: str, spans: Sequence[Span]) -> Markup:
    """A text as it stands, `spans` marked."""
    return Markup('<div class="plain" dir="auto">{}</div>').format(marked(text, 0, len(text), joined(spans)))


def markdown_html(text: str, spans: Sequence[Span]) -> Markup:
    """Markdown as HTML without links, images and tags of its own, `spans` marked.

    A mark that would begin or end in the middle of a sign of Markdown is drawn in to the next word; where that is not
    enough, the text is shown as it stands, since a passage must be seen.
    """
    wanted = [span for span in (_on_words(text, span) for span in joined(spans)) if span]
    signed, at = [], 0
    for span in wanted:
        signed += [_clean(text[at : span.start]), _BEGIN, _clean(text[span.start : span.end]), _END]
        at = span.end
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_inline", "html_block"])
    renderer = _Renderer()
    html = renderer.render(parser.parse("".join([*signed, _clean(text[at:])])), parser.options, {})
    if renderer.signs != [_BEGIN, _END] * len(wanted):
        return plain_html(text, spans)
    return Markup('<div class="prose" dir="auto">{}</div>').format(Markup(html))


def _clean(text: str) -> str:
    return _SIGNS.sub("\ufffd", text)


def _on_words(text: str, span: Span) -> Span | None:
    """`span` from its first letter or digit to its last; None when it has none."""
    first = _WORD_SIGN.search(text, span.start, span.end)
    if first is None:
        return None
    end = span.end
    while not _WORD_SIGN.match(text[end - 1]):
        end -= 1
    closed = _SENTENCE_END.match(text, end, span.end)
    return Span(first.start(), closed.end() if closed else end)


class _Renderer(RendererHTML):
    """markdown-it's own, with marks between the signs, and links as their words."""

    def __init__(self) -> None:
        super().__init__()
        self.signs: list[str] = []

    def render(self, tokens: Sequence[Token], options: Any, env: Any) -> str:
        parts: list[str] = []
        for index, token in enumerate(tokens):
            token.attrs = {}
            if token.type.startswith("heading"):
                token.tag = f"h{min(6, int(token.tag[1:]) + _TOP)}"
            if token.type == "inline":
                parts.append("".join(self._inline(token.children or [], options, env)))
            elif token.type in ("fence", "code_block"):
                parts.append(f"<pre><code>{self._text(token.content)}</code></pre>\n")
            else:
                parts.append(self.renderToken(tokens, index, options, env))
        return "".join(parts)

    def _inline(self, children: Sequence[Token], options: Any, env: Any) -> Iterator[str]:
        for index, token in enumerate(children):
            token.attrs = {}
            if token.type.startswith("link_"):
                continue
            if token.type == "code_inline":
                yield f"<code>{self._text(token.content)}</code>"
            elif token.type in ("softbreak", "hardbreak"):
                yield self._piece("\n") if token.type == "softbreak" else "<br>"
            elif token.nesting:
                yield self.renderToken(children, index, options, env)
            else:
                yield self._text(token.content)

    def _text(self, text: str) -> str:
        """A text within one element, with what stands between the signs marked."""
        parts: list[str] = []
        at = 0
        for sign in _SIGNS.finditer(text):
            parts.append(self._piece(text[at : sign.start()]))
            self.signs.append(sign.group())
            at = sign.end()
        return "".join([*parts, self._piece(text[at:])])

    def _piece(self, text: str) -> str:
        inside = self.signs and self.signs[-1] == _BEGIN
        return f"<mark>{visible(text)}</mark>" if inside and text else str(visible(text))


def records_html(document: Document, at: int) -> Markup:
    """The records of a table around the one that holds offset `at`, which is marked."""
    parts = document.parts
    cited = next((number for number, part in enumerate(parts) if part.start <= at < part.end), 0)
    shown = range(max(0, cited - _AROUND_ROWS), min(len(parts), cited + _AROUND_ROWS + 1))
    rows = {number: dict(_fields(document, parts[number])) for number in shown}
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(visible(name)) for name in names)
    body = Markup("").join(_row(row, names, cited=number == cited) for number, row in rows.items())
    return Markup('<div class="wide"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>').format(
        head, body
    )


def _fields(document: Document, part: Part) -> Iterator[tuple[str, str]]:
    for line in document.text[part.start : part.end].split("\n"):
        name, colon, value = line.partition(": ")
        if colon:
            yield name, value


def _row(row: dict[str, str], names: Sequence[str], *, cited: bool) -> Markup:
    shown = Markup("<mark>{}</mark>") if cited else Markup("{}")
    cells = (shown.format(visible(row[name])) if row.get(name) else Markup("") for name in names)
    inside = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
    return Markup('<tr class="lit">{}</tr>' if cited else "<tr>{}</tr>").format(inside)
