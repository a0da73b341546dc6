"""Reading out of a question which rows it is about, by rule: from the names and values that literally stand in it.

Every content word of the question must be accounted for: by the table's name, by the name of a column, by a value of
a cell, or as filler. A question with a word left over is not understood, and no number is given for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain
from typing import Any

from groundgraph.core.registry import nearest
from groundgraph.sources.sql.compute import Computation, is_numeric
from groundgraph.sources.sql.find_cue import Cue, Language
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.text.follow_up import language_words
from groundgraph.text.quantities import take_dates
from groundgraph.text.words import fold, stem, stems, words

# By the stems of values, the columns that hold them and the values as they are stored there.
Vocabulary = Mapping[tuple[str, ...], Mapping[str, Sequence[Any]]]
LONGEST_VALUE = 8
_YEAR = re.compile(r"[12]\d{3}")
# The full stop of "1. März".
_ORDINAL = re.compile(r"(?<=\d)\.(?=\s)")
# A word, and a number as it is written: "12.50", "2026-03-01".
_SAID = re.compile(r"\w+(?:[-.,'’/]\w+)*")
# What a word loses with its sign: "C++", "A+", "-3".
_SIGNED = re.compile(r"(?<!\w)\w++[+#]+|(?<!\w)[-+]\d+|(?<!\w)\w-(?!\w)")


@dataclass(frozen=True)
class Reading:
    """What the words of a question stand for in one table.

    Attributes:
        shape: the table.
        conditions: what its values say.
        left: the stems that are no value, in order; names of the table and its columns among them.
        filler: stems that add nothing.
    """

    shape: TableShape
    conditions: dict[str, Any]
    left: list[str]
    filler: frozenset[str]

    @property
    def names_table(self) -> bool:
        """Whether all words of the table's name are there."""
        name = set(stems(_spaced(self.shape.name)))
        return bool(name) and name <= set(self.left)

    @property
    def names_condition(self) -> bool:
        """Whether all words of the name of a column with a condition are there."""
        return any(set(stems(_spaced(name))) <= set(self.left) for name in self.conditions)

    @property
    def is_whole(self) -> bool:
        """Whether each word is accounted for: by the table, by a column with a condition, by a value, or as filler."""
        names = {stem for name in (self.shape.name, *self.conditions) for stem in stems(_spaced(name))}
        return set(self.left) - self.filler <= names

    @property
    def unread(self) -> list[str]:
        """The stems that neither a name nor a value accounts for."""
        known = set(stems(_spaced(self.shape.name))).union(self.filler, *map(_stems, self.shape.columns))
        return [stem for stem in self.left if stem not in known]


def read_rows(parts: Sequence[str], language: Language, shape: TableShape, vocabulary: Vocabulary) -> Reading | None:
    """Which rows of the table the folded `parts` of a question are about; None when one could mean two things.

    What the later part names takes the place of what the earlier one named of the same column.
    """
    every = stems(" ".join(parts))
    conditions: dict[str, Any] = {}
    left: list[str] = []
    for said in parts:
        dates, asked = _date_condition(said, every, shape, vocabulary, language.months)
        found = _read(asked, every, said, shape, vocabulary)
        if found is None or set(dates) & set(found[0]) or not _signs_are_read(said, found[0]):
            return None
        conditions |= {**found[0], **dates}
        left += found[1]
    return Reading(shape, conditions, left, language.filler)


def read_computation(reading: Reading, filters: Mapping[str, Any], *, alone: bool) -> Computation | None:
    """The count of the rows that a question is about; None when that is not plain.

    Args:
        reading: the question, without the words that ask for a count.
        filters: the checked conditions that hold in any case.
        alone: whether it is the only table; among several the question must name it, or a column of it.
    """
    if not reading.is_whole:
        return None
    if not set(reading.left) - reading.filler and not (alone and reading.conditions):
        return None  # nothing in the question refers to this table
    return Computation("count", reading.shape, "", tuple(filter(None, (filters, reading.conditions))))


