"""What is known of a collection as a whole: how frequent a word is, and how near an average object is to a question.

Both change slowly and are kept for a while.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from groundgraph.core.latest import Latest
from groundgraph.search.rank import frequency_of
from groundgraph.sources.weaviate.address import queries
from groundgraph.text.words import WORD

# Vectors of objects, and how near they are to a question.


class VectorRows:
    """Vectors of several objects as unit rows; an object with a multi-vector has several."""

    def __init__(self, vectors: Sequence[Any]) -> None:
        import numpy as np

        parts = [vector if isinstance(vector[0], list) else [vector] for vector in vectors]
        self._counts = list(map(len, parts))
        rows = list(chain.from_iterable(parts))
        sizes = set(map(len, rows))
        self._rows = np.asarray(rows if len(sizes) == 1 else [], dtype=np.float32)
        if self._rows.size:
            lengths = np.linalg.norm(self._rows, axis=1, keepdims=True)
            self._rows /= np.where(lengths > 0, lengths, 1)

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def dimension(self) -> int:
        """The size of the vectors; 0 when there are none, or of several sizes."""
        return int(self._rows.shape[1]) if self._rows.size else 0

    def cosines(self, query: Any) -> list[float]:
        """For each object the cosine of its best row; nothing when the vectors are of another size than `query`."""
        import numpy as np

        if not self._rows.size or self._rows.shape[1] != len(query):
            return []
        products = self._rows @ query
        starts = np.cumsum([0, *self._counts[:-1]])
        best = products if len(products) == len(self._counts) else np.maximum.reduceat(products, starts)
        return [float(value) for value in best]

    def average_cosine(self, query: Any) -> float:
        """The mean of `cosines`; 0 without any."""
        known = self.cosines(query)
        return sum(known) / len(known) if known else 0.0


def cosines(vectors: Sequence[Any], query: Any) -> list[float]:
    """The cosine of each of `vectors`, or of the best row of each multi-vector, with `query`, a unit vector.

    Vectors of another size give nothing that can be compared: 0 for each.
    """
    return VectorRows(vectors).cosines(query) or [0.0] * len(vectors)


KEPT_SECONDS = 600.0
_KEPT_TERMS = 50_000
# Objects from which the average length of a text and the average cosine are estimated.
SAMPLE = 256
# Weaviate writes the parts of an explanation in any order.
_FREQUENCY = re.compile(r"_frequency:([\d.]+)")
_LENGTH = re.compile(r"_propLength:([\d.]+)")


@dataclass(frozen=True)
class TextIndex:
    """The text index whose words are counted: a property, and the two parameters of its BM25."""

    property: str
    k1: float = 1.2
    b: float = 0.75


@dataclass(frozen=True)
class _Best:
    """The object that scores best for one word alone: score, how often it holds the word, and how long it is."""

    score: float
    frequency: float
    length: float


class Statistics:
    """Those of one collection, for one tenant where it has tenants.

    Weaviate counts the objects that hold a word by reading all of them, a third of a second for 25 000. It tells the
    same in a millisecond through the BM25 score of the best one: its idf times
    f / (f + k1 (1 - b + b length / average length)).

    Args:
        index: the text index.
        vector: the vector that is sampled; empty without vectors.
    """

    def __init__(self, index: TextIndex, vector: str) -> None:
        self._index = index
        self._vector = vector
        self._best: Latest[str, _Best | None] = Latest(_KEPT_TERMS)
        self._objects: int | None = None
        self._average_length = 0.0
        self._sample: VectorRows | None = None
        self._ends_at = time.monotonic() + KEPT_SECONDS

    @property
    def is_current(self) -> bool:
        """Whether it is new enough to be used."""
        # What is empty may be filled any moment.
        return time.monotonic() < self._ends_at and self._objects != 0

    def missing(self, terms: Sequence[str]) -> list[str]:
        """Those of `terms` whose frequency is not known yet."""
        return [term for term in terms if term not in self._best]

    @property
    def is_read(self) -> bool:
        """Whether `read` was done."""
        return self._objects is not None and self._sample is not None

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return self._objects or 0

    def frequency(self, term: str) -> int:
        """How many objects hold `term`, nearly; 0 when none does or that is not known."""
        best = self._best.get(term)
        if best is None or not self._average_length:
            return 0
        norm = 1 - self._index.b + self._index.b * best.length / self._average_length
        weight = best.score * (best.frequency + self._index.k1 * norm) / best.frequency
        return frequency_of(weight, self.objects)

    async def read_objects(self, collection: Any) -> None:
        """Count the objects."""
        self._objects = (await collection.aggregate.over_all(total_count=True)).total_count or 0

    async def read_frequency(self, collection: Any, term: str) -> None:
        """Find out how frequent `term` is."""
        found = await collection.query.bm25(
            term,
            query_properties=[self._index.property],
            limit=1,
            return_properties=False,
            return_metadata=queries().MetadataQuery(score=True, explain_score=True),
        )
        self._best.put(term, _best(found.objects[0].metadata) if found.objects else None)

    async def read_sample(self, collection: Any) -> None:
        """Read some objects; UUIDs are in no order that matters, so the first will do."""
        name = self._index.property
        found = await collection.query.fetch_objects(
            limit=SAMPLE, include_vector=[self._vector] if self._vector else False, return_properties=[name]
        )
        lengths = [length for length in (_length(one.properties.get(name)) for one in found.objects) if length]
        self._average_length = sum(lengths) / len(lengths) if lengths else 0.0
        self._sample = VectorRows([one.vector[self._vector] for one in found.objects if one.vector.get(self._vector)])

    @property
    def dimension(self) -> int:
        """The size of the vectors; 0 when there are none, or of several sizes."""
        return self._sample.dimension if self._sample else 0

    @property
    def lacks_vectors(self) -> bool:
        """Whether there are objects, of which none that was looked at has the vector that is searched."""
        return bool(self._vector and self._objects) and self._sample is not None and not len(self._sample)

    def average_cosine(self, query: Any) -> float:
        """The mean over the sample of the cosine with `query`, a unit vector; 0 without a sample."""
        return self._sample.average_cosine(query) if self._sample else 0.0


def _best(metadata: Any) -> _Best | None:
    explanation = metadata.explain_score or ""
    frequency, length = _FREQUENCY.search(explanation), _LENGTH.search(explanation)
    if not frequency or not length or not metadata.score:
        return None
    return _Best(metadata.score, float(frequency[1]), float(length[1]))


def _length(value: Any) -> int:
    texts = value if isinstance(value, list) else [value or ""]
    return sum(len(WORD.findall(str(text))) for text in texts)
