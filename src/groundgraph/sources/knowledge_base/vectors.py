"""The vectors of a base, and how near each chunk is to a query, by numpy.

Those of a large base are mapped from files beside it (`SavedVectors`); what was written since then, and a small base,
is in memory. There vectors lie in blocks of equal size that are only ever added to, so loading copies nothing twice
and an older state stays readable while a newer one is made. What was removed keeps its place, marked, until a quarter
of all is gone.

Few vectors are all compared with the query. Of many, the signs of their numbers are compared first (Charikar,
"Similarity estimation techniques from rounding algorithms", 2002), and exactly those that agree in most of them.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.latest import Latest
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks
from groundgraph.sources.knowledge_base.saved_vectors import (
    FEW,
    SavedVectors,
    new_chunks,
    new_rows,
    open_saved,
    saved_name,
    signs_of,
    vectors_after,
    words_of,
)
from groundgraph.sources.knowledge_base.schema import Revision

_LOG = logging.getLogger(__name__)

BLOCK_ROWS = 8_192
_MOST_GONE = 0.25
# Of many vectors that many are compared exactly; what that finds stands in docs/decisions/ranking.md.
COMPARED = 2_048
# The mean cosine of many chunks is that of so many of them, evenly spread: its standard error is below .005.
_SAMPLED = 1_024
# One sign in so many is looked at to learn how many agree.
_STRIDE = 16
_KEPT_FILTERS = 8


class OutdatedSnapshot(Exception):
    """The reader's transaction began before what is in memory was read; it has to begin a new one."""


class VectorsUnsaved(Exception):
    """The base is large, and the files that its vectors are mapped from are not there or damaged."""


