"""Fetches a web page by its URL and reads it into a `Document`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from groundgraph.core.document import HTML, MARKDOWN, PDF, PLAIN_TEXT, WEB_PAGES, Document
from groundgraph.core.errors import IngestError, PageNotLoaded
from groundgraph.ingest.load_html import load_html
from groundgraph.ingest.load_pdf import load_pdf
from groundgraph.ingest.load_text import first_heading, load_text
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.knowledge_base import WebSettings

if TYPE_CHECKING:
    from types import TracebackType

    import httpcore

    from groundgraph.ingest.fetch_page import FetchedPage, PageFetcher
    from groundgraph.ingest.guarded_network import Resolve


# Reads a web page that was fetched into a `Document`.

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
    return _described(name, url, load_pdf(path, _last_part(url))[0])


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


# Calls a function with arguments, and blocks: here, or in a process that may be ended.
Read = Callable[..., Any]


class PageLoader:
    """Loads pages for one run: hosts are asked one request at a time, and each robots.txt once.

    It may be entered again after it was left: connections are closed meanwhile, what is known of the hosts is kept.

    ::

        async with PageLoader(settings.knowledge_base.web) as pages:
            document = await pages.load("https://example.org/guide")

    Args:
        settings: the limits.
        resolve: looks a host up; the system does by default.
        dial: makes the connection to an address that was checked.
        read: calls the function that reads what was fetched; directly by default.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        resolve: Resolve | None = None,
        dial: httpcore.AsyncNetworkBackend | None = None,
        read: Read = lambda function, *arguments: function(*arguments),
    ) -> None:
        self._settings = settings
        self._resolve = resolve
        self._dial = dial
        self._read = read
        self._fetcher: PageFetcher | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        # httpx loads here and not with groundgraph.
        from groundgraph.ingest.fetch_page import PageFetcher
        from groundgraph.ingest.guarded_network import resolve_host

        if self._fetcher is None:
            self._fetcher = PageFetcher(self._settings, resolve=self._resolve or resolve_host, dial=self._dial)
        await self._fetcher.__aenter__()
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        if self._fetcher is not None:
            await self._fetcher.__aexit__(kind, error, traceback)

    async def load(self, url: str) -> Document:
        """The page at `url`, of the kind `web_pages`: its main text as Markdown, under its URL without fragment.

        A plain text or Markdown file is taken as it is, a PDF with a part for each page. `url` in the metadata is
        where the page came from after all redirects.

        Raises:
            PageNotLoaded: it cannot be fetched, must not be fetched, is too large, or holds no text.
        """
        if self._fetcher is None or not self._open:
            raise RuntimeError("a PageLoader is open only inside `async with`")
        from groundgraph.ingest.fetch_page import page_url

        name = str(page_url(url))
        page = await self._fetcher.fetch(name)
        try:
            return await run_blocking(_read, name, page, self._read)
        except PageNotLoaded:
            raise
        except IngestError as error:
            raise PageNotLoaded("content", str(error), url=name, hop=page.url) from error


def _read(name: str, page: FetchedPage, read: Read) -> Document:
    header = Message()
    header["Content-Type"] = page.content_type
    kind = header.get_content_type() if page.content_type else _guessed(page.body)
    if kind not in KINDS:
        detail = f"'{kind}' is not supported: HTML, plain text, Markdown and PDF are"
        raise PageNotLoaded("content_type", detail, url=name, hop=page.url)
    document: Document
    if kind == PDF:
        # Made here, since a process that is ended would leave it behind.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page.pdf")
            path.write_bytes(page.body)
            document = read(read_pdf_page, path, name, page.url)
    else:
        document = read(read_page, page.body, kind, str(header.get_content_charset() or ""), name, page.url)
    return document


def _guessed(body: bytes) -> str:
    head = body.lstrip()[:5]
    return HTML if head.startswith(b"<") else PDF if head.startswith(b"%PDF-") else "no content type"
