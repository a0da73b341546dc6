"""Reading out of a question which rows it is about, by rule: from the names and values that literally stand in it.

Every content word of the question must be accounted for: by the table's name, by the name of a column, by a value of
a cell, or as filler. A question with a word left over is not understood, and no number is given for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain
from typing import Any

from groundgraph.sources.sql.compute import Computation, is_numeric
from groundgraph.sources.sql.shape import Column, TableShape, Vocabulary, column_stems, stands_behind, table_stems
from groundgraph.text.find_cue import Cue, Language, find_cue, may_be_read, plain_words
from groundgraph.text.follow_up import language_words
from groundgraph.text.negation import denied_parts
from groundgraph.text.quantities import Date, take_dates
from groundgraph.text.words import WORD, fold, name_stems, spaced, stem, stems, words

LONGEST_VALUE = 8
# A word, and a number as it is written: "12.50", "2026-03-01".
_SAID = re.compile(r"\w+(?:[-.,'’/]\w+)*")
# On which side of a number what is asked for may lie.
_SIDES = ("above", "below", "from", "to", "between")
# What words lose that says something: "C++", "A-", "-3", "status != open", "hall > 3".
_SIGN = re.compile(r"[+#%<>≤≥≠±~]|!=|(?<!\w)-\d|(?<!\w)\w-(?!\w)")


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
        before = self.left[: _place(name, self.left)]
        return self.names_table and self.filler.union(flags).issuperset(before)

    @property
    def names_condition(self) -> bool:
        """Whether all words of the name of a column with a condition are there."""
        return any(set(name_stems(name)) <= set(self.left) for name in self.conditions)

    @property
    def is_whole(self) -> bool:
        """Whether each word is accounted for: by the table, by a column with a condition, by a value, or as filler."""
        return not self.left_over

    @property
    def left_over(self) -> list[str]:
        """The stems that are not accounted for."""
        names = {stem for name in self.conditions for stem in name_stems(name)}
        rest = _without_name(self.left, table_stems(self.shape))
        return [stem for stem in rest if stem not in names and stem not in self.filler]

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
        return replace(self, left=list(_without_name(self.left, own))) if alone or self.names_table else None

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
        found = _read(asked, part, shape, vocabulary, dates)
        if found is None or not _is_clear(part.folded, found[0], dates, plain, language):
            return None
        # "And overall?" asks for more than what was asked before.
        if conditions and asked and filler.issuperset(asked):
            return None
        conditions |= {**found[0], **dates}
        dated |= dates
        left += _told_of(shape, found[1], left)
    return Reading(shape, conditions, left, filler)


def _told_of(shape: TableShape, rest: list[str], before: Sequence[str]) -> Iterable[str]:
    """What the `rest` of a part adds to those `before`: "how many boats have 8 seats?" and "which boats?" are of the
    same table."""
    return _without_name(rest, table_stems(shape)) if _names(shape, before) else rest


def _is_clear(
    said: str,
    conditions: Mapping[str, Any],
    dates: Mapping[str, Any],
    plain: frozenset[str],
    language: Language,
) -> bool:
    """Whether what was read as `conditions` and `dates` means one thing, and is all that decides."""
    return not _share_name(dates, conditions) and _is_plain(said, conditions, plain, language.deciding)


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
    if len(meant) != 1 or not counted or _is_called(counted, tables) or not _says_kind(meant[0]):
        return None
    values = chain.from_iterable(map(_listed, meant[0].conditions.values()))
    return meant[0] if all(counted.issuperset(stems(str(value))) for value in values) else None


def _is_called(counted: set[str], tables: Sequence[TableShape]) -> bool:
    """Whether one of `tables`, or a column of one, has a name of the stems `counted`."""
    named = (set(own) for one in tables for own in (table_stems(one), *column_stems(one)) if own)
    return any(own <= counted for own in named)


def _says_kind(read: Reading) -> bool:
    """Whether all that the question says of the rows is what they are."""
    kinds = set(map(fold, language_words("computing", "kind")))
    alone = read.is_whole and len(read.conditions) == 1 and not read.names_table
    return alone and fold(next(iter(read.conditions))) in kinds


def names_value(said: str, shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether the text names a value of a cell, or a column of yes and no."""
    return bool(_flags(stems(said), shape)) or any(values_said(said, vocabulary))


