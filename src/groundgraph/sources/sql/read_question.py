"""Reading out of a question which rows it is about, by rule: from the names and values that literally stand in it.

Every content word of the question must be accounted for: by the table's name, by the name of a column, by a value of
a cell, or as filler. A question with a word left over is not understood, and no number is given for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from groundgraph.sources.sql.compute import Computation, is_numeric
from groundgraph.sources.sql.days_in_question import date_condition, may_be_verb
from groundgraph.sources.sql.shape import TableShape, Vocabulary, column_stems, table_stems
from groundgraph.sources.sql.values_in_question import (
    YEAR,
    Part,
    are_joined,
    is_plain,
    listed,
    names_value,
    place_of,
    read_values,
    value_at,
    without_either,
    without_name,
)
from groundgraph.text.find_cue import Cue, Language, find_cue, plain_words
from groundgraph.text.follow_up import language_words
from groundgraph.text.negation import denied_parts
from groundgraph.text.numbers import number_of
from groundgraph.text.words import WORD, fold, name_stems, spaced, stem, stems, words

# A word, and a number as it is written: "12.50", "2026-03-01".
_SAID = re.compile(r"\w+(?:[-.,'’/]\w+)*")


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
        return _names(self.shape, self.left)

    @property
    def is_of_table(self) -> bool:
        """Whether what is asked for first is the table: "How many customers have orders?" counts no orders."""
        name = table_stems(self.shape)
        flags = {stem for column, value in self.conditions.items() if value is True for stem in name_stems(column)}
        before = self.left[: place_of(name, self.left)]
        return self.names_table and self.filler.union(flags).issuperset(before)

    @property
    def names_condition(self) -> bool:
        """Whether all words of the name of a column with a condition are there."""
        return any(set(name_stems(name)) <= set(self.left) for name in self.conditions)

    @property
    def condition_stems(self) -> frozenset[str]:
        """The stems of the names of columns with a condition."""
        return frozenset(stem for name in self.conditions for stem in name_stems(name))

    @property
    def is_whole(self) -> bool:
        """Whether each word is accounted for: by the table, by a column with a condition, by a value, or as filler."""
        return not self.left_over

    @property
    def left_over(self) -> list[str]:
        """The stems that are not accounted for."""
        rest = without_name(self.left, table_stems(self.shape))
        return [stem for stem in rest if stem not in self.condition_stems and stem not in self.filler]

    def of_column(self, tables: Sequence[TableShape]) -> Reading | None:
        """The reading without the column of texts that is asked for first, of which it names no value: of "Which
        customers have open invoices?", what the rows are that say it. None where there is none, where another of
        `tables` is named, and where more of them have that column and this one is not named."""
        rest = [stem for stem in self.left if stem not in self.filler]
        own = self._first_column(rest)
        others = (other for other in tables if other.name != self.shape.name)
        if not own or not self.conditions or any(_names(other, rest) for other in others):
            return None
        alone = sum(own in column_stems(other) for other in tables) == 1
        return replace(self, left=list(without_name(self.left, own))) if alone or self.names_table else None

    def _first_column(self, rest: Sequence[str]) -> list[str]:
        """The stems of the column of texts without a condition with whose name `rest` begins; none without one."""
        texts = (one.name for one in self.shape.columns if one.kind in ("string", "text"))
        names = (name_stems(name) for name in texts if name not in self.conditions)
        return next((name for name in names if name and list(rest[: len(name)]) == name), [])

    @property
    def unread(self) -> list[str]:
        """The stems that neither a name nor a value accounts for."""
        known = set(table_stems(self.shape)).union(self.filler, *column_stems(self.shape))
        return [stem for stem in self.left if stem not in known]


def _names(shape: TableShape, said: Collection[str]) -> bool:
    name = set(table_stems(shape))
    return bool(name) and name <= set(said)


def read_rows(parts: Sequence[Part], language: Language, shape: TableShape, vocabulary: Vocabulary) -> Reading | None:
    """Which rows of the table a question is about, behind those that it leans on; None when one of these `parts` could
    mean two things.

    What the later part names takes the place of what the earlier one named of the same column.
    """
    text = " ".join(part.folded for part in parts)
    every = stems(text)
    conditions: dict[str, Any] = {}
    dated: dict[str, Any] = {}
    left: list[str] = []
    filler = language.filler_in(text)
    names = chain.from_iterable(words(spaced(column.name)) for column in shape.columns)
    plain = language.plain.union(plain_words().intersection(names), language.pronouns if len(parts) > 1 else ())
    for part in parts:
        dates, asked = date_condition(part, every, shape, vocabulary, language, dated)
        found = read_values(asked, part, shape, vocabulary, dates)
        if found is None or not _is_clear(part.folded, found[0], dates, plain, language):
            return None
        if _may_be_amount(found[0], conditions, part, shape):
            return None
        if _may_be_month(found[0], part, shape, vocabulary, language):
            return None
        if conditions and _asks_for_more(asked, filler):
            return None
        conditions |= {**found[0], **dates}
        dated |= dates
        left += _told_of(shape, found[1], left)
    return Reading(shape, conditions, left, filler)


def _may_be_amount(said: Mapping[str, Any], before: Collection[str], part: Part, shape: TableShape) -> bool:
    """Whether what a part has `said` may be the number of a column that was asked `before`: "And with eight?" behind
    "boats with two seats", where a boat for eight is called so."""
    whole = {one.name for one in shape.columns if one.kind == "integer"}
    named = set(stems(part.folded))
    return not whole.isdisjoint(before) and any(
        number_of(fold(str(value))) is not None and not named.issuperset(name_stems(column))
        for column, values in said.items()
        if column not in whole
        for value in listed(values)
    )


def _asks_for_more(asked: Sequence[str], filler: frozenset[str]) -> bool:
    """Whether a part says nothing of the rows, as "And overall?", which asks for more than what was asked before."""
    return bool(asked) and filler.issuperset(asked)


def _may_be_month(
    said: Mapping[str, Any], part: Part, shape: TableShape, vocabulary: Vocabulary, language: Language
) -> bool:
    """Whether a value of a column that is not named may be a month of the days that the table has, "March" where
    somebody is called so, or the verb of "how many may be open?". Where the column is one by month, it is one of it."""
    named = set(stems(part.folded))
    months = [
        own[0]
        for column, values in said.items()
        for own in map(stems, map(str, listed(values)))
        if len(own) == 1
        and own[0] in language.months
        and not named.issuperset(name_stems(column))
        and not _is_by_month(column, vocabulary, language.months)
    ]
    return bool(months) and (may_be_verb(part, months) or _has_days(shape, vocabulary))


def _is_by_month(column: str, vocabulary: Vocabulary, months: Collection[str]) -> bool:
    """Whether more of the values of `column` are `months`, several ones, than anything else: of people some are called
    "April" or "June"."""
    held = [name for name, found in vocabulary.items() if column in found]
    count = sum(len(name) == 1 and name[0] in months for name in held)
    return count > 1 and 2 * count > len(held)


def _has_days(shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether a column holds days, be it one of texts."""
    return any(one.kind in ("date", "datetime") for one in shape.columns) or any(
        len(name) > 2 and all(map(str.isdecimal, name[:3])) and YEAR.fullmatch(name[0]) for name in vocabulary
    )


