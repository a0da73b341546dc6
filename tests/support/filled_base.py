"""Writing documents into a knowledge base without the ingest graph, and looking whether its counts are true."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from groundgraph.core.document import Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.search.rank import Question, stems_in
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.sources.knowledge_base.schema import word_index

Texts = Callable[[Chunk], Sequence[str]]


def folder_of(place: Path, **texts: str | bytes) -> Path:
    """The folder `docs` at `place`, with a Markdown file for each text."""
    folder = place / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def of_parts(document: Document) -> list[Chunk]:
    """A chunk for each part of the document."""
    return [
        Chunk(document, n, part.start, part.end, (), document.text[part.start : part.end], metadata=part.metadata)
        for n, part in enumerate(document.parts)
    ]


def own_text(chunk: Chunk) -> list[str]:
    return [chunk.text]


async def prepared(
    document: Document,
    *,
    chunker: Callable[[Document], Iterable[Chunk]] | None = None,
    texts: Texts = own_text,
    qualifying_text: str = "",
    embedder: Embedder | None = None,
    hash_: str = "hash",
) -> PreparedDocument:
    chunks = []
    for chunk in (chunker or HeadingChunker())(document):
        found_by = tuple(texts(chunk))
        vectors = await embedder.embed_texts(found_by) if embedder else None
        chunks.append(PreparedChunk(chunk, found_by, qualifying_text, vectors))
    return PreparedDocument(document, chunks, hash_, from_file=True, content_hash="content")


async def fill(path: Path, documents: Iterable[Document], *, embedder: Embedder | None = None, **how) -> dict[str, str]:
    """Write `documents` into the base at `path`; `how` are the other arguments of `prepared`."""
    store = EmbeddedStore(path)
    try:
        await store.open(BaseIdentity(embedder.name if embedder else ""))
        return await store.write([await prepared(document, embedder=embedder, **how) for document in documents])
    finally:
        await store.close()


def check_counts(path: Path) -> None:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT stems, heading_stems FROM texts").fetchall()
    stems = [[*body.split(), *stems_in(above)] for body, above in rows]
    df = Counter(stem for chunk in stems for stem in set(chunk))
    assert dict(connection.execute("SELECT term, df FROM terms")) == dict(df)
    assert connection.execute("SELECT texts, stems FROM state").fetchone() == (
        len(rows),
        sum(map(len, stems)),
    )
    index = word_index(path).at(connection) if df else None
    for stem in df:
        found = index.rows(connection, Question([stem], {stem: 1}, len(rows), 1.0), limit=len(rows))
        assert (
            sorted(found)
            == connection.execute(
                "SELECT chunk_id, stems, heading_stems FROM texts WHERE "
                "' ' || stems || ' ' || replace(heading_stems, char(10), ' ') || ' ' LIKE ? "
                "ORDER BY chunk_id, stems, heading_stems",
                (f"% {stem} %",),
            ).fetchall()
        )
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
