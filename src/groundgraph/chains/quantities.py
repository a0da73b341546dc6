"""The numbers, dates and codes of a text, in a form in which two texts can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from groundgraph.chains.number_words import month_of, number_of, scale_of, unit_of
from groundgraph.core.text import fold

_SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"−": "-", "٪": "%", "％": "%"})
_NUMBERING = re.compile(
    r"^[ \t>]*(?:[-*+•#]+[ \t]*)*(?:\**\d{1,3}[.):](?=\s|\*)|(?:step|option|шаг|вариант)\s+\d{1,2}\b)",
    re.MULTILINE | re.IGNORECASE,
)
_WORD = r"[^\W\d_]+"
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?P<m>0?[1-9]|1[0-2])"
_YEAR = r"(?P<y>[12]\d{3})(?!\d)"
_DATES = (
    re.compile(rf"(?<!\d)(?P<y>[12]\d{{3}})[-/.]{_MONTH}[-/.]{_DAY}(?!\d)"),
    re.compile(rf"(?<![\d.]){_DAY}\.{_MONTH}\.{_YEAR}"),
    re.compile(rf"(?<!\d){_DAY}(?:st|nd|rd|th|-?го|-?е)?\s+(?:of\s+)?(?P<word>{_WORD})\.?(?:,?\s+{_YEAR})?"),
    re.compile(rf"\b(?P<word>{_WORD})\.?\s+{_DAY}(?:st|nd|rd|th)?(?!\d|[.,]\d)(?:,?\s+{_YEAR})?"),
    re.compile(rf"\b(?P<word>{_WORD})\.?,?\s+{_YEAR}"),
)
_NUMBER = re.compile(
    r"(?P<mark>[$€£₽¥])?\s?(?<![\w.,])(?P<number>\d{1,3}(?:[ '’,.]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)?)"
    r"(?P<ordinal>(?:st|nd|rd|th)\b|-?(?:й|я|е|го|му|м|ых|х)\b)?"
    rf"(?:[ -]?(?P<scale>{_WORD})\b\.?)?(?:[ -]?(?P<unit>%|[$€£₽¥]|{_WORD}\b))?"
)
# A word that mixes letters and digits, a version, an address, a time of day. It has a digit among its first characters:
# to look for one to the end of a long run, from each place in it, would take seconds.
_CODE = re.compile(
    r"(?<![\w])(?=[\w./:_()-]{0,100}\d)(?:[^\W\d_]+[-_/]?\d[\w]*(?:[-_./]\w+)*|\d+[^\W\d_]+\w*(?:[-_]\w+)*|\d+(?:[.:]\d+){2,}"
    r"|\d{1,2}:\d{1,2}|\(?\d{3}\)?[ -]?\d{3}-\d{4})(?![\w])"
)
_SQUEEZED = re.compile(r"[\s_./:\-‐-–]+")
_DIGITS = re.compile(r"\d+")
_JOINS = re.compile(r"\s?%?\s?(?:[-–—]|to|до)\s?[$€£₽¥]?", re.IGNORECASE)
_WORDS = re.compile(rf"{_WORD}")
_GAP = re.compile(r"[ \u00a0-]| and ")


@dataclass(frozen=True)
class Number:
    """One number of a text.

    Attributes:
        text: as it is written, with its unit.
        values: what it may mean: "1,500" is 1500 or 1.5.
        plain: the same without the scale: 5 for "5 million".
        unit: the dimension of its unit and the unit's size; None without one that is known.
    """

    text: str
    values: frozenset[float]
    plain: frozenset[float]
    unit: tuple[str, float] | None = None


@dataclass(frozen=True)
class Date:
    """A day, or a month of a year; `year` or `day` may be unknown."""

    text: str
    year: int | None
    month: int
    day: int | None

    def agrees(self, other: Date) -> bool:
        """Whether nothing that both know differs."""
        mine, its = (self.year, self.month, self.day), (other.year, other.month, other.day)
        return all(a is None or b is None or a == b for a, b in zip(mine, its, strict=True))


@dataclass(frozen=True)
class Quantities:
    """What of a text can be counted or looked up."""

    numbers: tuple[Number, ...] = ()
    dates: tuple[Date, ...] = ()
    codes: tuple[str, ...] = ()
    words: tuple[Number, ...] = ()
    ranges: tuple[tuple[Number, Number], ...] = ()


@lru_cache(maxsize=4096)
def quantities(text: str) -> Quantities:
    """The quantities of `text`. The numbers of a list's items and of steps are not among them."""
    rest = _NUMBERING.sub(_blank, text.translate(_SPACES))
    rest, dates = _take_dates(rest)
    rest, codes = _take_codes(rest)
    numbers = tuple(_number(found) for found in _NUMBER.finditer(rest))
    return Quantities(numbers, dates, codes, _number_words(rest), _ranges(rest))


