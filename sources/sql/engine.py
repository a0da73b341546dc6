"""What answers the queries of a `SqlSource`: the database, its index, and what is known of the tables. It blocks."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from groundgraph.core.errors import SchemaChanged, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.answer_by_computing import Computer
from groundgraph.sources.sql.conditions import may_match
from groundgraph.sources.sql.database import SqliteDatabase, Version
from groundgraph.sources.sql.declared_fields import Fields
from groundgraph.sources.sql.index_file import IndexFile
from groundgraph.sources.sql.introspect import ROWID_BITS, Wanted, check_columns
from groundgraph.sources.sql.keep_index import IndexKeeper
from groundgraph.sources.sql.records import MemoryTable
from groundgraph.sources.sql.route_tables import route_tables
from groundgraph.sources.sql.search_rows import Allowed, RowHit, read_question, search_rows
from groundgraph.sources.sql.search_user_fts import search_user_fts
from groundgraph.sources.sql.shape import TableShape, row_content, row_key, row_metadata

_KEPT_FILTERS = 32
# How often a query looks for its index when another source takes the same file.
_TRIES = 5
_OWN_METADATA = {"table", "key", "section", "title"}
Filters = Mapping[str, Any]


def open_engine(
    name: str,
    source_type: str,
    *,
    location: str | Path,
    index: str | Path,
    tables: Sequence[str],
    content_field: str | None,
    search_fields: Sequence[str],
    fields: Fields,
    fts: str | None,
    max_tables: int,
    records: MemoryTable | None,
    closed: bool,
) -> SqlEngine:
    """The engine of one source; `closed` when that was closed before.

    Raises:
        SourceUnavailable: it was closed, or the file behind its records cannot be read.
    """
    if closed:
        raise SourceUnavailable(f"The source '{name}' is closed.")
    if records is not None:
        records.fill()
    database = SqliteDatabase(location, source=name)
    if index == ":memory:":
        index = f"file:groundgraph-{uuid4().hex}?mode=memory&cache=shared"
    return SqlEngine(
        (name, source_type),
        database,
        IndexKeeper(IndexFile(index), database),
        Wanted(tables, content_field, search_fields, fields),
        fts=fts,
        max_tables=max_tables,
        records=records,
    )


class SqlEngine:
    """Answers the queries of one source."""

    def __init__(
        self,
        named: tuple[str, str],
        database: SqliteDatabase,
        keeper: IndexKeeper,
        wanted: Wanted,
        *,
        fts: str | None,
        max_tables: int,
        records: MemoryTable | None,
    ) -> None:
        self._name, self._source_type = named
        self._database = database
        self._keeper = keeper
        self._wanted = wanted
        self._fts = fts
        self._max_tables = max_tables
        self._records = records
        self._known: tuple[Version, list[TableShape]] | None = None
        # Every column that the schema ever offered: one that is gone is an error, not an unknown name.
        self._offered: set[str] = set()
        self._allowed: OrderedDict[tuple[str, Version], Allowed] = OrderedDict()
        self._computer = Computer(
            database, named, {name: spec["enum"] for name, spec in wanted.fields.items() if spec.get("enum")}
        )
        self._guard = threading.Lock()

    def schema_fields(self) -> Fields:
        """The columns of all tables as fields for filters; none when the database cannot be read."""
        try:
            _, shapes = self._current()
        except SourceUnavailable:
            return {}
        return _fields(shapes)

    def metadata_fields(self) -> set[str]:
        """The names in the metadata of results."""
        _, shapes = self._current()
        return _OWN_METADATA | {column.name for shape in shapes for column in shape.columns}

    def refresh(self) -> None:
        """Bring the index up to date."""
        version, shapes = self._checked()
        if self._fts is None:
            self._keeper.ensure(version, shapes, wait=None)

    def route(self, question: str, limit: int) -> list[str]:
        """The tables that fit `question` best."""
        version, shapes = self._checked()
        self._keeper.ensure(version, shapes)
        with self._keeper.index.reading() as index:
            names = dict(index.execute("SELECT slot, name FROM tables"))
            return [names[slot] for slot in route_tables(index, read_question(index, question), limit)]

    def answer(self, intent: RetrievalIntent, *, top_k: int, score_threshold: float) -> list[SourceResult]:
        """The results for `intent`; see `SqlSource.query`."""
        version, shapes = self._checked()
        filters = self._filters(intent, shapes)
        if top_k < 1:
            return []
        wanted = intent.raw_data.get("aggregate")
        if isinstance(wanted, Mapping) and wanted.get("source", self._name) == self._name:
            return [self._computer.explicit(wanted, self._routed(intent.text_queries, version, shapes), filters)]
        found: dict[str, SourceResult] = {}
        for text in intent.text_queries:
            for result in self._answer_one(text, _Tables(version, shapes), filters, top_k, score_threshold):
                known = found.setdefault(result.source_id, result)
                if known.relevance < result.relevance:
                    found[result.source_id] = result
        return sorted(found.values(), key=_place)

    def _answer_one(
        self, text: str, tables: _Tables, filters: Filters, top_k: int, score_threshold: float
    ) -> list[SourceResult]:
        if not tables.shapes:
            return []
        if self._fts is not None:
            routed = tables.shapes[:1]
            hits = search_user_fts(self._database, routed[0], self._fts, text, filters, top_k=2 * top_k)
            results = self._results({0: routed[0]}, hits, fresh=True)
        else:
            routed, results = self._search(text, tables, filters, 2 * top_k)
        best = results[0].content if results else ""
        note = self._computer.by_rule(text, routed, filters, tables.version, best)
        if note is not None and note.metadata.get("computed"):
            return [note]
        kept = [result for result in results if result.relevance >= score_threshold]
        return [*([note] if note else []), *sorted(kept, key=_place)][:top_k]

    def _search(
        self, text: str, tables: _Tables, filters: Filters, top_k: int
    ) -> tuple[list[TableShape], list[SourceResult]]:
        """The tables that were searched, the best first, and what was found."""
        by_name = {shape.name: shape for shape in tables.shapes}
        with self._ready_index(tables) as (index, fresh):
            slots = {slot: by_name[name] for slot, name in index.execute("SELECT slot, name FROM tables")}
            question = read_question(index, text)
            searched = list(slots)
            if len(slots) > 1:
                searched = route_tables(index, question, len(slots))
                searched = [slot for slot in searched if may_match(slots[slot], filters)][: self._max_tables]
            if not searched:
                return [], []
            allowed = self._allowed_rows(index, {slot: slots[slot] for slot in searched}, filters, tables.version)
            narrowed = searched if len(searched) < len(slots) and allowed is None else ()
            hits = search_rows(index, question, slots=narrowed, allowed=allowed, top_k=top_k)
        return [slots[slot] for slot in searched], self._results(slots, hits, fresh=fresh)

    @contextmanager
    def _ready_index(self, tables: _Tables) -> Iterator[tuple[sqlite3.Connection, bool]]:
        """The index in one transaction, and whether it is up to date.

        Raises:
            SourceUnavailable: another source keeps building its own index in the same file.
        """
        for _ in range(_TRIES):
            fresh = self._keeper.ensure(tables.version, tables.shapes)
            with self._keeper.index.reading() as index:
                if self._keeper.is_for(index, tables.shapes):
                    yield index, fresh
                    return
        raise SourceUnavailable(
            f"The source '{self._name}': another source keeps its index in the same file. "
            "Give each a name of its own, or an `index` of its own."
        )

    def _results(self, slots: Mapping[int, TableShape], hits: Sequence[RowHit], *, fresh: bool) -> list[SourceResult]:
        rows = {
            slot: self._database.fetch(slots[slot], [hit.key for hit in hits if hit.slot == slot])
            for slot in {hit.slot for hit in hits}
        }
        # A row that was deleted since the index saw it is no longer there to be shown.
        present = [hit for hit in hits if hit.key in rows[hit.slot]]
        return [self._result(slots[hit.slot], hit, rows[hit.slot][hit.key], fresh=fresh) for hit in present]

    def _result(self, shape: TableShape, hit: RowHit, values: Mapping[str, Any], *, fresh: bool) -> SourceResult:
        metadata = row_metadata(shape, values)
        if not fresh:
            metadata["index"] = "stale"
        return SourceResult(
            content=row_content(shape, values),
            source_id=f"{shape.name}/{row_key(shape, values)}",
            source_name=self._name,
            source_type=self._source_type,
            relevance=hit.relevance,
            metadata=metadata,
            score=hit.score,
        )

    def _routed(self, texts: Sequence[str], version: Version, shapes: list[TableShape]) -> list[TableShape]:
        """All tables, those that fit the first text best in front."""
        if len(shapes) < 2 or not texts or self._fts is not None:
            return shapes
        self._keeper.ensure(version, shapes)
        order = self.route(texts[0], len(shapes))
        return sorted(shapes, key=lambda shape: order.index(shape.name) if shape.name in order else len(order))

    def _allowed_rows(
        self, index: sqlite3.Connection, slots: Mapping[int, TableShape], filters: Filters, version: Version
    ) -> Allowed | None:
        """The index rows that the filters keep, remembered until the database changes; None without filters."""
        if not filters:
            return None
        key = (json.dumps([dict(filters), sorted(slots)], sort_keys=True), version)
        with self._guard:
            if key in self._allowed:
                self._allowed.move_to_end(key)
                return self._allowed[key]
        numbers = [
            _index_numbers(index, slot, shape, self._database.keys(shape, filters, slot << ROWID_BITS))
            for slot, shape in slots.items()
        ]
        joined = ",".join(part for part in numbers if part)
        allowed = Allowed(f"[{joined}]", joined.count(",") + 1 if joined else 0)
        with self._guard:
            self._allowed[key] = allowed
            while len(self._allowed) > _KEPT_FILTERS:
                self._allowed.popitem(last=False)
        return allowed

    def _filters(self, intent: RetrievalIntent, shapes: Sequence[TableShape]) -> dict[str, Any]:
        given = intent.filters.get(self._name, {})
        fields = {**_fields(shapes), **self._wanted.fields}
        for name in given:
            if name not in fields and name in self._offered:
                columns = [column.name for shape in shapes for column in shape.columns]
                raise SchemaChanged(
                    f"The source '{self._name}': the field '{name}' was a column when the source was opened and is "
                    f"none any more.{nearest(name, columns)} Columns: {', '.join(dict.fromkeys(columns))}.",
                    field=name,
                )
        schema = SourceSchema(self._name, {name: dict(spec) for name, spec in fields.items()})
        return check_filters(schema, given, source=self._name)

    def _checked(self) -> tuple[Version, list[TableShape]]:
        """The tables as they are.

        Raises:
            SchemaChanged: a column that the configuration names is gone.
        """
        version, shapes = self._current()
        check_columns(shapes, self._wanted.named_columns(), self._name, self._database.where)
        return version, shapes

    def _current(self) -> tuple[Version, list[TableShape]]:
        version = self._database.version()
        with self._guard:
            if self._known is None or self._known[0] != version:
                shapes = self._database.shapes(self._wanted)
                self._offered |= set(_fields(shapes))
                self._known = (version, shapes)
            return self._known

    def close(self) -> None:
        """Close the database and its index."""
        self._keeper.close()
        self._database.close()
        if self._records is not None:
            self._records.close()


@dataclass(frozen=True)
class _Tables:
    """The tables of the source in one version of the database."""

    version: Version
    shapes: list[TableShape]


def _fields(shapes: Sequence[TableShape]) -> Fields:
    """The columns as fields; one that two tables declare with different types takes any number, or any text."""
    fields: Fields = {}
    for shape in shapes:
        for column in shape.columns:
            if column.kind != "blob":
                known = fields.setdefault(column.name, {"type": column.kind})
                if known["type"] != column.kind:
                    are_numbers = {known["type"], column.kind} <= {"integer", "number"}
                    known["type"] = "number" if are_numbers else "string"
    return fields


def _index_numbers(index: sqlite3.Connection, slot: int, shape: TableShape, keys: str) -> str:
    """The numbers of the index rows with `keys`, a JSON array, without its brackets."""
    if shape.rowid:
        return keys[1:-1]
    found = index.execute(
        "SELECT json_group_array(id) FROM rows WHERE id >= ? AND id < ? AND key IN (SELECT value FROM json_each(?))",
        (slot << ROWID_BITS, (slot + 1) << ROWID_BITS, keys),
    ).fetchone()[0]
    return str(found)[1:-1]


def _place(result: SourceResult) -> tuple[bool, float]:
    """Rows without content come last, where they only use up what room there is; then by relevance."""
    return not result.content.strip(), -result.relevance
