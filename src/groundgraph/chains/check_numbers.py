"""Whether the numbers, dates, units and codes of a sentence stand in what it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundgraph.chains.check_support import windows
from groundgraph.chains.claims import CheckedAnswer, Claim, named_text, without_fences
from groundgraph.chains.quantities import Date, Number, Stock, quantities, squeezed, stock
from groundgraph.chains.sentence_index import sentences_of, stems_of
from groundgraph.core.turn_values import Flag

# A number counts as held where this share of the sentence's other words stands within a sentence of it.
LEAST_SHARED = 0.4


def check_numbers(answer: CheckedAnswer) -> list[Flag]:
    """A flag `number_unsupported` for every number, date or code of a sentence that its evidence does not hold.

    The question's own numbers do not count: "Is it 500 dollars?" must not support "It is 500 dollars". Numbers are
    compared by value ("1,500", "1 500" and "1.5 thousand" are one), with their unit where both sides name one, and
    an amount in another unit of the same dimension counts ("60 minutes" for "an hour").
    """
    return [
        claim.flag("number_unsupported", f"{missing} does not stand in the evidence")
        for claim in answer.claims
        for missing in dict.fromkeys(_missing(answer, claim))
    ]


def _missing(answer: CheckedAnswer, claim: Claim) -> Iterator[str]:
    text = without_fences(claim.text)
    found = quantities(text)
    if not (found.numbers or found.dates or found.codes or found.words):
        return
    about = frozenset(stem for stem in stems_of(text) if not stem.isdigit())
    places = [place for result in answer.rests_on(claim) for place in _places(named_text(result), about)]
    yield from (date.text for date in found.dates if not any(_holds_date(one, date) for one in places))
    yield from (code for code in found.codes if not any(_holds_code(one, code) for one in places))
    spelled = {word.text: word for word in found.words}
    numbers = [*found.numbers, *(word for text_of, word in spelled.items() if not _leads_to_a_list(text_of, text))]
    missing = {one for one in dict.fromkeys(numbers) if not any(_holds_number(place, one) for place in places)}
    yield from (number.text for number in numbers if number in missing)
    for low, high in dict.fromkeys(found.ranges):
        known = low not in missing and high not in missing
        if known and not any((a, b) in one.pairs for one in places for a in low.values for b in high.values):
            yield f"the range {low.text} to {high.text}"


def _leads_to_a_list(word: str, text: str) -> bool:
    """Whether a spelled number leads to a list, as in "Two points:"."""
    return re.search(rf"{re.escape(word)}\b[^.:]{{0,40}}:", text) is not None


def _places(text: str, about: frozenset[str]) -> list[Stock]:
    """What stands in the sentences of `text` near which the share `LEAST_SHARED` of `about` stands."""
    # Rounded down: of two or three words in a list or a table none need stand there.
    wanted = int(len(about) * LEAST_SHARED)
    return [
        stock(text[sentence.start : sentence.end])
        for sentence, window in zip(sentences_of(text), windows(text), strict=True)
        if len(about & window) >= wanted
    ]


def _holds_number(one: Stock, number: Number) -> bool:
    unit = number.unit
    if unit and any((unit[0], round(value * unit[1], 6)) in one.amounts for value in number.values):
        return True
    for value in number.values:
        units = one.units.get(value)
        if units and (unit is None or None in units or unit in units):
            return True
    # "5 million" where a table says 5 and its heading says millions.
    return number.plain != number.values and any(
        value in one.units
        and any(
            word.startswith(("million", "billion", "thousand", "млн", "млрд", "тыс", "милли")) for word in one.words
        )
        for value in number.plain
    )


def _holds_date(one: Stock, date: Date) -> bool:
    for other in one.dates:
        if not date.agrees(other):
            continue
        # What the evidence's date leaves open must stand there as a number.
        open_parts = [mine for mine, its in ((date.year, other.year), (date.day, other.day)) if its is None]
        if all(part is None or float(part) in one.units for part in open_parts):
            return True
    return False


def _holds_code(one: Stock, code: str) -> bool:
    wanted = squeezed(code)
    start, end = r"(?<!\d)" if wanted[:1].isdigit() else "", r"(?!\d)" if wanted[-1:].isdigit() else ""
    return wanted in one.squeezed and re.search(f"{start}{re.escape(wanted)}{end}", one.squeezed) is not None
