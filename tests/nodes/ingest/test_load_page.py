from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from document_files import pdf
from web_site import START, PublicNetwork, Site, html, redirect

from groundgraph.core.document import MARKDOWN, PDF, PLAIN_TEXT, WEB_PAGES
from groundgraph.core.errors import IngestError, PageNotLoaded
from groundgraph.ingest.load_page import PageLoader
from groundgraph.settings.knowledge_base import WebSettings

pytestmark = pytest.mark.covers("K2")

ARTICLE = """<html><head><title>Refunds</title></head><body>
<nav><a href="/a">Home</a><a href="/b">Shop</a><a href="/c">Contact</a></nav>
<main><h1>Refund policy</h1><p>Goods may be returned within <b>thirty days</b>.</p>
<h2>Exceptions</h2><ul><li>opened software</li><li>food</li></ul></main>
<footer>All rights reserved</footer></body></html>"""


@pytest.fixture
def site():
    made = Site({"/start": (200, {"Content-Type": "text/html"}, ARTICLE.encode())})
    yield made
    made.close()


@asynccontextmanager
async def loading(site, **settings):
    network = PublicNetwork(site.port)
    async with PageLoader(WebSettings(**settings), resolve=network.resolve, dial=network) as pages:
        yield pages


async def load(site, url=START, **settings):
    async with loading(site, **settings) as pages:
        return await pages.load(url)


async def refused(site, url=START) -> PageNotLoaded:
    with pytest.raises(PageNotLoaded) as caught:
        await load(site, url)
    assert isinstance(caught.value, IngestError)
    return caught.value


async def test_a_page_becomes_a_document_of_its_main_text(site):
    document = await load(site, "HTTP://site.example:80/start#exceptions")
    assert document.name == START
    assert document.kind == WEB_PAGES
    assert document.media_type == MARKDOWN
    assert document.metadata == {"title": "Refunds", "url": START}
    assert "# Refund policy" in document.text
    assert "returned within thirty days" in document.text
    assert "opened software" in document.text
    for boilerplate in ("Home", "Contact", "All rights"):
        assert boilerplate not in document.text


async def test_the_name_stays_the_url_asked_for_and_the_final_one_is_metadata(site):
    site.pages["/old"] = redirect("/start")
    document = await load(site, "http://site.example/old")
    assert document.name == "http://site.example/old"
    assert document.metadata["url"] == START


@pytest.mark.parametrize(
    ("content_type", "path", "media_type"),
    [
        ("text/plain; charset=utf-8", "/notes.txt", PLAIN_TEXT),
        ("text/plain", "/notes.md", MARKDOWN),
        ("text/markdown", "/notes", MARKDOWN),
        ("text/x-markdown; charset=UTF-8", "/notes", MARKDOWN),
    ],
)
async def test_text_and_markdown_are_taken_as_they_are(site, content_type, path, media_type):
    text = "# Notes\n\nTwo  spaces & <b>tags</b> stay: ёлка.\n"
    site.pages[path] = (200, {"Content-Type": content_type}, text.encode())
    document = await load(site, f"http://site.example{path}")
    assert (document.text, document.media_type, document.kind) == (text, media_type, WEB_PAGES)
    assert document.metadata["url"] == f"http://site.example{path}"


async def test_a_site_cannot_set_the_fields_that_filters_rely_on(site):
    text = "---\ntitle: Theirs\ntenant: acme\nurl: http://elsewhere.example\n---\nBody\n"
    site.pages["/start"] = (200, {"Content-Type": "text/markdown"}, text.encode())
    document = await load(site)
    assert document.metadata == {"title": "Theirs", "url": START}
    assert document.text[document.body_start :].strip() == "Body"


async def test_a_pdf_is_read_page_by_page(site, tmp_path):
    manual = pdf(tmp_path / "manual.pdf", [f"This is the text of page number {n} of the manual" for n in (1, 2)])
    site.pages["/manual.pdf"] = (200, {"Content-Type": "application/pdf"}, manual.read_bytes())
    document = await load(site, "http://site.example/manual.pdf")
    assert (document.media_type, document.kind) == (PDF, WEB_PAGES)
    assert [part.metadata["page"] for part in document.parts] == [1, 2]
    assert "page number 2" in document.text[document.parts[1].start : document.parts[1].end]


