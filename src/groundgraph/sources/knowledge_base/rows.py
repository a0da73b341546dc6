"""What is written of a document: the CPU work of an ingest, done outside of any transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from groundgraph.core.document import Chunk, Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.knowledge_store import PreparedChunk, PreparedDocument
from groundgraph.core.text import stems

# What a store keeps of a document and of a chunk, in the order of `DocumentRows.values` and `ChunkRow.values`.
DOCUMENT_COLUMNS = (
    "name",
    "title",
    "hash",
    "content_hash",
    "kind",
    "from_file",
    "chunks",
    "written_at",
    "media_type",
    "body_start",
    "metadata",
    "chunk_fields",
    "parts",
    "marked_headings",
    "text",
)
CHUNK_COLUMNS = (
    "position",
    "start",
    "end",
    "origin",
    "derived",
    "headings",
    "heading_levels",
    "metadata",
    "qualifying_text",
    "text",
)


@dataclass(frozen=True)
class TextRow:
    """A matching text with the stems under which it is found.

    `text` is what stands before the chunk's own text when the matching text ends with that.
    """

    ends_with_chunk: bool
    stems: str
    heading_stems: str
    text: str


@dataclass(frozen=True)
class ChunkRow:
    """A chunk as the columns of its table, and its matching texts."""

    values: tuple[Any, ...]
    texts: tuple[TextRow, ...]


@dataclass(frozen=True)
class DocumentRows:
    """A document as the columns of its table, and everything that belongs to it.

    Attributes:
        document: the document.
        values: the columns of its row.
        chunks: its chunks.
        vectors: those of all matching texts in order, 16-bit numbers; None without an embedding model.
        dimension: of the vectors, 0 without.
        df: for each stem, how many matching texts hold it.
        stems: how many stems the matching texts and their headings hold, with repetitions.
    """

    document: Document = field(repr=False)
    values: tuple[Any, ...]
    chunks: Sequence[ChunkRow]
    vectors: bytes | None
    dimension: int
    df: Counter[str]
    stems: int

    @property
    def texts(self) -> int:
        """How many matching texts there are."""
        return sum(len(chunk.texts) for chunk in self.chunks)


def document_rows(prepared: PreparedDocument) -> DocumentRows:
    """The rows of `prepared`.

    Raises:
        ValueError: a chunk has no matching text, or vectors that do not belong to its matching texts.
    """
    headings = _HeadingStems(prepared.document)
    chunks = [ChunkRow(_chunk_values(chunk), _text_rows(chunk, headings)) for chunk in prepared.chunks]
    found_by = [[*text.stems.split(), *text.heading_stems.split()] for chunk in chunks for text in chunk.texts]
    vectors, dimension = _packed_vectors(prepared)
    return DocumentRows(
        prepared.document,
        _document_values(prepared),
        chunks,
        vectors,
        dimension,
        Counter(stem for of_text in found_by for stem in set(of_text)),
        sum(map(len, found_by)),
    )


class _HeadingStems:
    """The stems of title and heading path, once per path."""

    def __init__(self, document: Document) -> None:
        self._title = document.title
        self._title_stems = stems(document.title)
        self._known: dict[tuple[str, ...], str] = {}

    def of(self, chunk: Chunk) -> str:
        path = chunk.headings
        if path not in self._known:
            # A heading that repeats the title says nothing more.
            inner = [stem for heading in path if heading != self._title for stem in stems(heading)]
            self._known[path] = " ".join([*self._title_stems, *inner])
        return self._known[path]


def _text_rows(prepared: PreparedChunk, headings: _HeadingStems) -> tuple[TextRow, ...]:
    if not prepared.matching_texts:
        raise ValueError(f"chunk {prepared.chunk.position} has no matching text")
    above = headings.of(prepared.chunk)
    return tuple(_text_row(text, prepared.chunk.text, above) for text in prepared.matching_texts)


def _text_row(text: str, own: str, headings: str) -> TextRow:
    if not own or not text.endswith(own):
        return TextRow(False, " ".join(stems(text)), headings, text)
    before = text[: -len(own)]
    # The headings are indexed beside the body with a weight of their own; in both they would count twice.
    repeats_headings = set(stems(before)).issubset(headings.split())
    return TextRow(True, " ".join(stems(own if repeats_headings else text)), headings, before)


def _document_values(prepared: PreparedDocument) -> tuple[Any, ...]:
    document = prepared.document
    fields = sorted({str(name) for chunk in prepared.chunks for name in chunk.chunk.metadata})
    return (
        document.name,
        document.title,
        prepared.hash,
        prepared.content_hash,
        document.kind,
        prepared.from_file,
        len(prepared.chunks),
        datetime.now(UTC).isoformat(timespec="seconds"),
        document.media_type,
        document.body_start,
        _json(document.metadata),
        _json(fields),
        _json([[part.start, part.end, part.metadata] for part in document.parts]),
        _json([[heading.start, heading.end, heading.level, heading.title] for heading in document.headings]),
        document.text,
    )


def _chunk_values(prepared: PreparedChunk) -> tuple[Any, ...]:
    chunk = prepared.chunk
    return (
        chunk.position,
        chunk.start,
        chunk.end,
        chunk.origin,
        chunk.derived,
        _json(chunk.headings),
        _json(chunk.heading_levels),
        _json(chunk.metadata),
        prepared.qualifying_text,
        chunk.text,
    )


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False)


def _packed_vectors(prepared: PreparedDocument) -> tuple[bytes | None, int]:
    given = [(chunk.vectors, len(chunk.matching_texts)) for chunk in prepared.chunks]
    if all(vectors is None for vectors, _ in given):
        return None, 0
    import numpy as np

    if any(vectors is None or len(vectors) != texts for vectors, texts in given):
        raise ValueError("not every matching text has a vector")
    # Sixteen bits halve the file; the error of a cosine is below .001, far less than what ranks differ by.
    rows = np.concatenate([np.asarray(vectors, dtype=np.float16) for vectors, _ in given])
    return rows.tobytes(), rows.shape[1]
