"""The identity chunker: a whole text is one chunk."""

from __future__ import annotations

from dataclasses import dataclass

from groundgraph.chains.parts import chunk_of, parts_of, trimmed
from groundgraph.core.document import Chunk, Document


@dataclass(frozen=True)
class WholeTextChunker:
    """Makes one chunk of each document, with everything from `body_start` on; none of an empty one.

    Of a document with pages or records it makes one of each of these.
    """

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return "whole text 1"

    def __call__(self, document: Document, /) -> list[Chunk]:
        """The chunks of `document`, without the white space around them."""
        chunks: list[Chunk] = []
        for part in parts_of(document):
            start, end = trimmed(document.text, part)
            if start < end:
                chunks.append(chunk_of(document, part, len(chunks), start, end))
        return chunks
