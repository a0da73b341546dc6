"""The identity chunker: a whole text is one chunk."""

from __future__ import annotations

from dataclasses import dataclass

from groundgraph.core.document import Chunk, Document


@dataclass(frozen=True)
class WholeTextChunker:
    """Makes one chunk of each document, with everything from `body_start` on; none of an empty one."""

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return "whole text 1"

    def __call__(self, document: Document) -> list[Chunk]:
        """The only chunk of `document`, without the white space around it."""
        text = document.text
        end = len(text.rstrip())
        start = document.body_start
        while start < end and text[start].isspace():
            start += 1
        return [Chunk(document, 0, start, end, (), text[start:end])] if start < end else []