def _told_of(shape: TableShape, rest: list[str], before: Sequence[str]) -> Iterable[str]:
    """What the `rest` of a part adds to those `before`: "how many boats have 8 seats?" and "which boats?" are of the
    same table."""
    return without_name(rest, table_stems(shape)) if _names(shape, before) else rest


def _is_clear(
    said: str,
    conditions: Mapping[str, Any],
    dates: Mapping[str, Any],
    plain: frozenset[str],
    language: Language,
) -> bool:
    """Whether what was read as `conditions` and `dates` means one thing, and is all that decides."""
    joined = all(are_joined(said, listed(values), language.between) for values in conditions.values())
    said = without_either(said, conditions)
    flags = [name for name, value in conditions.items() if value is True] if dates else []
    if any(_is_dated(said, name_stems(name), language) for name in flags):
        return False
    return joined and not _share_name(dates, conditions) and is_plain(said, conditions, plain, language.deciding)


def _is_dated(said: str, name: Sequence[str], language: Language) -> bool:
    """Whether a day stands right behind the name of a column of yes and no, or right before it: of "paid in 2025" and
    "2025 bezahlt" it is the day on which that was done, and no other of the row."""
    spoken = words(said)
    own = [stem(word) for word in spoken]
    starts = [at for at in range(len(own)) if own[at : at + len(name)] == list(name)]
    between = [word in language.between for word in spoken]
    behind = (own[_first_not(between, start + len(name)) :][:1] for start in starts)
    before = (own[start - 1 : start] for start in starts if start)
    return any(one.isdecimal() or one in language.months for one in chain(*behind, *before))


