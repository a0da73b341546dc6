"""The results that state a computation, or that a question needs one that is not offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.latest import Latest
from groundgraph.sources.sql.any_database import ComputingDatabase, Version
from groundgraph.sources.sql.compute import Computation, compute, is_fit
from groundgraph.sources.sql.read_question import (
    LONGEST_VALUE,
    Reading,
    as_said,
    is_about,
    is_lookup,
    is_named_so,
    names_value,
    quantity_instead,
    read_computation,
    read_rows,
)
from groundgraph.sources.sql.shape import TableShape, Vocabulary, decode
from groundgraph.sources.sql.sql_dialect import may_match
from groundgraph.text.find_cue import Cue, Language, find_cue, language_of, parts_of
from groundgraph.text.follow_up import subjectless_stems
from groundgraph.text.negation import denied_parts
from groundgraph.text.words import fold, stems

_RANGES = frozenset({"gt", "gte", "lt", "lte"})
# A column with more different values is a text or a number, not a name by which rows are asked for.
_MOST_VALUES = 2_000
_KEPT = 16


@dataclass(frozen=True)
class Question:
    """What is asked of the tables.

    Attributes:
        text: the words.
        own: see `RetrievalIntent.message`.
        filters: checked conditions.
        version: of the database, for what is known of its values.
        most: how many rows are wanted at most.
    """

    text: str
    own: str | None
    filters: Mapping[str, Any]
    version: Version
    most: int


class Computer:
    """Computes for one source. Its methods block.

    Args:
        database: the user's database; None for one that computes nothing, and then it is only said what is needed.
        named: the name and the type of the source.
        enums: by field, the values that the user declares.
    """

    def __init__(
        self, database: ComputingDatabase | None, named: tuple[str, str], enums: Mapping[str, Sequence[Any]]
    ) -> None:
        self._enums = enums
        self._database = database
        self._named = named
        self._vocabularies: Latest[tuple[Any, ...], tuple[TableShape, Vocabulary]] = Latest(_KEPT)

    def by_rule(self, asked: Question, shapes: Sequence[TableShape], best: str) -> SourceResult | None:
        """The computation that a question asks for, or that it needs one; None for any other question.

        Args:
            asked: the question.
            shapes: the tables that it was routed to, the best first.
            best: the text of the best row; a question for "the first step" is answered by a row that says "first".
        """
        cue = _own_cue(asked)
        if cue is None:
            return self._excluded(asked, shapes)
        if cue.is_met_by(best) or is_named_so(cue, shapes) or _is_filtered(cue, asked.filters):
            return None
        why: dict[str, Any] = {}
        if self._database and cue.function == "count":
            known = self._with_values(self._database, shapes, asked)
            counted = self._counted(self._database, cue, known, asked)
            if isinstance(counted, SourceResult):
                return counted
            if excluded := self._excluded(asked, shapes):
                return excluded
            if any(is_lookup(cue, *table) for table in known):
                return None
            why = counted
        if not is_about(asked.text, cue, shapes, best):
            return None
        return self._unstated(cue.needs, shapes, offered=cue.offered, **why)

    def selected(
        self, asked: Question, shapes: Sequence[TableShape]
    ) -> tuple[Computation, list[dict[str, Any]], SourceResult] | None:
        """The rows that a question asks for and nothing else, as in "Which orders are open?"

        Returns:
            What keeps them, the first of them, and a result that says how many there are; None when the question asks
            for anything else too.
        """
        database, language = self._database, language_of(asked.text)
        parts = _parts_for_rows(asked, language)
        if database is None or not parts:
            return None
        for shape, vocabulary in self._with_values(database, shapes, asked):
            if not may_match(shape, asked.filters):
                continue
            if found := _rows_and_nothing_else(parts, language, shape, vocabulary, alone=len(shapes) == 1):
                kept = Computation("count", shape, "", tuple(filter(None, (asked.filters, found.conditions))))
                stated = self._stated(database, kept)
                if _is_ruled_out(stated, kept, asked.filters):
                    return None
                return kept, database.first(shape, kept.filters, asked.most), stated
        return None

    def _excluded(self, asked: Question, shapes: Sequence[TableShape]) -> SourceResult | None:
        """That a question rules out the rows that have a value, as in "incidents that are not critical": those that a
        search finds for its words are the others."""
        denied = [] if asked.own == "" else denied_parts(fold(asked.own or asked.text))
        if self._database is None or not denied:
            return None
        for shape, vocabulary in self._with_values(self._database, shapes, asked):
            if any(names_value(part, shape, vocabulary) for part in denied):
                return self._unstated("exclusion", [shape], offered=False)
        return None

    def _counted(
        self,
        database: ComputingDatabase,
        cue: Cue,
        known: Sequence[tuple[TableShape, Vocabulary]],
        asked: Question,
    ) -> SourceResult | dict[str, Any]:
        """The count that a question asks for; in its place, what is known of why there is none."""
        readings = _readings(cue, known, asked)
        counts = [read_computation(found, asked.filters) for found in readings]
        whole = list(filter(None, counts))
        if len(whole) == 1:
            quantity = quantity_instead(cue, whole[0].shape)
            told = {"quantity": quantity, "tables": [whole[0].shape.name]}
            stated = self._stated(database, whole[0])
            return told if quantity else {} if _is_ruled_out(stated, whole[0], asked.filters) else stated
        named = [found for found in readings if found.names_table]
        return _unread(named, asked.text)

    def _stated(self, database: ComputingDatabase, computation: Computation) -> SourceResult:
        computed = compute(database, computation)
        metadata = {
            "computed": True,
            "function": computation.function,
            "field": None,
            "filters": jsonable(computation.merged_filters()),
            "rows": computed.rows,
            "value": jsonable(computed.value),
            "table": computation.shape.name,
            "section": computation.shape.name,
        }
        content = f"{computation.in_words()}: {computed.value}"
        return SourceResult(content, computation.id(), *self._named, 1.0, metadata)

    def _unstated(self, needs: str, shapes: Sequence[TableShape], *, offered: bool, **why: Any) -> SourceResult:
        can = offered and self._database is not None
        reason = "could not be determined from the fields that are declared" if can else "is not offered"
        content = (
            f"This question needs a computation over several rows ({needs}), which {reason}. "
            "No row that was found is the answer by itself."
        )
        tables = [shape.name for shape in shapes]
        metadata = {"needs_computation": True, "needs": needs, "tables": tables, "section": "computation", **why}
        return SourceResult(content, f"needs_computation:{needs}", *self._named, 1.0, metadata)

    def _with_values(
        self, database: ComputingDatabase, shapes: Sequence[TableShape], asked: Question
    ) -> list[tuple[TableShape, Vocabulary]]:
        """Each table, with the kinds that its columns really are of, and the values that the filters let see."""
        narrowed = repr(sorted(asked.filters.items()))

        def known(shape: TableShape) -> tuple[TableShape, Vocabulary]:
            key = (shape.name, narrowed, asked.version)
            return self._vocabularies.get_or_make(key, lambda: self._known(database, shape, asked.filters))

        return list(map(known, shapes))

    def _known(
        self, database: ComputingDatabase, declared: TableShape, filters: Mapping[str, Any]
    ) -> tuple[TableShape, Vocabulary]:
        columns = (
            one if is_fit(database, declared, one, filters) else replace(one, kind="string") for one in declared.columns
        )
        shape = replace(declared, columns=tuple(columns))
        return shape, self._read_vocabulary(database, shape, filters)

    def _read_vocabulary(
        self, database: ComputingDatabase, shape: TableShape, filters: Mapping[str, Any]
    ) -> Vocabulary:
        # Only values that the filters let see: a tenant must not learn another's names from how they are spelt.
        found: dict[tuple[str, ...], dict[str, list[Any]]] = {}
        for column in shape.columns:
            if column.kind in ("string", "text", "integer", "date"):
                stored = database.values(shape, column.name, filters, _MOST_VALUES)
                for found_value in (*stored, *self._enums.get(column.name, ())):
                    value = decode(column.kind, found_value)
                    if column.kind == "integer" and not isinstance(value, int):
                        continue  # a condition on it would keep no row
                    name = tuple(stems(str(value)))
                    if len(name) <= LONGEST_VALUE:
                        found.setdefault(name, {}).setdefault(column.name, []).append(value)
        return found


def _is_filtered(cue: Cue, filters: Mapping[str, Any]) -> bool:
    """Whether a filter compares, as "opened after March" asks for."""
    ranges = (one for one in filters.values() if isinstance(one, Mapping))
    return cue.needs in ("order", "comparison") and any(not _RANGES.isdisjoint(one) for one in ranges)


def _is_ruled_out(count: SourceResult, computed: Computation, filters: Mapping[str, Any]) -> bool:
    """Whether there is none because of another range of the same field: that is not what the words ask for."""
    own = computed.filters[-1] if computed.filters else {}
    ranges = [(own.get(name), one) for name, one in filters.items() if isinstance(one, Mapping)]
    return not count.metadata["value"] and any(isinstance(said, Mapping) and said != one for said, one in ranges)


def _parts_for_rows(asked: Question, language: Language) -> tuple[str, ...]:
    """The parts of a question that may ask for rows; none for one that computes, or has words of no question.

    "Which ones?" behind a count asks for the rows that were counted.
    """
    if asked.own == "":
        return ()
    parts, cue = parts_of(asked.text, asked.own or ""), find_cue(asked.text)
    if cue is None:
        return parts
    counted = cue.function == "count" and _own_cue(asked) is None
    return cue.parts if counted and language.rows.search(parts[-1]) else ()


def _own_cue(asked: Question) -> Cue | None:
    """What in the user's own words asks for a computation; None also where there are none."""
    return None if asked.own == "" else find_cue(asked.text, asked.own or "")


