"""The results that state a computation, or that a question needs one that is not offered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from groundgraph.core.evidence import NEEDS, SourceResult, jsonable
from groundgraph.core.filters import matches
from groundgraph.core.latest import Latest
from groundgraph.sources.sql.any_database import ComputingDatabase, Version
from groundgraph.sources.sql.compute import Computation, compute, is_fit
from groundgraph.sources.sql.read_question import (
    Reading,
    as_said,
    count_of_kind,
    is_about,
    is_named_so,
    looked_up,
    needed_instead,
    quantity_instead,
    read_computation,
    read_rows,
)
from groundgraph.sources.sql.shape import TableShape, Vocabulary, column_stems, decode, table_stems
from groundgraph.sources.sql.sql_dialect import may_match
from groundgraph.sources.sql.values_in_question import LONGEST_VALUE, Part, listed, values_said
from groundgraph.text.find_cue import Cue, Language, find_cue, language_of
from groundgraph.text.follow_up import (
    asks_alone,
    holds_pronoun,
    is_elliptic,
    is_leaning,
    language_words,
    own_words,
    subjectless_stems,
    without_connective,
)
from groundgraph.text.words import fold, name_stems, stem, stems, words

_RANGES = frozenset({"gt", "gte", "lt", "lte"})
# A column with more different values is a text or a number, not a name by which rows are asked for.
_MOST_VALUES = 2_000
_KEPT = 16
# Of a source with more, not all values are read for one question.
_MOST_TABLES = 16
# Stems of which as many letters from the first are the same are forms of one word.
SAME_BEGINNING = 5
# Shorter names begin other words too: "id" begins "idea".
LEAST_NAME = 4


@dataclass(frozen=True)
class Question:
    """What is asked of the tables.

    Attributes:
        said: the message, behind the questions that it leans on; none where it stands behind no question.
        filters: checked conditions.
        version: of the database, for what is known of its values.
        most: how many rows are wanted at most.
    """

    said: tuple[str, ...]
    filters: Mapping[str, Any]
    version: Version
    most: int

    @property
    def text(self) -> str:
        """All of it in one."""
        return " ".join(self.said)


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

    def by_rule(
        self, asked: Question, shapes: Sequence[TableShape], tables: Sequence[TableShape], best: str
    ) -> SourceResult | None:
        """The computation that a question asks for, or that it needs one; None for any other question.

        Args:
            asked: the question.
            shapes: the tables that it was routed to, the best first.
            tables: all of the source.
            best: the text of the best row.
        """
        cue = find_cue(asked.said)
        if cue is None:
            return self._excluded(asked, shapes)
        if is_named_so(cue, shapes) or _is_filtered(cue, asked.filters):
            return None
        why: dict[str, Any] = {}
        if self._database and cue.function == "count":
            known = self._with_values(self._database, shapes, asked)
            counted = self._counted(self._database, cue, known, tables, asked)
            if isinstance(counted, SourceResult):
                return counted
            if excluded := self._excluded(asked, shapes):
                return excluded
            if of_kind := self._counted_by_kind(self._database, cue, tables, asked):
                return of_kind
            if cue.is_part_of_name or any(looked_up(cue, *table, others=1) for table in known):
                return None
            why = counted
        if not is_about(asked.text, cue, shapes, best):
            return None
        return self._unstated(cue.needs, shapes, offered=cue.offered, **why)

    def selected(
        self, asked: Question, shapes: Sequence[TableShape], tables: Sequence[TableShape]
    ) -> tuple[Computation, list[dict[str, Any]], SourceResult] | None:
        """The rows that a question asks for and nothing else, as in "Which orders are open?"

        Args:
            asked: the question.
            shapes: the tables that it was routed to, the best first.
            tables: all of the source.

        Returns:
            What keeps them, the first of them, and a result that says how many there are; None when the question asks
            for anything else too.
        """
        lists = _asks_to_list(asked)
        # "And in hall C?" by itself asks for no rows.
        leans = len(asked.said) == 1 and is_leaning(asked.text)
        for read in self._read_for_rows(asked, shapes):
            alone = not leans and (len(shapes) == 1 or _is_of_one(read, tables))
            whole = _rows_and_nothing_else(read, tables, alone=alone)
            if whole is not None and self._database is not None and (whole.conditions or lists):
                kept = Computation("count", read.shape, "", tuple(filter(None, (asked.filters, whole.conditions))))
                stated = self._stated(self._database, kept)
                if _is_ruled_out(stated, kept, asked.filters):
                    return None
                return kept, self._database.first(read.shape, kept.filters, asked.most), stated
        return None

    def named(
        self, asked: Question, shapes: Sequence[TableShape], tables: Sequence[TableShape], found: Sequence[SourceResult]
    ) -> list[SourceResult]:
        """Those of the `found` rows that are of tables which a question names, where it asks for rows of one first; in
        place of them that it was not understood, where none holds one of the words that are left over. All of them for
        any other question.

        Args:
            asked: the question.
            shapes: the tables that it was routed to.
            tables: all of the source.
            found: the rows that a search found.
        """
        readings = list(self._read_for_rows(asked, shapes))
        for read in readings:
            of_column = read.of_column(tables)
            if not read.shape.vector_fields and (read.is_of_table or of_column):
                left = (of_column or read).left_over
                return self._of_named(read, left, asked, tables, found)
        # A value may be of two of its columns, as in "Which employees are in Paris?": no row of another table is meant.
        meant = _only_listed(asked, tables)
        own = _of_tables({meant}, found) if meant not in {read.shape.name for read in readings} else []
        return own or [*found]

    def fitting(
        self, asked: Question, shapes: Sequence[TableShape], found: Sequence[SourceResult]
    ) -> list[SourceResult]:
        """Those of the `found` rows that hold all that several questions say of the rows of the only table that they
        name, though a word of it could not be read as a value."""
        readings = self._read_for_rows(asked, shapes) if len(asked.said) > 1 else ()
        named = [read for read in readings if read.names_table and read.conditions]
        if len(named) != 1 or named[0].shape.vector_fields:
            return []
        return [row for row in _of_tables({named[0].shape.name}, found) if _fits(row, named[0])]

    def _of_named(
        self,
        read: Reading,
        left: Sequence[str],
        asked: Question,
        tables: Sequence[TableShape],
        found: Sequence[SourceResult],
    ) -> list[SourceResult]:
        """What `named` gives for a question that asks for rows of the table of `read` and leaves the stems `left`."""
        own = _of_tables({read.shape.name}, found)
        if unread := _unread_of(read, left, asked.said, own):
            return [self._unstated("rows", [read.shape], offered=False, **unread), *found]
        if not own:
            return [*found]
        named = {read.shape.name, *(shape.name for shape in tables if set(table_stems(shape)) <= {*read.left})}
        return _of_tables(named, found)

    def asks_of_rows(
        self, asked: Question, shapes: Sequence[TableShape]
    ) -> Literal["columns", "something else", "others"]:
        """What the question itself asks of rows that were shown before: `columns` of the tables, by their names, by
        what may be so of any row ("is it paid?"), or with a pronoun alone; `something else`; or for `others`, by the
        name or the number of one, which is not written small."""
        if self._database is None:
            return "others"
        known = self._with_values(self._database, shapes, asked)
        return "something else" if _asks_for_some(asked) else _asks_by_words(asked.said[-1], known)

    def _read_for_rows(self, asked: Question, shapes: Sequence[TableShape]) -> Iterator[Reading]:
        """How the question reads in each table that may hold a row for it, where it may ask for rows."""
        language = language_of(asked.text)
        parts = [Part(*one) for one in zip(_parts_for_rows(asked, language), asked.said, strict=False)]
        if self._database is None or not parts:
            return
        for shape, vocabulary in self._with_values(self._database, shapes, asked):
            read = read_rows(parts, language, shape, vocabulary) if may_match(shape, asked.filters) else None
            if read is not None:
                # "Well done" names no subject, "done" may be a column.
                names = chain.from_iterable(column_stems(shape))
                yield replace(read, filler=read.filler | subjectless_stems().difference(names))

    def _excluded(self, asked: Question, shapes: Sequence[TableShape]) -> SourceResult | None:
        """That a question rules out the rows that have a value, as in "incidents that are not critical", or compares:
        those that a search finds for its words are the others."""
        if self._database is None or not asked.said:
            return None
        for shape, vocabulary in self._with_values(self._database, shapes, asked):
            if needs := needed_instead(asked.said[-1], language_of(asked.text), shape, vocabulary):
                return self._unstated(needs, [shape], offered=False)
        return None

    def _counted(
        self,
        database: ComputingDatabase,
        cue: Cue,
        known: Sequence[tuple[TableShape, Vocabulary]],
        tables: Sequence[TableShape],
        asked: Question,
    ) -> SourceResult | dict[str, Any]:
        """The count that a question asks for; in its place, what is known of why there is none."""
        readings = _readings(cue, known, asked)
        whole = [(found, count) for found in readings if (count := read_computation(found, asked.filters))]
        found = [one for one in whole if not self._may_be_of_partner(database, one[0], tables, asked)]
        if len(whole) == len(found) == 1 and not _may_be_another(found[0][0], readings, known, tables, cue):
            return self._of_rows_or_quantity(database, cue, found[0][1], asked)
        named = [found for found in readings if found.names_table]
        return _unread(named, asked.said)

    def _of_rows_or_quantity(
        self, database: ComputingDatabase, cue: Cue, count: Computation, asked: Question
    ) -> SourceResult | dict[str, Any]:
        if quantity := quantity_instead(cue, count.shape):
            return {"quantity": quantity, "tables": [count.shape.name]}
        stated = self._stated(database, count)
        return {} if _is_ruled_out(stated, count, asked.filters) else stated

    def _counted_by_kind(
        self, database: ComputingDatabase, cue: Cue, tables: Sequence[TableShape], asked: Question
    ) -> SourceResult | None:
        """The count of the rows of which a value alone says what they are: it must not be one of any other table."""
        if len(tables) > _MOST_TABLES or len(asked.said) > 1:
            return None
        known = [_without_partners(*one) for one in self._with_values(database, tables, asked)]
        held = [shape.name for shape, vocabulary in known if any(values_said(cue.parts[-1], vocabulary))]
        found = count_of_kind(_readings(cue, known, asked), cue, tables)
        if found is None or held != [found.shape.name]:
            return None
        shape = next(one for one in tables if one.name == held[0])
        kept = Computation("count", shape, "", tuple(filter(None, (asked.filters, found.conditions))))
        return self._stated(database, kept)

    def _may_be_of_partner(
        self, database: ComputingDatabase, read: Reading, tables: Sequence[TableShape], asked: Question
    ) -> bool:
        """Whether a value of a column that tells the partner of a row may be one of another column of a partner, which
        the row does not have: whose name is Berlin, or who works there."""
        said = [
            tuple(stems(str(value)))
            for name in read.shape.lent.intersection(read.conditions)
            for value in listed(read.conditions[name])
        ]
        partners = {join.other.name for join in read.shape.joins} if said else set()
        others = [one for one in tables if one.name in partners]
        return any(
            _is_unseen(read.shape, *known, value)
            for known in self._with_values(database, others, asked)
            for value in said
        )

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
        metadata = {NEEDS: True, "needs": needs, "tables": tables, "section": "computation", **why}
        return SourceResult(content, f"{NEEDS}:{needs}", *self._named, 1.0, metadata)

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
        return {name: _own_first(columns, shape.lent) for name, columns in found.items()}


def _own_first(columns: dict[str, list[Any]], lent: frozenset[str]) -> Mapping[str, Sequence[Any]]:
    """Without the columns that are `lent` where one of the row's own holds the value too: it is said of the row."""
    return {name: values for name, values in columns.items() if name not in lent} or columns


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

    "Which ones?" behind a count asks for the rows that were counted, and so does "Who are they?".
    """
    parts, cue = _folded(asked.said), find_cue(asked.said, before_rows=True)
    pointing = [
        at > 0 and _only_points(said, part, language)
        for at, (said, part) in enumerate(zip(asked.said, parts, strict=True))
    ]
    if cue is not None:
        counted = cue.function == "count" and find_cue(asked.said) is None
        asks = any(pointing) or any(map(language.rows.search, parts[1:]))
        parts = tuple(_joined(cue.parts)) if counted and asks else ()
    # They ask for what was asked for before them.
    return tuple("" if points else part for part, points in zip(parts, pointing, strict=False))


def _only_points(said: str, folded: str, language: Language) -> bool:
    return holds_pronoun(said) and not _said_of_others(folded, language)


def _asks_by_words(
    own: str, known: Sequence[tuple[TableShape, Vocabulary]]
) -> Literal["columns", "something else", "others"]:
    values = [str(value) for _, vocabulary in known for value in values_said(own, vocabulary)]
    if not all(map(str.islower, values)):
        return "others"
    filler = language_of(own).filler_in(fold(own)).union(stems(" ".join(values)))
    called = frozenset(chain.from_iterable(_names(shape) for shape, _ in known))
    asked_for = set(own_words(own)) - filler
    points = bool(own_words(own)) or holds_pronoun(own)
    return "columns" if points and all(_is_called(one, called) for one in asked_for) else "something else"


def _asks_for_some(asked: Question) -> bool:
    """Whether a follow-up asks which of the rows before it are meant: "Which of them are paid?" and, behind a count,
    "Who are they?". Which these are, not all rows that were shown tell."""
    own = asked.said[-1]
    if asks_alone(own):
        return True
    found = language_of(own).rows.search(fold(own))
    behind = words(fold(own)[found.end() :])[:1] if found else []
    if found and not own_words(" ".join(behind)):
        return not language_words("computing", "which").keys().isdisjoint(words(found.group()))
    cue = None if own_words(own) else find_cue(asked.said, before_rows=True)
    return cue is not None and cue.function == "count"


def _folded(said: Sequence[str]) -> tuple[str, ...]:
    """The parts of a question; those behind the first without what joins them, as "what about" does."""
    return tuple(map(fold, _joined(said)))


def _joined(said: Sequence[str]) -> list[str]:
    return [without_connective(one) if at else one for at, one in enumerate(said)]


def _said_of_others(said: str, language: Language) -> set[str]:
    """The stems of the folded text `said` but for what asks for rows, points at some and adds nothing. One that is said
    out of politeness may be a value: "the done ones"."""
    return set(stems(language.rows.sub(" ", said))) - language.filler_in(said) - set(map(stem, language.pronouns))


def _readings(cue: Cue, known: Sequence[tuple[TableShape, Vocabulary]], asked: Question) -> list[Reading]:
    """How the question reads in each of the tables that are `known` and may hold a row for it."""
    parts = [Part(*one) for one in zip(_joined(cue.parts), asked.said, strict=True)]
    read = (read_rows(parts, cue.language, *table) for table in known)
    return [found for found in read if found and may_match(found.shape, asked.filters)]


def _without_partners(shape: TableShape, vocabulary: Vocabulary) -> tuple[TableShape, Vocabulary]:
    """A table and its values without the columns that its rows have by a relation: they are those of another one."""
    own = {one.name for one in shape.own_columns}
    values = {
        name: kept for name, found in vocabulary.items() if (kept := {one: found[one] for one in found if one in own})
    }
    return replace(shape, columns=tuple(shape.own_columns), joins=()), values


def _is_unseen(shape: TableShape, partner: TableShape, vocabulary: Vocabulary, value: tuple[str, ...]) -> bool:
    """Whether a column of texts of the `partner` of a row of `shape` holds the value of these stems, and the row does
    not tell that column."""
    joins = [join for join in shape.joins if join.other.name == partner.name]
    shown = {name for join in joins for _, name in join.columns}
    # A number is only one of a column that is named beside it.
    own = {one.name for one in partner.own_columns if one.kind in ("string", "text")}
    return not shown.issuperset(own.intersection(vocabulary.get(value, ())))


def _asks_to_list(asked: Question) -> bool:
    """Whether a question asks for rows by its words: a table alone may be any word, as in "What is an order?", and
    "Which boat?" asks for one that something was said of before."""
    elliptic = len(asked.said) == 1 and is_elliptic(asked.text)
    return not elliptic and any(map(language_of(asked.text).lists, map(fold, asked.said)))


def _of_tables(names: Collection[str | None], found: Sequence[SourceResult]) -> list[SourceResult]:
    return [row for row in found if row.metadata["table"] in names]


def _only_listed(asked: Question, tables: Sequence[TableShape]) -> str | None:
    """The name of the only one of `tables` that a question names, where it asks for rows and computes nothing."""
    if not _parts_for_rows(asked, language_of(asked.text)) or not _asks_to_list(asked):
        return None
    said = set(stems(asked.text))
    named = [one.name for one in tables if (own := set(table_stems(one))) and own <= said]
    return named[0] if len(named) == 1 else None


def _may_be_another(
    read: Reading,
    readings: Sequence[Reading],
    known: Sequence[tuple[TableShape, Vocabulary]],
    tables: Sequence[TableShape],
    cue: Cue,
) -> bool:
    """Whether the question of one reading may be about another table: one that it may not be read in for certain has a
    part of the name of this one, one whose whole name it says has more of a name, or a value may be the name of one of
    all `tables`."""
    said = set(chain.from_iterable(map(stems, cue.parts)))
    certain = {found.shape.name for found in readings}
    others = [other for other, _ in known if other is not read.shape]
    return any(_may_be_meant(one, read, said, is_read=one.name in certain) for one in others) or any(
        _is_a_value(one, read) for one in tables if one.name != read.shape.name
    )


def _may_be_meant(other: TableShape, read: Reading, said: Collection[str], *, is_read: bool) -> bool:
    if not is_read and _is_part_of(other, read.shape):
        return True
    return _is_part_of(read.shape, other) and set(table_stems(other)) <= set(said)


def _is_part_of(shape: TableShape, other: TableShape) -> bool:
    """Whether the name of a table is part of the other's: "open orders" may be orders that are open."""
    name = set(table_stems(shape))
    return bool(name) and name < set(table_stems(other))


