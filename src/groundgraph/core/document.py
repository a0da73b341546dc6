"""A document as the loader stored it, and the chunks that a chunker cuts from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

MARKDOWN = "text/markdown"
PLAIN_TEXT = "text/plain"
RESTRUCTURED_TEXT = "text/x-rst"
HTML = "text/html"


@dataclass(frozen=True)
class Document:
    """One document.

    Attributes:
        name: its stable id, for example the path relative to where the ingest was started.
        text: exactly what the loader stored. Every offset counts Unicode characters of this text.
        media_type: what the text is, for example `text/markdown`.
        metadata: JSON values; `title` is its title.
        body_start: where the text to chunk begins; what stands before it, such as front matter, is metadata.
        warnings: what had to be repaired while reading, one sentence each; reported, not stored.
    """

    name: str
    text: str = field(repr=False)
    media_type: str = PLAIN_TEXT
    metadata: dict[str, Any] = field(default_factory=dict)
    body_start: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title, or an empty string."""
        return str(self.metadata.get("title") or "")


@dataclass(frozen=True)
class Chunk:
    """One slice of a document: `document.text[start:end] == text`.

    Attributes:
        document: where it was cut from.
        position: its number within the document, from 0.
        start: offset of its first character.
        end: offset after its last character.
        headings: the titles of the headings above it, the outermost first.
        text: the slice.
        heading_levels: the level of each of `headings`, 1 the outermost; 1, 2, 3 ... when none were given.
    """

    document: Document = field(repr=False)
    position: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str
    heading_levels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.heading_levels:
            object.__setattr__(self, "heading_levels", tuple(range(1, len(self.headings) + 1)))

    @property
    def chunk_id(self) -> str:
        """`name#position`: the same for the same document and chunker, on every machine."""
        return f"{self.document.name}#{self.position}"


class Chunker(Protocol):
    """A replaceable way to cut a document."""

    @property
    def signature(self) -> str:
        """What the cut depends on. When it changes, a document that did not is cut again."""

    def __call__(self, document: Document, /) -> Iterable[Chunk]:
        """The chunks of `document` in order."""
