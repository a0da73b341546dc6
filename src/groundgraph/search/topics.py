"""What a topic index knows of a store: its outline and its vectors, read in pages and once for each state of it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from groundgraph.core.errors import SchemaChanged, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.latest import Latest
from groundgraph.resilience.blocking import run_blocking
from groundgraph.resilience.bounds import retrieve

# Readings of a server that several turns wait for at the same time.


class SharedReadings:
    """Runs each reading in a task of its own: a turn whose time is over does not throw away what the next one needs.

    A task belongs to an event loop, so each loop has its own.
    """

    def __init__(self) -> None:
        self._running: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Future[Any]] = {}

    async def once(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """What `read` gives; the one that runs under `key` already is waited for."""
        own = (asyncio.get_running_loop(), key)
        task = self._running.get(own)
        if task is None or task.done():
            task = self._running[own] = asyncio.ensure_future(read())
            task.add_done_callback(lambda done: self._done(own, done))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End what is being read on this event loop."""
        here = asyncio.get_running_loop()
        own = [task for (loop, _), task in self._running.items() if loop is here]
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    def _done(self, own: tuple[asyncio.AbstractEventLoop, Hashable], task: asyncio.Future[Any]) -> None:
        if self._running.get(own) is task:
            del self._running[own]
        retrieve(task)


# What a store offers to a topic index: its headings, its passages in the order of their documents, its vectors.


class Place(NamedTuple):
    """Where a passage stands.

    Attributes:
        id: its `source_id`.
        document: which document it is from; headings of two documents are never taken for one.
        headings: the titles above it, the outermost first; empty when there is none.
    """

    id: str
    document: str
    headings: tuple[str, ...]


@dataclass(frozen=True)
class Outline:
    """All passages of a store.

    Attributes:
        revision: which state of the store it is.
        places: those of one document together and in its order.
    """

    revision: Hashable
    places: Sequence[Place] = field(repr=False)


@dataclass(frozen=True)
class PassageVectors:
    """The vectors that an ingest wrote.

    Attributes:
        revision: which state of the store it is.
        ids: the `source_id` of each passage.
        rows: float32 array of shape (passages, dimension), one unit vector each.
    """

    revision: Hashable
    ids: Sequence[str] = field(repr=False)
    rows: Any = field(repr=False)


class TopicStore(Protocol):
    """The reading side of a source, for a topic index. No method blocks the event loop.

    Filters are checked conditions on declared fields; whatever takes them gives nothing that they exclude. All methods
    raise `SourceError` when the store cannot answer.
    """

    @property
    def embeds(self) -> bool:
        """Whether questions can be turned into vectors."""

    async def revision(self) -> Hashable:
        """Which state the store is in; it changes with whatever `outline` and `vectors` depend on."""

    async def outline(self) -> Outline:
        """All passages with their headings."""

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """The ids of the passages that satisfy `filters`."""

    async def seeds(
        self, question: str, *, limit: int, filters: Mapping[str, Any], by_vector: bool
    ) -> Sequence[SourceResult]:
        """The best `limit` passages for `question`, the best first; by vectors alone with `by_vector`, else as the
        source itself searches."""

    async def question_vector(self, question: str) -> Any:
        """The unit vector of `question`, a float32 array of shape (dimension,); None when there is none."""

    async def vectors(self) -> PassageVectors | None:
        """The vectors of all passages; None when the store holds none."""

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> Mapping[str, SourceResult]:
        """Those of `ids` that are there and satisfy `filters`."""


@runtime_checkable
class PartedTopicStore(Protocol):
    """What a `TopicStore` is besides when it keeps tenants apart: only a part of it is ever read."""

    def part(self, filters: Mapping[str, Any]) -> TopicStore:
        """The store of the tenant that `filters` name, the same object while it is in use.

        Raises:
            ScopeMissing: they name none.
        """


K = TypeVar("K")
R = TypeVar("R")
_KEPT_PARTS = 16


class Row(NamedTuple, Generic[K]):
    """A passage as a page gives it.

    Attributes:
        place: where it stands.
        order: by what the passages of a document are sorted.
        key: what the store knows it by, or needs of it later.
        vectors: of its texts; None where none were asked for, or it has none.
    """

    place: Place
    order: Any
    key: K
    vectors: Any = None


@dataclass(frozen=True)
class Reading(Generic[R, K]):
    """What was read in one state of a store: an outline or vectors, and by id the keys of the passages."""

    content: R
    keys: Mapping[str, K] = field(repr=False)