def _ranges(text: str) -> tuple[tuple[Number, Number], ...]:
    """Numbers that a dash or "to" joins, as in "2-3 %"."""
    found = list(_NUMBER.finditer(text))
    return tuple(
        (_number(low), _number(high))
        for low, high in pairwise(found)
        if _JOINS.fullmatch(text[low.end("number") : high.start("number")])
    )


def _blank(found: re.Match[str]) -> str:
    return " " * (found.end() - found.start() - 1) + "\n" if found.group().endswith("\n") else " " * len(found.group())


def _take_dates(text: str) -> tuple[str, tuple[Date, ...]]:
    dates: list[Date] = []

    def take(found: re.Match[str]) -> str:
        parts = found.groupdict()
        month = month_of(parts["word"]) if parts.get("word") else int(parts["m"])
        if month is None:
            return found.group()
        year, day = parts.get("y"), parts.get("d")
        dates.append(Date(found.group().strip(), int(year) if year else None, month, int(day) if day else None))
        return " ; "

    for pattern in _DATES:
        text = pattern.sub(take, text)
    return text, tuple(dates)


def _take_codes(text: str) -> tuple[str, tuple[str, ...]]:
    codes: list[str] = []

    def take(found: re.Match[str]) -> str:
        code = found.group()
        whole = _NUMBER.fullmatch(code)
        glued = whole and (
            whole["ordinal"] or unit_of(whole["unit"] or whole["scale"] or "") or scale_of(whole["scale"] or "")
        )
        if glued:
            return code
        codes.append(code)
        return " ; "

    return _CODE.sub(take, text), tuple(codes)


def _number(found: re.Match[str]) -> Number:
    plain = readings(found["number"])
    scale = scale_of(found["scale"]) if found["scale"] else None
    named = found["mark"] or (found["unit"] if scale or not found["scale"] else found["scale"])
    unit = unit_of(named) if named and not found["ordinal"] else None
    values = frozenset(value * scale for value in plain) if scale else plain
    end = found.end("scale") if scale or (unit and named == found["scale"]) else found.end("number")
    end = max(end, found.end("unit")) if unit and named == found["unit"] else end
    return Number(found.string[found.start() : end].strip(), values, plain, unit)


@lru_cache(maxsize=8192)
def readings(number: str) -> frozenset[float]:
    """What a number in digits may mean, whose points and commas divide thousands or decimals."""
    parts = re.split(r"([ '’,.])", number)
    marks = parts[1::2]
    found: set[float] = set()
    if not marks:
        return frozenset([float(number)])
    if all(len(group) == 3 for group in parts[2::2]) and len(set(marks)) == 1 and parts[0] != "0":
        found.add(float("".join(parts[0::2])))
    if marks[-1] in ",." and (len(marks) == 1 or marks[-1] not in marks[:-1]):
        found.add(float("".join(parts[0:-1:2]) + "." + parts[-1]))
    return frozenset(found or {float("".join(parts[0::2]))})


def _number_words(text: str) -> tuple[Number, ...]:
    spelled: list[Number] = []
    found = list(_WORDS.finditer(text))
    at = 0
    while at < len(found):
        value, end = _spelled(found, at)
        if value is not None:
            after = found[end] if end < len(found) else None
            unit = unit_of(after.group()) if after else None
            last = after if unit and after else found[end - 1]
            values = frozenset([value])
            spelled.append(Number(text[found[at].start() : last.end()], values, values, unit))
        at = end
    return tuple(spelled)


