"""Which values of cells stand in a question, by rule: literally, each for the one column that it can be of."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from groundgraph.sources.sql.shape import TableShape, Vocabulary, stands_behind, table_stems
from groundgraph.text.find_cue import may_be_read
from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import number_of
from groundgraph.text.words import WORD, fold, name_stems, spaced, stem, stems, words

LONGEST_VALUE = 8
# On which side of a number what is asked for may lie.
_SIDES = ("above", "below", "from", "to", "between")
# What words lose that says something: "C++", "A-", "-3", "status != open", "hall > 3".
_SIGN = re.compile(r"[+#%<>≤≥≠±~]|!=|(?<!\w)-\d|(?<!\w)\w-(?!\w)")
# What stands between the things that one cell lists, a JSON array among them.
_BETWEEN = re.compile(r"[][,;|/\n\"]")
YEAR = re.compile(r"[12]\d{3}")
# Characters of the longest number in words, with room: how far back what stands before one is read.
_LONGEST_NUMBER = 64


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


def names_value(said: str, shape: TableShape, vocabulary: Vocabulary) -> bool:
    """Whether the text names a value of a cell, or a column of yes and no."""
    return bool(_flags(stems(said), shape)) or any(values_said(said, vocabulary))


def values_said(said: str, vocabulary: Vocabulary) -> Iterator[Any]:
    """The values of cells that the text names, as they are stored."""
    asked, part = stems(said), Part(fold(said), said)
    yield from chain.from_iterable(map(listed, _wordless_conditions(part, vocabulary).values()))
    for place in range(len(asked)):
        yield from chain.from_iterable(value_at(asked, place, part.folded, vocabulary)[1].values())


def read_values(
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
        length, found = value_at(asked, position, said, vocabulary)
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
    return conditions | _flags(without_name(left, table), shape), left


def _is_apart(named: Sequence[str], found: Mapping[str, Sequence[Any]], said: str) -> bool:
    """Whether a value is none of the columns `named` before it, and does not stand right behind the name of one."""
    values = list(chain.from_iterable(found.values()))
    behind = any(stands_behind(name, value, said) for name in named for value in values)
    return found.keys().isdisjoint(named) and not behind


def value_at(
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
    """The column that a value stands for with its stems `own`; None where it may be of several, deny another value, as
    "nicht offen" does, or where cells list it beside others."""
    column = _meant(found, named)
    if column is None or any(_is_listed(column, value, own, vocabulary) for value in found[column]):
        return None
    denied = own[1:] and tuple(own[1:]) in vocabulary and _denies(found[column])
    return None if denied else column


def _is_listed(column: str, value: Any, own: Sequence[str], vocabulary: Vocabulary) -> bool:
    """Whether a cell of `column` lists `value`, whose stems are `own`, beside others: who speaks "English, German"
    speaks German, and a count by the cells that say nothing else leaves that one out."""
    longer = (found[column] for name, found in vocabulary.items() if len(name) > len(own) and column in found)
    texts = (one for one in chain.from_iterable(longer) if isinstance(one, str))
    lists = (list(map(str.strip, _BETWEEN.split(fold(one)))) for one in texts if _BETWEEN.search(one))
    return any(fold(str(value)).strip() in items for items in lists)


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


def with_digits(said: Iterable[str], shapes: Iterable[TableShape]) -> tuple[str, ...]:
    """The texts `said` with a number that is written as a word in digits where it stands right before the name of a
    column of whole numbers: "two seats" as "2 seats"."""
    columns = chain.from_iterable(shape.columns for shape in shapes)
    names = {re.escape(spaced(column.name)) for column in columns if column.kind == "integer"}
    called = "|".join(sorted(names)) or "(?!)"
    before_one = re.compile(rf"(?<![\w-])([^\W\d_]+)(?=\s+({called})(?!\w))", re.IGNORECASE)
    return tuple(before_one.sub(_in_digits, text) for text in said)


def _in_digits(found: re.Match[str]) -> str:
    number = number_of(found[1])
    # Of "twenty five seats" neither is the number. Only the end of what stands before is read, for the sake of time.
    before = found.string[max(0, found.start() - _LONGEST_NUMBER) : found.start()]
    is_part = any(number_of(word) is not None for word in words(before)[-1:])
    return found[1] if number is None or is_part else f"{number:g}"


def place_of(name: Sequence[str], left: Sequence[str]) -> int:
    """Where `name` first stands in `left`; behind its end where it does not."""
    places = range(len(left) if name else 0)
    return next((at for at in places if list(left[at : at + len(name)]) == list(name)), len(left))


def without_name(left: Sequence[str], name: Sequence[str]) -> Sequence[str]:
    """`left` without `name` where it first stands there."""
    at = place_of(name, left)
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
    named = {name: own for name, own in flags.items() if place_of(own, left) < len(left) and may_be_read(spaced(name))}
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
    wordless = vocabulary.get((), {})
    named = _those_said(wordless, lambda name, value: stands_behind(name, value, part.folded))
    large = _those_said(wordless, lambda _, value: part.has_in_capitals(value))
    return named or (large if len(large) == 1 else {})


def _those_said(wordless: Mapping[str, Sequence[Any]], is_said: Callable[[str, Any], bool]) -> dict[str, Any]:
    """By column, what it holds of what is said, in each way in which that is written: "Y" and "y"."""
    conditions: dict[str, Any] = {}
    for name, values in wordless.items():
        said = {fold(str(value)).strip() for value in values if is_said(name, value)}
        for value in values:
            if fold(str(value)).strip() in said:
                _add(conditions, name, value)
    return conditions


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


def is_plain(said: str, conditions: Mapping[str, Any], plain: Collection[str], deciding: frozenset[str]) -> bool:
    """Whether nothing but the values of `conditions` says what a rule does not read: no sign, no word such as
    "not" or "since", and none that is left out of stems and yet means something, such as "by" or "or"."""
    for value in chain.from_iterable(map(listed, conditions.values())):
        said = re.sub(_as_word(value), " ", said, count=1)
    rest, content = words(said), set(stems(said))
    says_more = _SIGN.search(said) or not deciding.isdisjoint(rest)
    return not says_more and all(word in plain or stem(word) in content for word in rest)


def without_either(said: str, conditions: Mapping[str, Any]) -> str:
    """The folded text `said` without the "or" between two values of one column, of which each is meant anyway."""
    either = "|".join(re.escape(fold(word)) for word in language_words("computing", "either"))
    for values in conditions.values():
        named = "|".join(map(_as_word, values)) if isinstance(values, list) else "(?!)"
        said = re.sub(rf"({named})\s+(?:{either})\s+(?={named})", r"\1 ", said)
    return said


def are_joined(said: str, values: Sequence[Any], between: frozenset[str]) -> bool:
    """Whether the folded text `said` names several `values` of one column as one or the other: behind a comma or a word
    such as "and". It is a way that leads "from Linz to Graz", "open orders that are closed" would be both, and those
    who "support IT" are of one department.

    Behind that word nothing may stand but words that say nothing `between` two things, or were said before: "status
    open or status closed", and not "open and paid orders that were closed".
    """
    owners = {word: at for at, value in enumerate(values) for word in stems(str(value))}
    last: int | None = None
    end = 0
    known = set(between)
    for found in WORD.finditer(said):
        owner = owners.get(stem(found.group()))
        if owner is None:
            continue
        apart = said[end : found.start()]
        if last not in (None, owner) and not _is_joint(apart, known):
            return False
        known.update(words(apart))
        last, end = owner, found.end()
    return True


def _is_joint(apart: str, known: set[str]) -> bool:
    """Whether the text `apart`, between two values, is a comma or the like, or ends with a word such as "and" and those
    that are `known` or stand before it."""
    spoken = words(apart)
    last = max((at for at, word in enumerate(spoken) if word in _joining()), default=None)
    if last is None:
        return not spoken and (_BETWEEN.search(apart) is not None or "&" in apart)
    return known.union(spoken[:last]).issuperset(spoken[last + 1 :])


@cache
def _joining() -> frozenset[str]:
    return frozenset(map(fold, chain(language_words("replies", "joins"), language_words("computing", "either"))))


def listed(condition: Any) -> list[Any]:
    """The values of a `condition`: several, or the one that it is."""
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
    elif value not in listed(known):
        conditions[column] = [*listed(known), value]