class Vectors:
    """The vectors of one revision.

    Attributes:
        revision: which one.
        saved: what is mapped from files; None where all is in memory.
        blocks: what follows it: float32 arrays of shape (BLOCK_ROWS, dimension), one row per matching text.
        signs: for each block those of its rows, of shape (words, BLOCK_ROWS).
        rows: how many rows are in use.
        documents: for each chunk the row of its document.
        chunks: the rows of the chunks, ascending.
        starts: for each chunk its first row.
        there: for each chunk whether it is still in the base.
    """

    def __init__(self, revision: Revision, dimension: int, saved: SavedVectors | None = None) -> None:
        import numpy as np

        self.revision = revision
        self.dimension = dimension
        self.saved = saved
        self.blocks: tuple[Any, ...] = ()
        self.signs: tuple[Any, ...] = ()
        self.rows = saved.rows.shape[0] if saved else 0
        self.documents = saved.documents if saved else np.empty(0, dtype=np.int64)
        self.chunks = saved.chunks if saved else np.empty(0, dtype=np.int64)
        self.starts = saved.starts if saved else np.empty(0, dtype=np.int64)
        self.there = np.ones(len(self.chunks), dtype=bool)
        self._asked: Latest[AllowedChunks | None, InQuestion] = Latest(_KEPT_FILTERS)

    def is_of(self, base: str, dimension: int, saved: str) -> bool:
        """Whether they are vectors of that base, size and files, at whichever revision."""
        name = self.saved.name if self.saved else ""
        return (self.revision.base, self.dimension, name) == (base, dimension, saved)

    def nearness(self, query: Any, allowed: AllowedChunks | None) -> Nearness:
        """How near the best matching text of each chunk is to `query`, a unit vector, among those that `allowed`
        keeps."""
        import numpy as np

        if self.rows > FEW:
            asked = self._asked.get_or_make(allowed, lambda: InQuestion.of(self, self._kept(allowed)))
            return NearnessBySigns(self, np.asarray(query, dtype=np.float32), asked)
        cosines = self.best_of_chunks(self._cosines(query), self.starts)
        return AllNearness(self.chunks, np.where(self._kept(allowed), cosines, -np.inf))

    def of_chunks(self) -> tuple[Any, Any]:
        """The rows of the chunks that are in the base, and for each the unit vector of the mean of its texts."""
        import numpy as np

        rows = np.concatenate([block for _, block, _ in self.parts()] or [np.empty((0, self.dimension), np.float32)])
        if len(self.chunks) != self.rows:
            rows = np.add.reduceat(rows, self.starts)
        rows = rows[self.there]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return self.chunks[self.there], rows / np.where(lengths > 0, lengths, 1)

    def parts(self) -> Iterator[tuple[int, Any, Any]]:
        """What is mapped and each block: the number of its first row, the rows in use, and their signs."""
        first = 0
        if self.saved:
            yield 0, self.saved.rows, self.saved.signs
            first = len(self.saved.rows)
        for block, signs in zip(self.blocks, self.signs, strict=True):
            used = min(BLOCK_ROWS, self.rows - first)
            yield first, block[:used], signs[:, :used]
            first += BLOCK_ROWS

    def rows_of(self, places: Any) -> tuple[Any, Any]:
        """The vectors of the chunks at `places`, which are ascending, and for each chunk its first row among them."""
        import numpy as np

        starts = self.starts[places]
        after = np.minimum(places + 1, len(self.starts) - 1)
        counts = np.where(places + 1 < len(self.starts), self.starts[after], self.rows) - starts
        firsts = np.cumsum(counts) - counts
        rows = np.repeat(starts - firsts, counts) + np.arange(counts.sum())
        vectors = np.empty((len(rows), self.dimension), dtype=np.float32)
        for first, part, _ in self.parts():
            inside = slice(*np.searchsorted(rows, [first, first + len(part)]))
            # With its own way to say that no number is out of range, numpy needs no copy in between.
            np.take(part, rows[inside] - first, axis=0, out=vectors[inside], mode="clip")
        return vectors, firsts

    def cosines_of(self, places: Any, query: Any) -> Any:
        """The cosines of the best matching texts of the chunks at `places`, which are ascending."""
        import numpy as np

        vectors, firsts = self.rows_of(places)
        return self.best_of_chunks(np.einsum("ij,j->i", vectors, query), firsts)

    def best_of_chunks(self, values: Any, firsts: Any) -> Any:
        """The largest of the `values` of each chunk, which begin at `firsts`."""
        import numpy as np

        return values if len(values) == len(firsts) else np.maximum.reduceat(values, firsts)

    def _cosines(self, query: Any) -> Any:
        import numpy as np

        cosines = np.empty(self.rows, dtype=np.float32)
        for first, part, _ in self.parts():
            # A product by BLAS is split over threads, which wait for each other when the machine is busy: its median
            # is half of this one's, its 95th percentile ten times as long.
            np.einsum("ij,j->i", part, query, out=cosines[first : first + len(part)])
        return cosines

    def _kept(self, allowed: AllowedChunks | None) -> Any:
        import numpy as np

        if allowed is None:
            return self.there
        listed = np.isin(self.documents, allowed.document_rows()) | np.isin(self.chunks, allowed.chunk_rows())
        return self.there & (listed == allowed.listed)


class Nearness(Protocol):
    """How near chunks are to a query."""

    @property
    def average(self) -> float:
        """The mean cosine of the chunks that are in question, 0 without any: what a chunk gets that has nothing to do
        with the query."""

    def nearest(self, count: int) -> dict[int, float]:
        """The rows of the `count` nearest chunks, each with its cosine."""

    def of(self, chunks: Sequence[int]) -> dict[int, float]:
        """The cosines of those of `chunks` that have vectors."""


