"""Whether the numbers, dates, units and codes of a sentence stand in what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundgraph.chains.check_support import windows
from groundgraph.chains.claims import CheckedAnswer, Claim, named_text, without_fences
from groundgraph.chains.quantities import Date, quantities, squeezed
from groundgraph.chains.sentence_index import sentences_of, stems_of
from groundgraph.chains.stock import Stock, says_share, stock
from groundgraph.chains.times_of_day import Time
from groundgraph.chains.written_numbers import Number, Unit, decimal_mark
from groundgraph.core.turn_values import Flag

# A number counts as held where this share of the sentence's other words stands within a sentence of it.
LEAST_SHARED = 0.4


def check_numbers(answer: CheckedAnswer) -> list[Flag]:
    """A flag `number_unsupported` for every number, date or code of a sentence that its evidence does not hold.

    The question's own numbers do not count: "Is it 500 dollars?" must not support "It is 500 dollars". Numbers are
    compared by value ("1,500", "1 500" and "1.5 thousand" are one), with their unit where both sides name one, and
    an amount in another unit of the same dimension counts ("60 minutes" for "an hour"). Sign and percent belong to a
    number. Where marks can be read in two ways, as in "1.234", the two texts must be written alike.
    """
    decimal = decimal_mark(answer.written)
    return [
        claim.flag("number_unsupported", f"{missing} does not stand in the evidence")
        for claim in answer.claims
        for missing in dict.fromkeys(_missing(answer, claim, decimal))
    ]


def _missing(answer: CheckedAnswer, claim: Claim, decimal: str | None) -> Iterator[str]:
    text = without_fences(claim.text)
    found = quantities(text, decimal)
    if not (found.numbers or found.dates or found.codes or found.words or found.times):
        return
    about = frozenset(stem for stem in stems_of(text) if not stem.isdigit())
    places = [place for result in answer.rests_on(claim) for place in _places(named_text(result), about)]
    yield from (date.text for date in found.dates if not any(_holds_date(one.stock, date) for one in places))
    yield from (code for code in found.codes if not any(_holds_code(one.stock, code) for one in places))
    yield from (time.text for time in found.times if not any(_holds_time(one.stock, time) for one in places))
    spelled = {word.text: word for word in found.words}
    numbers = [*found.numbers, *(word for text_of, word in spelled.items() if not _leads_to_a_list(text_of, text))]
    shares = says_share(answer.written)
    missing = {
        one for one in dict.fromkeys(numbers) if not any(_holds_number(place, one, shares=shares) for place in places)
    }
    yield from (number.text for number in numbers if number in missing)
    for low, high in dict.fromkeys(found.ranges):
        known = low not in missing and high not in missing
        if known and not any((a, b) in one.stock.pairs for one in places for a in low.values for b in high.values):
            yield f"the range {low.text} to {high.text}"


def _leads_to_a_list(word: str, text: str) -> bool:
    """Whether a spelled number leads to a list, as in "Two points:"."""
    return re.search(rf"{re.escape(word)}\b[^.:]{{0,40}}:", text) is not None


@dataclass(frozen=True)
class _Place:
    """What a sentence of the evidence offers; `shares` says whether its text speaks of shares apart from numbers."""

    stock: Stock
    shares: bool


def _places(text: str, about: frozenset[str]) -> list[_Place]:
    """What stands in the sentences of `text` near which the share `LEAST_SHARED` of `about` stands."""
    # Rounded down: of two or three words in a list or a table none need stand there.
    wanted = int(len(about) * LEAST_SHARED)
    decimal, shares = decimal_mark(text), says_share(text)
    return [
        _Place(stock(text[sentence.start : sentence.end], decimal), shares)
        for sentence, window in zip(sentences_of(text), windows(text), strict=True)
        if len(about & window) >= wanted
    ]


def _holds_number(place: _Place, number: Number, *, shares: bool) -> bool:
    """Whether the place holds one of what `number` may be; `shares` says whether the answer speaks of shares apart."""
    return any(_holds_way(place, way, shares=shares) for way in number.ways())


def _holds_way(place: _Place, number: Number, *, shares: bool) -> bool:
    one, unit = place.stock, number.unit
    if number.clock is not None and number.clock in one.times:
        return True
    looked_up = [(one.certain, number.certain)]
    if number.is_open:
        looked_up.append((one.undecided if number.certain else one.doubtful, number.values))
    for offers, values in looked_up:
        if unit and any((unit[0], round(value * unit[1], 6)) in offers.amounts for value in values):
            return True
        if any(_agrees(unit, offers.units.get(value, frozenset()), place.shares, shares) for value in values):
            return True
    # "5 million" where a table says 5 and its heading says millions.
    return number.scale in one.scales and any(value in one.certain.units for value in number.plain)


def _agrees(unit: Unit | None, units: frozenset[Unit | None], evidence_shares: bool, answer_shares: bool) -> bool:
    """Whether a number with `unit` is one that was found with `units`: without a unit it is, but a share is a share."""
    if unit is None:
        return any(one is None or one[0] != "share" for one in units) or (answer_shares and bool(units))
    return unit in units or (None in units and (unit[0] != "share" or evidence_shares))


def _holds_time(one: Stock, time: Time) -> bool:
    return bool(time.minutes & (one.times | one.clock)) or _holds_code(one, time.text)


def _holds_date(one: Stock, date: Date) -> bool:
    for other in one.dates:
        if not date.agrees(other):
            continue
        # What the evidence's date leaves open must stand there as a number.
        open_parts = [mine for mine, its in ((date.year, other.year), (date.day, other.day)) if its is None]
        if all(part is None or float(part) in one.certain.units for part in open_parts):
            return True
    return False


def _holds_code(one: Stock, code: str) -> bool:
    wanted = squeezed(code)
    start, end = r"(?<!\d)" if wanted[:1].isdigit() else "", r"(?!\d)" if wanted[-1:].isdigit() else ""
    return wanted in one.squeezed and re.search(f"{start}{re.escape(wanted)}{end}", one.squeezed) is not None
