"""On which side of a value the user's words ask for what a model's range keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

from groundgraph.text.dates import Period, periods
from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import number_of
from groundgraph.text.words import WORD, fold, words

# Of a range, the side that each operator keeps; "from" and "to" keep the value itself too.
SIDES = {"gt": "above", "gte": "from", "lt": "below", "lte": "to"}
_DENIED = {"above": "to", "below": "from", "from": "below", "to": "above"}
# Signs, which are no words, as the words that they stand for.
_SIGNS = {"≥": "at least", ">=": "at least", "≤": "at most", "<=": "at most", ">": "more than", "<": "less than"}
_AND_MORE = re.compile(r"(?<=\d)\+")
_NEXT_CLAUSE = re.compile(r"(?<![,;:.!?()–—])[,;:.!?()–—]++(?=\s|$)|\n")
# So many words before a value, and behind it, may say on which side of it.
_BEFORE, _BEHIND = 4, 2
# Further words of a message are not looked at.
_MOST_WORDS = 200
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class _Mention:
    """Where a value stands in the words of a text: the words around it in its clause."""

    before: Sequence[str]
    behind: Sequence[str]

    @property
    def side(self) -> str:
        """The side that is asked for; `between` for either, and an empty text for none."""
        behind = _first(self.behind[:_BEHIND], "behind")
        if behind:
            return behind
        near = self.before[-_BEFORE:]
        for at in range(len(near) - 1, -1, -1):
            side = _first(near[at:], "before")
            if side:
                return _DENIED.get(side, side) if _is_denied(near[:at]) else side
        return ""


def unasked_bounds(condition: Mapping[str, Any], name: str, text: str, today: date) -> list[str]:
    """The operators by which a condition on days or numbers would keep what the words of `text` do not ask for: all of
    a range where one does, since half of it may say the opposite.

    A value that stands nowhere in `text` is held against it elsewhere, and what the field `name` itself is called says
    no side, as in "valid until".
    """
    text = re.sub(rf"\b{re.escape(re.sub('[._]', ' ', name))}\b", " ", text, flags=re.IGNORECASE)
    if "eq" in condition:
        return [] if _is_asked_alone(condition["eq"], text) else ["eq"]
    bounds = {operator: operand for operator, operand in condition.items() if operator in SIDES}
    days = {operator: day for operator, operand in bounds.items() if (day := _day(operand))}
    kept = set(_day_sides(days, text, today)) if days else {True}
    kept |= {_number_side(operator, operand, text) for operator, operand in bounds.items() if operator not in days}
    return [] if kept <= {True} else list(bounds)


def _is_asked_alone(value: Any, text: str) -> bool:
    """Whether the words ask for a number itself."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    found = list(_mentions(text, value))
    # A preposition by itself tells no side of a number.
    loose = {fold(word) for word in language_words("computing", "side", "loose")}
    tight = (_Mention([word for word in one.before if word not in loose], one.behind) for one in found)
    return not found or any(not one.side for one in tight)


def _day_sides(bounds: Mapping[str, date], text: str, today: date) -> Iterator[bool]:
    """For each bound, whether a period of `text` asks for it."""
    said = [(found.side, period) for period in periods(text, today) for found in _mentions(text, period, today)]
    for operator, day in bounds.items():
        near = [(side, _at(operator, day, period)) for side, period in said]
        sides = [(side, wanted) for side, wanted in near if wanted]
        whole = [period for side, period in said if not side and _is_whole(bounds, period)]
        asked = any(side == wanted or (side == "between" and wanted in ("from", "to")) for side, wanted in sides)
        yield asked or bool(whole) or not sides


def _at(operator: str, day: date, period: Period) -> str:
    """The side of `period` that a bound keeps; an empty text where it does not lie at it."""
    own = period if period.year_said else _shifted(period, operator, day)
    if operator in ("gt", "gte"):
        first = day + _DAY if operator == "gt" else day
        return {own.first: "from", own.last + _DAY: "above"}.get(first, _within(first, own))
    last = day - _DAY if operator == "lt" else day
    return {own.last: "to", own.first - _DAY: "below"}.get(last, _within(last, own))


