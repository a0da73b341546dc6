"""The days and periods that a text names, and the day that a model's value for one of them means.

A text seldom names a year. Nothing that a model is shown tells it the date, so that a turn which is resumed sends the
same bytes; what year, and what day "yesterday" is, is worked out here from the day on which the turn began.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from groundgraph.text.numbers import month_of, number_of
from groundgraph.text.quantities import quantities
from groundgraph.text.words import LANGUAGES, language_data, words

_YEAR_MONTH = re.compile(r"(?<![\d-])([12]\d{3})-(0[1-9]|1[0-2])(?![-\d])")
_YEAR = re.compile(r"(?<![\d.,-])((?:19|20)\d\d)(?![\d-]|[.,]\d)")
_ONE_DAY = timedelta(days=1)
_MAX_BACK = 10_000
# Different ones in one text: a pasted log names thousands, and every value of a model is held against each.
MAX_PERIODS = 64


@dataclass(frozen=True)
class Period:
    """A day or several; `year_said` is False when its year was worked out from the day of the turn."""

    first: date
    last: date
    year_said: bool = True

    def in_year(self, year: int) -> Period:
        """The same days of another year."""
        shift = year - self.first.year
        return Period(_in_year(self.first, year), _in_year(self.last, self.last.year + shift), self.year_said)

    def bounds(self) -> tuple[date, date, date, date]:
        """The days that a condition on the period may name: the first, the last, and their neighbours outside."""
        # No day is before the first one that there is, and none is behind the last one.
        before = self.first - _ONE_DAY if self.first > date.min else self.first
        behind = self.last + _ONE_DAY if self.last < date.max else self.last
        return self.first, self.last, before, behind


def _in_year(day: date, year: int) -> date:
    last = calendar.monthrange(year, day.month)[1]
    # The end of February stays the end of February.
    ends = day.day == calendar.monthrange(day.year, day.month)[1]
    return date(year, day.month, last if ends or day.day > last else day.day)


@lru_cache(maxsize=256)
def periods(text: str, today: date) -> tuple[Period, ...]:
    """The first `MAX_PERIODS` periods that `text` names, each once; dates stand before months, years and `last week`.

    What it leaves open is that of `today`'s year.
    """
    found = [_quarter_of(match, today) for match in _quarters()[0].finditer(text)]
    rest = _quarters()[0].sub(" ; ", text)
    for given in quantities(rest).dates:
        rest = rest.replace(given.text, " ; ", 1)
        found += [made for way in given.ways() for made in _made(way.year, way.month, way.day, today)]
    for match in _YEAR_MONTH.finditer(rest):
        found += _made(int(match[1]), int(match[2]), None, today)
    rest = _YEAR_MONTH.sub(" ; ", rest)
    found += [Period(date(int(year), 1, 1), date(int(year), 12, 31)) for year in _YEAR.findall(rest)]
    for word in words(rest):
        month = month_of(word)
        found += _made(None, month, None, today) if month else []
    return tuple(dict.fromkeys((*found, *_relative(words(rest), today))))[:MAX_PERIODS]


@cache
def _quarters() -> tuple[re.Pattern[str], dict[str, int]]:
    """What finds "Q1 2026", "the first quarter of 2026" and "2026 Q1", and the quarters by their folded names."""
    data = chain.from_iterable(language_data(one, "dates").get("quarters", {}).items() for one in LANGUAGES)
    names = {_folded(name): quarter for quarter, forms in data for name in forms}
    called = "|".join(sorted((r"\.?\s+".join(map(re.escape, name.split())) for name in names), key=len, reverse=True))
    of = "|".join(chain.from_iterable(language_data(one, "dates").get("of", ()) for one in LANGUAGES))
    year = r"((?:19|20)\d\d)"
    pattern = rf"(?<![\w.-])(?:{year}[ /-]?)?({called})(?:(?:[ /-]|\s(?:(?:{of})\s)?){year})?(?!\w)"
    return re.compile(pattern, re.IGNORECASE), names


def _quarter_of(match: re.Match[str], today: date) -> Period:
    year = match[1] or match[3]
    last = 3 * _quarters()[1][_folded(match[2])]
    own = int(year) if year else today.year
    days = calendar.monthrange(own, last)[1]
    return Period(date(own, last - 2, 1), date(own, last, days), year_said=bool(year))


def _made(year: int | None, month: int, day: int | None, today: date) -> Iterator[Period]:
    own = year or today.year
    last = calendar.monthrange(own, month)[1]
    if day is None or day <= last:
        yield Period(date(own, month, day or 1), date(own, month, day or last), year_said=year is not None)


@cache
def _relative_words() -> dict[str, dict[str, Any]]:
    """The words of all languages by what they are: `days`, `units`, `last`, `this`, `ago`."""
    tables: dict[str, dict[str, Any]] = {"days": {}, "units": {}, "last": {}, "this": {}, "ago": {}}
    for language in LANGUAGES:
        data = language_data(language, "dates")
        tables["days"] |= {_folded(word): days for word, days in data.get("days", {}).items()}
        tables["units"] |= {_folded(form): unit for unit, forms in data.get("units", {}).items() for form in forms}
        for name in ("last", "this", "ago"):
            tables[name] |= dict.fromkeys(map(_folded, data.get(name, ())), True)
    return tables


def _folded(word: str) -> str:
    return " ".join(words(word))


def _relative(spoken: list[str], today: date) -> Iterator[Period]:
    """`yesterday`, `last week`, `this year`, `last 7 days`, `3 weeks ago`."""
    tables = _relative_words()
    # No word stands before the first and behind the last.
    padded = ["", "", *spoken, ""]
    for earlier, before, word, behind in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        if word in tables["days"]:
            day = today + timedelta(days=tables["days"][word])
            yield Period(day, day)
        unit = tables["units"].get(word)
        if unit is None:
            continue
        count = _count(before)
        if before in tables["this"]:
            yield _around(today, unit)
        elif before in tables["last"]:
            yield _around(_around(today, unit).first - _ONE_DAY, unit)
        elif count and earlier in tables["last"]:
            yield Period(_back(today, unit, count), today)
        elif count and behind in tables["ago"]:
            day = _back(today, unit, count)
            yield Period(day, day)


def _count(word: str) -> int | None:
    number = float(word) if word.isascii() and word.isdigit() and len(word) < 6 else number_of(word)
    return int(number) if number and 0 < number < _MAX_BACK else None


def _around(day: date, unit: str) -> Period:
    """The week from Monday, the month or the year that holds `day`."""
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return Period(monday, monday + timedelta(days=6))
    if unit == "month":
        return Period(day.replace(day=1), day.replace(day=calendar.monthrange(day.year, day.month)[1]))
    return Period(date(day.year, 1, 1), date(day.year, 12, 31)) if unit == "year" else Period(day, day)


def _back(today: date, unit: str, count: int) -> date:
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
    year, month = max(1, months // 12), months % 12 + 1
    return date(year, month, min(today.day, calendar.monthrange(year, month)[1]))