def values_said(said: str, vocabulary: Vocabulary) -> Iterator[Any]:
    """The values of cells that the text names, as they are stored."""
    asked, part = stems(said), Part(fold(said), said)
    yield from _wordless_conditions(part, vocabulary).values()
    for place in range(len(asked)):
        yield from chain.from_iterable(_value_at(asked, place, part.folded, vocabulary)[1].values())


def needed_instead(said: str, language: Language, shape: TableShape, vocabulary: Vocabulary) -> str:
    """What a question needs that rules out a value, or sets it as a limit: the rows that do not have it, as in "not
    open", "all but the open ones" and "below high", or have none, as in "no locker", or a comparison, as in "below the
    reorder level". An empty text for any other."""
    if _denies_value(said, language, shape, vocabulary):
        return "exclusion"
    for limit, rest in _turns(said, language):
        asked = _directly_behind(rest)
        found = _value_at(asked, 0, rest, vocabulary)[1] if asked else {}
        if any(not limit or _has_order(*one, stems(said)) for one in found.items()):
            return "exclusion"
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


def looked_up(cue: Cue, shape: TableShape, vocabulary: Vocabulary) -> dict[str, Any]:
    """By which values the question names rows of a table of which it asks for the number in one column; behind it, it
    may ask for other columns: "How many seats has the Otter, and when was it built?". Empty for any other."""
    found = _read(stems(cue.rest), Part(cue.rest, ""), shape, vocabulary)
    if found is None or not found[0] or not cue.offered:
        return {}
    added = cue.language.filler_in(cue.rest).union(table_stems(shape))
    left = [one for one in found[1] if one not in added]
    names, numbers = _asked_columns(shape, found[0])
    return found[0] if left and left[0] in numbers and names.issuperset(left) else {}


def _asked_columns(shape: TableShape, conditions: Collection[str]) -> tuple[set[str], set[str]]:
    """The stems of the names of columns that are no keys and in none of `conditions`, and of those with numbers."""
    keys = (*shape.primary_key, *shape.references)
    columns = [one for one in shape.columns if one.name not in conditions and one.name not in keys]
    numeric = filter(is_numeric, columns)
    names, numbers = ({own for one in some for own in name_stems(one.name)} for some in (columns, numeric))
    return names, numbers


def is_plainly_looked_up(cue: Cue, conditions: Mapping[str, Any]) -> bool:
    """Whether nothing but `conditions`, by which `looked_up` found rows, says which are meant."""
    asking = map(words, language_words("asks_for", "number") | language_words("asks_for", "name"))
    plain = cue.language.plain.union(cue.language.pronouns, *asking)
    return _is_plain(cue.rest, conditions, plain, cue.language.deciding)


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
    names = list(chain.from_iterable((set(table_stems(shape)), *map(set, column_stems(shape))) for shape in shapes))
    if any(name and name <= asked for name in names):
        return True
    own = asked.difference(cue.asking, *names)
    return any(shape.content_field is None for shape in shapes) and not own.isdisjoint(stems(best))


def _names_number(asked: set[str], shapes: Sequence[TableShape]) -> bool:
    """Whether one of the stems `asked` stands in the name of a column of numbers: "price" in "price_eur"."""
    numeric = (column for shape in shapes for column in shape.columns if is_numeric(column))
    return any(not asked.isdisjoint(name_stems(column.name)) for column in numeric)


def _share_name(dates: Iterable[str], others: Mapping[str, Any]) -> bool:
    """Whether a column of `dates` is one of `others` too, or called like one of yes and no: of "paid in 2021" one word
    would name "paid_at" and "paid"."""
    named = {stem for name in dates for stem in name_stems(name)}
    return any(name in dates or (is_set is True and named & set(name_stems(name))) for name, is_set in others.items())


