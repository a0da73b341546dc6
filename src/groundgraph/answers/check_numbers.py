"""Whether the numbers, dates, units and codes of a sentence stand in what it cites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, filterfalse, islice, pairwise, product
from operator import attrgetter
from typing import Any, TypeVar

from groundgraph.answers.check_support import held_nearby
from groundgraph.answers.citations import MAX_FLAGS, CheckedAnswer, Claim, named_text, without_programs
from groundgraph.answers.sentence_index import sentences_of, stems_of
from groundgraph.core.turn_values import Flag
from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import WORD, Number, Unit, decimal_mark, number_of, rounded, scale_of, unit_of
from groundgraph.text.quantities import Date, Quantities, Time, holds_code, quantities, squeezed, times_named, unit_at
from groundgraph.text.words import fold, told_language

# What a piece of evidence offers to whoever looks for a number.

_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(WORD)
_SHARE = re.compile(r"[%٪％]")
_HOUR = ("time", 3600.0)
# What an amount is counted by: nothing, as in "5 mg", and anything, as "5 mg per day" is 5 mg as well.
_NOTHING, _ANYTHING = "", "*"
_CERTAIN: Callable[[Number], frozenset[float]] = attrgetter("certain")
_VALUES: Callable[[Number], frozenset[float]] = attrgetter("values")
T = TypeVar("T")
# The dimension, that of what it is counted by, and how many.
Amount = tuple[str, str, float]


@dataclass(frozen=True)
class Offers:
    """Values by the units that they were found with and counted by, and amounts in the units that `units.yaml` chose.

    None stands for no known unit.
    """

    units: dict[float, frozenset[tuple[Unit | None, Unit | None]]]
    amounts: frozenset[Amount]

    def units_of(self, value: float, per: Unit | None) -> frozenset[Unit | None]:
        """The units that `value` was found with, counted by `per` or by nothing that is known to be another."""
        found = self.units.get(value, ())
        return frozenset(unit for unit, its in found if per is None or its is None or its == per)


@dataclass(frozen=True)
class Stock:
    """The quantities of a piece of evidence, ready to be looked up.

    Attributes:
        certain: what its numbers mean beside one that is written without doubt.
        doubtful: what those may mean whose marks can be read in two ways.
        undecided: the same of those of which nothing tells how they are read.
        dates: of the text.
        times: the minutes of the day that it names.
        clock: those that numbers such as "16.30", and ranges such as "9-17", may name.
        pairs: values of numbers that follow each other.
        squeezed: the text without spaces and hyphens, folded, in which codes are looked for.
        scales: what the words of the text multiply by, as the head of a table does.
        long: the digits of those numbers that a float holds only nearly.
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
    long: frozenset[str]


@lru_cache(maxsize=4096)
def stock(text: str, decimal: str | None = None) -> Stock:
    """What `text` offers, whose decimals stand behind the mark `decimal` when the rest of it tells."""
    found = quantities(text, decimal)
    written = [way for number in (*found.numbers, *found.words, *_loose(text)) for way in number.ways()]
    bare = [Number("", values, values) for values in _in_others(found)]
    doubtful = [number for number in written if number.is_open]
    return Stock(
        _offers([*written, *bare], _CERTAIN),
        _offers(doubtful, _VALUES),
        _offers(filterfalse(_CERTAIN, doubtful), _VALUES),
        (*found.dates, *filter(None, map(_day, written))),
        _times(found, written, text),
        _clock(found, written),
        frozenset(pair for low, high in pairwise(found.numbers) for pair in product(low.values, high.values)),
        squeezed(text),
        frozenset(filter(None, map(scale_of, _WORDS.findall(text)))),
        frozenset(number.long for number in written if number.long),
    )


_DAY = re.compile(r"(0?[1-9]|[12]\d|3[01])\.(0[1-9]|1[0-2])")


def _day(number: Number) -> Date | None:
    """The day that "31.03" may be."""
    found = _DAY.fullmatch(number.text)
    return Date(number.text, None, int(found[2]), int(found[1])) if found else None


def _offers(numbers: Iterable[Number], values_of: Callable[[Number], frozenset[float]]) -> Offers:
    units: dict[float, set[tuple[Unit | None, Unit | None]]] = {}
    amounts: set[Amount] = set()
    for number in numbers:
        values = values_of(number)
        for value in values | (number.plain if number.scale else values):
            units.setdefault(value, set()).add((number.unit, number.per))
        if number.unit:
            whole = _ANYTHING if number.per else _NOTHING
            amounts.update(one for value in values for one in _amounts(value, number.unit, number.per, whole))
    return Offers({value: frozenset(of) for value, of in units.items()}, frozenset(amounts))


