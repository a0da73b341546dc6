"""What a citation leads to: the passage in its document, as far as its reader may see the document; of a PDF
the page as a picture, with the places of the quote."""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup
from pydantic import ByteSize

from groundgraph.core.document import DOCUMENTS, PDF, RECORDS, Document, Part, is_text, media_type_of
from groundgraph.core.errors import GroundGraphError, IngestError
from groundgraph.graph.knowledge_base import KnowledgeBase
from groundgraph.graph.knowledge_base_files import knowledge_base_files
from groundgraph.ingest.load_pdf import Box, page_picture, quote_boxes
from groundgraph.ingest.readers import Readers
from groundgraph.report.evidence import Piece, evidence_of
from groundgraph.report.words import Span, joined, marked, visible
from groundgraph.resilience.blocking import run_blocking
from groundgraph.serve.conversations import NotFound
from groundgraph.settings.knowledge_base import ReaderSettings
from groundgraph.settings.settings import Settings

T = TypeVar("T")
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
    rows = {number: dict(_fields(document, parts[number])) for number in _rows_around(parts, cited)}
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(visible(name)) for name in names)
    body = Markup("").join(_row(row, names, cited=number == cited) for number, row in rows.items())
    return Markup('<div class="wide"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>').format(
        head, body
    )


def _rows_around(parts: Sequence[Part], cited: int) -> range:
    """The rows that are shown around the cited one: as many as fit into the window on either side."""
    first = last = cited
    least, most = max(0, cited - _AROUND_ROWS), min(len(parts) - 1, cited + _AROUND_ROWS)
    while first > least and parts[cited].start - parts[first - 1].start <= WINDOW // 2:
        first -= 1
    while last < most and parts[last + 1].end - parts[cited].end <= WINDOW // 2:
        last += 1
    return range(first, last + 1)


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


# The passage in its document, as far as its reader may see the document.

# A page that takes longer is not drawn: whoever clicked on it waits.
_SECONDS = 5.0
# While one of them is at a page that takes so long, the other draws what others look at.
_PROCESSES = 2


@cache
def _drawing(memory: int, seconds: float) -> Readers:
    """The processes in which pages of PDFs are looked at, kept from page to page; they end with this one."""
    readers = Readers(ReaderSettings(memory=ByteSize(memory), seconds=seconds), _PROCESSES, patience=seconds)
    atexit.register(readers.close)
    return readers


_NO_SUCH = "The answer cites nothing under this number."
_NO_PICTURE = "This page cannot be shown as a picture."


@dataclass(frozen=True)
class Passage:
    """A passage as a reader sees it.

    Attributes:
        title: of its document.
        shown: where it stands.
        url: of the page of the web that it is from; empty for none.
        html: the document around it, inert, with its words in `mark`.
        page: of a PDF, from 1; None where there is no picture of it.
        boxes: on that page, see `quote_boxes`.
        cut: whether there is more of the document than in `html`.
    """

    title: str
    shown: str
    url: str = ""
    html: Markup = field(default_factory=Markup)
    page: int | None = None
    boxes: Sequence[Box] = ()
    cut: bool = False