@dataclass(frozen=True)
class AllNearness:
    """How near every chunk is.

    Attributes:
        chunks: their rows, ascending.
        cosines: for each the cosine of its best matching text; minus infinity for those that are out of the question.
    """

    chunks: Any
    cosines: Any

    @property
    def average(self) -> float:
        """See `Nearness.average`."""
        import numpy as np

        finite = self.cosines[np.isfinite(self.cosines)]
        return float(finite.mean()) if finite.size else 0.0

    def nearest(self, count: int) -> dict[int, float]:
        """See `Nearness.nearest`."""
        import numpy as np

        count = min(count, len(self.cosines))
        best: Any = np.argpartition(-self.cosines, count - 1)[:count] if count else []
        return {int(self.chunks[n]): float(self.cosines[n]) for n in best if np.isfinite(self.cosines[n])}

    def of(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `Nearness.of`."""
        import numpy as np

        places, numbers = _places(self.chunks, chunks)
        cosines = self.cosines[places]
        there = np.isfinite(cosines)
        return dict(zip(numbers[there].tolist(), cosines[there].tolist(), strict=True))


@dataclass(frozen=True)
class InQuestion:
    """The chunks of a large base that are in question.

    Attributes:
        kept: for each chunk whether it is.
        places: where they stand, ascending.
        sample: the vectors of some of them, evenly spread.
        firsts: for each of these its first row in `sample`.
    """

    kept: Any
    places: Any
    sample: Any
    firsts: Any

    @classmethod
    def of(cls, vectors: Vectors, kept: Any) -> InQuestion:
        """Those that are `kept`."""
        import numpy as np

        places = np.flatnonzero(kept)
        return cls(kept, places, *vectors.rows_of(places[:: max(1, len(places) // _SAMPLED)]))


@dataclass(frozen=True)
class NearnessBySigns:
    """How near chunks are, of which those that agree with the query in most signs are compared exactly.

    Attributes:
        vectors: those of the chunks.
        query: a unit vector.
        asked: the chunks that are in question.
    """

    vectors: Vectors
    query: Any
    asked: InQuestion

    @property
    def average(self) -> float:
        """See `Nearness.average`."""
        import numpy as np

        cosines = np.einsum("ij,j->i", self.asked.sample, self.query)
        return float(self.vectors.best_of_chunks(cosines, self.asked.firsts).mean()) if len(cosines) else 0.0

    def nearest(self, count: int) -> dict[int, float]:
        """See `Nearness.nearest`."""
        import numpy as np

        places = self._close(max(COMPARED, _STRIDE * count))
        cosines = self.vectors.cosines_of(places, self.query)
        best = np.argsort(-cosines)[:count]
        return dict(zip(self.vectors.chunks[places[best]].tolist(), cosines[best].tolist(), strict=True))

    def of(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `Nearness.of`."""
        places, numbers = _places(self.vectors.chunks, chunks)
        there = self.asked.kept[places]
        cosines = self.vectors.cosines_of(places[there], self.query)
        return dict(zip(numbers[there].tolist(), cosines.tolist(), strict=True))

    def _close(self, wanted: int) -> Any:
        """The places of at least `wanted` chunks that are in question, ascending: those with the most signs as the
        query has them."""
        places = self.asked.places
        if len(places) <= wanted:
            return places
        differing = self._differing()
        return places[_lowest(differing[places] if len(places) < len(differing) else differing, wanted)]

    def _differing(self) -> Any:
        """For each chunk in how many signs the nearest of its texts differs from the query."""
        import numpy as np

        asked = signs_of(self.query[None])[:, 0]
        found = np.zeros(self.vectors.rows, dtype=np.uint16)
        for first, _, signs in self.vectors.parts():
            counted = found[first : first + signs.shape[1]]
            for word, of_word in zip(asked, signs, strict=True):
                counted += np.bitwise_count(of_word ^ word)
        return found if len(self.vectors.chunks) == len(found) else np.minimum.reduceat(found, self.vectors.starts)


def _places(held: Any, chunks: Sequence[int]) -> tuple[Any, Any]:
    """Where those of `chunks` that are in `held` stand there, ascending, and which they are."""
    import numpy as np

    numbers = np.unique(np.asarray(chunks, dtype=np.int64))
    places = np.searchsorted(held, numbers)
    inside = places < len(held)
    inside[inside] = held[places[inside]] == numbers[inside]
    return places[inside], numbers[inside]


def _lowest(values: Any, wanted: int) -> Any:
    """Where at least `wanted` of the lowest of `values` stand, ascending."""
    import numpy as np

    # By a sample, since putting all in order takes longer than everything else.
    sample = values[::_STRIDE]
    enough = min(len(sample) - 1, wanted // _STRIDE + _STRIDE)
    found = np.flatnonzero(values <= np.partition(sample, enough)[enough])
    if wanted <= len(found) <= 4 * wanted:
        return found
    return np.sort(np.argpartition(values, wanted - 1)[:wanted])


class VectorCache:
    """The newest `Vectors` that were asked for; may be used by several threads.

    Args:
        folder: where the vectors of a large base are mapped from; None reads them all into memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._newest: Vectors | None = None
        self._loading = threading.Lock()

    def keep_in_memory(self, reason: object) -> None:
        """Read all vectors into memory from now on, since their files cannot be written."""
        _LOG.warning("The vectors in '%s' cannot be kept there (%s); they are read into memory.", self._folder, reason)
        self._folder = None

    def at(
        self, connection: sqlite3.Connection, revision: Revision, dimension: int, *, from_scratch: bool = False
    ) -> Vectors:
        """The vectors of `revision`, which the transaction on `connection` sees; only what is new is read.

        With `from_scratch`, an older revision than the one in memory is read anew: a file that was restored from a
        copy looks like that.

        Raises:
            OutdatedSnapshot: a newer revision is in memory already.
            VectorsUnsaved: they are many, and there are no files to map them from.
            SourceUnavailable: the vectors in the file do not fit its matching texts.
        """
        with self._loading:
            known = self._newest
            if known and known.revision == revision:
                return known
            saved = saved_name(connection) if self._folder else ""
            if known and known.is_of(revision.base, dimension, saved) and not _is_newer(known, revision, from_scratch):
                base = known
            else:
                base = self._begun(connection, revision, dimension, saved)
            loaded = _brought_up_to(base, connection, revision)
            if not loaded.saved and loaded.there.size and loaded.there.mean() < 1 - _MOST_GONE:
                loaded = _brought_up_to(Vectors(revision, dimension), connection, revision)
            self._newest = loaded
            return loaded

    def _begun(self, connection: sqlite3.Connection, revision: Revision, dimension: int, saved: str) -> Vectors:
        """The vectors that are mapped, or none."""
        if self._folder is None:
            return Vectors(revision, dimension)
        mapped = open_saved(self._folder, saved, dimension) if saved else None
        if mapped is None and vectors_after(connection, 0, dimension) > FEW:
            raise VectorsUnsaved
        return Vectors(revision, dimension, mapped)


def _is_newer(known: Vectors, revision: Revision, from_scratch: bool) -> bool:
    newer = known.revision.changes > revision.changes
    if newer and not from_scratch:
        raise OutdatedSnapshot
    return newer


def _brought_up_to(old: Vectors, connection: sqlite3.Connection, revision: Revision) -> Vectors:
    import numpy as np

    new = Vectors(revision, old.dimension, old.saved)
    last = int(old.documents[-1]) if old.documents.size else 0
    documents, chunks, counts = new_chunks(connection, last)
    new.blocks, new.signs, new.rows = _with_new_rows(old, connection, last)
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


def _with_new_rows(
    old: Vectors, connection: sqlite3.Connection, last: int
) -> tuple[tuple[Any, ...], tuple[Any, ...], int]:
    """The blocks of `old` with the vectors of the documents after `last`, their signs, and how many rows are then in
    use."""
    import numpy as np

    mapped = len(old.saved.rows) if old.saved else 0
    blocks, signs, used = list(old.blocks), list(old.signs), old.rows - mapped
    for fetched in new_rows(connection, last, old.dimension):
        rows = fetched
        while len(rows):
            at = used % BLOCK_ROWS
            if used == len(blocks) * BLOCK_ROWS:
                blocks.append(np.empty((BLOCK_ROWS, old.dimension), dtype=np.float32))
                signs.append(np.empty((words_of(old.dimension), BLOCK_ROWS), dtype=np.uint64))
            taken = min(len(rows), BLOCK_ROWS - at)
            blocks[-1][at : at + taken] = rows[:taken]
            signs[-1][:, at : at + taken] = signs_of(rows[:taken])
            rows, used = rows[taken:], used + taken
    return tuple(blocks), tuple(signs), mapped + used