def _amounts(value: float, unit: Unit, per: Unit | None, whole: str) -> Iterator[Amount]:
    """The amount, and that of which it is a rate; `whole` says what is left open of the former."""
    yield unit[0], whole, rounded(value * unit[1])
    if per:
        yield unit[0], per[0], rounded(value * unit[1] / per[1])


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


def _clock(found: Quantities, written: Iterable[Number]) -> frozenset[int]:
    ends = (end for ends in found.ranges if ends[1].unit is None for end in ends)
    values = frozenset[float]().union(*(end.certain for end in ends))
    hours = {int(hour) % 24 * 60 for hour in values if hour.is_integer() and 0 <= hour <= 24}
    return frozenset(number.clock for number in written if number.clock is not None) | hours


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


# A number counts as held where this share of the sentence's other words stands within a sentence of it.
LEAST_SHARED = 0.4


def check_numbers(answer: CheckedAnswer) -> list[Flag]:
    """A flag `number_unsupported` for every number, date or code of a sentence that its evidence does not hold; no more
    than `MAX_FLAGS`.

    The question's own numbers do not count: "Is it 500 dollars?" must not support "It is 500 dollars". Numbers are
    compared by value ("1,500", "1 500" and "1.5 thousand" are one), with their unit where both sides name one, and
    an amount in another unit of the same dimension counts ("60 minutes" for "an hour"). Sign and percent belong to a
    number. Where marks can be read in two ways, as in "1.234", the two texts must be written alike.
    """
    decimal = decimal_mark(answer.written)
    flags = (
        claim.flag("number_unsupported", f"{missing} {said}")
        for claim in answer.claims
        for missing, said in _unsupported(answer, claim, decimal)
    )
    return list(islice(flags, MAX_FLAGS))


# What a flag says of a number; another thing it would be untrue to say of one that stands beside other words.
NOWHERE = "does not stand in the evidence"
ELSEWHERE = "does not stand in the evidence near what is said of it"


def _unsupported(answer: CheckedAnswer, claim: Claim, decimal: str | None) -> Iterator[tuple[str, str]]:
    """The numbers of `claim` that its evidence does not hold near the rest of it, each with what is wrong with it."""
    text = without_programs(claim.text)
    found = quantities(text, decimal)
    if found == Quantities():
        return
    about = frozenset(filterfalse(str.isdigit, stems_of(text)))
    evidence, shares = answer.rests_on(claim), says_share(answer.written)
    missing_in = partial(_missing, text, found, shares=shares)
    texts = tuple(map(named_text, evidence))
    near = _places(texts, about)
    missing = list(dict.fromkeys(missing_in(near)))
    if missing and not _in_one_sentence(missing_in, texts):
        spoken = told_language(text) or told_language(answer.written)
        in_other_words = tuple(one for one in texts if spoken and told_language(one) not in (spoken, None))
        missing = list(dict.fromkeys(missing_in(near.beside(_Places(_all_places(in_other_words), in_other_words)))))
        missing = _missing_in_parts(missing, answer, claim, decimal)
        nowhere = set(missing_in(_everywhere(texts))) if missing else set()
        yield from ((number, NOWHERE if number in nowhere else ELSEWHERE) for number in missing)


def _in_one_sentence(missing_in: Callable[[_Places], Iterator[str]], texts: tuple[str, ...]) -> bool:
    """Whether one sentence of `texts` holds all that is looked for, in whatever words, if that is more than one."""
    several = len(set(missing_in(_Places((), texts)))) > 1
    some = _all_places(texts) if several else ()
    # What all of them together lack, none of them holds.
    if not 0 < len(some) <= _MOST or any(missing_in(_Places((_together(texts),), texts))):
        return False
    return any(not any(missing_in(_Places((one,), texts))) for one in some)


def _missing_in_parts(missing: list[str], answer: CheckedAnswer, claim: Claim, decimal: str | None) -> list[str]:
    """Those of `missing` that what a part of the sentence cites does not hold near that part either."""
    if len(claim.parts) <= 2:
        return missing
    found = {number for part in claim.parts for number, _ in _unsupported(answer, part, decimal)}
    return list(filter(found.__contains__, missing))


def _missing(text: str, found: Quantities, places: _Places, *, shares: bool) -> Iterator[str]:
    """What of `found`, the quantities of `text`, no place holds."""
    yield from (date.text for date in _not_held(found.dates, places, _holds_date))
    yield from _not_held(found.codes, places, _holds_code)
    yield from (time.text for time in _not_held(found.times, places, _holds_time))
    spelled = {word.text: word for word in found.words if not _leads_to_a_list(word.text, text)}
    holds = partial(_holds_number, shares=shares)
    missing = _not_held((*found.numbers, *spelled.values()), places, holds)
    yield from (number.text for number in missing)
    for low, high in _not_held(found.ranges, places, _holds_range):
        if low not in missing and high not in missing:
            yield f"the range {low.text} to {high.text}"


