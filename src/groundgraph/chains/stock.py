"""What a piece of evidence offers to whoever looks for a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from groundgraph.chains.number_words import number_of, scale_of, unit_of
from groundgraph.chains.quantities import Date, Quantities, quantities, squeezed, unit_at
from groundgraph.chains.times_of_day import times_named
from groundgraph.chains.written_numbers import WORD, Number, Unit
from groundgraph.core.cues import language_words
from groundgraph.core.text import fold

_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(WORD)
_SHARE = re.compile(r"[%٪％]")
_HOUR = ("time", 3600.0)
# Values that are counted with units differ by less than this only by how they were worked out.
_PLACES = 6


@dataclass(frozen=True)
class Offers:
    """Values by the units that they were found with, and amounts: dimension and amount in its smallest unit.

    None among the units stands for no known one.
    """

    units: dict[float, frozenset[Unit | None]]
    amounts: frozenset[tuple[str, float]]


@dataclass(frozen=True)
class Stock:
    """The quantities of a piece of evidence, ready to be looked up.

    Attributes:
        certain: what its numbers mean beside one that is written without doubt.
        doubtful: what those may mean whose marks can be read in two ways.
        undecided: the same of those of which nothing tells how they are read.
        dates: of the text.
        times: the minutes of the day that it names.
        clock: those that numbers such as "16.30" may name.
        pairs: values of numbers that follow each other.
        squeezed: the text without spaces and hyphens, folded, in which codes are looked for.
        scales: what the words of the text multiply by, as the head of a table does.
    """

    certain: Offers
    doubtful: Offers
    undecided: Offers
    dates: tuple[Date, ...]
    times: frozenset[int]
    clock: frozenset[int]
    pairs: frozenset[tuple[float, float]]
    squeezed: str
    scales: frozenset[float]


@lru_cache(maxsize=4096)
def stock(text: str, decimal: str | None = None) -> Stock:
    """What `text` offers, whose decimals stand behind the mark `decimal` when the rest of it tells."""
    found = quantities(text, decimal)
    written = [way for number in (*found.numbers, *found.words, *_loose(text)) for way in number.ways()]
    bare = [Number("", values, values) for values in _in_others(found)]
    return Stock(
        _offers((number, number.certain) for number in (*written, *bare)),
        _offers((number, number.values) for number in written if number.is_open),
        _offers((number, number.values) for number in written if number.is_open and not number.certain),
        found.dates,
        _times(found, written, text),
        frozenset(number.clock for number in written if number.clock is not None),
        frozenset((a, b) for low, high in pairwise(found.numbers) for a in low.values for b in high.values),
        squeezed(text),
        frozenset(scale for word in _WORDS.findall(text) if (scale := scale_of(word))),
    )


def _offers(numbers: Iterable[tuple[Number, frozenset[float]]]) -> Offers:
    units: dict[float, set[Unit | None]] = {}
    amounts: set[tuple[str, float]] = set()
    for number, values in numbers:
        for value in values | (number.plain if number.scale else values):
            units.setdefault(value, set()).add(number.unit)
        if number.unit:
            amounts |= {(number.unit[0], round(value * number.unit[1], _PLACES)) for value in values}
    return Offers({value: frozenset(of) for value, of in units.items()}, frozenset(amounts))


def _in_others(found: Quantities) -> Iterator[frozenset[float]]:
    """The numbers within codes, dates and times."""
    for text in (*found.codes, *(time.text for time in found.times)):
        yield from (frozenset([float(digits)]) for digits in _DIGITS.findall(text) if len(digits) < 16)
    for date in found.dates:
        for number in (date.year, date.day, date.month if date.swapped else None):
            if number is not None:
                yield frozenset([float(number)])


def _times(found: Quantities, written: Iterable[Number], text: str) -> frozenset[int]:
    minutes = set(times_named(text)).union(*(time.minutes for time in found.times))
    for number in written:
        if number.unit == _HOUR:
            minutes |= {int(value) % 24 * 60 for value in number.certain if 0 <= value <= 24}
    return frozenset(minutes)


@lru_cache(maxsize=4096)
def says_share(text: str) -> bool:
    """Whether `text` speaks of shares apart from its numbers, as the head of a column does."""
    found = quantities(text)
    marks = len(_SHARE.findall(text)) + sum((unit_of(word) or " ")[0] == "share" for word in _WORDS.findall(text))
    return marks > sum((number.unit or " ")[0] == "share" for number in (*found.numbers, *found.words))


def _loose(text: str) -> list[Number]:
    """ "first", and "an hour" as one."""
    found: list[Number] = []
    words = list(_WORDS.finditer(text))
    for at, word in enumerate(words):
        value = number_of(word.group(), loose=True)
        unit, _ = unit_at(words, at + 1)
        if value is None and unit and fold(word.group()) in language_words("numbers", "one"):
            value = 1.0
        if value is not None:
            values = frozenset([float(value)])
            found.append(Number(word.group(), values, values, unit))
    return found