def _within(day: date, period: Period) -> str:
    """What no words ask for by naming the period: a part of it."""
    return "within" if period.first <= day <= period.last else ""


def _shifted(period: Period, operator: str, day: date) -> Period:
    """The period without a year in that of `day`, or in one beside it where it then lies at `day`."""
    years = (period.in_year(year) for year in (day.year, day.year - 1, day.year + 1))
    found = [Period(one.first, one.last) for one in years]
    return next((one for one in found if _at(operator, day, one)), found[0])


def _is_whole(bounds: Mapping[str, date], period: Period) -> bool:
    """Whether the bounds are those of the period itself."""
    return {_at(operator, day, period) for operator, day in bounds.items()} == {"from", "to"}


def _number_side(operator: str, operand: Any, text: str) -> bool:
    sides = {found.side for found in _mentions(text, operand)}
    return not sides or SIDES[operator] in sides or ("between" in sides and operator in ("gte", "lte"))


def _mentions(text: str, value: Any, today: date | None = None) -> Iterator[_Mention]:
    """The mentions of a number, or the last one of a period, in the clauses of `text`."""
    for clause in _NEXT_CLAUSE.split(_spelt(text)):
        found = list(WORD.finditer(clause))[:_MOST_WORDS]
        said = [fold(one.group()) for one in found]
        if today is None:
            places = [(at, at + 1) for at in range(len(said)) if _is_number(clause, found[at], value)]
        else:
            places = list(_period_at(clause, [one.start() for one in found], value, today))
        yield from (_Mention(said[:start], said[end:]) for start, end in places)


def _spelt(text: str) -> str:
    for sign, word in _SIGNS.items():
        text = text.replace(sign, f" {word} ")
    return _AND_MORE.sub(" onwards", text)


def _is_number(clause: str, found: re.Match[str], value: Any) -> bool:
    written = re.match(r"\d+(?:[.,]\d+)*", clause[found.start() :])
    if written is None:
        return bool(number_of(found.group()) == value)
    try:
        return float(written.group().replace(",", ".")) == float(value)
    except (ValueError, TypeError):
        return False


def _period_at(clause: str, starts: Sequence[int], period: Period, today: date) -> Iterator[tuple[int, int]]:
    """The places of the first word and behind the last one of the period, where `clause` names it."""
    if period not in periods(clause, today):
        return
    first = max((at for at, start in enumerate(starts) if period in periods(clause[start:], today)), default=0)
    ends = [*starts[first + 1 :], len(clause)]
    last = next((at for at, end in enumerate(ends) if period in periods(clause[starts[first] : end], today)), 0)
    yield first, first + last + 1


def _first(said: Sequence[str], where: str) -> str:
    """The side that the longest phrase tells with which `said` begins; an empty text without any."""
    begins = (size for size in range(min(_BEFORE, len(said)), 0, -1) if tuple(said[:size]) in _phrases(where))
    return next((_phrases(where)[tuple(said[:size])] for size in begins), "")


def _is_denied(before: Sequence[str]) -> bool:
    """Whether "no" or "not" stands right before a side: "no more than"."""
    return bool(before) and before[-1] in {fold(one) for one in language_words("negation") if " " not in one}


@cache
def _phrases(where: str) -> dict[tuple[str, ...], str]:
    """What says on which side, by its words; what stands `behind` a value is told by itself."""
    found: dict[tuple[str, ...], str] = {}
    for side in ("above", "below", "from", "to", "between"):
        path = ("computing", "side", where, side)
        found |= {tuple(words(phrase)): side for phrase in language_words(*path)}
    return found


def _day(operand: Any) -> date | None:
    try:
        return date.fromisoformat(str(operand)[:10])
    except ValueError:
        return None