def _read(
    asked: Sequence[str], part: Part, shape: TableShape, vocabulary: Vocabulary, dates: Collection[str] = ()
) -> tuple[dict[str, Any], list[str]] | None:
    """The conditions that values in `asked` stand for, longest first, and the stems that are none; None when one could
    mean two columns of which none is named right before it, or two values. What stood behind the columns of `dates` is
    no longer there.
    """
    said, conditions = part.folded, _wordless_conditions(part, vocabulary)
    left: list[str] = []
    behind = 0  # how much of it stood there when the last value was read
    names = {one.name: name_stems(one.name) for one in shape.columns}
    awaited = {name: own for name, own in names.items() if name not in dates}
    # Where no day is said, the name of one says more as a value: "the repairs that are done".
    days = {one.name for one in shape.columns if one.kind in ("date", "datetime")}.difference(dates)
    table = table_stems(shape)
    position = 0
    while position < len(asked):
        named = _named_last(left[behind:], awaited, table)
        length, found = _value_at(asked, position, said, vocabulary)
        if left in [names[name] for name in named] and _is_apart(named, found, said):
            # "Which customers have open orders?"
            named = []
        own = asked[position : position + length]
        # One of yes and no says it too.
        flagged = bool(found) and not named and bool(_flags(own, shape))
        size = 0 if named or flagged else _name_at(asked[position:], found, length, (shape.name, *names), days)
        if length <= size:
            length, found = size, {}
        if found:
            column = None if flagged else _told(found, own, named, vocabulary)
            if column is None:
                return None
            for value in found[column]:
                _add(conditions, column, value)
            # Of "8 seats" the name is that of the value before it, and awaits none.
            name = names[column] if _is_amount(column, own, said) else []
            left, length = [*left, *name], length + len(name)
            behind = len(left)
        else:
            length = length or 1
            left += asked[position : position + length]
        position += length
    return conditions | _flags(_without_name(left, table), shape), left


def _is_apart(named: Sequence[str], found: Mapping[str, Sequence[Any]], said: str) -> bool:
    """Whether a value is none of the columns `named` before it, and does not stand right behind the name of one."""
    values = list(chain.from_iterable(found.values()))
    behind = any(stands_behind(name, value, said) for name in named for value in values)
    return found.keys().isdisjoint(named) and not behind


def _value_at(
    asked: Sequence[str], position: int, said: str, vocabulary: Vocabulary
) -> tuple[int, dict[str, list[Any]]]:
    """How many stems from `position` on are together the longest value, and by column how it is stored where the folded
    text `said` says it; 0 and nothing when there is none."""
    sizes = range(min(LONGEST_VALUE, len(asked) - position), 0, -1)
    length = next((size for size in sizes if tuple(asked[position : position + size]) in vocabulary), 0)
    found = _said_values(vocabulary[tuple(asked[position : position + length])], said) if length else {}
    if asked[position].isdecimal():
        found = {column: values for column, values in found.items() if means_number(column, asked[position], said)}
    return (length if found else 0), found


def _told(
    found: Mapping[str, Sequence[Any]], own: Sequence[str], named: Sequence[str], vocabulary: Vocabulary
) -> str | None:
    """The column that a value stands for with its stems `own`; None where it may be of several, or deny another value,
    as "nicht offen" does."""
    column = _meant(found, named)
    denied = column is not None and own[1:] and tuple(own[1:]) in vocabulary and _denies(found[column])
    return None if denied else column


def _denies(values: Iterable[Any]) -> bool:
    return not all(may_be_read(fold(str(value))) for value in values)


def _name_at(
    asked: Sequence[str], found: Mapping[str, Sequence[Any]], length: int, names: Iterable[str], days: Collection[str]
) -> int:
    """How many stems the longest of `names` has with which `asked` begins; 0 for none. What is `found` as a value of
    the same `length` too is a name where it is the same word, and not that of one of the columns `days`."""
    said = _words_of(found)
    stand = ((own, name) for name in names if list(asked[: len(own := name_stems(name))]) == own)
    sizes = (
        len(own)
        for own, name in stand
        if len(own) > length or (said.issubset(words(spaced(name))) and (not found or name not in days))
    )
    return max(sizes, default=0)


