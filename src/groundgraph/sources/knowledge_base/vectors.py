"""The vectors of a base in memory, and how near each chunk is to a query: exact, by numpy.

Vectors lie in blocks of equal size that are only ever added to, so loading copies nothing twice and an older state
stays readable while a newer one is made. What was removed keeps its place, marked, until a quarter of all is gone.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.filters import matches
from groundgraph.search.word_index import Kept
from groundgraph.sources.knowledge_base.stored_chunk import Revision

# The chunks that a filter keeps.
#
# A condition is checked against the metadata of a chunk over that of its document. Documents none of whose chunks has a
# filtered field of its own are kept or left out as a whole.

_LISTED_TEXTS = (
    "SELECT id FROM texts WHERE document_id IN (SELECT value FROM json_each(:documents)) "
    "UNION ALL SELECT id FROM texts WHERE chunk_id IN (SELECT value FROM json_each(:chunks))"
)


@dataclass(frozen=True)
class AllowedChunks:
    """What a filter keeps, or what it leaves out, whichever is shorter to list.

    Attributes:
        documents: rows of the documents that are listed with all their chunks, as a JSON array.
        chunks: rows of single chunks of other documents, as a JSON array.
        texts: how many matching texts the filter keeps.
        listed: what is listed is kept; otherwise everything else is.
    """

    documents: str = field(repr=False)
    chunks: str = field(repr=False)
    texts: int
    listed: bool = True

    @property
    def values(self) -> dict[str, str]:
        """What is listed, as the values of a statement."""
        return {"documents": self.documents, "chunks": self.chunks}

    @cached_property
    def kept(self) -> Kept:
        """The same for the full-text index."""
        return Kept(self.document_rows(), self.chunk_rows(), self.texts, listed=self.listed)

    def document_rows(self) -> list[int]:
        """`documents` as numbers."""
        rows: list[int] = json.loads(self.documents)
        return rows

    def chunk_rows(self) -> list[int]:
        """`chunks` as numbers."""
        rows: list[int] = json.loads(self.chunks)
        return rows


def allowed_chunks(connection: sqlite3.Connection, filters: Mapping[str, Any]) -> AllowedChunks:
    """The chunks that satisfy every one of the checked `filters`."""
    statement = "SELECT id, name, kind, metadata, chunk_fields FROM documents"
    values: tuple[str, ...] = ()
    named = filters.get("document")
    by_name = isinstance(named, str | list)
    if by_name:
        # The one field that has an index; the loop below would read every document.
        statement += " WHERE name IN (SELECT value FROM json_each(?))"
        values = (json.dumps([named] if isinstance(named, str) else named),)
        filters = {name: condition for name, condition in filters.items() if name != "document"}
    # By whether they are kept.
    documents: dict[bool, list[int]] = {True: [], False: []}
    chunks: dict[bool, list[int]] = {True: [], False: []}
    for row, name, kind, metadata, chunk_fields in connection.execute(statement, values):
        fields = {"kind": kind, **json.loads(metadata), "document": name}
        if any(own in filters for own in json.loads(chunk_fields)):
            for chunk, kept in _verdicts(connection, row, fields, filters):
                chunks[kept].append(chunk)
        else:
            documents[matches(filters, fields)].append(row)
    listed = by_name or len(documents[True]) + len(chunks[True]) <= len(documents[False]) + len(chunks[False])
    return _counted(connection, json.dumps(documents[listed]), json.dumps(chunks[listed]), listed=listed)


def _verdicts(
    connection: sqlite3.Connection, document: int, fields: Mapping[str, Any], filters: Mapping[str, Any]
) -> Iterator[tuple[int, bool]]:
    """The rows of a document's chunks, each with whether the filters keep it."""
    for row, own in connection.execute("SELECT id, metadata FROM chunks WHERE document_id = ?", (document,)):
        yield row, matches(filters, {**fields, **json.loads(own), "document": fields["document"]})


def _counted(connection: sqlite3.Connection, documents: str, chunks: str, *, listed: bool) -> AllowedChunks:
    values = {"documents": documents, "chunks": chunks}
    texts: int = connection.execute(f"SELECT count(*) FROM ({_LISTED_TEXTS})", values).fetchone()[0]
    if not listed:
        texts = connection.execute("SELECT texts FROM state").fetchone()[0] - texts
    return AllowedChunks(documents, chunks, texts, listed)


