"""Searching one base: what connections, vectors and filters are kept for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from groundgraph.core.blocking import run_blocking
from groundgraph.core.chain import Match
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.core.latest import Latest
from groundgraph.sources.knowledge_base import results
from groundgraph.sources.knowledge_base.allowed import AllowedChunks, allowed_chunks
from groundgraph.sources.knowledge_base.base_searcher import Search
from groundgraph.sources.knowledge_base.between import texts_between
from groundgraph.sources.knowledge_base.connections import ReadConnections
from groundgraph.sources.knowledge_base.identity import check_model, has_vectors, identity_of
from groundgraph.sources.knowledge_base.results import matches_of
from groundgraph.sources.knowledge_base.revision import Revision, reading
from groundgraph.sources.knowledge_base.search import VectorQuery, find
from groundgraph.sources.knowledge_base.vectors import OutdatedSnapshot, VectorCache, Vectors

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ATTEMPTS = 3
_KEPT_FILTERS = 32


class _InOneState(Protocol[T_co]):
    def __call__(self, connection: sqlite3.Connection, *, from_scratch: bool = False) -> T_co: ...


class Searcher:
    """Every method blocks and may be called from several threads.

    Args:
        path: the SQLite file.
        lock_timeout: seconds to wait for a writer that keeps readers out.
        source_name: the name that results carry.
    """

    def __init__(self, path: Path, lock_timeout: float, source_name: str) -> None:
        self._path = path
        self._source_name = source_name
        self._connections = ReadConnections(path, lock_timeout)
        self._vectors = VectorCache()
        self._allowed: Latest[tuple[str, Revision], AllowedChunks] = Latest(_KEPT_FILTERS)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns, in one state of the base; see `ReadConnections.run` for what is raised."""

        return self.read_state(lambda connection, _: work(connection))

    def read_state(self, work: Callable[[sqlite3.Connection, Revision], T]) -> T:
        """As `read`; `work` is also told which state it is."""

        def within(connection: sqlite3.Connection) -> T:
            with reading(connection, self._path) as revision:
                return work(connection, revision)

        return self._connections.run(within)

    def revision(self) -> Revision:
        """Which state the base is in."""
        return self.read_state(lambda _, revision: revision)

    def read_allowed(self, filters: Mapping[str, Any], work: Callable[[sqlite3.Connection, AllowedChunks], T]) -> T:
        """As `read`; `work` is also given the chunks that satisfy the checked `filters`."""

        return self.read_state(
            lambda connection, revision: work(connection, self._allowed_chunks(connection, revision, filters))
        )

    def read_vectors(self, model: str, work: Callable[[sqlite3.Connection, Revision, Vectors], T]) -> T | None:
        """As `read`; `work` is also given the vectors of that state. None when the base holds none.

        Raises:
            EmbeddingModelChanged: they are not of the embedding model `model`.
        """

        def within(connection: sqlite3.Connection, *, from_scratch: bool = False) -> T | None:
            with reading(connection, self._path) as revision:
                if not has_vectors(connection):
                    return None
                identity = identity_of(connection)
                check_model(self._path, identity, model, None)
                vectors = self._vectors.at(connection, revision, identity.dimension, from_scratch=from_scratch)
                return work(connection, revision, vectors)

        return self._tried(within)

    def vector_identity(self) -> BaseIdentity | None:
        """The embedding model and dimension of the base's vectors; None when it has none."""
        return self.read(lambda connection: identity_of(connection) if has_vectors(connection) else None)

    def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """What each of `searches` finds, all in one state of the base.

        Raises:
            EmbeddingModelChanged: a vector is not of the base's model or dimension.
            SourceUnavailable, SchemaVersionUnsupported, StorageLocked: as for `ReadConnections.run`.
        """

        def within(connection: sqlite3.Connection, *, from_scratch: bool = False) -> list[list[Match]]:
            return self._searched(connection, searches, from_scratch=from_scratch)

        return self._tried(within)

    def close(self) -> None:
        """Close the file and give the memory of the vectors back."""
        self._connections.close()
        self._vectors = VectorCache()

    def _tried(self, work: _InOneState[T]) -> T:
        """What `work` returns; done again when a newer state of the vectors is in memory than it sees."""
        for _ in range(_ATTEMPTS):
            try:
                return self._connections.run(work)
            except OutdatedSnapshot:
                continue
        return self._connections.run(lambda connection: work(connection, from_scratch=True))

    def _searched(
        self, connection: sqlite3.Connection, searches: Sequence[Search], *, from_scratch: bool = False
    ) -> list[list[Match]]:
        with reading(connection, self._path) as revision:
            return [self._one(connection, revision, search, from_scratch) for search in searches]

    def _one(
        self, connection: sqlite3.Connection, revision: Revision, search: Search, from_scratch: bool
    ) -> list[Match]:
        found = find(
            connection,
            search.text,
            self._vector_query(connection, revision, search, from_scratch),
            top_k=search.top_k,
            score_threshold=search.score_threshold,
            allowed=self._allowed_chunks(connection, revision, search.filters) if search.filters else None,
        )
        return matches_of(connection, found, self._source_name)

    def _vector_query(
        self, connection: sqlite3.Connection, revision: Revision, search: Search, from_scratch: bool
    ) -> VectorQuery | None:
        if search.vector is None or not has_vectors(connection):
            return None
        identity = identity_of(connection)
        check_model(self._path, identity, search.model, len(search.vector))
        base = self._vectors.at(connection, revision, identity.dimension, from_scratch=from_scratch)
        return VectorQuery(search.vector, base, search.vector_weight)

    def _allowed_chunks(
        self, connection: sqlite3.Connection, revision: Revision, filters: Mapping[str, Any]
    ) -> AllowedChunks:
        key = (json.dumps(filters, sort_keys=True), revision)
        return self._allowed.get_or_make(key, lambda: allowed_chunks(connection, filters))


class FileSearcher:
    """A `BaseSearcher` over one SQLite file, with the arguments of `Searcher`.

    Attributes:
        place: the file.
        blocking: what does the work.
    """

    def __init__(self, path: Path, lock_timeout: float, source_name: str) -> None:
        self.place = str(path)
        self.blocking = Searcher(path, lock_timeout, source_name)

    async def vector_identity(self) -> BaseIdentity | None:
        """See `BaseSearcher.vector_identity`."""
        return await run_blocking(self.blocking.vector_identity)

    async def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """See `Searcher.run`."""
        return await run_blocking(self.blocking.run, searches)

    async def metadata_fields(self) -> set[str]:
        """See `BaseSearcher.metadata_fields`."""
        return await run_blocking(self.blocking.read, results.metadata_fields)

    async def counts(self) -> dict[str, int]:
        """See `BaseSearcher.counts`."""
        return await run_blocking(self.blocking.read, results.counts)

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `BaseSearcher.texts_between`."""
        return await run_blocking(self.blocking.read, lambda connection: texts_between(connection, pairs))

    async def close(self) -> None:
        """Close the file and forget the vectors."""
        await run_blocking(self.blocking.close)
