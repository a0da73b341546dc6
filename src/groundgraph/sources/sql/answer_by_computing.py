"""The results that state a computation, or that a question needs one that is not offered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.latest import Latest
from groundgraph.core.registry import nearest
from groundgraph.sources.sql.any_database import ComputingDatabase, Version
from groundgraph.sources.sql.compute import FUNCTIONS, Computation, Computed, check_field, compute
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.sql_dialect import may_match
from groundgraph.text.words import detect_language, fold, language_data, stem, stems, words

# Which words of a question ask for a computation, by language.


@dataclass(frozen=True)
class Language:
    """The data file of one language.

    Attributes:
        not_offered: by what is needed, a pattern for computations that are not offered.
        functions: by function, a pattern for those that are.
        filler: stems that add nothing to a question.
        decisive: words, such as "not", that a reading by rule would overlook.
        months: the stems of the months in order.
    """

    not_offered: dict[str, re.Pattern[str]]
    functions: dict[str, re.Pattern[str]]
    filler: frozenset[str]
    decisive: frozenset[str]
    months: tuple[str, ...]


@dataclass(frozen=True)
class Cue:
    """What a question asks for.

    Attributes:
        function: the function, or an empty string when the computation is not offered or the question has a word
            that no rule here understands.
        rest: the folded question without the words that asked for it.
        asking: the stems of those words; of what is not offered, of the word that decided, if there is one.
        needs: what is needed in a word, such as `count` or `difference`.
        offered: whether a function of that kind is offered at all.
        language: the language of the question.
    """

    function: str
    rest: str
    asking: frozenset[str]
    needs: str
    offered: bool
    language: Language

    def is_met_by(self, text: str) -> bool:
        """Whether `text` says the word that decided: a row that says "first" answers a question for the first step."""
        return not self.offered and bool(self.asking) and self.asking <= set(map(stem, words(text)))


@cache
def _language(code: str) -> Language:
    data = language_data(code, "computing")
    return Language(
        {name: re.compile(pattern) for name, pattern in data.get("not_offered", {}).items()},
        {name: re.compile(pattern) for name, pattern in data.get("functions", {}).items()},
        frozenset(stem(word) for word in words(data.get("filler", ""))),
        frozenset(words(data.get("decisive", ""))),
        tuple(stem(fold(month)) for month in data.get("months", ())),
    )


def find_cue(question: str) -> Cue | None:
    """The computation that `question` asks for, if it does."""
    folded = fold(question)
    language = _language(detect_language(question))
    for needs, pattern in language.not_offered.items():
        found = pattern.search(folded)
        if found:
            asking = frozenset(stem(word) for word in words(found.groupdict().get("word") or ""))
            return Cue("", folded, asking, needs, False, language)
    for function, pattern in language.functions.items():
        found = pattern.search(folded)
        if found:
            rest = f"{folded[: found.start()]} {folded[found.end() :]}"
            understood = not language.decisive.intersection(words(rest))
            asking = frozenset(stems(found.group()))
            return Cue(function if understood else "", rest, asking, function, True, language)
    return None


# Reading out of a question which rows it counts, by rule: from the names and values that literally stand in it.
#
# Every content word of the question must be accounted for: by the table's name, by the name of a column, by a value of
# a cell, or as filler. A question with a word left over is not understood, and no number is given for it.

# By the stems of values, the columns that hold them and the values as they are stored there.
Vocabulary = Mapping[tuple[str, ...], Mapping[str, Sequence[Any]]]
LONGEST_VALUE = 8
_YEAR = re.compile(r"[12]\d{3}")
# What a word loses with its sign: "C++", "A+", "-3".
_SIGNED = re.compile(r"(?<!\w)\w++[+#]+|(?<!\w)[-+]\d+|(?<!\w)\w-(?!\w)")


@dataclass(frozen=True)
class _Reading:
    """What the words of a question stand for in one table."""

    conditions: dict[str, Any]
    left: list[str]


def read_computation(
    cue: Cue, shape: TableShape, vocabulary: Vocabulary, filters: Mapping[str, Any], *, alone: bool
) -> Computation | None:
    """The count that a question with `cue` asks of the table; None when that is not plain.

    Args:
        cue: what the question asks for.
        shape: the table.
        vocabulary: its values.
        filters: the checked conditions that hold in any case.
        alone: whether it is the only table; among several the question must name it, or a column of it.
    """
    dates, asked = _date_condition(stems(cue.rest), shape, cue.language.months)
    reading = _read(asked, cue.rest, shape, vocabulary)
    if reading is None or set(dates) & set(reading.conditions) or not _signs_are_read(cue.rest, reading):
        return None
    reading.conditions.update(dates)
    names = {stem for name in (shape.name, *reading.conditions) for stem in stems(_spaced(name))}
    left = set(reading.left) - cue.language.filler
    if left - names:
        return None
    if not left and not (alone and reading.conditions):
        return None  # nothing in the question refers to this table
    return Computation("count", shape, "", tuple(filter(None, (filters, reading.conditions))))


def is_named_so(cue: Cue, shapes: Sequence[TableShape]) -> bool:
    """Whether a column has the name of what is asked: "What is the number of employees of Acme?", "the top speed"."""
    everything = {*stems(cue.rest), *cue.asking}
    names = [_stems(column) for shape in shapes for column in shape.columns]
    named = [name for name in names if name & cue.asking and name <= everything]
    return any(not (cue.needs == "count" and name <= cue.asking) for name in named)


def is_lookup(cue: Cue, shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether the question asks a table for the value of one column in rows that it names by a value."""
    reading = _read(stems(cue.rest), cue.rest, shape, vocabulary)
    if reading is None or not reading.conditions or not cue.offered:
        return False
    left = set(reading.left) - cue.language.filler - set(stems(_spaced(shape.name)))
    others = [_stems(column) for column in shape.columns if column.name not in reading.conditions]
    return bool(left) and any(left <= name for name in others)