class Passages:
    """The passages of recorded turns."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.without_models()
        self.bases = list(knowledge_base_files(self._settings))

    def may_show(self, source: str) -> bool:
        """Whether whole documents of a source may be seen: it is a base, and no filter hides parts of it."""
        filters = (self._settings.retrieval.scope_filters, self._settings.intent.default_filters)
        return source in self.bases and not any(one.get(source) for one in filters)

    def base(self, source: str) -> KnowledgeBase:
        """The knowledge base behind a source of which documents may be seen.

        Raises:
            NotFound: there is none.
        """
        if not self.may_show(source):
            raise NotFound("There is no such source.")
        return KnowledgeBase.open(self._settings, source=source)

    async def passage(self, record: Mapping[str, Any], label: int) -> Passage:
        """What the answer of a turn cites as `label`.

        Raises:
            NotFound: it cites nothing so.
        """
        piece, own = _cited(record, label), cited_place(record, label)
        row, spans = piece.row, piece.spans
        document, start = await self._document(row)
        if document is None or start is None:
            return replace(own, html=plain_html(row["text"], spans), cut=document is not None)
        # A record of a schema of one's own stands alone, and its text need not be made of fields.
        if document.media_type == RECORDS and document.kind == DOCUMENTS:
            return replace(own, html=await run_blocking(records_html, document, start), cut=True)
        low, high = window(document.text, start, start + len(row["text"]))
        placed = [Span(span.start + start - low, span.end + start - low) for span in spans]
        # Markdown may take seconds, in which others ask too.
        html = await run_blocking(_html_of(document.media_type), document.text[low:high], placed)
        found = replace(own, html=html, cut=high - low < len(document.text))
        return await self._pictured(found, document, piece) if document.media_type == PDF else found

    async def picture(self, record: Mapping[str, Any], label: int) -> bytes:
        """The page that `label` cites, as PNG.

        Raises:
            NotFound: it cites no page of a PDF that is still there, or one that cannot be drawn within bounds.
        """
        piece = _cited(record, label)
        document, _ = await self._document(piece.row)
        path = self._file(document) if document else None
        page = piece.citations[0]["location"].get("page")
        if document is None or path is None or page is None:
            raise NotFound(_NO_SUCH)
        try:
            return await self._drawn(page_picture, path, page, self._password(document.name))
        except IngestError:
            raise NotFound(_NO_PICTURE) from None

    async def _document(self, row: Mapping[str, Any]) -> tuple[Document | None, int | None]:
        """The document of a passage and where it begins there; None for what may not be seen or is not there."""
        name = row["metadata"].get("document")
        if not name or not self.may_show(row["source_name"]):
            return None, None
        base = self.base(row["source_name"])
        try:
            document = await base.adocument(name)
            chunks = await base.achunks(name) if document else []
        except GroundGraphError:
            return None, None
        finally:
            await base.aclose()
        starts = (prepared.chunk.start for prepared in chunks if prepared.chunk.chunk_id == row["source_id"])
        return document, _begins_at(document, row["text"], next(starts, -1))

    async def _pictured(self, found: Passage, document: Document, piece: Piece) -> Passage:
        """`found` with the page on which it is seen and its place there, as far as both can be told."""
        path, page = self._file(document), piece.citations[0]["location"].get("page")
        if path is None or page is None:
            return found
        quotes = [piece.row["text"][span.start : span.end] for span in piece.spans]
        try:
            boxes = await self._drawn(quote_boxes, path, page, quotes, self._password(document.name))
        except IngestError:
            return found
        return replace(found, page=page, boxes=boxes) if boxes else found

    async def _drawn(self, function: Callable[..., T], *arguments: object) -> T:
        """What `function` tells of a page: in a process of its own, since a small file may ask for endless work.

        Raises:
            IngestError: it failed, or passed a limit of time or memory.
        """
        base = self._settings.knowledge_base
        limits = base.reader if base else ReaderSettings()
        drawing = _drawing(int(limits.memory), min(limits.seconds, _SECONDS))
        return await run_blocking(drawing.call, function, *arguments)

    def _file(self, document: Document) -> Path | None:
        """The file of a document that was taken in; None where it is not there any more, or leads out of its folder."""
        folder = os.path.realpath(self._settings.base_dir)
        path = Path(os.path.realpath(self._settings.base_dir / document.name))
        inside = path.is_relative_to(folder) or os.path.isabs(document.name)
        return path if inside and media_type_of(path.name) == PDF and path.is_file() else None

    def _password(self, name: str) -> str | None:
        base = self._settings.knowledge_base
        known = base.passwords if base else {}
        return next((password for pattern, password in known.items() if fnmatch(name, pattern)), None)


def cited_place(record: Mapping[str, Any], label: int) -> Passage:
    """Where the passage stands that the answer of a turn cites as `label`, without the document around it.

    Raises:
        NotFound: it cites nothing so.
    """
    piece = _cited(record, label)
    metadata = piece.row["metadata"]
    title = str(metadata.get("title") or metadata.get("document") or piece.row["source_id"])
    return Passage(title, piece.citations[0]["location"]["shown"], _address(piece.row))


def _begins_at(document: Document | None, text: str, start: int) -> int | None:
    """Where `text` stands in `document`: at `start` where it does. A document may have changed since, and a passage
    that was joined of several has the id of one."""
    if document and (start < 0 or not document.text.startswith(text, start)):
        start = document.text.find(text)
    return start if start >= 0 else None


def _html_of(media_type: str) -> Callable[[str, Sequence[Span]], Markup]:
    as_it_stands = media_type in (PDF, RECORDS) or (is_text(media_type) and media_type != "text/markdown")
    return plain_html if as_it_stands else markdown_html


def _cited(record: Mapping[str, Any], label: int) -> Piece:
    found = next((piece for piece in evidence_of(record).cited if piece.label == label and piece.citations), None)
    if found is None:
        raise NotFound(_NO_SUCH)
    return found


def _address(row: Mapping[str, Any]) -> str:
    url = str(row["metadata"].get("url") or "")
    return url if url.startswith(("https://", "http://")) else ""
