"""A stored chunk as a piece of evidence, whatever it is stored in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from groundgraph.core.chain import Match
from groundgraph.core.document import DOCUMENTS, Chunk, Document
from groundgraph.core.evidence import SourceResult
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk
from groundgraph.search.rank import RankedPassage
from groundgraph.sources.knowledge_base.schema import check_version
from groundgraph.text.original import FILE_LINE, FILE_ROW, FILE_SHEET, FILE_TEXT, PLACES
from groundgraph.text.words import stems

# What searches the chunks of a knowledge base, whatever they are stored in.


@dataclass(frozen=True)
class Search:
    """One text to search for.

    Attributes:
        text: its words.
        vector: its unit vector, None to search by words alone.
        model: the embedding model that the vector is from.
        vector_weight: the share of the vectors in the order.
        filters: checked conditions.
        top_k: most results.
        score_threshold: least relevance.
    """

    text: str
    vector: Any
    model: str
    vector_weight: float
    filters: Mapping[str, Any]
    top_k: int
    score_threshold: float


class BaseSearcher(Protocol):
    """All methods are coroutines, and none blocks the event loop.

    Each raises `SourceError` when the base is not there or cannot answer.
    """

    @property
    def place(self) -> str:
        """Where the base is, for messages."""

    async def vector_identity(self) -> BaseIdentity | None:
        """The embedding model and dimension of the base's vectors; None when it has none."""

    async def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """What each of `searches` finds, all in one state of the base, the best first.

        Raises:
            EmbeddingModelChanged: a vector is not of the base's model or dimension.
        """

    async def metadata_fields(self) -> set[str]:
        """The names that results carry."""

    async def counts(self) -> dict[str, int]:
        """How many `documents` and `chunks` there are."""

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `GroundedSource.texts_between`."""

    async def close(self) -> None:
        """Release what is held; the next search opens it again."""


# One state of a base, which a reader sees from the beginning of its transaction to the end.


class Revision(NamedTuple):
    """Which state: `base` names the file for as long as it exists, `changes` counts what was written to it."""

    base: str
    changes: int


@contextmanager
def reading(connection: sqlite3.Connection, path: Path) -> Iterator[Revision]:
    """One transaction, so that a writer in between does not change what the row numbers stand for.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph has migrated the file since it was opened.
    """
    connection.execute("BEGIN")
    try:
        check_version(connection, path)
        row = connection.execute("SELECT value, changes FROM meta, state WHERE name = 'base'").fetchone()
        yield Revision(*row)
    finally:
        connection.rollback()


# What stands between neighbouring chunks of a document, so that they can be joined.

# Only white space is worth knowing, so a gap longer than this is none.
MAX_GAP = 64
_BETWEEN = (
    "SELECT substr(documents.text, one.end + 1, other.start - one.end) "
    "FROM documents JOIN chunks AS one ON one.document_id = documents.id "
    "JOIN chunks AS other ON other.document_id = documents.id "
    "WHERE documents.name = ? AND one.position = ? AND other.position = ? "
    f"AND NOT one.derived AND NOT other.derived AND other.start - one.end BETWEEN 0 AND {MAX_GAP} "
    # No page, record or other part begins between the two.
    "AND (documents.parts = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(documents.parts) AS part "
    "WHERE json_extract(part.value, '$[0]') BETWEEN one.start + 1 AND other.start))"
)


def texts_between(connection: sqlite3.Connection, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
    """For each pair of chunk ids the text of their document between the two.

    None for chunks of different documents or parts, chunks that a model wrote, and chunks that are far apart.
    """
    return [_between(connection, one, other) for one, other in pairs]


def _between(connection: sqlite3.Connection, one: str, other: str) -> str | None:
    (name, _, first), (same, _, second) = one.rpartition("#"), other.rpartition("#")
    if name != same or not (first.isdigit() and second.isdigit()):
        return None
    row = connection.execute(_BETWEEN, (name, int(first), int(second))).fetchone()
    return None if row is None else str(row[0])


SOURCE_TYPE = "knowledge_base"
# What every result carries; fields of documents and of their parts stand beside these.
OWN_METADATA = ("document", "title", "section", "headings", "heading_levels", "position", "start", "end")
SOMETIMES = ("derived", "qualifying_text", FILE_TEXT, FILE_LINE, FILE_ROW, FILE_SHEET)


def match_of(ranked: RankedPassage, stored: PreparedChunk, source_name: str) -> Match:
    """A chunk as evidence, with the scores that the search gave it; of its document the text need not be there."""
    result = SourceResult(
        content=stored.chunk.text,
        source_id=stored.chunk.chunk_id,
        source_name=source_name,
        source_type=SOURCE_TYPE,
        relevance=ranked.relevance,
        metadata=_metadata(stored),
        score=ranked.score,
        scores={**ranked.scores, "match": ranked.match_score},
    )
    return Match(result, ranked.match_score)


def _metadata(stored: PreparedChunk) -> dict[str, Any]:
    chunk, document = stored.chunk, stored.chunk.document
    kind = {} if document.kind == DOCUMENTS else {"kind": document.kind}
    own = {
        "document": document.name,
        "title": document.title,
        "section": " > ".join(chunk.headings),
        "headings": list(chunk.headings),
        "heading_levels": list(chunk.heading_levels),
        "position": chunk.position,
        "start": chunk.start - chunk.origin,
        "end": chunk.end - chunk.origin,
    }
    more: dict[str, Any] = {"derived": True} if chunk.derived else {}
    if not _has_own_fields(chunk) and _adds_something(stored):
        more["qualifying_text"] = stored.qualifying_text
    return {**kind, **document.metadata, **chunk.metadata, **own, **more}


def _has_own_fields(chunk: Chunk) -> bool:
    """Whether chunks of one document differ by more than their place, as rows of a table do: what the document is about
    is then what the others hold, which a filter by such a field keeps away."""
    return not PLACES.issuperset(chunk.metadata)


def _adds_something(stored: PreparedChunk) -> bool:
    """Whether the qualifying text holds a word that stands neither in the chunk nor above it."""
    chunk = stored.chunk
    if not stored.qualifying_text or stored.qualifying_text in chunk.text:
        return False
    above = stems("\n".join([chunk.text, chunk.document.title, *chunk.headings]))
    return not set(stems(stored.qualifying_text)).issubset(above)


def chunk_of(whole: Document, values: Mapping[str, Any], texts: Iterable[tuple[int, str]] = ()) -> PreparedChunk:
    """A chunk out of the columns that are stored of it, with its matching texts: each of `texts` with whether it goes
    on with the text of the chunk."""
    chunk = Chunk(
        whole,
        int(values["position"]),
        int(values["start"]),
        int(values["end"]),
        tuple(json.loads(values["headings"])),
        values["text"] or "",
        tuple(json.loads(values["heading_levels"])),
        json.loads(values["metadata"]),
        int(values["origin"]),
        bool(values["derived"]),
    )
    found_by = tuple(own + chunk.text if ends else own for ends, own in texts)
    return PreparedChunk(chunk, found_by, values["qualifying_text"] or "")