def is_about(question: str, cue: Cue, shapes: Sequence[TableShape], best: str) -> bool:
    """Whether a question that sounds like a computation is about rows: it names a table or a column, or a value of the
    row `best`, which was found for it.

    A part of a column's name is not enough: of "How many days do I have to return it?" a document states the number,
    though some table has a column "service_interval_days".
    """
    asked = set(stems(question))
    names = list(
        chain.from_iterable((set(stems(_spaced(shape.name))), *map(_stems, shape.columns)) for shape in shapes)
    )
    if any(name and name <= asked for name in names):
        return True
    own = asked.difference(cue.asking, *names)
    return any(shape.content_field is None for shape in shapes) and not own.isdisjoint(stems(best))


def _date_condition(asked: Sequence[str], shape: TableShape, months: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The condition that "in March 2026" or "in 2026" puts on a date column, and the stems without these.

    Of several date columns it is the one that the words name, else the only one that the user declared.
    """
    dated = _meant_dates([column for column in shape.columns if column.kind in ("date", "datetime")], asked)
    years = [at for at, stem in enumerate(asked) if _YEAR.fullmatch(stem)]
    if len(dated) != 1 or len(years) != 1:
        return {}, list(asked)
    at, year = years[0], int(asked[years[0]])
    if at and asked[at - 1] in months:
        month = months.index(asked[at - 1]) + 1
        after = f"{year + month // 12}-{month % 12 + 1:02}-01"
        return {dated[0]: {"gte": f"{year}-{month:02}-01", "lt": after}}, [*asked[: at - 1], *asked[at + 1 :]]
    return {dated[0]: {"gte": f"{year}-01-01", "lt": f"{year + 1}-01-01"}}, [*asked[:at], *asked[at + 1 :]]


def _meant_dates(dated: Sequence[Column], asked: Sequence[str]) -> list[str]:
    named = [column.name for column in dated if _stems(column) & set(asked)]
    declared = [column.name for column in dated if column.declared]
    return next((names for names in (named, declared) if len(names) == 1), [column.name for column in dated])


def _read(asked: Sequence[str], said: str, shape: TableShape, vocabulary: Vocabulary) -> _Reading | None:
    """The conditions that values in the question stand for, longest first; None when one could mean two columns.

    A value without a content word, such as "A", stands for itself behind the name of its column only.
    """
    wordless = [(column, value) for column, values in vocabulary.get((), {}).items() for value in values]
    conditions = {column: value for column, value in wordless if _stands_behind(column, value, said)}
    left: list[str] = []
    position = 0
    names = {column.name: _stems(column) for column in shape.columns}
    of_names = set(stems(_spaced(shape.name))).union(*names.values())
    while position < len(asked):
        length = _longest_value(asked, position, vocabulary)
        known = vocabulary.get(tuple(asked[position : position + length]), {}) if length else {}
        found = _said_values(known, said)
        # A word that is a name here stands for no value, though some cell holds it too.
        if not found or (length == 1 and asked[position] in of_names):
            left.append(asked[position])
            position += 1
            continue
        column = _meant(found, names, asked)
        if column is None or len({fold(str(value)).strip() for value in found[column]}) > 1:
            return None
        for value in found[column]:
            _add(conditions, column, value)
        position += length
    return _Reading(conditions, left)


def _stands_behind(column: str, value: Any, said: str) -> bool:
    name, own = re.escape(fold(_spaced(column))), re.escape(fold(str(value)).strip())
    return bool(own) and re.search(rf"\b{name} {own}(?!\w)", said) is not None


def _longest_value(asked: Sequence[str], start: int, vocabulary: Vocabulary) -> int:
    """How many stems from `start` on are together a value; 0 when there is none."""
    sizes = range(min(LONGEST_VALUE, len(asked) - start), 0, -1)
    return next((size for size in sizes if tuple(asked[start : start + size]) in vocabulary), 0)


def _said_values(found: Mapping[str, Sequence[Any]], said: str) -> dict[str, list[Any]]:
    """By column, the values of `found` that stand in the question; columns without one are left out."""
    literal = {column: [value for value in values if _is_said(value, said)] for column, values in found.items()}
    return {column: values for column, values in literal.items() if values}


def _is_said(value: Any, said: str) -> bool:
    """Whether `value` stands in the folded question: "packages" does not name the row "packaging", nor "C" one of C++.

    Words of languages that inflect names are compared by their stems.
    """
    name = fold(str(value)).strip()
    if re.search(rf"(?<![\w+#-]){re.escape(name)}(?![\w+#])", said):
        return True
    return not name.isascii() and set(map(stem, words(name))) <= set(map(stem, words(said)))


def _signs_are_read(said: str, reading: _Reading) -> bool:
    """Whether each word with a sign belongs to a value that was understood."""
    values = [fold(str(value)) for condition in reading.conditions.values() for value in _listed(condition)]
    return all(any(word in value for value in values) for word in _SIGNED.findall(said))


def _listed(condition: Any) -> list[Any]:
    return condition if isinstance(condition, list) else [condition]


def _meant(found: Mapping[str, Sequence[Any]], names: Mapping[str, set[str]], asked: Sequence[str]) -> str | None:
    """The column that a value stands for: the only one that holds it, or the only one of those that is named."""
    named = [column for column in found if names[column] & set(asked)]
    candidates = named or list(found)
    return candidates[0] if len(candidates) == 1 else None


def _add(conditions: dict[str, Any], column: str, value: Any) -> None:
    # Two values of one column: "critical and high incidents".
    known = conditions.get(column)
    if known is None:
        conditions[column] = value
    elif value not in _listed(known):
        conditions[column] = [*_listed(known), value]


def _stems(column: Column) -> set[str]:
    return set(stems(_spaced(column.name)))


def _spaced(name: str) -> str:
    return name.replace("_", " ")


# A column with more different values is a text or a number, not a name by which rows are asked for.
_MOST_VALUES = 2_000
_KEPT = 16


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
        self._vocabularies: Latest[tuple[Any, ...], Vocabulary] = Latest(_KEPT)

    def explicit(
        self, wanted: Mapping[str, Any], shapes: Sequence[TableShape], filters: Mapping[str, Any]
    ) -> SourceResult:
        """What `raw_data["aggregate"]` of an intent asks for.

        Args:
            wanted: `function`, and where needed `field` and `table`.
            shapes: the tables of the source, the likeliest first.
            filters: checked conditions.

        Raises:
            FilterInvalid: the function is no name, or the field or the table is not there.
        """
        function, field = wanted.get("function"), str(wanted.get("field") or "")
        if not isinstance(function, str):
            raise FilterInvalid(f"A computation needs a function, one of {', '.join(FUNCTIONS)}, not {function!r}.")
        if function not in FUNCTIONS or self._database is None:
            return self._unstated(function, shapes, offered=False)
        shape = _table(wanted.get("table"), [field, *filters] if field else list(filters), shapes)
        check_field(shape, function, field)
        return self._stated(self._database, Computation(function, shape, field, (filters,) if filters else ()))

    def by_rule(
        self, question: str, shapes: Sequence[TableShape], filters: Mapping[str, Any], version: Version, best: str
    ) -> SourceResult | None:
        """The computation that `question` asks for, or that it needs one; None for any other question.

        Args:
            question: the words.
            shapes: the tables that it was routed to, the best first.
            filters: checked conditions.
            version: of the database, for what is known of its values.
            best: the text of the best row; a question for "the first step" is answered by a row that says "first".
        """
        cue = find_cue(question)
        if cue is None or cue.is_met_by(best) or is_named_so(cue, shapes):
            return None
        if self._database and cue.function == "count":
            known = self._with_values(self._database, shapes, filters, version)
            stated = self._counted(self._database, cue, known, filters)
            if stated or any(is_lookup(cue, *table) for table in known):
                return stated
        if not is_about(question, cue, shapes, best):
            return None
        return self._unstated(cue.needs, shapes, offered=cue.offered)

    def _counted(
        self,
        database: ComputingDatabase,
        cue: Cue,
        known: Sequence[tuple[TableShape, Vocabulary]],
        filters: Mapping[str, Any],
    ) -> SourceResult | None:
        for shape, vocabulary in known:
            found = read_computation(cue, shape, vocabulary, filters, alone=len(known) == 1)
            if found and may_match(shape, filters):
                return self._stated(database, found)
        return None

    def _stated(self, database: ComputingDatabase, computation: Computation) -> SourceResult:
        computed = compute(database, computation)
        metadata = {
            "computed": True,
            "function": computation.function,
            "field": computation.field or None,
            "filters": jsonable(computation.merged_filters()),
            "rows": computed.rows,
            "value": jsonable(computed.value),
            "table": computation.shape.name,
            "section": computation.shape.name,
        }
        return SourceResult(_statement(computation, computed), computation.id(), *self._named, 1.0, metadata)

    def _unstated(self, needs: str, shapes: Sequence[TableShape], *, offered: bool) -> SourceResult:
        can = offered and self._database is not None
        reason = "could not be determined from the fields that are declared" if can else "is not offered"
        content = (
            f"This question needs a computation over several rows ({needs}), which {reason}. "
            "No row that was found is the answer by itself."
        )
        tables = [shape.name for shape in shapes]
        metadata = {"needs_computation": True, "needs": needs, "tables": tables, "section": "computation"}
        return SourceResult(content, f"needs_computation:{needs}", *self._named, 1.0, metadata)

    def _with_values(
        self, database: ComputingDatabase, shapes: Sequence[TableShape], filters: Mapping[str, Any], version: Version
    ) -> list[tuple[TableShape, Vocabulary]]:
        """Each table with the values that the filters let see."""
        narrowed = repr(sorted(filters.items()))

        def vocabulary(shape: TableShape) -> Vocabulary:
            key = (shape.name, narrowed, version)
            return self._vocabularies.get_or_make(key, lambda: self._read_vocabulary(database, shape, filters))

        return [(shape, vocabulary(shape)) for shape in shapes]

    def _read_vocabulary(
        self, database: ComputingDatabase, shape: TableShape, filters: Mapping[str, Any]
    ) -> Vocabulary:
        # Only values that the filters let see: a tenant must not learn another's names from how they are spelt.
        found: dict[tuple[str, ...], dict[str, list[Any]]] = {}
        for column in shape.columns:
            if column.kind in ("string", "text", "integer", "date"):
                stored = database.values(shape, column.name, filters, _MOST_VALUES)
                for value in (*stored, *self._enums.get(column.name, ())):
                    name = tuple(stems(str(value)))
                    if len(name) <= LONGEST_VALUE:
                        found.setdefault(name, {}).setdefault(column.name, []).append(value)
        return found


def _table(name: Any, fields: Sequence[str], shapes: Sequence[TableShape]) -> TableShape:
    if name is None:
        fitting = [shape for shape in shapes if all(shape.column(field) for field in fields)]
        return fitting[0] if fitting else shapes[0]
    for shape in shapes:
        if shape.name == name:
            return shape
    known = [shape.name for shape in shapes]
    raise FilterInvalid(f"There is no table '{name}' to compute over.{nearest(str(name), known)} Tables: {known}.")


def _statement(computation: Computation, computed: Computed) -> str:
    if computed.value is None:
        return f"{computation.in_words()}: there is none, since no row has a value"
    value = round(computed.value, 6) if isinstance(computed.value, float) else computed.value
    over = "" if computation.function == "count" else f" (over {computed.rows} rows)"
    others = f"; {computed.left_out} rows were left out, their value is no number" if computed.left_out else ""
    return f"{computation.in_words()}: {value}{over}{others}"