def _place(name: Sequence[str], left: Sequence[str]) -> int:
    """Where `name` first stands in `left`; behind its end where it does not."""
    places = range(len(left) if name else 0)
    return next((at for at in places if list(left[at : at + len(name)]) == list(name)), len(left))


def _without_name(left: Sequence[str], name: Sequence[str]) -> Sequence[str]:
    at = _place(name, left)
    return [*left[:at], *left[at + len(name) :]]


def _named_last(left: list[str], names: Mapping[str, list[str]], table: list[str]) -> list[str]:
    """The columns whose name stands at the end of `left`: what follows is a value of theirs, or of none."""
    if table and left[-len(table) :] == table:
        return []
    ends = {column: len(own) for column, own in names.items() if own and left[-len(own) :] == own}
    return [column for column, length in ends.items() if length == max(ends.values())]


def _flags(left: Sequence[str], shape: TableShape) -> dict[str, bool]:
    """The columns of yes and no that are named: "which employees are active?". One called "not_paid" is not read."""
    flags = {column.name: name_stems(column.name) for column in shape.columns if column.kind == "boolean"}
    named = {name: own for name, own in flags.items() if _place(own, left) < len(left) and may_be_read(spaced(name))}
    return {name: True for name, own in named.items() if not any(set(own) < set(other) for other in named.values())}


def means_number(column: str, number: str, said: str) -> bool:
    """Whether `number` is one of `column`: its name stands right before it, or right behind it, or it is a year and
    that is the name. Any other one may be a day, a key, or how many there are: "how many of the 4 customers"."""
    if YEAR.fullmatch(number) is not None:
        is_year = fold(column) in map(fold, language_words("dates", "units", "year"))
        if is_year or _stands_before_year(column, number, said):
            return True
    return stands_behind(column, number, said) or _is_amount(column, [number], said)


def _stands_before_year(column: str, year: str, said: str) -> bool:
    """Whether the folded text `said` says in which year by the name of `column`: "built in 2022"."""
    within = "|".join(re.escape(fold(phrase)) for phrase in language_words("computing", "in"))
    return re.search(rf"(?<!\w){re.escape(fold(spaced(column)))}\s+(?:{within})\s+{year}(?!\w)", said) is not None


def _is_amount(column: str, own: Sequence[str], said: str) -> bool:
    """Whether the folded text `said` says the number of the stems `own` right before the name of `column`, as in "8
    seats", and not as a limit.

    The name has to be said as it is: where a column is called "locker", "12 lockers" are not the locker 12. One alone
    is said in another form: "1 seat" of "seats".
    """
    if len(own) != 1 or not own[0].isdecimal():
        return False
    name = fold(spaced(column))
    found = re.search(rf"(?<![\w+#.,'’/-]){own[0]}\s+({_as_many_words(name)})(?!\w)", said)
    if found is None or _ends_with_limit(said[: found.start()]):
        return False
    is_same = found[1] == name
    return is_same if own[0] != "1" else not is_same and stems(found[1]) == name_stems(column)


def _as_many_words(name: str) -> str:
    return r"\s+".join(r"\w+" for _ in words(name)) or "(?!)"


def _ends_with_limit(said: str) -> bool:
    """Whether the last word of `said` says on which side of a number: "from 8 seats", "ab 8 Sitzen"."""
    limits = chain.from_iterable(
        words(phrase)[-1:] for side in _SIDES for phrase in language_words("computing", "side", "before", side)
    )
    return not set(limits).isdisjoint(words(said)[-1:])


def _words_of(found: Mapping[str, Sequence[Any]]) -> set[str]:
    return {word for values in found.values() for value in values for word in words(str(value))}


def _wordless_conditions(part: Part, vocabulary: Vocabulary) -> dict[str, Any]:
    """Of values without a content word: each stands for itself behind the name of its column, as "A" does, or in
    capitals, as "IT", where one column alone has it."""
    wordless = vocabulary.get((), {}).items()
    large = {name: value for name, values in wordless for value in values if part.has_in_capitals(value)}
    named = {name: value for name, values in wordless for value in values if stands_behind(name, value, part.folded)}
    return named or (large if len(large) == 1 else {})


