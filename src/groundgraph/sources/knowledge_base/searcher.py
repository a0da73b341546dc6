"""Searching one base: what connections, vectors and filters are kept for, and stored chunks as evidence."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from groundgraph.core.chain import Match
from groundgraph.core.document import DOCUMENTS, Chunk, Document
from groundgraph.core.errors import SourceUnavailable, StorageLocked
from groundgraph.core.evidence import SourceResult
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.rank import Passage, Pool, Question, RankedPassage, Scorer, near_terms, rank
from groundgraph.search.word_index import Words, WordsOutdated, WordsUnusable
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks, KeptFilters
from groundgraph.sources.knowledge_base.chained_source import OWN_METADATA, SOURCE_TYPE, Search
from groundgraph.sources.knowledge_base.ledger import check_model, has_vectors, identity_of
from groundgraph.sources.knowledge_base.saved_vectors import folder_of
from groundgraph.sources.knowledge_base.schema import (
    CHUNK_COLUMNS,
    ReadConnections,
    Revision,
    chunk_of,
    mend_vectors,
    mend_words,
    reading,
    stayed_locked,
    word_index,
)
from groundgraph.sources.knowledge_base.vectors import (
    OutdatedSnapshot,
    VectorCache,
    Vectors,
    VectorsUnsaved,
)
from groundgraph.text.original import PLACES
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import nearest_forms, query_stems, stems

# Search in a knowledge base: the candidates by words and by vectors, with both scores, in one order.
#
# A chunk is found once, by the best of its matching texts.

# The best matching texts by the index's BM25 that are scored: enough for any usual top_k.
MIN_CANDIDATES = 128
# When chunks have many matching texts, that many times more are looked at, and no more.
MAX_TEXTS = 8
# The nearest chunks by vector that are candidates, when fewer are asked for. Those beyond them that have words in
# common with the question are candidates by their words.
NEAREST = 64


@dataclass(frozen=True)
class VectorQuery:
    """The vector of a query, the vectors of the base, and the share that nearness has in the order."""

    vector: Any
    base: Vectors
    weight: float


def find(
    connection: sqlite3.Connection,
    text: str,
    vector: VectorQuery | None,
    *,
    top_k: int,
    score_threshold: float,
    allowed: AllowedChunks | None,
    index: Words,
) -> list[RankedPassage]:
    """The best chunks with relevance `score_threshold` or more, at most `top_k`, the best first.

    By words only the first `MIN_CANDIDATES` (or 8 times `top_k`) matching texts by the index's BM25 are looked at, and
    as many times more as a chunk has of them; a chunk further down is not found, however well it covers the question.
    """
    words = _Words(connection, question_of(connection, text), allowed, top_k, index)
    pool = Pool(words.candidates()) if vector is None else _with_nearest(words, vector)
    return list(rank([pool], threshold=score_threshold, top_k=top_k))


def question_of(connection: sqlite3.Connection, text: str) -> Question:
    """`text` in the base that is asked."""
    asked = query_stems(text)
    texts, stems = connection.execute("SELECT texts, stems FROM state").fetchone()
    rows = connection.execute(
        "SELECT term, df FROM terms WHERE term IN (SELECT value FROM json_each(?)) ORDER BY df, term",
        (json.dumps(asked),),
    ).fetchall()
    return Question(asked, dict(rows), texts, stems / texts if texts else 0.0, code_name_stems(text))


@dataclass(frozen=True)
class _Words:
    """What the words of one question find."""

    connection: sqlite3.Connection
    question: Question
    allowed: AllowedChunks | None
    top_k: int
    index: Words

    def candidates(self) -> Sequence[Passage]:
        """The best chunks by the index."""
        return list(self._scorer.best_texts(self._rows).values())

    def of(self, chunks: Iterable[int]) -> dict[int, Passage]:
        """By row these chunks, whether a stem of the question is in them or not."""
        rows = self.connection.execute(
            "SELECT chunk_id, stems, heading_stems FROM texts WHERE chunk_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(chunks)),),
        )
        return self._scorer.best_texts(rows)

    @cached_property
    def _rows(self) -> list[tuple[Any, ...]]:
        asked = self._asked
        return self._known if self.allowed and not asked.forms else self._look(asked)

    @cached_property
    def _known(self) -> list[tuple[Any, ...]]:
        return self._look(self.question)

    def _look(self, question: Question) -> list[tuple[Any, ...]]:
        if self.top_k < 1:
            return []
        limit = max(MIN_CANDIDATES, 8 * self.top_k) * min(MAX_TEXTS, self._texts_of_a_chunk())
        return self.index.rows(self.connection, question, limit=limit, kept=self.allowed.kept if self.allowed else None)

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self._asked)

    @cached_property
    def _asked(self) -> Question:
        """The question by words that texts hold which the filter keeps: a word that stands only behind it is known to
        none, or scores would tell what stands there."""
        question = self.question
        if self.allowed:
            seen = {stem for _, *texts in self._known for text in texts for stem in text.split()}
            rest = question.df.keys() - seen
            question = question.without(rest - self.index.held(rest, self.allowed.kept))
        return question.with_forms(self._vocabulary)

    def _vocabulary(self, stem: str) -> Mapping[str, int]:
        near = near_terms(self.connection, stem)
        if not self.allowed:
            return near
        return {term: near[term] for term in self.index.held(nearest_forms(stem, near), self.allowed.kept)}

    def _texts_of_a_chunk(self) -> int:
        chunks, texts = self.connection.execute("SELECT chunks, texts FROM state").fetchone()
        return max(1, round(texts / chunks)) if chunks else 1


def _with_nearest(words: _Words, vector: VectorQuery) -> Pool:
    """The candidates of both, each with both scores."""
    # Words that have no weight in the order need not be searched for.
    found = {one.key: one for one in words.candidates()} if vector.weight < 1 else {}
    nearness = vector.base.nearness(vector.vector, words.allowed)
    cosines = nearness.nearest(max(NEAREST, words.top_k))
    found |= words.of(cosines.keys() - found.keys())
    cosines |= nearness.of([chunk for chunk in found if chunk not in cosines])
    passages = [one._replace(cosine=cosines.get(chunk)) for chunk, one in found.items()]
    return Pool(passages, nearness.average, vector.weight)


# Rows of a base as pieces of evidence.

_SELECT = (
    f"SELECT chunks.id, name, kind, documents.metadata, {', '.join(f'chunks.{name}' for name in CHUNK_COLUMNS)} "
    "FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id IN (SELECT value FROM json_each(?))"
)


def matches_of(connection: sqlite3.Connection, ranked: Sequence[RankedPassage], source_name: str) -> list[Match]:
    """The chunks of `ranked` as evidence, in their order."""
    stored: dict[int, PreparedChunk] = {}
    for number, name, kind, fields, *row in connection.execute(_SELECT, (json.dumps([one.key for one in ranked]),)):
        document = Document(name, "", metadata=json.loads(fields), kind=kind)
        stored[number] = chunk_of(document, dict(zip(CHUNK_COLUMNS, row, strict=True)))
    return [match_of(one, stored[one.key], source_name) for one in ranked]


def metadata_fields(connection: sqlite3.Connection) -> set[str]:
    """The names that results carry."""
    names = {*OWN_METADATA}
    names |= {key for (key,) in connection.execute("SELECT DISTINCT key FROM documents, json_each(documents.metadata)")}
    names |= {
        name
        for (fields,) in connection.execute("SELECT DISTINCT chunk_fields FROM documents")
        for name in json.loads(fields)
    }
    for name, statement in (
        ("kind", f"SELECT 1 FROM documents WHERE kind <> '{DOCUMENTS}' LIMIT 1"),
        ("derived", "SELECT 1 FROM chunks WHERE derived LIMIT 1"),
    ):
        if connection.execute(statement).fetchone():
            names.add(name)
    return names


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many `documents` and `chunks` there are."""
    row = connection.execute("SELECT (SELECT count(*) FROM documents), chunks FROM state").fetchone()
    return {"documents": row[0], "chunks": row[1]}