def _first_not(is_so: Sequence[bool], start: int) -> int:
    """The first place from `start` on of what is not so; behind the end where there is none."""
    return next((at for at in range(start, len(is_so)) if not is_so[at]), len(is_so))


def read_computation(reading: Reading, filters: Mapping[str, Any]) -> Computation | None:
    """The count of the rows that a question is about; None when that is not plain.

    Args:
        reading: the question, without the words that ask for a count.
        filters: the checked conditions that hold in any case.
    """
    if not reading.is_whole or not reading.is_of_table:
        return None
    return Computation("count", reading.shape, "", tuple(filter(None, (filters, reading.conditions))))


def count_of_kind(readings: Sequence[Reading], cue: Cue, tables: Sequence[TableShape]) -> Reading | None:
    """Of the `readings` of a question that names no table, the one by which what is counted is a row by itself, as in
    "How many singles are there?": a column that says what the row is has that value. None where the value may be one
    of another column, or the question counts what a table or a column of `tables` is called."""
    counted = set(map(stem, chain.from_iterable(cue.counted)))
    meant = [one for one in readings if one.conditions]
    if len(meant) != 1 or not counted or _is_called(counted, tables) or not _says_kind(meant[0], cue):
        return None
    values = chain.from_iterable(map(listed, meant[0].conditions.values()))
    return meant[0] if all(counted.issuperset(stems(str(value))) for value in values) else None


def _is_called(counted: set[str], tables: Sequence[TableShape]) -> bool:
    """Whether one of `tables`, or a column of one, has a name of the stems `counted`."""
    named = (set(own) for one in tables for own in (table_stems(one), *column_stems(one)) if own)
    return any(own <= counted for own in named)


def _says_kind(read: Reading, cue: Cue) -> bool:
    """Whether all that the question says of the rows is what they are, and none says how many of them it is."""
    kinds = set(map(fold, language_words("computing", "kind")))
    alone = read.is_whole and len(read.conditions) == 1 and not read.names_table
    return alone and fold(next(iter(read.conditions))) in kinds and not quantity_instead(cue, read.shape)


def needed_instead(said: str, language: Language, shape: TableShape, vocabulary: Vocabulary) -> str:
    """What a question needs that rules out a value, or sets it as a limit: the rows that do not have it, as in "not
    open" and "all but the open ones", or have none, as in "no locker", or a comparison, as in "below high" and "below
    the reorder level". An empty text for any other."""
    if _denies_value(said, language, shape, vocabulary):
        return "exclusion"
    for limit, rest in _turns(said, language):
        asked = _directly_behind(rest)
        found = value_at(asked, 0, rest, vocabulary)[1] if asked else {}
        if any(not limit or _has_order(*one, stems(said)) for one in found.items()):
            return "comparison" if limit else "exclusion"
        if limit and _begins_with_amount(asked, shape):
            return "comparison"
    return ""


def _denies_value(said: str, language: Language, shape: TableShape, vocabulary: Vocabulary) -> bool:
    denied = [part.lstrip("-") for part in denied_parts(said)]
    if any(names_value(part, shape, vocabulary) for part in denied):
        return True
    return any(_begins_with_column(part, shape, language) for part in denied) and _asks_for_rows(said, language, shape)


def _begins_with_column(said: str, shape: TableShape, language: Language) -> bool:
    """Whether the text begins with the name of a column: "who has no locker?"."""
    asked = [one for one in stems(said) if one not in language.filler_in(fold(said))]
    return any(name and asked[: len(name)] == name for name in column_stems(shape))


def _asks_for_rows(said: str, language: Language, shape: TableShape) -> bool:
    """Whether a question asks which rows there are, or how many: of "what if I have no locker?" a text may tell."""
    cue, folded = find_cue([said]), fold(said)
    asks = (cue is not None and cue.function == "count") or language.rows.search(folded) is not None
    persons = set(map(fold, language_words("asks_for", "name")))
    # "У кого нет ...?" has a word before it.
    return asks or _names(shape, stems(said)) or not persons.isdisjoint(words(folded)[:2])


def _begins_with_amount(asked: Sequence[str], shape: TableShape) -> bool:
    """Whether the stems `asked` begin with the name of a column of numbers or days."""
    compared = [name_stems(one.name) for one in shape.columns if is_numeric(one) or one.kind in ("date", "datetime")]
    return any(name and list(asked[: len(name)]) == name for name in compared)


def _has_order(column: str, values: Sequence[Any], asked: Collection[str]) -> bool:
    """Whether a value may stand above or below others: its column is named, or it is written small, as no place is. A
    word such as the German "nach" also says where something goes to."""
    return set(name_stems(column)) <= set(asked) or all(str(value).islower() for value in values)


