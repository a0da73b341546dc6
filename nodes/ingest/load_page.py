"""Reads a web page by its URL into a `Document`."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from groundgraph.core.blocking import run_blocking
from groundgraph.core.document import HTML, MARKDOWN, PDF, PLAIN_TEXT, WEB_PAGES, Document
from groundgraph.core.errors import IngestError, PageNotLoaded
from groundgraph.core.settings import WebSettings
from groundgraph.nodes.ingest.load_html import load_html
from groundgraph.nodes.ingest.load_pdf import load_pdf
from groundgraph.nodes.ingest.load_text import first_heading, load_text

if TYPE_CHECKING:
    from types import TracebackType

    import httpcore

    from groundgraph.nodes.ingest.fetch_page import FetchedPage, PageFetcher
    from groundgraph.nodes.ingest.guarded_network import Resolve

_PAGES = frozenset({HTML, "application/xhtml+xml"})
_MARKDOWN = frozenset({MARKDOWN, "text/x-markdown"})


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
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        resolve: Resolve | None = None,
        dial: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._settings = settings
        self._resolve = resolve
        self._dial = dial
        self._fetcher: PageFetcher | None = None
        self._open = False

    async def __aenter__(self) -> Self:
        # httpx loads here and not with groundgraph.
        from groundgraph.nodes.ingest.fetch_page import PageFetcher
        from groundgraph.nodes.ingest.guarded_network import resolve_host

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
        from groundgraph.nodes.ingest.fetch_page import page_url

        name = str(page_url(url))
        page = await self._fetcher.fetch(name)
        try:
            return await run_blocking(_read, name, page)
        except PageNotLoaded:
            raise
        except IngestError as error:
            raise PageNotLoaded("content", str(error), url=name, hop=page.url) from error


async def load_page(url: str, settings: WebSettings) -> Document:
    """The page at `url`; for several pages keep one `PageLoader` open.

    Raises:
        PageNotLoaded: as for `PageLoader.load`.
    """
    async with PageLoader(settings) as pages:
        return await pages.load(url)


def _read(name: str, page: FetchedPage) -> Document:
    header = Message()
    header["Content-Type"] = page.content_type
    kind = header.get_content_type() if page.content_type else _guessed(page.body)
    charset = str(header.get_content_charset() or "")
    if kind in _PAGES:
        found = load_html(_as_utf8(page.body, charset))
        title = found.title or first_heading(found.text, 0, MARKDOWN) or _last_part(page.url)
        return _document(name, page, Document(name, found.text, MARKDOWN, {"title": title}, 0, found.warnings))
    if kind in _MARKDOWN or kind == PLAIN_TEXT:
        media_type = MARKDOWN if kind in _MARKDOWN or page.url.endswith((".md", ".markdown")) else PLAIN_TEXT
        return _document(name, page, load_text(_as_utf8(page.body, charset), _last_part(page.url), media_type))
    if kind == PDF:
        return _document(name, page, _pdf(page.body, _last_part(page.url)))
    detail = f"'{kind}' is not supported: HTML, plain text, Markdown and PDF are"
    raise PageNotLoaded("content_type", detail, url=name, hop=page.url)


def _document(name: str, page: FetchedPage, read: Document) -> Document:
    # Nothing but the title of its front matter: a site must not set the fields that filters rely on.
    return replace(read, name=name, kind=WEB_PAGES, metadata={"title": read.title, "url": page.url})


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


def _guessed(body: bytes) -> str:
    head = body.lstrip()[:5]
    return HTML if head.startswith(b"<") else PDF if head.startswith(b"%PDF-") else "no content type"


def _pdf(body: bytes, name: str) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.pdf")
        path.write_bytes(body)
        return load_pdf(path, name)


def _last_part(url: str) -> str:
    """The end of the path of `url`, or its host: a title where the page has none."""
    parts = urlsplit(url)
    return unquote(parts.path.rstrip("/").rpartition("/")[2]) or str(parts.hostname)
