"""What answers the queries of a `SqlSource`, whichever the database and its text index. It blocks."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from groundgraph.core.computation import ComputableTable, Proposal
from groundgraph.core.errors import FilterInvalid, SchemaChanged, SourceUnavailable
from groundgraph.core.evidence import SourceResult, changed, is_stated
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.search.rank import take_turns
from groundgraph.sources.sql.answer_by_computing import Computer
from groundgraph.sources.sql.answer_by_computing import Question as Computable
from groundgraph.sources.sql.any_database import AnyDatabase, Version
from groundgraph.sources.sql.compute import computable_table, run_proposal
from groundgraph.sources.sql.introspect import TablesMissing, check_columns
from groundgraph.sources.sql.shape import (
    Column,
    Fields,
    TableShape,
    Wanted,
    row_content,
    row_key,
    row_metadata,
    table_stems,
)
from groundgraph.sources.sql.sql_dialect import may_match
from groundgraph.sources.sql.values_in_question import with_digits
from groundgraph.text.find_cue import counts_by_itself
from groundgraph.text.follow_up import own_words
from groundgraph.text.words import numbered, words

_OWN_METADATA = {"table", "key", "section", "title", "asked_for"}
# A number with as many digits is no key: databases have integers of 64 bits.
MOST_DIGITS = 19
# A shorter number may be how many are wanted.
LEAST_DIGITS = 3
Filters = Mapping[str, Any]


class EngineUnfit(SourceUnavailable):
    """The tables are not any more such as this engine can search; another one may."""


# The unit vector of a text; None where only words count.
Vector = Sequence[float] | None


@dataclass(frozen=True)
class Tables:
    """The tables of the source in one version of the database."""

    version: Version
    shapes: list[TableShape]


@dataclass(frozen=True)
class Asked:
    """One text query: its words, the checked filters, how many results at most, the vector of the words, the least
    relevance of a result, its end that is the present message (see `RetrievalIntent.message`), the questions that this
    one leans on, and the ids of the rows to which it points back."""

    text: str
    filters: Filters
    top_k: int
    vector: Vector = None
    least: float = 0.0
    own: str | None = None
    earlier: Sequence[str] = ()
    cited: Sequence[str] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """The question, behind those that it leans on; none where what stands before it was no question."""
        if self.own is None:
            return (self.text,)
        if self.text.endswith(self.own) and counts_by_itself(self.own):
            return (self.own,)
        before = [*filter(None, self.earlier or (self.text.removesuffix(self.own).strip(),))]
        # What counts by itself leans on nothing, though it says "there".
        start = next((at for at in range(len(before) - 1, -1, -1) if counts_by_itself(before[at])), 0)
        return (*before[start:], self.own) if self.own else ()


class SqlEngine(ABC):
    """Answers the queries of one source; a subclass finds the rows.

    Args:
        named: the name and the type of the source.
        database: the user's database.
        wanted: what the configuration says of the tables.
        max_tables: the most tables that one question searches.
    """

    def __init__(self, named: tuple[str, str], database: AnyDatabase, wanted: Wanted, *, max_tables: int) -> None:
        self._name, self._source_type = named
        self._database = database
        self._wanted = wanted
        self._max_tables = max_tables
        self._known: tuple[Version, list[TableShape]] | None = None
        # Every column that the schema ever offered: one that is gone is an error, not an unknown name.
        self._offered: set[str] = set()
        self._computer = Computer(
            database.computing(),
            named,
            {name: spec["enum"] for name, spec in wanted.fields.items() if spec.get("enum")},
        )
        self._guard = threading.Lock()

    @abstractmethod
    def refresh(self) -> None:
        """Get ready for queries, however long that takes."""

    @abstractmethod
    def _routed_names(self, tables: Tables, question: str, limit: int) -> list[str]:
        """The tables that fit `question` best, the best first."""

    @abstractmethod
    def _search(self, tables: Tables, asked: Asked) -> tuple[list[TableShape], list[SourceResult]]:
        """The tables that were searched, and what was found; the best of both first."""

    def schema_fields(self) -> Fields:
        """The columns of all tables as fields for filters."""
        _, shapes = self._current()
        return _fields(shapes)

    def metadata_fields(self) -> set[str]:
        """The names in the metadata of results."""
        _, shapes = self._current()
        return _OWN_METADATA | {column.name for shape in shapes for column in shape.columns}

    def route(self, question: str, limit: int) -> list[str]:
        """The tables that fit `question` best."""
        return self._routed_names(self._checked(), question, limit)

    @property
    def database(self) -> AnyDatabase:
        """The user's database."""
        return self._database

    def tables(self) -> Tables:
        """The tables as they are.

        Raises:
            SchemaChanged: a column that the configuration names is gone.
        """
        return self._checked()

    def check_columns(self, tables: Tables, named: Sequence[str]) -> None:
        """Refuse to go on without one of the columns `named`; see `introspect.check_columns`."""
        check_columns(tables.shapes, named, self._name, self._database.where)

    def found(self, text: str, given: Filters, limit: int) -> list[SourceResult]:
        """The best `limit` rows for the words of `text`, the best first; nothing is computed."""
        tables, filters = self._under(given)
        asked = Asked(text, filters, limit)
        return sorted(self._search(tables, asked)[1], key=_is_empty)[:limit]

    def shown(self, shape: TableShape, values: Mapping[str, Any]) -> SourceResult:
        """A row as a result that no search found."""
        return self._result(shape, values, relevance=0.0, score=0.0)

    def answer(
        self,
        intent: RetrievalIntent,
        *,
        top_k: int,
        score_threshold: float,
        vectors: Mapping[str, Sequence[float]] | None = None,
    ) -> list[SourceResult]:
        """The results for `intent`; see `SqlSource.query`. `vectors` are those of its texts."""
        tables, filters = self._under(intent.filters.get(self._name, {}))
        if top_k < 1:
            return []
        behind = (intent.message, intent.earlier, intent.cited)
        asked = [
            Asked(text, filters, top_k, (vectors or {}).get(text), score_threshold, *behind)
            for text in intent.text_queries
        ]
        # Scores of different questions are on different scales.
        found = take_turns([self._answer_one(tables, one) for one in asked])
        return sorted(found, key=_is_empty)

    def _answer_one(self, tables: Tables, asked: Asked) -> list[SourceResult]:
        if not tables.shapes:
            return []
        said = asked.said
        asked = replace(asked, text=" ".join(said) or asked.text)
        # Rows without content are dropped by whoever asked, so twice as many are looked for.
        routed, found = self._search(tables, replace(asked, top_k=2 * asked.top_k))
        # What the question names stands first, as it was found where it was.
        named = {row.source_id: row for row in self._named_rows(tables, asked)}
        results = list((named | {row.source_id: row for row in found}).values())
        question = Computable(with_digits(said, routed), asked.filters, tables.version, asked.top_k)
        if (note := self._computer.by_rule(question, routed, tables.shapes, _content_of_first(results))) is not None:
            return _behind_note(note, results)[: asked.top_k]
        if selected := self._selected(question, routed, tables.shapes) or self._all_said_of(question, routed, results):
            return selected
        pointed = self._pointed_at(question, asked.cited, tables.shapes)
        own = (
            results if _is_answered(named, pointed) else self._computer.named(question, routed, tables.shapes, results)
        )
        return [*pointed, *sorted(own, key=_is_empty)][: asked.top_k]

    def _all_said_of(
        self, question: Computable, routed: Sequence[TableShape], found: Sequence[SourceResult]
    ) -> list[SourceResult]:
        """The rows for several questions of which not every word was read; see `Computer.fitting`. None where the
        search stopped at its limit, since others may fit as well."""
        fitting = self._computer.fitting(question, routed, found) if len(found) < 2 * question.most else []
        return list(map(_asked_for, fitting))[: question.most]

    def _selected(
        self, question: Computable, routed: Sequence[TableShape], tables: Sequence[TableShape]
    ) -> list[SourceResult]:
        """The rows that the question asks for and nothing else; where there are more, or a row is shown by one of its
        columns alone, or there is none, how many there are and by which condition stands before them."""
        found = self._computer.selected(question, routed, tables)
        if found is None:
            return []
        kept, rows, count = found
        results = [self._result(kept.shape, row, relevance=1.0, score=0.0) for row in rows]
        shown = list(map(_asked_for, results))
        told = shown and kept.shape.content_field is None and count.metadata["value"] <= len(shown)
        return shown if told else [count, *shown][: question.most]

    def _pointed_at(
        self, question: Computable, cited: Sequence[str], tables: Sequence[TableShape]
    ) -> list[SourceResult]:
        """The rows that the answer before cites, where the question asks something of them: by their columns it is
        answered, with any other word they are what comes closest."""
        keys = {shape.name: _keys_in(shape, cited) for shape in tables}
        shapes = [shape for shape in tables if keys[shape.name]]
        asks = self._computer.asks_of_rows(question, shapes) if shapes and question.said else "others"
        if asks == "others":
            return []
        rows = chain.from_iterable(self._rows_again(shape, keys[shape.name], question.filters) for shape in shapes)
        return list(map(_asked_for if asks == "columns" else _closest, rows))

    def _rows_again(self, shape: TableShape, keys: Sequence[Any], filters: Filters) -> list[SourceResult]:
        """The rows with `keys`, which are those of one column, as they are now."""
        database = self._database.computing()
        if database is None or not may_match(shape, filters):
            return []
        kept = [one for one in ({shape.primary_key[0]: [*keys]}, filters) if one]
        return [self._result(shape, row, relevance=1.0, score=0.0) for row in database.first(shape, kept, len(keys))]

    def _named_rows(self, tables: Tables, asked: Asked) -> list[SourceResult]:
        """The rows that the question names by their table and key, as in "order 9004": a key is no word to search."""
        called = [(word, int(number)) for word, number in _numbered(asked.said) if len(number) < MOST_DIGITS]
        rows: list[SourceResult] = []
        for shape in tables.shapes if called else ():
            name = table_stems(shape)[-1:]
            wanted = [number for word, number in called if [word] == name]
            rows += self._rows_with_key(shape, wanted, asked.filters) if wanted else []
        return rows

    def _rows_with_key(self, shape: TableShape, wanted: Sequence[int], filters: Filters) -> list[SourceResult]:
        key = _numeric_key(shape)
        if not key or not may_match(shape, filters):
            return []
        found = self._database.fetch(shape, wanted, filters).values()
        # SQLite may number its rows beside the key.
        return [self._result(shape, row, relevance=1.0, score=0.0) for row in found if row[key] in wanted]

    def computable(self, names: Sequence[str], given: Filters) -> list[ComputableTable]:
        """See `core.computation.Computing.tables`."""
        database, (tables, filters) = self._database.computing(), self._under(given)
        if database is None:
            return []
        shapes = tables.shapes
        wanted = [shape for shape in shapes if shape.name in names and may_match(shape, filters)]
        return [computable_table(database, shape, shapes, filters) for shape in wanted]

    def computed(self, proposal: Proposal, given: Filters) -> SourceResult:
        """See `core.computation.Computing.run`."""
        database, (tables, filters) = self._database.computing(), self._under(given)
        if database is None:
            raise FilterInvalid(f"The source '{self._name}' computes nothing.")
        return run_proposal(database, (self._name, self._source_type), tables.shapes, proposal, filters)

    def _result(
        self, shape: TableShape, values: Mapping[str, Any], *, relevance: float, score: float, fresh: bool = True
    ) -> SourceResult:
        metadata = row_metadata(shape, values)
        if not fresh:
            metadata["index"] = "stale"
        return SourceResult(
            content=row_content(shape, values),
            source_id=f"{shape.name}/{row_key(shape, values)}",
            source_name=self._name,
            source_type=self._source_type,
            relevance=relevance,
            metadata=metadata,
            score=score,
        )

    def _under(self, given: Filters) -> tuple[Tables, dict[str, Any]]:
        """The tables as rows of them are shown under the filters `given`, and these in their plain form."""
        tables = self._checked()
        filters = self.checked_filters(given, tables.shapes)
        return replace(tables, shapes=[shape.under(filters) for shape in tables.shapes]), filters

    def checked_filters(self, given: Filters, shapes: Sequence[TableShape]) -> dict[str, Any]:
        """`given` in their plain form; see `check_filters`.

        Raises:
            SchemaChanged: one is on a column that is gone.
            FilterInvalid: one is on no field, or names a value that is not allowed.
        """
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

    def _checked(self) -> Tables:
        """The tables as they are.

        Raises:
            SchemaChanged: a column that the configuration names is gone.
        """
        version, shapes = self._current()
        check_columns(shapes, self._wanted.named_columns(), self._name, self._database.where)
        return Tables(version, shapes)

    def _current(self) -> tuple[Version, list[TableShape]]:
        """
        Raises:
            SchemaChanged: a table that was there is gone, or may not be read any more.
        """
        try:
            return self._looked()
        except TablesMissing as error:
            if self._known is None:
                raise
            raise SchemaChanged(str(error), field=error.table) from error

    def _looked(self) -> tuple[Version, list[TableShape]]:
        version = self._database.version()
        with self._guard:
            if self._known is None or self._known[0] != version:
                shapes = self._database.shapes(self._wanted)
                self._offered |= set(_fields(shapes))
                self._known = (version, shapes)
            return self._known

    def advice(self) -> list[str]:
        """What the owner of the database should change; nothing for a file."""
        return []

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _numbered(said: Sequence[str]) -> list[tuple[str, str]]:
    """The stems of the words of a question behind which a number stands, each with that. A number for which it has no
    word, as "and 9009?" behind "order 9005", is of the one that was numbered last."""
    found: list[tuple[str, str]] = []
    for part in said:
        own = numbered(part)
        alone = [word for word in words(part) if len(word) >= LEAST_DIGITS and word.isdecimal()] if found else []
        rest = set(own_words(part)).difference(alone)
        found = own if own or not alone or rest else [(found[-1][0], number) for number in alone]
    return found