def with_absent_value(reading: Reading, question: str, vocabulary: Vocabulary) -> Reading | None:
    """`reading` with a condition that no row meets, where all that is unread stands right behind the name of a column
    whose values are known: "with the status pending". None where that is not plain, or looks like a known value or a
    part of one."""
    unread = reading.unread
    if not unread or any(map(str.isdecimal, unread)):
        return None
    for column in reading.shape.columns:
        values = _folded_values(column, vocabulary)
        is_name = column.kind == "string" and column.name != reading.shape.content_field
        if not values or not is_name or not _stand_behind(unread, column, reading.left):
            continue
        said = " ".join(as_said(unread, question))
        if nearest(fold(said), values) or any(_holds(name, unread) for name in vocabulary):
            return None
        left = [stem for stem in reading.left if stem not in unread]
        return replace(reading, conditions={**reading.conditions, column.name: said}, left=left)
    return None


def _holds(name: tuple[str, ...], unread: Sequence[str]) -> bool:
    """Whether a value with the stems `name` holds all of `unread`, or is one of its parts."""
    return bool(name) and (set(unread) <= set(name) or set(name) <= set(unread))


def _folded_values(column: Column, vocabulary: Vocabulary) -> list[str]:
    return [fold(str(value)) for found in vocabulary.values() for value in found.get(column.name, ())]


def _stand_behind(unread: Sequence[str], column: Column, left: Sequence[str]) -> bool:
    wanted = [*stems(_spaced(column.name)), *unread]
    return any(list(left[at : at + len(wanted)]) == wanted for at in range(len(left)))


def as_said(unread: Sequence[str], question: str) -> list[str]:
    """What `question` says with the stems, each once: words that stand together in one."""
    wanted = set(unread)
    said: list[str] = []
    end = -1
    for found in _SAID.finditer(question):
        if wanted.isdisjoint(stems(found.group())):
            continue
        if said and not question[end : found.start()].strip():
            said[-1] += f" {found.group()}"
        else:
            said.append(found.group())
        end = found.end()
    return list(dict.fromkeys(said))


def quantity_instead(cue: Cue, shape: TableShape) -> str:
    """The column that says of how many things a row is, where these and not the rows are counted: "How many bolts were
    ordered?" An empty text where there is none, or the table itself is counted: "How many open orders are there?"."""
    named = set(map(fold, language_words("computing", "quantity")))
    column = next((one.name for one in shape.columns if is_numeric(one) and fold(_spaced(one.name)) in named), "")
    name = set(stems(_spaced(shape.name)))
    # Where no noun follows, as in "how many are open?", it is that of the table.
    rows = not cue.counted or any(name <= set(map(stem, counted)) for counted in cue.counted)
    return "" if rows else column


def is_named_so(cue: Cue, shapes: Sequence[TableShape]) -> bool:
    """Whether a column has the name of what is asked: "What is the number of employees of Acme?", "the top speed"."""
    everything = {*stems(cue.rest), *cue.asking}
    names = [_stems(column) for shape in shapes for column in shape.columns]
    named = [name for name in names if name & cue.asking and name <= everything]
    return any(not (cue.needs == "count" and name <= cue.asking) for name in named)


