"""The source over a knowledge base in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundgraph.core.blocking import run_blocking
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource, SourceOptions, source_types
from groundgraph.sources.knowledge_base.connections import ReadConnections
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.search import AllowedDocuments, Hit, search

DEFAULT_PATH = Path(".groundgraph/knowledge_base.sqlite")
OWN_FIELDS: dict[str, dict[str, Any]] = {
    "document": {"type": "string", "description": "The name of the document, for example its path."}
}
_OWN_METADATA = ("document", "title", "section", "headings", "heading_levels", "position", "start", "end")
_OPTIONS = ("path", "fields", "description")
_KEPT_FILTERS = 32


class KnowledgeBaseSource(GroundedSource):
    """The chunks that an ingest wrote, found by the stems of their text, headings and title.

    BM25 orders. The relevance is the idf-weighted share of the question's stems that a chunk, its heading
    path or its document's title holds, so a threshold means the same for every question. Nothing is opened
    before the first query.

    Args:
        path: the SQLite file.
        name: the name of the source.
        fields: fields that filters may name beside `document`, typed as in `SourceSchema.fields`; their
            values are those of the documents' metadata (front matter).
        description: what the base holds, in a sentence.
        lock_timeout: seconds to wait for a writer that keeps readers out.

    Raises:
        ConfigurationError: a field has an unknown type, or a name that the source itself uses.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "knowledge_base",
        fields: Mapping[str, dict[str, Any]] | None = None,
        description: str = "",
        lock_timeout: float = LOCK_TIMEOUT,
    ) -> None:
        taken = [field for field in fields or () if field in _OWN_METADATA]
        if taken:
            raise ConfigurationError(
                [Problem(f"{name}.fields.{field}", "the source itself uses this name") for field in taken]
            )
        self._name = name
        self._schema = SourceSchema(name, {**OWN_FIELDS, **(fields or {})}, description=description)
        self._connections = ReadConnections(Path(path), lock_timeout)
        self._allowed: OrderedDict[tuple[str, int], AllowedDocuments] = OrderedDict()
        self._guard = threading.Lock()

    @property
    def name(self) -> str:
        """The name given at construction."""
        return self._name

    @property
    def source_type(self) -> str:
        """`knowledge_base`."""
        return "knowledge_base"

    def get_schema(self) -> SourceSchema:
        """`document` and the fields given at construction."""
        return self._schema

    async def metadata_fields(self) -> set[str]:
        """The names that the source itself gives and those of every document's metadata."""
        return await run_blocking(self._connections.run, _metadata_fields)

    async def counts(self) -> dict[str, int]:
        """How many `documents` and `chunks` the base holds.

        Raises:
            SourceUnavailable: see `query`, as for its other errors.
        """
        return await run_blocking(self._connections.run, _counts)

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; several text queries take turns, and what two of them find comes once.

        Raises:
            SourceUnavailable: the base does not exist, was never ingested or is damaged.
            FilterInvalid: a filter names a field that is not declared.
            SchemaVersionUnsupported: a newer groundgraph wrote the file.
            StorageLocked: a writer kept readers out for too long.
        """
        filters = check_filters(self._schema, intent.filters.get(self._name, {}), source=self._name)

        def work(connection: sqlite3.Connection) -> list[SourceResult]:
            # One transaction, so that a writer in between does not change what the row numbers stand for.
            connection.execute("BEGIN")
            try:
                allowed = self._allowed_documents(connection, filters) if filters else None
                found = [
                    search(connection, text, top_k=top_k, score_threshold=score_threshold, allowed=allowed)
                    for text in intent.text_queries
                ]
                return self._results(connection, _take_turns(found))
            finally:
                connection.rollback()

        return await run_blocking(self._connections.run, work)

    async def close(self) -> None:
        """Close the file."""
        await run_blocking(self._connections.close)

    def _allowed_documents(self, connection: sqlite3.Connection, filters: Mapping[str, Any]) -> AllowedDocuments:
        changes: int = connection.execute("SELECT changes FROM state").fetchone()[0]
        key = (json.dumps(filters, sort_keys=True), changes)
        with self._guard:
            known = self._allowed.get(key)
            if known:
                self._allowed.move_to_end(key)
                return known
        allowed = _documents_matching(connection, filters)
        with self._guard:
            self._allowed[key] = allowed
            while len(self._allowed) > _KEPT_FILTERS:
                self._allowed.popitem(last=False)
        return allowed

    def _results(self, connection: sqlite3.Connection, hits: Sequence[Hit]) -> list[SourceResult]:
        rows = connection.execute(
            "SELECT chunks.id, name, title, metadata, position, start, end, headings, heading_levels, "
            "chunks.text FROM chunks JOIN documents ON documents.id = document_id "
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps([hit.chunk_id for hit in hits]),),
        )
        by_id = {row[0]: row[1:] for row in rows}
        return [self._result(hit, by_id[hit.chunk_id]) for hit in hits]

    def _result(self, hit: Hit, row: tuple[Any, ...]) -> SourceResult:
        document, title, metadata, position, start, end, headings, levels, text = row
        path = json.loads(headings)
        own = (document, title, " > ".join(path), path, json.loads(levels), position, start, end)
        return SourceResult(
            content=text,
            source_id=f"{document}#{position}",
            source_name=self._name,
            source_type=self.source_type,
            relevance=hit.relevance,
            metadata={**json.loads(metadata), **dict(zip(_OWN_METADATA, own, strict=True))},
            score=hit.score,
        )


def _take_turns(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The hits of several queries, all first ones first; a chunk keeps its best relevance."""
    best: dict[int, Hit] = {}
    for rank in range(max(map(len, lists), default=0)):
        for hits in lists:
            if rank < len(hits):
                hit = hits[rank]
                known = best.setdefault(hit.chunk_id, hit)
                if known.relevance < hit.relevance:
                    best[hit.chunk_id] = hit
    return list(best.values())


