"""Reads a web page into the Markdown of its main text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.html_markdown import html_markdown
from groundgraph.nodes.ingest.optional_package import optional_package

NO_TEXT = "the page has no main text; if a script writes it, save the page from the browser"
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_REPLACEMENT = "\ufffd"
# What no XML library takes.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BOILERPLATE = (
    "//script|//style|//noscript|//template|//iframe|//svg|//nav|//footer|//aside|//dialog|//button|//select"
    "|//header[not(ancestor::main or ancestor::article)]|//*[@hidden or @aria-hidden='true']"
    "|//*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='search' or @role='dialog'"
    " or @role='alertdialog']"
)
_CONSENT = re.compile(r"cookie|consent|gdpr", re.IGNORECASE)
_BANNER = re.compile(r"(?:cookies?|consent|gdpr)[-_]?(?:banner|bar|notice|popup|modal|overlay|wall|law|manager)", re.I)
_MAX_BANNER_CHARS = 2000
_MENU_SHARE = 0.8


@dataclass(frozen=True)
class Page:
    """What a web page says.

    Attributes:
        text: its main text as Markdown: headings, paragraphs, lists, and tables row by row.
        title: `<title>`, else the first `<h1>`, else empty.
        warnings: what had to be repaired, one sentence each.
    """

    text: str
    title: str
    warnings: tuple[str, ...] = ()


def load_html(data: bytes) -> Page:
    """The main text of the page in `data`, without navigation, scripts and cookie banners.

    Raises:
        IngestError: the page has no main text, is too damaged to be read, or trafilatura cannot be loaded.
    """
    trafilatura = optional_package("trafilatura", "HTML")
    text, warnings = decode_html(data)
    try:
        tree = trafilatura.load_html(_XML_DECLARATION.sub("", _CONTROL.sub(_REPLACEMENT, text)))
        if tree is None:
            raise IngestError(NO_TEXT)
        title = _title(tree)
        markdown = html_markdown(_content(_cleaned(tree)))
    except IngestError:
        raise
    except Exception as error:  # whatever a parser makes of a damaged page
        raise IngestError(f"the page cannot be read: {type(error).__name__}: {error}") from error
    if not re.search(r"\w", markdown):
        raise IngestError(NO_TEXT)
    return Page(markdown, title, tuple(warnings))


def decode_html(data: bytes) -> tuple[str, list[str]]:
    """The text of a page, by its byte order mark, as UTF-8, or as trafilatura takes it, by declaration and content."""
    from trafilatura.utils import detect_encoding

    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return _decoded(data, name)
    for name in ("utf-8", *detect_encoding(data)):
        try:
            return data.decode(name), []
        except (ValueError, LookupError):
            continue
    return _decoded(data, "utf-8")


def _decoded(data: bytes, encoding: str) -> tuple[str, list[str]]:
    text = data.decode(encoding, errors="replace")
    replaced = text.count(_REPLACEMENT)
    return text, [f"{replaced} places that are not {encoding} were replaced"] if replaced else []


def _title(tree: Any) -> str:
    for path in ("//head//title", "//title", "//h1"):
        for node in tree.xpath(path):
            title = " ".join("".join(node.itertext()).split())
            if title:
                return title
    return ""


def _cleaned(tree: Any) -> Any:
    """The page without what is no content by its element, by its role or, as trafilatura knows them, by its name."""
    from trafilatura.htmlprocessing import prune_unwanted_nodes
    from trafilatura.xpaths import OVERALL_DISCARD_XPATH

    for node in tree.xpath("//body//div|//body//section|//body//form|//body//p"):
        if _asks_for_consent(node):
            _drop(node)
        elif _CONSENT.search(_names(node)):
            # trafilatura would take every section of such a name for a banner.
            for name in ("id", "class"):
                node.attrib.pop(name, None)
    for node in tree.xpath(_BOILERPLATE):
        _drop(node)
    return prune_unwanted_nodes(tree, OVERALL_DISCARD_XPATH, with_backup=True)


def _content(tree: Any) -> Any:
    """The element with the main text: what the page itself says is it, else its body without menus."""
    body = tree.find(".//body")
    body = tree if body is None else body
    main = tree.xpath("//main|//*[@role='main']")
    articles = tree.xpath("//article[not(ancestor::article)]")
    named = main or articles
    if len(named) == 1 and _length(named[0]) >= _length(body) / 2:
        return named[0]
    for node in body.xpath(".//ul|.//ol|.//div|.//p"):
        if not node.xpath("ancestor::main|ancestor::article") and _is_menu(node):
            _drop(node)
    return body


def _is_menu(node: Any) -> bool:
    """Whether `node` holds several links and next to nothing else."""
    links = node.xpath(".//a[@href]")
    return len(links) > 2 and sum(map(_length, links)) > _MENU_SHARE * _length(node)


def _length(node: Any) -> int:
    return len("".join(node.itertext()).strip())


def _asks_for_consent(node: Any) -> bool:
    """Whether `node` is a cookie banner, and not a section of a manual about cookies."""
    names = _names(node)
    if not _CONSENT.search(names) or node.xpath(".//main|.//article|.//h1"):
        return False
    if _BANNER.search(names):
        return True
    return bool(node.xpath(".//button|.//input")) and _length(node) < _MAX_BANNER_CHARS


def _names(node: Any) -> str:
    return f"{node.get('id', '')} {node.get('class', '')}"


def _drop(node: Any) -> None:
    parent = node.getparent()
    if parent is None:
        return
    # lxml hangs the text behind an element on the element itself.
    before = node.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (node.tail or "")
    else:
        parent.text = (parent.text or "") + (node.tail or "")
    parent.remove(node)