T = TypeVar("T")

# So often a reader tries; from the second number on it no longer hopes that its vectors are of a later state. While
# another process holds the base its tries do not count, for so many seconds.
_ATTEMPTS, _PATIENT, _HELD = 20, 3, 60.0


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
        self._vectors = VectorCache(folder_of(path))
        self._words = word_index(path)
        self._kept_filters = KeptFilters()

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
            lambda connection, revision: work(connection, self._kept_filters.at(connection, revision, filters))
        )

    def read_vectors(self, model: str, work: Callable[[sqlite3.Connection, Revision, Vectors], T]) -> T | None:
        """As `read`; `work` is also given the vectors of that state. None when the base holds none.

        Raises:
            EmbeddingModelChanged: they are not of the embedding model `model`.
        """

        def within(from_scratch: bool, connection: sqlite3.Connection) -> T | None:
            with reading(connection, self._path) as revision:
                vectors = self._vectors_of(model, None, connection, revision, from_scratch)
                return None if vectors is None else work(connection, revision, vectors)

        return self._tried(within)

    def _vectors_of(
        self, model: str, dimension: int | None, connection: sqlite3.Connection, revision: Revision, from_scratch: bool
    ) -> Vectors | None:
        if not has_vectors(connection):
            return None
        identity = identity_of(connection)
        check_model(self._path, identity, model, dimension)
        return self._vectors.at(connection, revision, identity.dimension, from_scratch=from_scratch)

    def vector_identity(self) -> BaseIdentity | None:
        """The embedding model and dimension of the base's vectors; None when it has none."""
        return self.read(lambda connection: identity_of(connection) if has_vectors(connection) else None)

    def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """What each of `searches` finds, all in one state of the base.

        Raises:
            EmbeddingModelChanged: a vector is not of the base's model or dimension.
            SourceUnavailable, SchemaVersionUnsupported, StorageLocked: as for `ReadConnections.run`.
        """
        return self._tried(lambda from_scratch, connection: self._searched(connection, searches, from_scratch))

    def close(self) -> None:
        """Close the file and give the memory of the vectors back."""
        self._connections.close()
        self._vectors = VectorCache(folder_of(self._path))

    def _tried(self, work: Callable[[bool, sqlite3.Connection], T]) -> T:
        """What `work` returns, which is told whether to take no vectors from memory; done again when those or the
        full-text index are of another state than it sees.

        Whoever holds the base is not waited for: what a writer leaves behind, or is about to, may suit, and one that
        writes without a pause would keep readers waiting.

        Raises:
            SourceUnavailable: the index was of another state each time.
            StorageLocked: so it was, and another process held the base for a minute.
        """
        until = time.monotonic() + _HELD
        attempt = 0
        while attempt < _ATTEMPTS:
            mend: Callable[[], None] | None = None
            try:
                return self._connections.run(partial(work, attempt >= _PATIENT))
            except OutdatedSnapshot:
                pass
            except WordsOutdated:
                # A writer may have been quicker twice; else the index is behind, of another base or not there.
                if attempt:
                    mend = partial(self._mend, anew=False)
            except WordsUnusable:
                mend = partial(self._mend, anew=True)
            except VectorsUnsaved:
                # A writer may have written them anew since this state was seen.
                if attempt:
                    mend = self._save_vectors
            if mend is None or self._is_done(mend, until):
                attempt += 1
        raise SourceUnavailable(
            f"The full-text index '{self._path}-words' does not suit its knowledge base, however often it is built. "
            "Delete that folder, and end what else writes into it."
        )

    def _is_done(self, mend: Callable[[], None], until: float) -> bool:
        """Whether `mend` came to its end; False when another process held the base, which it may do `until` then."""
        try:
            mend()
        except StorageLocked as error:
            if time.monotonic() > until:
                raise stayed_locked(self._path, _HELD) from error
            return False
        return True

    def _mend(self, *, anew: bool) -> None:
        """Have the full-text index built, in memory where its folder cannot be written."""
        try:
            mend_words(self._path, self._words, anew=anew)
        except (WordsUnusable, sqlite3.Error, OSError) as error:
            reason = error
            self.read(lambda connection: self._words.keep_in_memory(connection, reason))

    def _save_vectors(self) -> None:
        """Have the vectors written into files, kept in memory where those cannot be written."""
        try:
            mend_vectors(self._path, self.read(identity_of).dimension)
        except (sqlite3.Error, OSError) as error:
            self._vectors.keep_in_memory(error)

    def _searched(
        self, connection: sqlite3.Connection, searches: Sequence[Search], from_scratch: bool
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
            allowed=self._kept_filters.at(connection, revision, search.filters) if search.filters else None,
            index=self._words.at(connection),
        )
        return matches_of(connection, found, self._source_name)

    def _vector_query(
        self, connection: sqlite3.Connection, revision: Revision, search: Search, from_scratch: bool
    ) -> VectorQuery | None:
        if search.vector is None:
            return None
        base = self._vectors_of(search.model, len(search.vector), connection, revision, from_scratch)
        return None if base is None else VectorQuery(search.vector, base, search.vector_weight)


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
        return await run_blocking(self.blocking.read, metadata_fields)

    async def counts(self) -> dict[str, int]:
        """See `BaseSearcher.counts`."""
        return await run_blocking(self.blocking.read, counts)

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `BaseSearcher.texts_between`."""
        return await run_blocking(self.blocking.read, lambda connection: texts_between(connection, pairs))

    async def close(self) -> None:
        """Close the file and forget the vectors."""
        await run_blocking(self.blocking.close)


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


# A stored chunk as a piece of evidence.


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