def _documents_matching(connection: sqlite3.Connection, filters: Mapping[str, Any]) -> AllowedDocuments:
    statement = "SELECT id, name, chunks, metadata FROM documents"
    values: tuple[str, ...] = ()
    named = filters.get("document")
    if isinstance(named, str | list):
        # The one field that has an index; the loop below would read every document.
        statement += " WHERE name IN (SELECT value FROM json_each(?))"
        values = (json.dumps([named] if isinstance(named, str) else named),)
        filters = {field: condition for field, condition in filters.items() if field != "document"}
    rows: list[int] = []
    chunks = 0
    for row, name, count, metadata in connection.execute(statement, values):
        if not filters or matches(filters, {**json.loads(metadata), "document": name}):
            rows.append(row)
            chunks += count
    return AllowedDocuments(json.dumps(rows), chunks)


def _metadata_fields(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT DISTINCT key FROM documents, json_each(documents.metadata)")
    return {*_OWN_METADATA, *(key for (key,) in rows)}


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    row = connection.execute("SELECT (SELECT count(*) FROM documents), chunks FROM state").fetchone()
    return {"documents": row[0], "chunks": row[1]}


def knowledge_base_from_options(entry: SourceOptions) -> KnowledgeBaseSource:
    """`type: knowledge_base` (or `vector_kb`) with `path`, `fields` and `description`, all of them optional.

    `fields` is a mapping of names to types, or a list of mappings with `name`, as for the other source types.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    problems = [
        Problem(
            f"{entry.key}.{option}",
            f"a knowledge base has no option '{option}'.{nearest(str(option), list(_OPTIONS))} "
            f"Known: {', '.join(_OPTIONS)}.",
        )
        for option in entry.options
        if option not in _OPTIONS
    ]
    if problems:
        raise ConfigurationError(problems)
    return KnowledgeBaseSource(
        entry.base_dir / str(entry.options.get("path") or DEFAULT_PATH),
        name=entry.name,
        fields=_fields(entry),
        description=str(entry.options.get("description") or ""),
    )


def _fields(entry: SourceOptions) -> dict[str, dict[str, Any]]:
    given = entry.options.get("fields") or {}
    if isinstance(given, list) and all(isinstance(item, Mapping) and "name" in item for item in given):
        given = {item["name"]: {key: value for key, value in item.items() if key != "name"} for item in given}
    if not isinstance(given, Mapping) or not all(isinstance(spec, Mapping) for spec in given.values()):
        raise ConfigurationError(
            [Problem(f"{entry.key}.fields", "must map each field to its type, such as `year: {type: integer}`")]
        )
    return {str(field): dict(spec) for field, spec in given.items()}


def register_knowledge_base() -> None:
    """Make the types `knowledge_base` and `vector_kb` known."""
    source_types.register("knowledge_base", knowledge_base_from_options)
    source_types.register("vector_kb", knowledge_base_from_options)


register_knowledge_base()
