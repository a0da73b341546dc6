"""Reads one file into a `Document`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from groundgraph.chains.markdown_blocks import markdown_blocks
from groundgraph.chains.plain_blocks import plain_blocks
from groundgraph.core.document import HTML, MARKDOWN, Document
from groundgraph.core.errors import IngestError
from groundgraph.core.front_matter import front_matter
from groundgraph.nodes.ingest.find_files import MEDIA_TYPES
from groundgraph.nodes.ingest.load_html import load_html

_REPLACEMENT = "\ufffd"
# Beyond this share of bytes that are not UTF-8, a file is in another encoding or no text at all.
_MAX_REPLACED = 0.1
# A title further down than this many characters is none.
_TITLE_WITHIN = 20_000


def load_document(path: Path, name: str) -> Document:
    """The document in the file at `path`, under `name`.

    Line ends become `\\n`; of a web page the main text is kept, as Markdown. Bytes that are no UTF-8 and NUL become
    U+FFFD and give a warning in the document.

    Raises:
        IngestError: the file cannot be read, is of an unsupported kind, is no UTF-8 text, or is a page without main
            text.
    """
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    if media_type is None:
        raise IngestError(f"{path.suffix or 'a file without a suffix'} is not supported")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IngestError(f"the file cannot be read: {error.strerror}") from error
    if media_type == HTML:
        return _page(name, data)
    text, warnings = _decode(data)
    return _document(name, text, media_type, warnings)


def _page(name: str, data: bytes) -> Document:
    page = load_html(data)
    title = page.title or _first_heading(page.text, 0, MARKDOWN) or Path(name).stem
    return Document(name, page.text, MARKDOWN, {"title": title}, 0, page.warnings)


def _decode(data: bytes) -> tuple[str, list[str]]:
    try:
        text, replaced = data.decode("utf-8-sig"), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
        replaced = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    nuls = text.count("\0")
    if replaced + nuls > _MAX_REPLACED * len(text):
        raise IngestError("it is not UTF-8 text")
    warnings = [f"{replaced} places that are not UTF-8 were replaced"] if replaced else []
    warnings += [f"{nuls} NUL characters were replaced"] if nuls else []
    return re.sub(r"\r\n?", "\n", text.replace("\0", _REPLACEMENT)), warnings


def _document(name: str, text: str, media_type: str, warnings: list[str]) -> Document:
    metadata: dict[str, Any] = {}
    start = 0
    if media_type == MARKDOWN:
        try:
            metadata, start = front_matter(text)
        except ValueError as error:
            warnings.append(f"the front matter was taken as text: {error}")
    title = metadata.get("title") or _first_heading(text, start, media_type) or Path(name).stem
    return Document(name, text, media_type, {**metadata, "title": str(title)}, start, tuple(warnings))


def _first_heading(text: str, start: int, media_type: str) -> str:
    head = text[: start + _TITLE_WITHIN]
    if media_type == MARKDOWN:
        return next((block.title for block in markdown_blocks(head, start) if block.title), "")
    # In a plain text a heading further down is that of a section, "Abstract" for example.
    first = next((block for block in plain_blocks(head, start) if head[block.start : block.end].strip()), None)
    return first.title if first else ""