def _said_values(found: Mapping[str, Sequence[Any]], said: str) -> dict[str, list[Any]]:
    """By column, the values of `found` that stand in the question; columns without one are left out."""
    literal = {column: [value for value in values if _is_said(value, said)] for column, values in found.items()}
    return {column: values for column, values in literal.items() if values}


def _is_said(value: Any, said: str) -> bool:
    """Whether `value` stands in the folded question, or its plural: "packages" does not name the row "packaging", nor
    "C" one of C++.

    Words of languages that inflect names are compared by their stems.
    """
    if re.search(_as_word(value), said):
        return True
    name = fold(str(value))
    return not name.isascii() and set(map(stem, words(name))) <= set(map(stem, words(said)))


def _as_word(value: Any) -> str:
    name = fold(str(value)).strip()
    several = "(?:e?s)?" if name[-1:].isalpha() and len(name) > 2 else ""
    return rf"(?<![\w+#-]){re.escape(name)}{several}(?![\w+#])"


def _is_plain(said: str, conditions: Mapping[str, Any], plain: Collection[str], deciding: frozenset[str]) -> bool:
    """Whether nothing but the values of `conditions` says what a rule does not read: no sign, no word such as
    "not" or "since", and none that is left out of stems and yet means something, such as "by" or "or"."""
    for value in chain.from_iterable(map(_listed, conditions.values())):
        said = re.sub(_as_word(value), " ", said, count=1)
    rest, content = words(said), set(stems(said))
    says_more = _SIGN.search(said) or not deciding.isdisjoint(rest)
    return not says_more and all(word in plain or stem(word) in content for word in rest)


def _listed(condition: Any) -> list[Any]:
    return condition if isinstance(condition, list) else [condition]


def _meant(found: Mapping[str, Sequence[Any]], named: Sequence[str]) -> str | None:
    """The column that a value stands for: of those that are `named` right before it, else of all, the only one that
    holds it; None where that is no single one, or its values differ in more than how they are written."""
    candidates = [column for column in found if column in named or not named]
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


# Reading out of a question, by rule, on which days the rows are that it is about.

YEAR = re.compile(r"[12]\d{3}")
# The full stop of "1. März".
_ORDINAL = re.compile(r"(?<=\d)\.(?=\s)")


@dataclass(frozen=True)
class Part:
    """One of the questions that are read together: folded and without what asks for a count, and as it was written."""

    folded: str
    written: str

    def has_in_capitals(self, value: Any) -> bool:
        """Whether `value` is a word in capitals, and stands there as such: "IT" is no "it"."""
        said = str(value).strip()
        large = said.isalpha() and said.isupper() and len(said) > 1 and not self.written.isupper()
        return large and re.search(rf"(?<![\w+#-]){re.escape(said)}(?![\w+#])", self.written) is not None

    def has_with_capital(self, stemmed: str) -> bool:
        """Whether a word with that stem is written with a capital though it is not the first."""
        found = list(WORD.finditer(self.written))[1:]
        return any(one.group()[0].isupper() and stem(fold(one.group())) == stemmed for one in found)