class Topics(ABC, Generic[K]):
    """The reading side of a source for a topic index, over the pages that its store gives; see `TopicStore`.

    Turns that need the same at the same time wait for one reading.

    Args:
        name: of the source, for messages.
        tenant: whose passages these are, where tenants are kept apart.
        readings: those of all parts of a store.
    """

    def __init__(self, name: str, tenant: str | None, readings: SharedReadings | None) -> None:
        self._name = name
        self._tenant = tenant
        self._readings = readings or SharedReadings()
        self._parts: Latest[str, Self] = Latest(_KEPT_PARTS)
        # By whether it is about vectors.
        self._known: dict[bool, Reading[Any, K]] = {}

    @abstractmethod
    async def revision(self) -> Hashable:
        """See `TopicStore.revision`."""

    @abstractmethod
    def pages(self, *, vectors: bool) -> AsyncGenerator[Sequence[Row[K]], None]:
        """All passages, in any order; what a page leaves out does not count."""

    @abstractmethod
    async def has_vectors(self) -> bool:
        """Whether there can be vectors of the source's model.

        Raises:
            EmbeddingModelChanged: they are of another model.
        """

    @abstractmethod
    def too_many(self, count: int, *, vectors: bool) -> str:
        """Why `count` passages and perhaps more cannot be read, and what to do; empty when they can."""

    async def present(self) -> Hashable:
        """The revision to read; a store that is asked often may take the one that it saw last."""
        return await self.revision()

    async def outline(self) -> Outline:
        """See `TopicStore.outline`.

        Raises:
            SourceUnavailable: there are too many passages.
        """
        outline: Outline = (await self.reading(vectors=False)).content
        return outline

    async def vectors(self) -> PassageVectors | None:
        """See `TopicStore.vectors`; that of a passage with several is their mean.

        Raises:
            EmbeddingModelChanged: see `has_vectors`.
            SourceUnavailable: there are more than can be clustered.
        """
        if not await self.has_vectors():
            return None
        vectors: PassageVectors = (await self.reading(vectors=True)).content
        return vectors

    async def reading(self, *, vectors: bool) -> Reading[Any, K]:
        """The outline or the vectors as they are now."""
        revision, known = await self.present(), self._known.get(vectors)
        if known is None or known.content.revision != revision:
            known = await self._readings.once((self._tenant, revision, vectors), lambda: self._read(revision, vectors))
        return known

    async def close(self) -> None:
        """End what is being read on this event loop."""
        await self._readings.close()

    def check_count(self, count: int, *, vectors: bool) -> None:
        """Refuse to read more than the store may."""
        if told := self.too_many(count, vectors=vectors):
            raise unusable(self._name, told)

    async def _read(self, revision: Hashable, vectors: bool) -> Reading[Any, K]:
        try:
            rows = await self._rows(vectors)
        except SchemaChanged:
            # A rebuild may have put the passages into another collection meanwhile.
            rows = await self._rows(vectors)
        make: Callable[[Hashable, list[Row[K]]], Reading[Any, K]] = vector_reading if vectors else outline_reading
        known = self._known[vectors] = await run_blocking(make, revision, rows)
        return known

    async def _rows(self, vectors: bool) -> list[Row[K]]:
        rows: list[Row[K]] = []
        async with aclosing(self.pages(vectors=vectors)) as pages:
            async for page in pages:
                rows += await run_blocking(_compact, page) if vectors else page
                self.check_count(len(rows), vectors=vectors)
        return rows


def outline_reading(revision: Hashable, rows: Iterable[Row[K]]) -> Reading[Outline, K]:
    """The outline of `rows` in the order of their documents; of two passages with one id the first counts."""
    places: dict[str, Place] = {}
    keys: dict[str, K] = {}
    for row in sorted(rows, key=lambda row: (row.place.document, row.order)):
        if places.setdefault(row.place.id, row.place) is row.place:
            keys[row.place.id] = row.key
    return Reading(Outline(revision, list(places.values())), keys)


def vector_reading(revision: Hashable, rows: Iterable[Row[K]]) -> Reading[PassageVectors, K]:
    """The unit vectors of `rows`; of two passages with one id the first counts."""
    import numpy as np

    first: dict[str, Row[K]] = {}
    for row in rows:
        if row.vectors is not None:
            first.setdefault(row.place.id, row)
    matrix = np.stack([row.vectors for row in first.values()]) if first else np.zeros((0, 0), dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    keys = {name: row.key for name, row in first.items()}
    return Reading(PassageVectors(revision, list(first), matrix / np.where(lengths > 0, lengths, 1)), keys)


def unusable(source: str, reason: str) -> SourceUnavailable:
    """The error that tells why there is no topic index over a source."""
    return SourceUnavailable(f"The topic index of '{source}' cannot be used: {reason}")


def _compact(page: Sequence[Row[K]]) -> list[Row[K]]:
    """The mean of the vectors of each row, as an array: the numbers of a whole store as Python has them are large."""
    import numpy as np

    return [
        row._replace(vectors=np.atleast_2d(np.asarray(row.vectors, dtype=np.float32)).mean(axis=0))
        for row in page
        if row.vectors is not None
    ]
