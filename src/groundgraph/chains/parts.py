"""The parts of a document, which no chunk crosses."""

from __future__ import annotations

from groundgraph.core.document import PDF, Chunk, Document, Part


def parts_of(document: Document) -> tuple[Part, ...]:
    """The parts of `document`; its whole body when it has none."""
    return document.parts or (Part(document.body_start, len(document.text)),)


def trimmed(text: str, part: Part) -> tuple[int, int]:
    """Where the text of `part` starts and ends without the white space around it; equal when there is no other."""
    start, end = part.start, part.end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def chunk_of(
    document: Document,
    part: Part,
    position: int,
    start: int,
    end: int,
    headings: tuple[str, ...] = (),
    levels: tuple[int, ...] = (),
) -> Chunk:
    """The chunk from `start` to `end`, which lie in `part`; offsets of a page are counted from its beginning."""
    origin = part.start if document.media_type == PDF else 0
    return Chunk(document, position, start, end, headings, document.text[start:end], levels, part.metadata, origin)