def is_lookup(cue: Cue, shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether the question asks a table for the value of one column in rows that it names by a value."""
    found = _read(stems(cue.rest), stems(cue.rest), cue.rest, shape, vocabulary)
    if found is None or not found[0] or not cue.offered:
        return False
    left = set(found[1]) - cue.language.filler - set(stems(_spaced(shape.name)))
    others = [_stems(column) for column in shape.columns if column.name not in found[0]]
    return bool(left) and any(left <= name for name in others)


def is_about(question: str, cue: Cue, shapes: Sequence[TableShape], best: str) -> bool:
    """Whether a question that sounds like a computation is about rows: it names a table or a column, or a value of the
    row `best`, which was found for it. For an average, a minimum or a maximum, which a text may state as well, it has
    to name a column of numbers.

    A part of a column's name is not enough: of "How many days do I have to return it?" a document states the number,
    though some table has a column "service_interval_days".
    """
    asked = set(stems(question))
    if cue.needs in ("average", "min", "max") and not _names_number(asked, shapes):
        return False
    names = list(
        chain.from_iterable((set(stems(_spaced(shape.name))), *map(_stems, shape.columns)) for shape in shapes)
    )
    if any(name and name <= asked for name in names):
        return True
    own = asked.difference(cue.asking, *names)
    return any(shape.content_field is None for shape in shapes) and not own.isdisjoint(stems(best))


def _names_number(asked: set[str], shapes: Sequence[TableShape]) -> bool:
    """Whether one of the stems `asked` stands in the name of a column of numbers: "price" in "price_eur"."""
    return any(
        is_numeric(column) and not _stems(column).isdisjoint(asked) for shape in shapes for column in shape.columns
    )


def _date_condition(
    said: str, every: Sequence[str], shape: TableShape, vocabulary: Vocabulary, months: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """The condition that "on 1 March 2026", "in March 2026", "in 2026" or "in March" puts on a date column, and the
    stems of the folded text `said` without these.

    Of several date columns it is the one that the words of `every` part name, else the only one that the user declared.
    A month by itself is that of the only year in which the column has it.
    """
    dated = _meant_dates([column for column in shape.columns if column.kind in ("date", "datetime")], every)
    asked = stems(said)
    if len(dated) != 1:
        return {}, asked
    rest, dates = take_dates(_ORDINAL.sub("", said))
    if dates:
        plain = len(dates) == 1 and dates[0].year and not dates[0].swapped and not _years(stems(rest))
        within = _within(dates[0].year or 0, dates[0].month, dates[0].day) if plain else None
        return ({dated[0]: within}, stems(rest)) if within else ({}, asked)
    # Behind the name of another column it is a value of that: "sponsor 1999".
    others = [column.name for column in shape.columns if column.name != dated[0]]
    years = [at for at in _years(asked) if not any(_is_named(name, asked[at], said) for name in others)]
    named = [at for at, stem in enumerate(asked) if stem in months]
    if len(years) == 1 and not named:
        return {dated[0]: _within(int(asked[years[0]]))}, _without(asked, years)
    if years or len(named) != 1:
        return {}, asked
    month = months.index(asked[named[0]]) + 1
    year = _only_year(dated[0], asked[named[0]], month, vocabulary)
    return ({dated[0]: _within(year, month)}, _without(asked, named)) if year else ({}, asked)


def _years(asked: Sequence[str]) -> list[int]:
    return [at for at, stem in enumerate(asked) if _YEAR.fullmatch(stem)]


def _within(year: int, month: int | None = None, day: int | None = None) -> dict[str, str] | None:
    """The days of a year, of a month, or one; None for a day that there is not."""
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    last = month or 12
    after = first + timedelta(days=1) if day else date(year + last // 12, last % 12 + 1, 1)
    return {"gte": first.isoformat(), "lt": after.isoformat()}


def _without(asked: Sequence[str], places: Sequence[int]) -> list[str]:
    return [stem for at, stem in enumerate(asked) if at not in places]


def _only_year(column: str, said: str, month: int, vocabulary: Vocabulary) -> int:
    """The only year of whose month `month` a date column holds a day; 0 where there is none or several, where a column
    holds the name itself, and for one of three letters, which may be another word: "how many may be open?"."""
    known = {int(name[0]) for name, found in vocabulary.items() if column in found and name[1:2] == (f"{month:02}",)}
    is_other = (said,) in vocabulary or len(said) <= len("may")
    return 0 if is_other or len(known) != 1 else known.pop()


def _meant_dates(dated: Sequence[Column], asked: Sequence[str]) -> list[str]:
    named = [column.name for column in dated if _stems(column) & set(asked)]
    declared = [column.name for column in dated if column.declared]
    return next((names for names in (named, declared) if len(names) == 1), [column.name for column in dated])


def _read(
    asked: Sequence[str], every: Sequence[str], said: str, shape: TableShape, vocabulary: Vocabulary
) -> tuple[dict[str, Any], list[str]] | None:
    """The conditions that values in `asked` stand for, longest first, and the stems that are none; None when one could
    mean two columns of which the stems of `every` part of the question do not name one, or two values.
    """
    conditions = _wordless_conditions(said, vocabulary)
    left: list[str] = []
    position = 0
    names = {column.name: _stems(column) for column in shape.columns}
    of_names = {word for name in (shape.name, *names) for word in words(_spaced(name))}
    while position < len(asked):
        length = _longest_value(asked, position, vocabulary)
        known = vocabulary.get(tuple(asked[position : position + length]), {}) if length else {}
        found = _said_values(known, said)
        if asked[position].isdecimal():
            found = {column: values for column, values in found.items() if _means_number(column, asked[position], said)}
        # A word that is a name here stands for no value, though some cell holds it too.
        if not found or (length == 1 and of_names.issuperset(_words_of(found))):
            left.append(asked[position])
            position += 1
            continue
        column = _meant(found, names, every)
        if column is None:
            return None
        for value in found[column]:
            _add(conditions, column, value)
        position += length
    return conditions | _flags(left, shape), left


def _flags(left: Sequence[str], shape: TableShape) -> dict[str, bool]:
    """The columns of yes and no that are named: "which employees are active?"."""
    flags = [column for column in shape.columns if column.kind == "boolean"]
    return {column.name: True for column in flags if (name := _stems(column)) and name <= set(left)}


def _means_number(column: str, number: str, said: str) -> bool:
    """Whether `number` is one of `column`: its name stands right before it, or it is a year and so is the column. Any
    other one may be a day, a key, or how many there are: "how many of the 4 customers"."""
    years = set(map(fold, language_words("dates", "units", "year")))
    is_year = _YEAR.fullmatch(number) is not None and not years.isdisjoint(words(_spaced(column)))
    return is_year or _is_named(column, number, said)


def _is_named(column: str, number: str, said: str) -> bool:
    """Whether a word of the name of `column` stands right before `number` in the folded text `said`."""
    return any(
        re.search(rf"(?<!\w){re.escape(word)}\s+{number}(?!\w)", said) is not None for word in words(_spaced(column))
    )


def _words_of(found: Mapping[str, Sequence[Any]]) -> set[str]:
    return {word for values in found.values() for value in values for word in words(str(value))}


def _wordless_conditions(said: str, vocabulary: Vocabulary) -> dict[str, Any]:
    """Of values without a content word, such as "A": each stands for itself behind the name of its column only."""
    wordless = vocabulary.get((), {})
    return {name: value for name, values in wordless.items() for value in values if _stands_behind(name, value, said)}


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
    """Whether `value` stands in the folded question, or its plural: "packages" does not name the row "packaging", nor
    "C" one of C++.

    Words of languages that inflect names are compared by their stems.
    """
    name = fold(str(value)).strip()
    several = "(?:e?s)?" if name[-1:].isalpha() and len(name) > 2 else ""
    if re.search(rf"(?<![\w+#-]){re.escape(name)}{several}(?![\w+#])", said):
        return True
    return not name.isascii() and set(map(stem, words(name))) <= set(map(stem, words(said)))


def _signs_are_read(said: str, conditions: Mapping[str, Any]) -> bool:
    """Whether each word with a sign belongs to a value that was understood."""
    values = [fold(str(value)) for condition in conditions.values() for value in _listed(condition)]
    return all(any(word in value for value in values) for word in _SIGNED.findall(said))


def _listed(condition: Any) -> list[Any]:
    return condition if isinstance(condition, list) else [condition]


def _meant(found: Mapping[str, Sequence[Any]], names: Mapping[str, set[str]], asked: Sequence[str]) -> str | None:
    """The column that a value stands for: the only one that holds it, or the only one of those that is named; None
    where that is no single one, or its values differ in more than how they are written."""
    candidates = [column for column in found if names[column] & set(asked)] or list(found)
    if len(candidates) != 1:
        return None
    written = {fold(str(value)).strip() for value in found[candidates[0]]}
    return candidates[0] if len(written) == 1 else None


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