BLOCK_ROWS = 8_192
_FETCHED = 1_024
_MOST_GONE = 0.25


class OutdatedSnapshot(Exception):
    """The reader's transaction began before what is in memory was read; it has to begin a new one."""


class Vectors:
    """The vectors of one revision.

    Attributes:
        revision: which one.
        blocks: float32 arrays of shape (BLOCK_ROWS, dimension), one row per matching text.
        rows: how many rows are in use.
        documents: for each chunk the row of its document.
        chunks: the rows of the chunks, ascending.
        starts: for each chunk its first row in the blocks.
        there: for each chunk whether it is still in the base.
    """

    def __init__(self, revision: Revision, dimension: int) -> None:
        import numpy as np

        self.revision = revision
        self.dimension = dimension
        self.blocks: tuple[Any, ...] = ()
        self.rows = 0
        self.documents = np.empty(0, dtype=np.int64)
        self.chunks = np.empty(0, dtype=np.int64)
        self.starts = np.empty(0, dtype=np.int64)
        self.there = np.empty(0, dtype=bool)

    def is_of(self, base: str, dimension: int) -> bool:
        """Whether they are vectors of that base and size, at whichever revision."""
        return (self.revision.base, self.dimension) == (base, dimension)

    def nearness(self, query: Any, allowed: AllowedChunks | None) -> Nearness:
        """How near the best matching text of each chunk is to `query`, a unit vector, among those that `allowed`
        keeps."""
        import numpy as np

        cosines = np.empty(self.rows, dtype=np.float32)
        for number, block in enumerate(self.blocks):
            first = number * BLOCK_ROWS
            used = min(BLOCK_ROWS, self.rows - first)
            # A product by BLAS is split over threads, which wait for each other when the machine is busy: its median
            # is half of this one's, its 95th percentile ten times as long.
            np.einsum("ij,j->i", block[:used], query, out=cosines[first : first + used])
        if len(self.chunks) != self.rows:
            cosines = np.maximum.reduceat(cosines, self.starts)
        return Nearness(self.chunks, np.where(self._kept(allowed), cosines, -np.inf))

    def of_chunks(self) -> tuple[Any, Any]:
        """The rows of the chunks that are in the base, and for each the unit vector of the mean of its texts."""
        import numpy as np

        used = self.blocks or (np.empty((0, self.dimension), dtype=np.float32),)
        rows = np.concatenate(used)[: self.rows]
        if len(self.chunks) != self.rows:
            rows = np.add.reduceat(rows, self.starts)
        rows = rows[self.there]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return self.chunks[self.there], rows / np.where(lengths > 0, lengths, 1)

    def _kept(self, allowed: AllowedChunks | None) -> Any:
        import numpy as np

        if allowed is None:
            return self.there
        listed = np.isin(self.documents, allowed.document_rows()) | np.isin(self.chunks, allowed.chunk_rows())
        return self.there & (listed == allowed.listed)


@dataclass(frozen=True)
class Nearness:
    """How near chunks are to a query.

    Attributes:
        chunks: their rows, ascending.
        cosines: for each the cosine of its best matching text; minus infinity for those that are out of the question.
    """

    chunks: Any
    cosines: Any

    @property
    def average(self) -> float:
        """The mean cosine of the chunks that are in question, 0 without any: what a chunk gets that has nothing to do
        with the query."""
        import numpy as np

        finite = self.cosines[np.isfinite(self.cosines)]
        return float(finite.mean()) if finite.size else 0.0

    def nearest(self, count: int) -> dict[int, float]:
        """The rows of the `count` nearest chunks, each with its cosine."""
        import numpy as np

        count = min(count, len(self.cosines))
        best: Any = np.argpartition(-self.cosines, count - 1)[:count] if count else []
        return {int(self.chunks[n]): float(self.cosines[n]) for n in best if np.isfinite(self.cosines[n])}

    def of(self, chunks: Sequence[int]) -> dict[int, float]:
        """The cosines of those of `chunks` that have vectors."""
        import numpy as np

        places = np.searchsorted(self.chunks, np.asarray(chunks, dtype=np.int64)).tolist()
        return {
            chunk: float(self.cosines[place])
            for chunk, place in zip(chunks, places, strict=True)
            if place < len(self.chunks) and self.chunks[place] == chunk and np.isfinite(self.cosines[place])
        }