def _spelled(found: Sequence[re.Match[str]], at: int) -> tuple[float | None, int]:
    """The number that the words from `at` on spell, as "one thousand five hundred", and the place behind the last.

    A scale alone, as in "thousands of users", is none: it is read beside a number in digits.
    """
    total = current = 0.0
    counted, end = False, at
    for place in range(at, len(found)):
        if place > at and not _GAP.fullmatch(found[place].string, found[place - 1].end(), found[place].start()):
            break
        word = found[place].group()
        value, scale = number_of(word), scale_of(word)
        if value is not None and _goes_on(current, value):
            current = current * value if value == 100 and current else current + value
            counted = True
        elif scale and (current or place == at):
            total, current = total + max(1.0, current) * scale, 0.0
        elif place > at or fold(word) not in ("one", "a"):
            break
        end = place + 1
    return (total + current, end) if counted else (None, max(end, at + 1))


def _goes_on(current: float, value: float) -> bool:
    """Whether `value` may follow what was spelled: "twenty five" is one number, "two three" are two."""
    if value < 10:
        return current % 10 == 0 and current % 100 != 10
    return current % 100 == 0 if value < 100 else current == 0 or (value == 100 and current < 10)


@dataclass(frozen=True)
class Stock:
    """The quantities of a piece of evidence, ready to be looked up.

    Attributes:
        units: per value the units that it was found with; None among them stands for no known unit.
        amounts: dimension and amount in the dimension's smallest unit.
        dates: of the text.
        pairs: values of numbers that follow each other.
        squeezed: the text without spaces and hyphens, folded, in which codes are looked for.
        words: the folded words of the text.
    """

    units: dict[float, frozenset[tuple[str, float] | None]]
    amounts: frozenset[tuple[str, float]]
    dates: tuple[Date, ...]
    pairs: frozenset[tuple[float, float]]
    squeezed: str
    words: frozenset[str]


@lru_cache(maxsize=4096)
def stock(text: str) -> Stock:
    """What `text` offers to whoever looks for a number."""
    found = quantities(text)
    units: dict[float, set[tuple[str, float] | None]] = {}
    amounts: set[tuple[str, float]] = set()
    for number in (*found.numbers, *found.words, *_loose(text)):
        for value in number.values | number.plain:
            units.setdefault(value, set()).add(number.unit)
        if number.unit:
            amounts |= {(number.unit[0], round(value * number.unit[1], 6)) for value in number.values}
    in_codes = [float(digits) for code in found.codes for digits in _DIGITS.findall(code) if len(digits) < 16]
    in_dates = [float(number) for date in found.dates for number in (date.year, date.day) if number is not None]
    for value in (*in_codes, *in_dates):
        units.setdefault(value, set()).add(None)
    words = frozenset(fold(word) for word in _WORDS.findall(text))
    return Stock(
        {value: frozenset(of) for value, of in units.items()},
        frozenset(amounts),
        found.dates,
        frozenset((a, b) for low, high in pairwise(found.numbers) for a in low.values for b in high.values),
        squeezed(text),
        words,
    )


def _loose(text: str) -> list[Number]:
    """ "first", and "an hour" as one."""
    found: list[Number] = []
    for word, after in pairwise([*_WORDS.finditer(text), None]):
        assert word is not None
        value = number_of(word.group(), loose=True)
        unit = unit_of(after.group()) if after else None
        if (
            value is None
            and unit
            and fold(word.group()) in ("a", "an", "per", "each", "every", "каждый", "каждую", "в")
        ):
            value = 1.0
        if value is not None:
            values = frozenset([float(value)])
            found.append(Number(word.group(), values, values, unit))
    return found


def squeezed(text: str) -> str:
    """`text` in the form in which codes are compared."""
    return _SQUEEZED.sub("", fold(text))