def _not_held(named: Iterable[T], places: _Places, holds: Callable[[_Place, T], bool]) -> list[T]:
    """Those of `named`, each once, that no place holds."""
    return [one for one in dict.fromkeys(named) if not places.any_holds(one, holds)]


def _leads_to_a_list(word: str, text: str) -> bool:
    """Whether a spelled number leads to a list, as in "Two points:"."""
    return re.search(rf"{re.escape(word)}\b[^.:]{{0,40}}:", text) is not None


@dataclass(frozen=True)
class _Place:
    """What a sentence of the evidence offers; `shares` says whether its text speaks of shares apart from numbers."""

    stock: Stock
    shares: bool


@dataclass(frozen=True)
class _Places:
    """Some sentences of the evidence, which is `texts`."""

    some: Sequence[_Place]
    texts: tuple[str, ...]

    def beside(self, others: _Places) -> _Places:
        """These and others."""
        return _Places([*self.some, *others.some], (*self.texts, *others.texts))

    def any_holds(self, one: T, holds: Callable[[_Place, T], bool]) -> bool:
        """Whether a place holds `one`; of many each is asked only where all the evidence together does, of very many
        none."""
        if len(self.some) > _MANY and not holds(_together(self.texts), one):
            return False
        return len(self.some) > _MOST or any(holds(place, one) for place in self.some)


# So many places are asked one by one, which costs less than to look at all of the evidence.
_MANY = 60
# And of more than these none is where all that is wanted is whether something stands anywhere.
_MOST = 500


def _places(texts: tuple[str, ...], about: frozenset[str]) -> _Places:
    """What stands in the sentences of `texts` near which the share `LEAST_SHARED` of `about` stands."""
    # Rounded down: of two or three words in a list or a table none need stand there.
    wanted = int(len(about) * LEAST_SHARED)
    if not wanted:
        return _Places(_all_places(texts), texts)
    return _Places([place for text in texts for place in _placed(text).near(about, wanted)], texts)


@lru_cache(maxsize=64)
def _all_places(texts: tuple[str, ...]) -> tuple[_Place, ...]:
    return tuple(place for text in texts for place in _placed(text).all())


@lru_cache(maxsize=64)
def _everywhere(texts: tuple[str, ...]) -> _Places:
    """All sentences of `texts`; what stands apart in two of very many may be taken for what one says."""
    places = _all_places(texts)
    return _Places(places if len(places) <= _MOST else (_together(texts),), texts)


# The head of a table with the line below it.
_HEAD = re.compile(r"\|[^\n]*+\n[ \t]*+\|?[ \t]*+:?-")


