"""Reading out of a question which rows it counts, by rule: from the names and values that literally stand in it.

Every content word of the question must be accounted for: by the table's name, by the name of a column, by a value of a
cell, or as filler. A question with a word left over is not understood, and no number is given for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.text import fold, stem, stems, words
from groundgraph.sources.sql.computation_cues import Cue
from groundgraph.sources.sql.compute import Computation
from groundgraph.sources.sql.shape import Column, TableShape

# By the stems of values, the columns that hold them and the values as they are stored there.
Vocabulary = Mapping[tuple[str, ...], Mapping[str, Sequence[Any]]]
LONGEST_VALUE = 8
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
    about_table = {*stems(_spaced(shape.name)), *cue.language.filler}
    explained = {stem for name in reading.conditions for stem in stems(_spaced(name))} | about_table
    if any(stem not in explained for stem in reading.left):
        return None
    refers = set(reading.left) & (explained - cue.language.filler)
    if not refers and not (alone and reading.conditions):
        return None  # nothing in the question refers to this table
    own = [filters] if filters else []
    return Computation("count", shape, "", (*own, *([reading.conditions] if reading.conditions else [])))


def is_named_so(cue: Cue, shape: TableShape) -> bool:
    """Whether a column has the name of what is asked: "What is the number of employees of Acme?", "the top speed"."""
    everything = {*stems(cue.rest), *cue.asking}
    names = [_stems(column) for column in shape.columns]
    named = [name for name in names if name & cue.asking and name <= everything]
    return any(not (cue.needs == "count" and name <= cue.asking) for name in named)


def is_lookup(cue: Cue, shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether the question asks for the value of one column in rows that it names by a value."""
    reading = _read(stems(cue.rest), cue.rest, shape, vocabulary)
    if reading is None or not reading.conditions or not cue.offered:
        return False
    left = set(reading.left) - cue.language.filler - set(stems(_spaced(shape.name)))
    others = [_stems(column) for column in shape.columns if column.name not in reading.conditions]
    return bool(left) and any(left <= name for name in others)


def is_about(question: str, shape: TableShape, *, found: bool) -> bool:
    """Whether a question that sounds like a computation is about rows: it names the table, or rows were found for it.

    Of documents, a sentence is more likely to state the number: "How many days do I have to return it?"
    """
    names = {*stems(_spaced(shape.name)), *(stem for column in shape.columns for stem in _stems(column))}
    return bool(set(stems(question)) & names) or (found and shape.content_field is None)


def _date_condition(asked: Sequence[str], shape: TableShape, months: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The condition that "in March 2026" or "in 2026" puts on a date column, and the stems without these.

    Of several date columns it is the one that the words name, else the only one that the user declared.
    """
    dated = _meant_dates([column for column in shape.columns if column.kind in ("date", "datetime")], asked)
    years = [at for at, stem in enumerate(asked) if len(stem) == 4 and stem.isdecimal() and stem[0] in "12"]
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
    """The conditions that values in the question stand for, longest first; None when one could mean two columns."""
    conditions: dict[str, Any] = {}
    left: list[str] = []
    position = 0
    names = {column.name: set(stems(_spaced(column.name))) for column in shape.columns}
    own = set(stems(_spaced(shape.name)))
    while position < len(asked):
        length = next(
            (
                size
                for size in range(LONGEST_VALUE, 0, -1)
                if tuple(asked[position : position + size]) in vocabulary and position + size <= len(asked)
            ),
            0,
        )
        found = vocabulary.get(tuple(asked[position : position + length]), {}) if length else {}
        found = _said_values(found, said)
        if length == 1 and (asked[position] in own or any(asked[position] in name for name in names.values())):
            found = {}  # the word is a name here, though some cell holds it too
        if not found:
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
