"""Reads a Word document into the Markdown of its text."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import IngestError
from groundgraph.nodes.ingest.html_markdown import html_markdown
from groundgraph.nodes.ingest.load_text import first_heading
from groundgraph.nodes.ingest.open_archive import open_archive
from groundgraph.nodes.ingest.optional_package import optional_package
from groundgraph.nodes.ingest.read_file import MEGABYTE

# mammoth keeps the whole tree in memory, which takes twenty times the size of the XML.
_MAX_XML = 20 * MEGABYTE
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
_IGNORED = re.compile(r"An unrecognised element was ignored: (.*)")


def load_docx(data: bytes, name: str) -> Document:
    """The document in `data`: headings, paragraphs, lists, notes and tables, links as their text, no pictures.

    Raises:
        IngestError: it is no Word document, damaged, encrypted, too large, without text, or mammoth is not installed.
    """
    mammoth = optional_package("mammoth", "a Word document")
    lxml_html = optional_package("lxml.html", "a Word document")
    with open_archive(data, "Word (.docx)", max_xml=_MAX_XML) as archive:
        if "[Content_Types].xml" not in archive.namelist():
            raise IngestError("it is a zip archive, but no Word document")
        try:
            result = mammoth.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=_without_picture)
            text = html_markdown(lxml_html.fromstring(f"<div>{result.value}</div>"))
        except Exception as error:  # whatever a parser makes of a damaged document
            raise IngestError(f"it is no readable Word document: {type(error).__name__}: {error}") from error
    if not re.search(r"\w", text):
        raise IngestError("it holds no text")
    title = first_heading(text, 0, MARKDOWN) or Path(name).stem
    return Document(name, text, MARKDOWN, {"title": title}, 0, tuple(_warnings(result.messages)))


def _without_picture(_image: Any) -> list[Any]:
    return []


def _warnings(messages: Any) -> list[str]:
    """What was left out; styles that mean nothing for the text are not told."""
    found = (_IGNORED.fullmatch(message.message) for message in messages)
    names = sorted({match[1].rpartition(":")[2].rpartition("}")[2] for match in found if match})
    return [f"elements of unknown kinds were left out: {', '.join(names)}"] if names else []