@pytest.mark.parametrize("charset", ["windows-1251", "koi8-r", "utf-16-le", "utf-8", ""])
async def test_the_charset_of_the_server_is_believed(site, charset):
    page = "<html><head><title>Возврат</title></head><body><main><p>Товар можно вернуть.</p></main></body></html>"
    site.pages["/start"] = (200, {"Content-Type": f"text/html; charset={charset}"}, page.encode(charset or "utf-8"))
    document = await load(site)
    assert "Товар можно вернуть." in document.text
    assert document.title == "Возврат"


@pytest.mark.parametrize("charset", ["no-such-charset", "ascii", "utf-16", "iso-8859-1", "windows-1251"])
async def test_a_server_that_names_the_wrong_charset_does_no_harm(site, charset):
    page = "<html><body><main><p>Товар можно вернуть.</p></main></body></html>"
    for body in (page.encode(), page.encode() + b" "):
        site.pages["/start"] = (200, {"Content-Type": f"text/html; charset={charset}"}, body)
        assert "Товар можно вернуть." in (await load(site)).text


@pytest.mark.parametrize("content_type", ["image/png", "application/json", "application/zip", "video/mp4", "nonsense/"])
async def test_other_content_types_are_refused_with_their_name(site, content_type):
    site.pages["/start"] = (200, {"Content-Type": content_type}, b"<html>text</html>")
    error = await refused(site)
    if content_type == "nonsense/":
        assert error.reason in ("content", "content_type")
    else:
        assert (error.reason, f"'{content_type}' is not supported" in str(error)) == ("content_type", True)


async def test_without_a_content_type_the_body_tells(site):
    site.pages["/start"] = (200, {}, ARTICLE.encode())
    assert (await load(site)).title == "Refunds"
    site.pages["/start"] = (200, {}, b"\x89PNG....")
    assert (await refused(site)).reason == "content_type"


async def test_a_page_without_text_is_refused_with_its_address(site):
    site.pages["/empty"] = html("")
    site.pages["/start"] = redirect("/empty")
    error = await refused(site)
    assert (error.reason, error.url, error.hop) == ("content", START, "http://site.example/empty")
    assert "no main text" in str(error)


async def test_a_title_is_always_there(site):
    site.pages["/a%20b"] = (
        200,
        {"Content-Type": "text/html"},
        b"<html><body><main><p>Just words here.</p></main></body></html>",
    )
    assert (await load(site, "http://site.example/a b")).title == "a b"
    site.pages["/"] = site.pages["/a%20b"]
    assert (await load(site, "http://site.example")).title == "site.example"


async def load_from_here(url, **settings):
    """The page by the system's own resolver and network."""
    async with PageLoader(WebSettings(**settings)) as pages:
        return await pages.load(url)


@pytest.mark.covers("fault 61")
async def test_this_machine_is_refused_unless_it_is_allowed(site):
    url = f"http://127.0.0.1:{site.port}/start"
    with pytest.raises(PageNotLoaded) as caught:
        await load_from_here(url)
    assert caught.value.reason == "address"
    assert site.asked == []
    assert (await load_from_here(url, allow_private=True)).title == "Refunds"


@pytest.mark.covers("fault 61")
async def test_no_setting_reads_a_file(tmp_path):
    secret = tmp_path / "secret.html"
    secret.write_text("<p>secret</p>")
    with pytest.raises(PageNotLoaded, match="only http and https"):
        await load_from_here(secret.as_uri(), allow_private=True, obey_robots=False)


async def test_a_loader_that_is_not_open_says_so():
    with pytest.raises(RuntimeError, match="async with"):
        await PageLoader(WebSettings()).load(START)


def test_importing_the_loader_loads_no_http_client():
    code = "import groundgraph.ingest.load_page, sys; print('httpcore' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
