"""The vectors of a base, and how near each chunk is to a query, by numpy.

Those of a large base lie in files beside it (`SavedVectors`); what was written since then, and a small base, is in
memory. There vectors lie in blocks of equal size that are only ever added to, so loading copies nothing twice
and an older state stays readable while a newer one is made. What was removed keeps its place, marked, until a quarter
of all is gone.

Few vectors are all compared with the query. Of many, the signs of their numbers are compared first (Charikar,
"Similarity estimation techniques from rounding algorithms", 2002), and exactly those that agree in most of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from groundgraph.core.latest import Latest
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks
from groundgraph.sources.knowledge_base.saved_vectors import FEW, SavedVectors, signs_of
from groundgraph.sources.knowledge_base.stored_chunk import Revision

BLOCK_ROWS = 8_192
# Of many vectors that many are compared exactly; what that finds stands in docs/decisions/ranking.md.
COMPARED = 2_048
# The mean cosine of many chunks is that of so many of them, evenly spread: its standard error is below .005.
_SAMPLED = 1_024
# One sign in so many is looked at to learn how many agree.
_STRIDE = 16
_KEPT_FILTERS = 8


class Vectors:
    """The vectors of one revision.

    Attributes:
        revision: which one.
        saved: those in files; None where all are in memory.
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

        rows, _ = self.rows_of(np.arange(len(self.chunks)))
        if len(self.chunks) != self.rows:
            rows = np.add.reduceat(rows, self.starts)
        rows = rows[self.there]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return self.chunks[self.there], rows / np.where(lengths > 0, lengths, 1)

    def parts_of_signs(self) -> Iterator[tuple[int, Any]]:
        """The signs of the rows in use, part by part, each with the number of its first row."""
        if self.saved:
            yield 0, self.saved.signs
        for (first, block), signs in zip(self._in_memory(), self.signs, strict=True):
            yield first, signs[:, : len(block)]

    def _in_memory(self) -> Iterator[tuple[int, Any]]:
        """The rows in use of each block, with the number of its first row."""
        first = len(self.saved.rows) if self.saved else 0
        for block in self.blocks:
            yield first, block[: self.rows - first]
            first += BLOCK_ROWS

    def rows_of(self, places: Any) -> tuple[Any, Any]:
        """The vectors of the chunks at `places`, which are ascending, and for each chunk its first row among them.

        Raises:
            VectorsUnsaved: their file was cut off meanwhile.
        """
        import numpy as np

        starts = self.starts[places]
        after = np.minimum(places + 1, len(self.starts) - 1)
        counts = np.where(places + 1 < len(self.starts), self.starts[after], self.rows) - starts
        firsts = np.cumsum(counts) - counts
        rows = np.repeat(starts - firsts, counts) + np.arange(counts.sum())
        vectors = np.empty((len(rows), self.dimension), dtype=np.float32)
        in_files = int(np.searchsorted(rows, len(self.saved.rows))) if self.saved else 0
        if self.saved:
            self.saved.rows.read(rows[:in_files], vectors[:in_files])
        for first, block in self._in_memory():
            inside = slice(*np.searchsorted(rows, [first, first + len(block)]))
            # With its own way to say that no number is out of range, numpy needs no copy in between.
            np.take(block, rows[inside] - first, axis=0, out=vectors[inside], mode="clip")
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
        """Those of all rows, none of which are in files."""
        import numpy as np

        cosines = np.empty(self.rows, dtype=np.float32)
        for first, block in self._in_memory():
            # A product by BLAS is split over threads, which wait for each other when the machine is busy: its median
            # is half of this one's, its 95th percentile ten times as long.
            np.einsum("ij,j->i", block, query, out=cosines[first : first + len(block)])
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
        for first, signs in self.vectors.parts_of_signs():
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