def _content_of_first(results: Sequence[SourceResult]) -> str:
    return results[0].content if results else ""


def _behind_note(note: SourceResult, rows: Sequence[SourceResult]) -> list[SourceResult]:
    """What was computed alone; behind the word that something would have to be, what was found."""
    return [note] if note.metadata.get("computed") else [note, *sorted(rows, key=_is_empty)]


def _is_answered(named: Collection[str], pointed: Sequence[SourceResult]) -> bool:
    """Whether the question names rows by their keys, or asks something of those to which it points back."""
    return bool(named) or any(is_stated(row.metadata) for row in pointed)


def _asked_for(row: SourceResult) -> SourceResult:
    return changed(row, metadata={**row.metadata, "asked_for": True})


def _closest(row: SourceResult) -> SourceResult:
    """The row as one that holds no word of the question."""
    return changed(row, scores={"lexical": 0.0})


def _keys_in(shape: TableShape, cited: Sequence[str]) -> list[Any]:
    """The keys of the rows of a table among the ids `cited`; none where its key has several columns."""
    if len(shape.primary_key) != 1:
        return []
    values = [one.removeprefix(f"{shape.name}/") for one in cited if one.startswith(f"{shape.name}/")]
    if not _numeric_key(shape):
        return values
    return [int(value) for value in values if value.isdecimal() and len(value) < MOST_DIGITS]


def _numeric_key(shape: TableShape) -> str:
    """The column that is the primary key by itself and holds integers; an empty text where there is none."""
    key = shape.column(shape.primary_key[0]) if len(shape.primary_key) == 1 else None
    return key.name if key and key.kind == "integer" else ""


def _is_empty(result: SourceResult) -> bool:
    """Rows without content come last, where they only use up what room there is."""
    return not result.content.strip()


def _fields(shapes: Sequence[TableShape]) -> Fields:
    """The columns as fields; one that two tables declare with different types takes any number, or any text."""
    fields: Fields = {}
    for shape in shapes:
        for column in shape.columns:
            if column.kind != "blob":
                known = fields.setdefault(column.name, _field(column))
                if known.get("enum") != (list(column.labels) or None):
                    known.pop("enum", None)
                if known["type"] != column.kind:
                    are_numbers = {known["type"], column.kind} <= {"integer", "number"}
                    known["type"] = "number" if are_numbers else "string"
    return fields


def _field(column: Column) -> dict[str, Any]:
    return {"type": column.kind, "enum": list(column.labels)} if column.labels else {"type": column.kind}