def _readings(cue: Cue, known: Sequence[tuple[TableShape, Vocabulary]], asked: Question) -> list[Reading]:
    """How the question reads in each of the tables that are `known` and may hold a row for it."""
    read = (read_rows(cue.parts, cue.language, *table) for table in known)
    return [found for found in read if found and may_match(found.shape, asked.filters)]


def _rows_and_nothing_else(
    parts: Sequence[str], language: Language, shape: TableShape, vocabulary: Vocabulary, *, alone: bool
) -> Reading | None:
    """The rows of a table that `parts` of a question ask for; None when they ask for anything else too, or name neither
    the table nor, where it is the only one, a column with a condition: "Who joined in 2021?"."""
    read = read_rows(parts, language, shape, vocabulary)
    if read is None:
        return None
    found = replace(read, filler=read.filler | subjectless_stems())
    # A table alone may be a word like any other: "What is an order?"
    asks = found.conditions or any(map(language.rows.search, parts))
    named = found.names_table or (alone and found.names_condition)
    return found if asks and found.is_whole and named else None


def _unread(named: Sequence[Reading], text: str) -> dict[str, Any]:
    """What none of the tables that are `named` holds, in the words of `text`; empty where each word is understood."""
    unread = set(named[0].unread).intersection(*(found.unread for found in named)) if named else ()
    return {"unread": as_said(list(unread), text), "tables": [one.shape.name for one in named]} if unread else {}
