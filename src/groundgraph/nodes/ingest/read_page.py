"""Reads a web page that was fetched into a `Document`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from groundgraph.core.document import HTML, MARKDOWN, PDF, PLAIN_TEXT, WEB_PAGES, Document
from groundgraph.nodes.ingest.load_html import load_html
from groundgraph.nodes.ingest.load_pdf import load_pdf
from groundgraph.nodes.ingest.load_text import first_heading, load_text

_PAGES = frozenset({HTML, "application/xhtml+xml"})
_MARKDOWN = frozenset({MARKDOWN, "text/x-markdown"})
KINDS = _PAGES | _MARKDOWN | {PLAIN_TEXT, PDF}


def read_page(body: bytes, kind: str, charset: str, name: str, url: str) -> Document:
    """The document `name` in what a server sent, one of `KINDS` but no PDF.

    Args:
        body: what the server sent.
        kind: what it said that this is.
        charset: the encoding that it named, empty for none.
        name: the name of the document.
        url: where it came from after all redirects.

    Raises:
        IngestError: it holds no text, or is too damaged to be read.
    """
    if kind in _PAGES:
        found = load_html(_as_utf8(body, charset))
        title = found.title or first_heading(found.text, 0, MARKDOWN) or _last_part(url)
        return _described(name, url, Document(name, found.text, MARKDOWN, {"title": title}, 0, found.warnings))
    media_type = MARKDOWN if kind in _MARKDOWN or url.endswith((".md", ".markdown")) else PLAIN_TEXT
    return _described(name, url, load_text(_as_utf8(body, charset), _last_part(url), media_type))


def read_pdf_page(path: Path, name: str, url: str) -> Document:
    """The document `name` in the PDF at `path`, which came from `url`.

    Raises:
        IngestError: as for `load_pdf`.
    """
    return _described(name, url, load_pdf(path, _last_part(url)))


def _described(name: str, url: str, read: Document) -> Document:
    # Nothing but the title of its front matter: a site must not set the fields that filters rely on.
    return replace(read, name=name, kind=WEB_PAGES, metadata={"title": read.title, "url": url})


def _as_utf8(body: bytes, charset: str) -> bytes:
    """`body` in UTF-8, by the server's `charset`, which counts for more than what a page declares.

    A body that is UTF-8 stays as it is: many servers name the same charset for all their pages, and text in another
    encoding is next to never legal UTF-8. NUL and ESC are found in UTF-16 and in Japanese encodings of seven bits.
    """
    try:
        body.decode("utf-8")
        if b"\0" not in body and b"\x1b" not in body:
            return body
    except UnicodeDecodeError:
        pass
    try:
        return body.decode(charset or "utf-8").encode("utf-8")
    except (LookupError, ValueError):
        return body


def _last_part(url: str) -> str:
    """The end of the path of `url`, or its host: a title where the page has none."""
    parts = urlsplit(url)
    return unquote(parts.path.rstrip("/").rpartition("/")[2]) or str(parts.hostname)
