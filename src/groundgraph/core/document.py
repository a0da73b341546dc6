"""A document as the loader stored it, the chunks that a chunker cuts from it, and what a file is by its suffix."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import Any

MARKDOWN = "text/markdown"
PLAIN_TEXT = "text/plain"
RESTRUCTURED_TEXT = "text/x-rst"
HTML = "text/html"
PDF = "application/pdf"
# One record after another, each a part of its own with a line `field: value` for each of its fields.
RECORDS = "text/x-records"


# The kinds of data that have ingest chains of their own; every custom schema is one more.
DOCUMENTS = "documents"
WEB_PAGES = "web_pages"


@dataclass(frozen=True)
class Part:
    """A stretch of a document that no chunk crosses, such as a page or a record.

    Attributes:
        start: offset of its first character in the document's text.
        end: offset after its last character.
        metadata: JSON values of its own, `page` for example, which its chunks carry beside those of the document.
    """

    start: int
    end: int
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Heading:
    """A heading that the file marks as one although its text does not show it, as in a tagged PDF.

    Attributes:
        start: offset of its first character in the document's text.
        end: offset after its last character.
        level: its level, 1 the outermost.
        title: its words.
    """

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True)
class Document:
    """One document.

    Attributes:
        name: its stable id, for example the path relative to where the ingest was started.
        text: exactly what the loader stored. Every offset counts Unicode characters of this text.
        media_type: what the text is, for example `text/markdown`.
        metadata: JSON values; `title` is its title, `url` where a web page came from.
        body_start: where the text to chunk begins; what stands before it, such as front matter, is metadata.
        warnings: what had to be repaired while reading, one sentence each; reported, not stored.
        kind: which kind of data it is: `documents`, `web_pages` or the name of a custom schema.
        parts: its pages or records in order, without overlaps; empty for a text that has none.
        headings: the headings that the text itself does not show, in order, each within a part.
    """

    name: str
    text: str = field(repr=False)
    media_type: str = PLAIN_TEXT
    metadata: dict[str, Any] = field(default_factory=dict)
    body_start: int = 0
    warnings: tuple[str, ...] = ()
    kind: str = DOCUMENTS
    parts: tuple[Part, ...] = field(default=(), repr=False)
    headings: tuple[Heading, ...] = field(default=(), repr=False)

    @property
    def title(self) -> str:
        """The title, or an empty string."""
        return str(self.metadata.get("title") or "")


@dataclass(frozen=True)
class Chunk:
    """One piece of a document: `document.text[start:end] == text`, unless a model wrote it.

    Attributes:
        document: where it was cut from.
        position: its number within the document, from 0.
        start: offset of its first character in the document's text.
        end: offset after its last character.
        headings: the titles of the headings above it, the outermost first.
        text: the slice.
        heading_levels: the level of each of `headings`, 1 the outermost; 1, 2, 3 ... when none were given.
        metadata: that of the part it was cut from.
        origin: where the page begins from which a reader counts offsets (0 for a text without pages): a reader
            sees `start - origin` and `end - origin`.
        derived: a model wrote the text; `start` and `end` then span what it was made from.
    """

    document: Document = field(repr=False)
    position: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    heading_levels: tuple[int, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    origin: int = 0
    derived: bool = False

    def __post_init__(self) -> None:
        if not self.heading_levels:
            object.__setattr__(self, "heading_levels", tuple(range(1, len(self.headings) + 1)))

    @property
    def chunk_id(self) -> str:
        """`name#position`: the same for the same document and chunker, on every machine."""
        return f"{self.document.name}#{self.position}"


# What a file is by the suffix of its name.

CSV = "text/csv"
JSON_LINES = "application/jsonl"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
MEDIA_TYPES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN_TEXT,
    ".text": PLAIN_TEXT,
    ".rst": RESTRUCTURED_TEXT,
    ".rest": RESTRUCTURED_TEXT,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".csv": CSV,
    ".tsv": CSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".xlsx": XLSX,
    ".pptx": PPTX,
}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_TEXT = frozenset({MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT})


@lru_cache(maxsize=4096)
def media_type_of(name: str) -> str | None:
    """The media type of the file called `name`; None for other suffixes, and for the address of a web page."""
    return None if _ADDRESS.match(name) else MEDIA_TYPES.get(PurePath(name).suffix.lower())


def is_text(media_type: str | None) -> bool:
    """Whether such a file is taken in character by character, so that places in it are places in its text."""
    return media_type in _TEXT
