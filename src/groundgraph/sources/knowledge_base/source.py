"""The source over a knowledge base in one SQLite file, and the headings and vectors of the base, for a topic index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from groundgraph.core.chain import Match
from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.rank import RankedPassage, query_vector, wants_vector
from groundgraph.search.topics import Outline, PassageVectors, Place
from groundgraph.sources.check_options import declared_fields, is_number, unknown_names
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks
from groundgraph.sources.knowledge_base.chained_source import DEFAULT_NAME, ChainedOptions, ChainedSource
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT, Revision
from groundgraph.sources.knowledge_base.searcher import FileSearcher, Searcher, matches_of
from groundgraph.sources.knowledge_base.vectors import Vectors

# What the topic stores of knowledge bases have in common: questions go the way that the source itself searches.


class ChainedTopicStore:
    """The part of a `TopicStore` that asks; see there for the methods.

    Args:
        source: searches the base with its chains.
    """

    def __init__(self, source: ChainedSource) -> None:
        self._source = source

    @property
    def embeds(self) -> bool:
        """Whether the source has an embedding model."""
        return self._source.embedder is not None

    async def seeds(
        self, question: str, *, limit: int, filters: Mapping[str, Any], by_vector: bool
    ) -> list[SourceResult]:
        """See `TopicStore.seeds`; the query chains of the source run here as well."""
        weight = 1.0 if by_vector else None
        matches = await self._source.matches(question, top_k=limit, filters=filters, vector_weight=weight)
        return [_by_cosine(match) if by_vector else match.result for match in matches if match.kept]

    async def question_vector(self, question: str) -> Any:
        """See `TopicStore.question_vector`."""
        embedder = self._source.embedder
        if embedder is None or not wants_vector(embedder, question):
            return None
        return await query_vector(embedder, question, self._source.name)


def _by_cosine(match: Match) -> SourceResult:
    score = match.match_score if match.rerank_score is None else match.rerank_score
    return replace(match.result, relevance=score)


_PLACES = (
    "SELECT name, position, headings FROM chunks JOIN documents ON documents.id = document_id ORDER BY name, position"
)
_KEPT = (
    "SELECT name || '#' || position FROM chunks JOIN documents ON documents.id = document_id "
    "WHERE (document_id IN (SELECT value FROM json_each(:documents)) "
    "OR chunks.id IN (SELECT value FROM json_each(:chunks))) = :listed"
)
_ROWS = (
    "SELECT chunks.id FROM json_each(?) AS wanted JOIN documents ON name = json_extract(wanted.value, '$[0]') "
    "JOIN chunks ON document_id = documents.id AND position = json_extract(wanted.value, '$[1]')"
)
_IDS = "SELECT chunks.id, name || '#' || position FROM chunks JOIN documents ON documents.id = document_id"


class FileTopicStore(ChainedTopicStore):
    """A `TopicStore`; see there for the methods.

    Args:
        source: searches the base with its chains.
        searcher: reads the file.
    """

    def __init__(self, source: ChainedSource, searcher: Searcher) -> None:
        super().__init__(source)
        self._searcher = searcher

    async def revision(self) -> Revision:
        """See `TopicStore.revision`."""
        return await run_blocking(self._searcher.revision)

    async def outline(self) -> Outline:
        """See `TopicStore.outline`."""
        return await run_blocking(self._searcher.read_state, _outline)

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """See `TopicStore.kept`."""
        return await run_blocking(self._searcher.read_allowed, filters, _kept)

    async def vectors(self) -> PassageVectors | None:
        """See `TopicStore.vectors`; that of a chunk with several matching texts is their mean.

        Raises:
            EmbeddingModelChanged: they are of another model than the source's.
        """
        model = self._source.embedder.name if self._source.embedder else ""
        return await run_blocking(self._searcher.read_vectors, model, _vectors)

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> dict[str, SourceResult]:
        """See `TopicStore.passages`."""

        def read(connection: sqlite3.Connection, allowed: AllowedChunks | None = None) -> dict[str, SourceResult]:
            return _passages(connection, ids, allowed, self._source.name)

        if not filters:
            return await run_blocking(self._searcher.read, read)
        return await run_blocking(self._searcher.read_allowed, filters, read)


def _outline(connection: sqlite3.Connection, revision: Revision) -> Outline:
    paths: dict[str, tuple[str, ...]] = {}
    places: list[Place] = []
    for name, position, headings in connection.execute(_PLACES):
        if headings not in paths:
            paths[headings] = tuple(json.loads(headings))
        places.append(Place(f"{name}#{position}", name, paths[headings]))
    return Outline(revision, places)


def _kept(connection: sqlite3.Connection, allowed: AllowedChunks) -> frozenset[str]:
    values = {**allowed.values, "listed": allowed.listed}
    return frozenset(name for (name,) in connection.execute(_KEPT, values))


def _vectors(connection: sqlite3.Connection, revision: Revision, vectors: Vectors) -> PassageVectors:
    names = dict(connection.execute(_IDS))
    chunks, rows = vectors.of_chunks()
    return PassageVectors(revision, [names[chunk] for chunk in chunks.tolist()], rows)


def _passages(
    connection: sqlite3.Connection, ids: Sequence[str], allowed: AllowedChunks | None, source_name: str
) -> dict[str, SourceResult]:
    parted = (one.rpartition("#") for one in ids)
    wanted = [(name, int(position)) for name, _, position in parted if position.isdecimal()]
    rows = {row for (row,) in connection.execute(_ROWS, (json.dumps(wanted),))}
    if allowed is not None:
        listed = set(allowed.chunk_rows()) | _of_documents(connection, rows, allowed)
        rows = rows & listed if allowed.listed else rows - listed
    found = [RankedPassage(row) for row in rows]
    return {match.result.source_id: match.result for match in matches_of(connection, found, source_name)}


def _of_documents(connection: sqlite3.Connection, rows: set[int], allowed: AllowedChunks) -> set[int]:
    """Those of the chunks `rows` whose documents are listed."""
    statement = (
        "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) "
        "AND document_id IN (SELECT value FROM json_each(?))"
    )
    return {row for (row,) in connection.execute(statement, (json.dumps(sorted(rows)), allowed.documents))}


# The source.

DEFAULT_PATH = Path(".groundgraph/knowledge_base.sqlite")


class KnowledgeBaseSource(ChainedSource):
    """The chunks that an ingest wrote into one SQLite file; see `ChainedSource` for the other arguments.

    Args:
        path: the SQLite file.
        lock_timeout: seconds to wait for a writer that keeps readers out.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        lock_timeout: float = LOCK_TIMEOUT,
        **options: Unpack[ChainedOptions],
    ) -> None:
        searcher = FileSearcher(Path(path), lock_timeout, options.get("name", DEFAULT_NAME))
        super().__init__(searcher, **options)
        self._topics = FileTopicStore(self, searcher.blocking)


