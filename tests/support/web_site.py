"""A site on loopback that stands for one on the public Internet: the guard sees public addresses, nothing leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpcore
import pytest

from groundgraph.core.errors import PageNotLoaded
from groundgraph.ingest.fetch_page import PageFetcher
from groundgraph.settings.knowledge_base import WebSettings
from groundgraph.testing.wire_stub import LocalServer

# TEST addresses such as 192.0.2.1 are reserved, so a real public one stands for the site; nothing connects to it.
PUBLIC = "93.184.215.14"
START = "http://site.example/start"

Answer = tuple[int, Mapping[str, str], bytes] | Callable[[BaseHTTPRequestHandler], None]


def html(text: str, title: str = "A title") -> Answer:
    """A page with `text` as its main text."""
    body = f"<html><head><title>{title}</title></head><body><main>{text}</main></body></html>"
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


def redirect(target: str, status: int = 302) -> Answer:
    """A redirect."""
    return status, {"Location": target}, b""


def answer(handler: BaseHTTPRequestHandler, body: bytes = b"") -> None:
    """Answers with status 200, for a page that does something before."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


class Site(LocalServer):
    """Answers with what `pages` holds for a path, else with 404.

    Attributes:
        pages: what it answers, by path.
        asked: `(host header, path)` of each request, in order.
        headers: the headers of the last request.
    """

    def __init__(self, pages: Mapping[str, Answer] | None = None) -> None:
        self.pages: dict[str, Answer] = dict(pages or {})
        self.asked: list[tuple[str, str]] = []
        self.headers: Mapping[str, str] = {}
        super().__init__(_handler(self))

    @property
    def paths(self) -> list[str]:
        """The paths asked for, without robots.txt."""
        return [path for _, path in self.asked if path != "/robots.txt"]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append((self.headers["Host"], self.path))
            site.headers = self.headers
            answer = site.pages.get(self.path, (404, {}, b""))
            if callable(answer):
                answer(self)
                return
            status, headers, body = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Print nothing."""

    return Handler


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Brings every connection to a public address to one server on loopback.

    Attributes:
        dialled: the `(address, port)` of each connection, in order.
        names: the hosts that were looked up, in order.
    """

    def __init__(self, port: int, addresses: Mapping[str, list[list[str]]] | None = None) -> None:
        self._port = port
        self._addresses = {host: list(answers) for host, answers in (addresses or {}).items()}
        self._inner = httpcore.AnyIOBackend()
        self.dialled: list[tuple[str, int]] = []
        self.names: list[str] = []

    async def resolve(self, host: str, port: int) -> list[str]:
        """The next answer for `host`, the last one for ever; `PUBLIC` for a host that has none."""
        self.names.append(host)
        answers = self._addresses.get(host, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect_tcp(
        self, host: str, port: int, timeout: Any = None, local_address: Any = None, socket_options: Any = None
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        return await self._inner.connect_tcp("127.0.0.1", self._port, timeout, local_address, socket_options)


@asynccontextmanager
async def fetching(site, addresses=None, **settings):
    """A fetcher for which every host is `site`, at a public address unless `addresses` says otherwise."""
    network = PublicNetwork(site.port, addresses)
    async with PageFetcher(WebSettings(**settings), resolve=network.resolve, dial=network) as fetcher:
        fetcher.network = network
        yield fetcher


async def refused(fetcher, url=START) -> PageNotLoaded:
    """The error with which `url` is refused."""
    with pytest.raises(PageNotLoaded) as caught:
        await fetcher.fetch(url)
    assert str(caught.value).startswith(caught.value.url)
    return caught.value


async def refusal(site, addresses=None, **settings) -> PageNotLoaded:
    """The error with which the start of `site` is refused."""
    async with fetching(site, addresses, **settings) as fetcher:
        return await refused(fetcher)