def date_condition(
    part: Part,
    every: Sequence[str],
    shape: TableShape,
    vocabulary: Vocabulary,
    language: Language,
    before: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """The condition that "on 1 March 2026", "in March 2026", "in 2026" or "in March" puts on a date column, and the
    stems of `part` without these.

    Of the date columns it is the only one that `_meant_dates` gives for the words of `every` part.
    A month by itself is that of the year that was asked about before, else of the only year in which the column has it:
    the days that were, by column, are `before`. One that may be another word, as in "how many
    may be open?", needs a capital.
    """
    said = part.folded
    dated, asked = _meant_dates(shape, every, language), stems(said)
    if len(dated) != 1:
        return {}, asked
    rest, dates = take_dates(_ORDINAL.sub("", said))
    if dates:
        within = None if _years(stems(rest)) else _within_one(dates)
        return ({dated[0]: within}, stems(rest)) if within else ({}, asked)
    others = [column for column in shape.columns if column.name != dated[0]]
    years = [at for at in _years(asked) if not _is_named(shape.name, others, asked[at], said)]
    if not years and _may_be_verb(part, asked):
        return {}, asked
    asked_before = before.get(dated[0])
    year = int(str(asked_before["gte"])[:4]) if isinstance(asked_before, Mapping) else 0
    return _year_or_month(dated[0], asked, years, language.months, vocabulary, year)


def _is_named(table: str, columns: Sequence[Column], year: str, said: str) -> bool:
    """Whether a year is part of the name of the `table`, as in "log_2024", or by the name of another column a value of
    that: "sponsor 1999"."""
    name = fold(spaced(table.rpartition(".")[2]))
    return (year in words(name) and name in spaced(said)) or any(
        stands_behind(one.name, year, said) or _is_named_year(one, year, said) for one in columns
    )


def _is_named_year(column: Column, year: str, said: str) -> bool:
    return column.kind == "integer" and means_number(column.name, year, said)


def _may_be_verb(part: Part, asked: Sequence[str]) -> bool:
    """Whether what may be a month is another word: "may" without its capital."""
    verbs = {stem(fold(verb)) for verb in language_words("number_words", "verbs") if len(verb) <= len("may")}
    return any(not part.has_with_capital(verb) for verb in verbs.intersection(asked))


def _year_or_month(
    column: str,
    asked: Sequence[str],
    years: Sequence[int],
    months: Sequence[str],
    vocabulary: Vocabulary,
    before: int,
) -> tuple[dict[str, Any], list[str]]:
    """The condition on `column` of the only year, which stands at one of the places `years`, or the only month by
    itself, which is of the year `before` where that is known, and the stems without it."""
    named = [at for at, stem in enumerate(asked) if stem in months]
    if len(years) == 1 and not named:
        return {column: _within(int(asked[years[0]]))}, _without(asked, years)
    if years or len(named) != 1:
        return {}, list(asked)
    month = months.index(asked[named[0]]) + 1
    year = _only_year(column, asked[named[0]], month, vocabulary, before)
    return ({column: _within(year, month)}, _without(asked, named)) if year else ({}, list(asked))


def _within_one(dates: Sequence[Date]) -> dict[str, str] | None:
    """The days of the only one of `dates`, whose year is said and whose day and month are sure."""
    one = dates[0]
    plain = len(dates) == 1 and one.year and not one.swapped
    return _within(one.year or 0, one.month, one.day) if plain else None


def _years(asked: Sequence[str]) -> list[int]:
    return [at for at, stem in enumerate(asked) if YEAR.fullmatch(stem)]


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


def _only_year(column: str, said: str, month: int, vocabulary: Vocabulary, before: int) -> int:
    """The year `before`, else the only one of whose month `month` a date column holds a day; 0 where there is none or
    several, and where a column holds the name itself."""
    known = {int(name[0]) for name, found in vocabulary.items() if column in found and name[1:2] == (f"{month:02}",)}
    if (said,) in vocabulary:
        return 0
    return before or (known.pop() if len(known) == 1 else 0)


def _says_when(column: Column, language: Language) -> bool:
    return not language.deciding.isdisjoint(words(spaced(column.name)))


def _meant_dates(shape: TableShape, asked: Sequence[str], language: Language) -> list[str]:
    """The date columns that a question may mean: the named ones, else the declared, else those that are called date. Of
    "How many patients were there in 2024?" none is meant that is called "birth_date", or "patient_since"."""
    dated = [one for one in shape.columns if one.kind in ("date", "datetime") and not _says_when(one, language)]
    called = set(chain.from_iterable(map(stems, language_words("computing", "date"))))
    named = [one.name for one in dated if set(asked).intersection(name_stems(one.name))]
    declared = [one.name for one in dated if one.declared]
    plain = [one.name for one in dated if called.issuperset(name_stems(one.name))]
    fitting = [names for names in (named, declared, plain) if names]
    return min(fitting, key=lambda names: len(names) > 1, default=[])