# A knowledge base as an entry of `sources:`.

_OPTIONS = ("path", "fields", "description", "vector_weight")


def knowledge_base_from_options(entry: SourceOptions) -> KnowledgeBaseSource:
    """`type: knowledge_base` (or `vector_kb`) with `path`, `fields`, `description` and `vector_weight`, all optional.

    `fields` is a mapping of names to types, or a list of mappings with `name`, as for the other source types.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    path = entry.base_dir / str(entry.options.get("path") or DEFAULT_PATH)
    return KnowledgeBaseSource(path, **arguments_of(entry, _OPTIONS))


def arguments_of(entry: SourceOptions, known: Sequence[str]) -> ChainedOptions:
    """What an entry says of a base, wherever that is, as arguments of `ChainedSource`.

    Raises:
        ConfigurationError: an option is not among `known`, or has a bad value.
    """
    refuse_any(unknown_names(entry.options, known, entry.key, "a knowledge base has no option '{name}'"))
    return ChainedOptions(
        name=entry.name,
        fields=declared_fields(entry.options.get("fields"), f"{entry.key}.fields")[0],
        description=str(entry.options.get("description") or ""),
        embedder=entry.embedder,
        query_chains=entry.query_chains,
        vector_weight=_vector_weight(entry),
    )


def _vector_weight(entry: SourceOptions) -> float:
    given = entry.options.get("vector_weight", 0.5)
    if not is_number(given) or not 0 <= given <= 1:
        raise ConfigurationError([Problem(f"{entry.key}.vector_weight", f"must be from 0 to 1, not {given!r}")])
    return float(given)