def _is_a_value(shape: TableShape, read: Reading) -> bool:
    """Whether the name of a table was read as a value of a column that is not named: "How many orders have status?"."""
    unnamed = (said for column, said in read.conditions.items() if not set(name_stems(column)) <= set(read.left))
    return any(stems(str(value)) == table_stems(shape) for value in chain.from_iterable(map(listed, unnamed)))


def _rows_and_nothing_else(read: Reading, tables: Sequence[TableShape], *, alone: bool) -> Reading | None:
    """The rows of a table that a question asks for; None when it asks for anything else too, or names neither the table
    nor what it says first, nor, where it is the only one, a column with a condition: "Who joined in 2021?"."""
    if read.is_whole:
        return read if read.names_table or (alone and read.names_condition) else None
    of_column = read.of_column(tables)
    return of_column if of_column and of_column.is_whole else None


def _is_of_one(read: Reading, tables: Sequence[TableShape]) -> bool:
    """Whether no other table has a column that is called like one with a condition: "Who has locker 12?"."""
    own = list(map(name_stems, read.conditions))
    return bool(own) and all(sum(name in column_stems(one) for one in tables) == 1 for name in own)


def _names(shape: TableShape) -> set[str]:
    """The stems of the words in the names of a table and its columns."""
    return set(table_stems(shape)).union(*column_stems(shape))


