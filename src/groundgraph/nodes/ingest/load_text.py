"""Reads Markdown and plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from groundgraph.chains.markdown_blocks import markdown_blocks
from groundgraph.chains.plain_blocks import plain_blocks
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.front_matter import front_matter
from groundgraph.nodes.ingest.decode_text import decode_file
from groundgraph.nodes.ingest.running_lines import running_metadata

# A title further down than this many characters is none.
_TITLE_WITHIN = 20_000


def load_text(data: bytes, name: str, media_type: str) -> Document:
    """The document in `data`; front matter of Markdown becomes metadata.

    Raises:
        IngestError: it is no text.
    """
    text, warnings, reading = decode_file(data)
    metadata: dict[str, Any] = {}
    start = 0
    if media_type == MARKDOWN:
        try:
            metadata, start = front_matter(text)
        except ValueError as error:
            warnings.append(f"the front matter was taken as text: {error}")
    title = metadata.get("title") or first_heading(text, start, media_type) or Path(name).stem
    running = {} if media_type == MARKDOWN else running_metadata(text.split("\f"))
    return Document(
        name, text, media_type, {**metadata, "title": str(title), **running, **reading}, start, tuple(warnings)
    )


def first_heading(text: str, start: int, media_type: str) -> str:
    """The words of the heading that can serve as the title of `text`, or an empty string."""
    head = text[: start + _TITLE_WITHIN]
    if media_type == MARKDOWN:
        return next((block.title for block in markdown_blocks(head, start) if block.title), "")
    # In a plain text a heading further down is that of a section, "Abstract" for example.
    first = next((block for block in plain_blocks(head, start) if head[block.start : block.end].strip()), None)
    return first.title if first else ""
