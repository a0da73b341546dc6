"""Texts that someone's own chunker returned, as chunks with exact offsets where they stand in the document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from groundgraph.chains.parts import chunk_of
from groundgraph.core.document import Chunk, Document, Part


def located_chunks(document: Document, pieces: Iterable[Chunk | str]) -> list[Chunk]:
    """`pieces` as chunks of `document`, numbered in order; empty texts are left out.

    A text is looked for behind the one before it, then anywhere in the body. One that does not stand there word for
    word is `derived`: somebody wrote it, and it spans the whole body. So is a chunk whose offsets do not give its text.
    """
    chunks: list[Chunk] = []
    behind = document.body_start
    for piece in pieces:
        if isinstance(piece, Chunk):
            chunk = replace(piece, position=len(chunks), derived=piece.derived or not _is_slice(document, piece))
        else:
            text = piece.strip()
            if not text:
                continue
            start = _found(document, text, behind)
            if start >= 0:
                behind = start + len(text)
            chunk = _chunk(document, text, start, len(chunks))
        chunks.append(chunk)
    return chunks


def _found(document: Document, text: str, behind: int) -> int:
    start = document.text.find(text, behind)
    return start if start >= 0 else document.text.find(text, document.body_start)


def _is_slice(document: Document, chunk: Chunk) -> bool:
    return document.text[chunk.start : chunk.end] == chunk.text


def _chunk(document: Document, text: str, start: int, position: int) -> Chunk:
    if start < 0:
        return Chunk(document, position, document.body_start, len(document.text), (), text, derived=True)
    part = next((part for part in document.parts if part.start <= start < part.end), Part(0, 0))
    return chunk_of(document, part, position, start, start + len(text))