class VectorCache:
    """The newest `Vectors` that were asked for; may be used by several threads."""

    def __init__(self) -> None:
        self._newest: Vectors | None = None
        self._loading = threading.Lock()

    def at(
        self, connection: sqlite3.Connection, revision: Revision, dimension: int, *, from_scratch: bool = False
    ) -> Vectors:
        """The vectors of `revision`, which the transaction on `connection` sees; only what is new is read.

        With `from_scratch`, an older revision than the one in memory is read anew: a file that was restored from a
        copy looks like that.

        Raises:
            OutdatedSnapshot: a newer revision is in memory already.
            SourceUnavailable: the vectors in the file do not fit its matching texts.
        """
        with self._loading:
            known = self._newest
            if known and known.revision == revision:
                return known
            base = known if known and known.is_of(revision.base, dimension) else Vectors(revision, dimension)
            if base.revision.changes > revision.changes:
                if not from_scratch:
                    raise OutdatedSnapshot
                base = Vectors(revision, dimension)
            loaded = _brought_up_to(base, connection, revision)
            if loaded.there.size and loaded.there.mean() < 1 - _MOST_GONE:
                loaded = _brought_up_to(Vectors(revision, dimension), connection, revision)
            self._newest = loaded
            return loaded


def _brought_up_to(old: Vectors, connection: sqlite3.Connection, revision: Revision) -> Vectors:
    import numpy as np

    new = Vectors(revision, old.dimension)
    last = int(old.documents[-1]) if old.documents.size else 0
    documents, chunks, counts = _new_chunks(connection, last)
    new.blocks, new.rows = _with_new_rows(old, connection, last)
    if new.rows - old.rows != counts.sum():
        raise SourceUnavailable(
            "The knowledge base is damaged: it does not hold one vector for each matching text. Delete its file and "
            "run `groundgraph ingest PATH` again."
        )
    new.documents = np.concatenate([old.documents, documents])
    new.chunks = np.concatenate([old.chunks, chunks])
    new.starts = np.concatenate([old.starts, old.rows + np.cumsum(counts) - counts])
    present = np.fromiter((row for (row,) in connection.execute("SELECT id FROM documents")), dtype=np.int64)
    new.there = np.isin(new.documents, present)
    return new


def _new_chunks(connection: sqlite3.Connection, last: int) -> tuple[Any, Any, Any]:
    """Document, row and number of matching texts of each chunk of the documents after `last` that have vectors."""
    import numpy as np

    rows = connection.execute(
        "SELECT texts.document_id, chunk_id, count(*) FROM vectors JOIN texts USING (document_id) "
        "WHERE vectors.document_id > ? GROUP BY texts.document_id, chunk_id ORDER BY texts.document_id, chunk_id",
        (last,),
    )
    table = np.fromiter(rows, dtype=np.dtype((np.int64, 3)))
    return table[:, 0], table[:, 1], table[:, 2]


def _with_new_rows(old: Vectors, connection: sqlite3.Connection, last: int) -> tuple[tuple[Any, ...], int]:
    """The blocks of `old` with the vectors of the documents after `last`, and how many rows are then in use."""
    import numpy as np

    blocks, used = list(old.blocks), old.rows
    found = connection.execute("SELECT vectors FROM vectors WHERE document_id > ? ORDER BY document_id", (last,))
    while fetched := found.fetchmany(_FETCHED):
        rows = np.frombuffer(b"".join(blob for (blob,) in fetched), dtype=np.float16).reshape(-1, old.dimension)
        while len(rows):
            at = used % BLOCK_ROWS
            if used == len(blocks) * BLOCK_ROWS:
                blocks.append(np.empty((BLOCK_ROWS, old.dimension), dtype=np.float32))
            taken = min(len(rows), BLOCK_ROWS - at)
            blocks[-1][at : at + taken] = rows[:taken]
            rows, used = rows[taken:], used + taken
    return tuple(blocks), used