def _is_called(stem: str, names: frozenset[str]) -> bool:
    """Whether `stem` is one of `names`, or begins as one does that is no shorter than `LEAST_NAME`."""
    return stem in names or any(stem.startswith(one[:SAME_BEGINNING]) for one in names if len(one) >= LEAST_NAME)


def _holds(row: SourceResult, left: Sequence[str], *, each: bool) -> bool:
    """Whether a row holds one of the stems that are `left` over, or another form of it; with `each`, whether its cells
    hold all of them, whatever its columns are called."""
    cells = map(str, row.metadata.values())
    held = {one[:SAME_BEGINNING] for one in stems(" ".join(cells if each else [row.content, *cells]))}
    found = (one[:SAME_BEGINNING] in held for one in left)
    return all(found) if each else any(found)


def _unread_of(read: Reading, left: Sequence[str], said: Sequence[str], own: Sequence[SourceResult]) -> dict[str, Any]:
    """What could not be read of the stems `left`, where none of the rows `own` holds it."""
    # Of rows that meet a condition a doubt is told by the words that none holds: "still open".
    behind = len(said) > 1
    if not left or (read.conditions and not behind) or any(_holds(row, left, each=behind) for row in own):
        return {}
    return _unread([read], said, left) if behind else _unread([replace(read, left=[*left])], said)


def _fits(row: SourceResult, read: Reading) -> bool:
    """Whether a row meets all conditions, and holds each word that is left over but for other forms of the names of
    their columns."""
    left = [one for one in read.left_over if not _is_called(one, read.condition_stems)]
    return matches(read.conditions, row.metadata) and _holds(row, left, each=True)


def _unread(named: Sequence[Reading], said: Sequence[str], left: Sequence[str] | None = None) -> dict[str, Any]:
    """What none of the tables that are `named` holds, or what is `left` over in the one, in the words of the last
    question that has one; empty where each word is understood."""
    if left is None:
        left = list(set(named[0].unread).intersection(*(found.unread for found in named))) if named else []
    own = next(filter(None, (as_said(left, one) for one in reversed(said))), [])
    return {"unread": own, "tables": [one.shape.name for one in named]} if own else {}
