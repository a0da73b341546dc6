"""Fetches a web page by its URL and reads it into a `Document`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from groundgraph.core.blocking import run_blocking
from groundgraph.core.document import HTML, PDF, Document
from groundgraph.core.errors import IngestError, PageNotLoaded
from groundgraph.core.settings import WebSettings
from groundgraph.nodes.ingest.read_page import KINDS, read_page, read_pdf_page

if TYPE_CHECKING:
    from types import TracebackType

    import httpcore

    from groundgraph.nodes.ingest.fetch_page import FetchedPage, PageFetcher
    from groundgraph.nodes.ingest.guarded_network import Resolve

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
            return await run_blocking(_read, name, page, self._read)
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
