"""The numbers, dates, times and codes of a text, in a form in which two texts can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import (
    PLAIN,
    WORD,
    Number,
    Unit,
    letter_scale,
    month_of,
    number_of,
    number_pattern,
    numbers_in,
    ranges_in,
    scale_of,
    spoken,
    unit_of,
)
from groundgraph.text.words import fold, language_data, words

# Times of the day in a text: "16:00", "4 pm", "4 o'clock", "в 4 часа дня".

_NOON = 12 * 60
_MINUTES_OF_A_DAY = 24 * 60


@dataclass(frozen=True)
class Time:
    """A time of the day; `minutes` are those since midnight that it may mean: "4:00" is one in the night too."""

    text: str
    minutes: frozenset[int]


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    halves = [word for half in ("am", "pm", "open") for word in language_words("clock", half)]
    words = "|".join(re.escape(word).replace(r"\\ ", r"\\s") for word in sorted(halves, key=len, reverse=True))
    hour, minute = r"(?<![\d:.,])(?P<hour>\d{1,2})", r"(?::|h)(?P<minute>[0-5]\d)(?![\d:]|[.,]\d)"
    return re.compile(rf"{hour}(?:{minute})?(?:\s?(?P<half>{words})(?!\w))?", re.IGNORECASE)


@lru_cache(maxsize=1)
def _joined() -> re.Pattern[str]:
    return re.compile(rf"(?<![\d:.,])(\d{{1,2}})(?=\s?(?:[-–—]|{spoken('numbers', 'joins')})\s?\Z)", re.IGNORECASE)


def take_times(text: str) -> tuple[str, tuple[Time, ...]]:
    """`text` without its times of the day, and these."""
    if not any(map(str.isdigit, text)):
        return text, ()
    times: list[Time] = []
    pieces: list[str] = []
    at = 0
    for found in _pattern().finditer(text):
        half = (found["half"] or "").lower()
        if not (found["minute"] or half) or int(found["hour"]) > 24:
            continue
        before = text[at : found.start()]
        # "from 4 to 6 pm": the first is a time as well.
        first = _joined().search(before, max(0, len(before) - 8)) if half else None
        if first:
            times.append(Time(first.group(), _minutes(first[1], None, half)))
            before = before[: first.start()] + " ; " + before[first.end() :]
        times.append(Time(found.group().strip(), _minutes(found["hour"], found["minute"], half)))
        pieces += [before, " ; "]
        at = found.end()
    return "".join([*pieces, text[at:]]), tuple(times)


def _minutes(hour: str, minute: str | None, half: str) -> frozenset[int]:
    hours, rest = int(hour), int(minute or 0)
    if half in language_words("clock", "am") or half in language_words("clock", "pm"):
        behind_noon = half in language_words("clock", "pm")
        return frozenset([(hours % 12 * 60 + rest + (_NOON if behind_noon else 0)) % _MINUTES_OF_A_DAY])
    exact = (hours * 60 + rest) % _MINUTES_OF_A_DAY
    # With a zero before it, it is one of 24 hours.
    either = 0 < hours <= 12 and not hour.startswith("0")
    return frozenset([exact, (exact + _NOON) % _MINUTES_OF_A_DAY]) if either else frozenset([exact])


def times_named(text: str) -> frozenset[int]:
    """The minutes of the day that words of `text` name, as "noon" does."""
    lowered = text.lower()
    named = language_words("clock", "named")
    return frozenset(minute for word, minute in named.items() if word in lowered)


@cache
def _numbering() -> re.Pattern[str]:
    # The marks before a number are one run of one class: a run in a run would be tried in 2^n ways.
    item = rf"(?:\d{{1,3}}[.):](?=\s|\*)|(?:{spoken('numbers', 'items')})\s+\d{{1,2}}\b)"
    return re.compile(rf"^[ \t>]*+(?:[-*+•#][-*+•# \t]*+)?{item}", re.MULTILINE | re.IGNORECASE)


_JOINING = re.compile(r"(?<=\w)−(?=\w)")
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?P<m>0?[1-9]|1[0-2])"
_YEAR = r"(?P<y>[12]\d{3})(?!\d)"


@cache
def _dates() -> tuple[re.Pattern[str], ...]:
    ordinal, of = rf"(?:-?(?:{spoken('numbers', 'ordinals')})\b)?", spoken("dates", "of")
    return (
        re.compile(rf"(?<!\d)(?P<y>[12]\d{{3}})[-/.]{_MONTH}[-/.]{_DAY}(?:T(?=\d\d:)|(?!\d))"),
        re.compile(rf"(?<![\d.]){_DAY}\.{_MONTH}\.{_YEAR}"),
        re.compile(r"(?<![\d/.-])(?P<a>\d{1,2})(?P<mark>[/-])(?P<b>\d{1,2})(?P=mark)(?P<y>[12]\d{3}|\d\d)(?![\d/-])"),
        # With a zero before the month: 1/3 is a number.
        re.compile(r"(?<![\d/.,-])(?P<a>[0-3]\d)(?P<mark>/)(?P<b>0[1-9])(?![\d/-]|[.,]\d)"),
        re.compile(rf"(?<!\d){_DAY}(?:\.|{ordinal})\s+(?:(?:{of})\s+)?(?P<word>{WORD})\.?(?:,?\s+{_YEAR})?"),
        re.compile(rf"\b(?P<word>{WORD})\.?\s+{_DAY}{ordinal}(?!\d|[.,]\d)(?:,?\s+{_YEAR})?"),
        re.compile(rf"\b(?P<word>{WORD})\.?,?\s+{_YEAR}"),
    )


# Two digits of a year before this are of this century.
_CENTURY = 70
# A word that mixes letters and digits, a version, an address, a number of a telephone. It has a digit among its first
# characters: to look for one to the end of a long run, from each place in it, would take seconds.
_CODE = re.compile(
    r"(?<![\w×·*])(?<!\d[.,])(?<![×·*] )(?=[\w./:_()-]{0,100}\d)(?:[^\W\d_]+[-_/]?\d[\w]*(?:[-_./]\w+)*"
    r"|\d+[^\W\d_]+\w*(?:[-_]\w+)*|\d+(?:[.:]\d+){2,}|\d{1,2}:\d{1,2}|\(?\d{3}\)?[ -]?\d{3}-\d{4}"
    r"|(?<=\+)(?:\d{1,3}(?: \d{2,4}){1,4} \d{4,12}|\d{11,15}))(?![\w])"
)
# What looks like a code and is a number: 1.234.567, 1e3.
_NUMERIC = re.compile(r"\d{1,3}(?:\.\d{3}){2,}|\d+[eE]\d{1,2}")
# Where a code is parted or joined. Behind a digit the first character stays, for what follows may be a digit too.
_SQUEEZED = re.compile(r"(?<!\d)[\s_./:\-‐-–−]+|[\s_./:\-‐-–−]++(?!\d)")
_JOINTS = dict.fromkeys(map(ord, "_./:-‐‑‒–−"))
_LETTER_OF_VERSION = re.compile(r"\Av(?=\d+\.\d)")
_WORDS = re.compile(WORD)


@dataclass(frozen=True)
class Date:
    """A day, or a month of a year; `year` or `day` may be unknown. `swapped` is what 03/01/2024 may be as well."""

    text: str
    year: int | None
    month: int
    day: int | None
    swapped: Date | None = None

    def agrees(self, other: Date) -> bool:
        """Whether nothing that both know differs; of two that are written as 03/01/2024, in the same order."""
        if self.swapped and other.swapped:
            return _agree(self, other)
        return any(_agree(one, its) for one in self.ways() for its in other.ways())

    def ways(self) -> tuple[Date, ...]:
        """It and what else it may be."""
        return (self, self.swapped) if self.swapped else (self,)


def _agree(one: Date, other: Date) -> bool:
    mine, its = (one.year, one.month, one.day), (other.year, other.month, other.day)
    return all(a is None or b is None or a == b for a, b in zip(mine, its, strict=True))


@dataclass(frozen=True)
class Quantities:
    """What of a text can be counted or looked up."""

    numbers: tuple[Number, ...] = ()
    dates: tuple[Date, ...] = ()
    codes: tuple[str, ...] = ()
    words: tuple[Number, ...] = ()
    ranges: tuple[tuple[Number, Number], ...] = ()
    times: tuple[Time, ...] = ()


@lru_cache(maxsize=4096)
def quantities(text: str, decimal: str | None = None) -> Quantities:
    """The quantities of `text`. The numbers of a list's items and of steps are not among them.

    Args:
        text: the text.
        decimal: the mark before decimals, when more of the text tells it; see `decimal_mark`.
    """
    rest = _numbering().sub(_blank, _JOINING.sub("-", text.translate(PLAIN)))
    rest, dates = take_dates(rest, as_written=True)
    rest, times = take_times(rest)
    rest, codes = _take_codes(rest)
    numbers, ranges = numbers_in(rest, decimal), ranges_in(rest, decimal)
    return Quantities(numbers, dates, codes, _number_words(rest), ranges, times)


def _blank(found: re.Match[str]) -> str:
    return " " * (found.end() - found.start() - 1) + "\n" if found.group().endswith("\n") else " " * len(found.group())


def take_dates(text: str, *, as_written: bool = False) -> tuple[str, tuple[Date, ...]]:
    """`text` with a mark in the place of each date, and the dates, kind by kind.

    Args:
        text: the text.
        as_written: whether months that are verbs too have their capital, so that "5 may" is none.
    """
    dates: list[Date] = []

    def take(found: re.Match[str]) -> str:
        date = _slashed(found) if found.groupdict().get("mark") else _date(found)
        word = found.groupdict().get("word")
        if as_written and date and not date.year and word in language_words("number_words", "verbs"):
            return found.group()
        if date is None:
            return found.group()
        dates.append(date)
        return " ; "

    for pattern in _dates():
        text = pattern.sub(take, text)
    return text, tuple(dates)


# What names more days is pasted, as a log is.
_MOST_DAYS = 3


def with_days_otherwise(question: str, language: str) -> list[str]:
    """`question` with its days as tables write them, "2012-07-04", and as texts in its `language` do, "4 July 2012":
    each way that has other words than it, none for more than `_MOST_DAYS`. What may be two days, as 04/07/2012 may,
    stays as it is."""
    _, dates = take_dates(question, as_written=True)
    days = [date for date in dates if date.year and date.day and not date.swapped]
    if len(days) > _MOST_DAYS:
        return []
    names = language_data(language, "computing", "months")
    in_tables = in_texts = question
    for day in days:
        in_tables = in_tables.replace(day.text, f"{day.year}-{day.month:02}-{day.day:02}")
        # A language may be without names for them.
        in_texts = in_texts.replace(day.text, f"{day.day} {names[day.month - 1]} {day.year}") if names else in_texts
    asked = frozenset(words(question))
    return [told for told in (in_tables, in_texts) if frozenset(words(told)) != asked]


def _date(found: re.Match[str]) -> Date | None:
    parts = found.groupdict()
    month = month_of(parts["word"]) if parts.get("word") else int(parts["m"])
    year, day = parts.get("y"), parts.get("d")
    text = found.group().strip()
    return (month and Date(text, int(year) if year else None, month, int(day) if day else None)) or None


def _full_year(digits: str | None) -> int | None:
    if not digits:
        return None
    year = int(digits)
    return year if year >= 100 else year + (2000 if year < _CENTURY else 1900)


def _slashed(found: re.Match[str]) -> Date | None:
    a, b, year = int(found["a"]), int(found["b"]), _full_year(found.groupdict().get("y"))
    text = found.group()
    ways = [Date(text, year, month, day) for day, month in ((a, b), (b, a)) if 1 <= month <= 12 and 1 <= day <= 31]
    if not ways:
        return None
    return Date(text, year, ways[0].month, ways[0].day, ways[1] if a != b and len(ways) > 1 else None)


def _take_codes(text: str) -> tuple[str, tuple[str, ...]]:
    codes: list[str] = []

    def take(found: re.Match[str]) -> str:
        code = found.group()
        if _NUMERIC.fullmatch(code) or _is_number_with_unit(code):
            return code
        codes.append(code)
        return " ; "

    return _CODE.sub(take, text), tuple(codes)


def _is_number_with_unit(code: str) -> bool:
    whole = number_pattern().fullmatch(code)
    if not whole:
        return False
    scale, unit = whole["scale"] or "", whole["unit"] or whole["scale"] or ""
    return bool(whole["ordinal"] or unit_of(unit) or scale_of(scale) or letter_scale(scale, money=False))


def _number_words(text: str) -> tuple[Number, ...]:
    spelled: list[Number] = []
    found = list(_WORDS.finditer(text))
    at = 0
    while at < len(found):
        value, end = _spelled(found, at)
        if value is not None:
            unit, last = unit_at(found, end)
            values = frozenset([value])
            number = Number(text[found[at].start() : found[last].end()], values, values, unit)
            below = at > 0 and found[at - 1].group().lower() in language_words("numbers", "negative")
            spelled.append(number.negated() if below else number)
        at = end
    return tuple(spelled)


def unit_at(found: Sequence[re.Match[str]], at: int) -> tuple[Unit | None, int]:
    """The unit that the words from `at` on name, "per cent" in two, and its last word; without one, the word before."""
    for count in (1, 2):
        unit = unit_of(" ".join(word.group() for word in found[at : at + count])) if at + count <= len(found) else None
        if unit:
            return unit, at + count - 1
    return None, at - 1


def _spelled(found: Sequence[re.Match[str]], at: int) -> tuple[float | None, int]:
    """The number that the words from `at` on spell, as "one thousand five hundred", and the place behind the last.

    A scale alone, as in "thousands of users", is none: it is read beside a number in digits.
    """
    total = current = 0.0
    counted, end = False, at
    for place, word in enumerate(_adjacent(found, at), at):
        value, scale = number_of(word), scale_of(word)
        longer = None if value is None else _continued(current, value)
        if longer is not None:
            current, counted = longer, True
        elif scale and (current or place == at):
            total, current = total + max(1.0, current) * scale, 0.0
        elif place > at or fold(word) not in ("one", "a"):
            break
        end = place + 1
    return (total + current, end) if counted else (None, max(end, at + 1))


@cache
def _gap() -> re.Pattern[str]:
    return re.compile(rf"[ \u00a0-]| (?:{spoken('numbers', 'and')}) ")


def _adjacent(found: Sequence[re.Match[str]], at: int) -> Iterator[str]:
    """The words from `at` on that nothing parts but a blank, a hyphen or "and"."""
    for place in range(at, len(found)):
        if place > at and not _gap().fullmatch(found[place].string, found[place - 1].end(), found[place].start()):
            return
        yield found[place].group()


def _continued(current: float, value: float) -> float | None:
    """What was spelled with `value` behind it: "twenty five" is one number; None for "two three", which are two."""
    if value < 10:
        goes_on = current % 10 == 0 and current % 100 != 10
    else:
        goes_on = current % 100 == 0 if value < 100 else current == 0 or (value == 100 and current < 10)
    if not goes_on:
        return None
    return current * value if value == 100 and current else current + value


def squeezed(text: str) -> str:
    """`text` in the form in which codes are compared, with a blank only where it parts two digits."""
    return _SQUEEZED.sub("", fold(text)).translate(_JOINTS)


def holds_code(text: str, code: str) -> bool:
    """Whether a `squeezed` text holds `code`, and not just a longer number that begins or ends with it."""
    return _as_squeezed(code).search(text) is not None


@lru_cache(maxsize=4096)
def _as_squeezed(code: str) -> re.Pattern[str]:
    wanted = "".join(squeezed(_LETTER_OF_VERSION.sub("", fold(code))).split())
    start, end = r"(?<!\d)" if wanted[:1].isdigit() else "", r"(?!\d)" if wanted[-1:].isdigit() else ""
    return re.compile(start + r"\s?".join(map(re.escape, wanted)) + end)