class _Placed:
    """The sentences of a piece of evidence, each looked at when it is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sentences = sentences_of(text)
        self._decimal, self._shares = decimal_mark(text), says_share(text)
        self._over = tuple(self._heads())
        # By what they stand under, the sentences whose window it is not in; and by stem, what holds it of that.
        self._under: dict[int, list[int]] = {}
        self._heads_with: dict[str, list[int]] = {}
        for at, head in enumerate(self._over):
            if at - head > 1:
                self._under.setdefault(head, []).append(at)
        for head in self._under:
            for one in self._sentences[head].stems:
                self._heads_with.setdefault(one, []).append(head)
        self._known: dict[int, _Place] = {}

    def near(self, about: frozenset[str], wanted: int) -> list[_Place]:
        """Those of which the window and the head hold `wanted` of `about`, in order, and these heads."""
        held = held_nearby(self._text, about)
        found = {at for at, count in held.items() if count >= wanted}
        above = Counter(chain.from_iterable(self._heads_with.get(one, ()) for one in about))
        for head, count in above.items():
            found.update(at for at in self._under[head] if held[at] + count >= wanted)
        return [self._at(number) for number in sorted(found.union(self._over[at] for at in found))]

    def all(self) -> Iterator[_Place]:
        """All sentences, in order."""
        return map(self._at, range(len(self._sentences)))

    def _heads(self) -> Iterator[int]:
        """The number of the heading, or of the head of a table, that each sentence stands under; or its own."""
        heading = head = None
        for number, one in enumerate(self._sentences):
            own = self._text[one.start : one.end]
            heading = number if own.startswith("#") else heading
            head = number if _HEAD.match(own) else head
            over = head if own.startswith("|") and head != number else heading
            yield number if over is None else over

    def _at(self, number: int) -> _Place:
        if number not in self._known:
            one, head = self._sentences[number], self._sentences[self._over[number]]
            found = stock(self._text[one.start : one.end], self._decimal)
            if self._text.startswith("|", one.start):
                found = replace(found, scales=found.scales | stock(self._text[head.start : head.end]).scales)
            self._known[number] = _Place(found, self._shares)
        return self._known[number]


@lru_cache(maxsize=1024)
def _placed(text: str) -> _Placed:
    return _Placed(text)


@lru_cache(maxsize=64)
def _together(texts: tuple[str, ...]) -> _Place:
    """All that stands in `texts`: whatever one of their sentences holds, this does."""
    places = _all_places(texts)
    stocks = [place.stock for place in places]

    def every(name: str) -> frozenset[Any]:
        return frozenset().union(*map(attrgetter(name), stocks))

    return _Place(
        Stock(
            _all_offers(one.certain for one in stocks),
            _all_offers(one.doubtful for one in stocks),
            _all_offers(one.undecided for one in stocks),
            tuple(dict.fromkeys(date for one in stocks for date in one.dates)),
            every("times"),
            every("clock"),
            every("pairs"),
            "\n".join(one.squeezed for one in stocks),
            every("scales"),
            every("long"),
        ),
        any(place.shares for place in places),
    )


def _all_offers(offers: Iterable[Offers]) -> Offers:
    units: dict[float, set[tuple[Unit | None, Unit | None]]] = {}
    amounts: set[Amount] = set()
    for one in offers:
        amounts |= one.amounts
        for value, of in one.units.items():
            units.setdefault(value, set()).update(of)
    return Offers({value: frozenset(of) for value, of in units.items()}, frozenset(amounts))


def _holds_number(place: _Place, number: Number, *, shares: bool) -> bool:
    """Whether the place holds one of what `number` may be; `shares` says whether the answer speaks of shares apart."""
    return any(_holds_way(place, way, shares=shares) for way in number.ways())


def _holds_way(place: _Place, number: Number, *, shares: bool) -> bool:
    one = place.stock
    if digits := number.code or number.long:
        return digits in one.long or _holds_code(place, digits)
    if number.clock in one.times or _is_day(number, one.dates):
        return True
    offered = partial(_is_offered, number=number, evidence_shares=place.shares, answer_shares=shares)
    if any(offered(offers, value) for offers, values in _looked_up(one, number) for value in values):
        return True
    return number.scale in one.scales and any(_is_counted_in(one.certain, value, number) for value in number.plain)


def _is_day(number: Number, dates: Iterable[Date]) -> bool:
    day = _day(number)
    return day is not None and any(day.agrees(its) and day.day == its.day for its in dates)


def _looked_up(one: Stock, number: Number) -> Iterator[tuple[Offers, frozenset[float]]]:
    """Where in a stock which values of a number are looked up."""
    yield one.certain, number.certain
    if number.is_open:
        yield one.undecided if number.certain else one.doubtful, number.values


def _is_counted_in(offers: Offers, value: float, number: Number) -> bool:
    """Whether `value` is one of a table whose heading says millions, where "5 million" may be written as 5: neither a
    share nor in another unit."""
    return _agrees(number.unit, offers.units_of(value, number.per), False, False)


def _is_offered(offers: Offers, value: float, *, number: Number, evidence_shares: bool, answer_shares: bool) -> bool:
    unit, per = number.unit, number.per
    whole = _NOTHING if per else _ANYTHING
    if unit and not offers.amounts.isdisjoint(
        [*_amounts(value, unit, per, _NOTHING), *_amounts(value, unit, per, whole)]
    ):
        return True
    return _agrees(unit, offers.units_of(value, per), evidence_shares, answer_shares)


def _agrees(unit: Unit | None, units: frozenset[Unit | None], evidence_shares: bool, answer_shares: bool) -> bool:
    """Whether a number with `unit` is one that was found with `units`: without a unit it is, but a share is a share."""
    if unit is None:
        return any(one is None or one[0] != "share" for one in units) or (answer_shares and bool(units))
    return unit in units or (None in units and (unit[0] != "share" or evidence_shares))


def _holds_range(place: _Place, ends: tuple[Number, Number]) -> bool:
    low, high = ends
    return not place.stock.pairs.isdisjoint(product(low.values, high.values))


def _holds_time(place: _Place, time: Time) -> bool:
    return bool(time.minutes & (place.stock.times | place.stock.clock)) or _holds_code(place, time.text)


def _holds_date(place: _Place, date: Date) -> bool:
    one = place.stock
    for other in one.dates:
        if not date.agrees(other):
            continue
        # What the evidence's date leaves open must stand there as a number.
        open_parts = [mine for mine, its in ((date.year, other.year), (date.day, other.day)) if its is None]
        if all(part is None or float(part) in one.certain.units for part in open_parts):
            return True
    return False


def _holds_code(place: _Place, code: str) -> bool:
    return holds_code(place.stock.squeezed, code)
