"""What is written of a document: the CPU work of an ingest, done outside of any transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

from groundgraph.core.document import Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.knowledge_store import PreparedChunk, PreparedDocument
from groundgraph.search.rank import written_above
from groundgraph.text.wording import entry_terms, heading_names
from groundgraph.text.words import stems


class TextRow(NamedTuple):
    """A matching text with the stems under which it is found.

    `text` is what stands before the chunk's own text when the matching text ends with that.
    """

    ends_with_chunk: bool
    stems: str
    heading_stems: str
    text: str


class ChunkRow(NamedTuple):
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
    texts, told = _Texts(prepared.document), _Told()
    chunks = [ChunkRow(_chunk_values(chunk, told), texts.of(chunk)) for chunk in prepared.chunks]
    vectors, dimension = _packed_vectors(prepared)
    values = _document_values(prepared, told)
    return DocumentRows(prepared.document, values, chunks, vectors, dimension, texts.df, texts.stems)


class _Texts:
    """The matching texts of one document.

    Attributes:
        df: for each stem, how many of them hold it.
        stems: how many they hold, with repetitions.
    """

    def __init__(self, document: Document) -> None:
        self.df: Counter[str] = Counter()
        self.stems = 0
        self._title = document.title
        # What stands above a text is the same for many: the stems of each heading, and those of each path.
        self._known: dict[str, list[str]] = {}
        self._above: dict[tuple[str, ...], list[list[str]]] = {}

    def of(self, prepared: PreparedChunk) -> tuple[TextRow, ...]:
        """Those of a chunk."""
        if not prepared.matching_texts:
            raise ValueError(f"chunk {prepared.chunk.position} has no matching text")
        path = prepared.chunk.headings
        if path not in self._above:
            # A heading that repeats the title says nothing more.
            titles = [self._title, *(heading for heading in path if heading != self._title)]
            self._above[path] = list(map(self._stems, titles))
        told, own = self._above[path], prepared.chunk.text
        names = map(self._stems, heading_names(path[-1] if path else ""))
        above, written = list(chain.from_iterable(told)), written_above(told, [*names, *entry_terms(own)])
        return tuple(self._row(text, own, above, written) for text in prepared.matching_texts)

    def _row(self, text: str, own: str, above: list[str], above_joined: str) -> TextRow:
        ends_with_chunk = bool(own) and text.endswith(own)
        before = text[: -len(own)] if ends_with_chunk else text
        # The headings are indexed beside the body with a weight of their own; in both they would count twice.
        alone = ends_with_chunk and set(above).issuperset(self._stems(before))
        body = stems(own if alone else text)
        self.df.update({*body, *above})
        self.stems += len(body) + len(above)
        return TextRow(ends_with_chunk, " ".join(body), above_joined, before)

    def _stems(self, heading: str) -> list[str]:
        if heading not in self._known:
            self._known[heading] = stems(heading)
        return self._known[heading]


class _Told:
    """JSON of what many chunks of one document have in common, which is written once."""

    def __init__(self) -> None:
        self._lists: dict[tuple[Any, ...], str] = {}
        self._metadata: dict[int, str] = {}

    def list(self, values: Sequence[Any]) -> str:
        """That of headings or their levels."""
        key = tuple(values)
        if key not in self._lists:
            self._lists[key] = _json(key)
        return self._lists[key]

    def metadata(self, values: dict[str, Any]) -> str:
        """That of metadata that live as long as the document; those of a record are also those of its chunk."""
        key = id(values)
        if key not in self._metadata:
            self._metadata[key] = _json(values)
        return self._metadata[key]


def _document_values(prepared: PreparedDocument, told: _Told) -> tuple[Any, ...]:
    document = prepared.document
    fields = sorted({str(name) for chunk in prepared.chunks for name in chunk.chunk.metadata})
    parts = ", ".join([f"[{part.start}, {part.end}, {told.metadata(part.metadata)}]" for part in document.parts])
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
        f"[{parts}]",
        _json([[heading.start, heading.end, heading.level, heading.title] for heading in document.headings]),
        document.text,
    )


def _chunk_values(prepared: PreparedChunk, told: _Told) -> tuple[Any, ...]:
    chunk = prepared.chunk
    return (
        chunk.position,
        chunk.start,
        chunk.end,
        chunk.origin,
        chunk.derived,
        told.list(chunk.headings),
        told.list(chunk.heading_levels),
        told.metadata(chunk.metadata),
        prepared.qualifying_text,
        chunk.text,
    )


# What is jsonable holds no circle.
_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def _json(value: Any) -> str:
    return _ENCODE(jsonable(value))


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