def _turns(said: str, language: Language) -> Iterator[tuple[bool, str]]:
    """What stands behind each word that sets a limit, such as "below" (True), or turns against what stands before it,
    such as "but". With the first word a message may only join what was said before."""
    folded, contrast = fold(said), set(map(fold, language_words("contrast")))
    for found in list(WORD.finditer(folded))[1:]:
        if found.group() in contrast or found.group() in language.deciding - language.negation:
            yield found.group() not in contrast, folded[found.end() :]


def _directly_behind(said: str) -> list[str]:
    """The stems of `said` where nothing but plain words stands before them; none for any other."""
    spoken = words(said)
    first = next((at for at, word in enumerate(spoken) if word not in plain_words()), len(spoken))
    asked = stems(" ".join(spoken[first:]))
    return asked if asked and stem(spoken[first]) == asked[0] else []


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
    column = next((one.name for one in shape.columns if is_numeric(one) and fold(spaced(one.name)) in named), "")
    name = set(table_stems(shape))
    # Where no noun follows, as in "how many are open?", it is that of the table.
    rows = not cue.counted or any(name <= set(map(stem, counted)) for counted in cue.counted)
    return "" if rows else column


def is_named_so(cue: Cue, shapes: Sequence[TableShape]) -> bool:
    """Whether a column has the name of what is asked: "What is the number of employees of Acme?", "the top speed"."""
    everything = {*stems(cue.rest), *cue.asking}
    names = [set(own) for shape in shapes for own in column_stems(shape)]
    named = [name for name in names if name & cue.asking and name <= everything]
    return any(not (cue.needs == "count" and name <= cue.asking) for name in named)


def looked_up(cue: Cue, shape: TableShape, vocabulary: Vocabulary, others: int = 0) -> dict[str, Any]:
    """By which values the question names rows of a table of which it asks for the number in one column; behind it, it
    may ask for other columns: "How many seats has the Otter, and when was it built?". Empty for any other, such as "How
    many open tickets has Ann?", which counts rows. As many `others` may stand beside the columns, such as the verb of
    "How many hours does Ann work?".
    """
    found = read_values(stems(cue.rest), Part(cue.rest, ""), shape, vocabulary)
    if found is None or not found[0] or not cue.offered or _counts_rows(cue, shape):
        return {}
    added = cue.language.filler_in(cue.rest).union(table_stems(shape))
    left = [one for one in found[1] if one not in added]
    names, numbers = _asked_columns(shape, found[0])
    return found[0] if left and left[0] in numbers and len({*left} - names) <= others else {}


def _counts_rows(cue: Cue, shape: TableShape) -> bool:
    """Whether the last word of what is counted is of the table's name."""
    return any(stem(counted[-1]) in table_stems(shape) for counted in cue.counted if counted)


def _asked_columns(shape: TableShape, conditions: Collection[str]) -> tuple[set[str], set[str]]:
    """The stems of the names of columns that are no keys and in none of `conditions`, and of those with numbers."""
    keys = (*shape.primary_key, *shape.references)
    columns = [one for one in shape.columns if one.name not in conditions and one.name not in keys]
    numeric = filter(is_numeric, columns)
    names, numbers = ({own for one in some for own in name_stems(one.name)} for some in (columns, numeric))
    return names, numbers


def is_about(question: str, cue: Cue, shapes: Sequence[TableShape], best: str) -> bool:
    """Whether a question that sounds like a computation is about rows: it names a table or a column, or a value of the
    row `best`, which was found for it.

    A part of a column's name is not enough: of "How many days do I have to return it?" a document states the number,
    though some table has a column "service_interval_days".
    """
    asked = set(stems(question))
    names = list(chain.from_iterable((set(table_stems(shape)), *map(set, column_stems(shape))) for shape in shapes))
    if any(name and name <= asked for name in names):
        return True
    own = asked.difference(cue.asking, *names)
    return any(shape.content_field is None for shape in shapes) and not own.isdisjoint(stems(best))


def _share_name(dates: Iterable[str], others: Mapping[str, Any]) -> bool:
    """Whether a column of `dates` is one of `others` too, or called like one of yes and no: of "paid in 2021" one word
    would name "paid_at" and "paid"."""
    named = {stem for name in dates for stem in name_stems(name)}
    return any(name in dates or (is_set is True and named & set(name_stems(name))) for name, is_set in others.items())
