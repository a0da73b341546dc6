"""Which days a model's condition on a date means, when the user's words support them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from groundgraph.text.dates import Period, periods

_LOWER = ("gte", "gt")
_UPPER = ("lte", "lt")


@dataclass(frozen=True)
class DateGround:
    """What the days of a condition are held against.

    Attributes:
        text: the user's message.
        today: the day on which the turn began.
        years: years that the conversation speaks of; one of them is believed without being repeated.
        anything: whether every date is taken as it is, in a field that skips grounding.
    """

    text: str
    today: date
    years: Collection[int] = field(default=())
    anything: bool = False


def grounded_days(given: Mapping[str, Any], ground: DateGround) -> tuple[dict[str, Any], list[str]]:
    """The condition with ISO days in place of what the model wrote, and the operators whose value is not supported.

    Args:
        given: by operator, `eq` for equal, what the model wrote: a day, or a period such as `March` or `last week`.
        ground: see `DateGround`.

    Without a year the latest such period that has begun is meant; as an upper bound that of this year, or the first
    one behind the lower bound. "After March" begins on the first of April, and a period in place of a day is a range.
    """
    kept: dict[str, Any] = {}
    unsupported: list[str] = []
    lowest: date | None = None
    for operator in sorted(given, key=lambda name: name not in _LOWER):
        found = _meant(str(given[operator]), operator, ground, lowest)
        if found is None:
            unsupported.append(operator)
            continue
        condition = _condition(operator, found)
        if not condition:
            unsupported.append(operator)
        lowest = found.first if operator in _LOWER else lowest
        kept |= condition
    return kept, unsupported


def _condition(operator: str, period: Period) -> dict[str, Any]:
    if operator in ("gte", "lt"):
        return {operator: period.first.isoformat()}
    if operator in ("gt", "lte"):
        return {operator: period.last.isoformat()}
    if period.first == period.last:
        return {operator: period.first.isoformat()}
    # "Not in March" has no form among the operators.
    return {"gte": period.first.isoformat(), "lte": period.last.isoformat()} if operator == "eq" else {}


def _meant(value: str, operator: str, ground: DateGround, lowest: date | None) -> Period | None:
    """The period that `value` stands for; None when the user named no such one, or it cannot be read."""
    wanted = _read(value, ground.today)
    if wanted is None:
        return None
    if ground.anything:
        return wanted if wanted.year_said else _in_likely_year(wanted, operator, ground.today, lowest)
    for said in periods(ground.text, ground.today):
        found = _matched(wanted, said, ground)
        if found is not None:
            believed = said.year_said or wanted.first.year in ground.years
            return found if believed else _in_likely_year(found, operator, ground.today, lowest)
    return None


def _read(value: str, today: date) -> Period | None:
    try:
        day = datetime.fromisoformat(value.strip()).date()
    except ValueError:
        found = periods(value, today)
        return found[0] if len(found) == 1 else None
    return Period(day, day)


def _matched(wanted: Period, said: Period, ground: DateGround) -> Period | None:
    """`wanted`, when it is what was said or, as a day, where that begins or ends; in a year that somebody said."""
    years: tuple[int, ...]
    if said.year_said:
        years = (wanted.first.year,) if wanted.year_said else (said.first.year,)
    elif wanted.first.year in ground.years:
        years, said = (wanted.first.year,), said.in_year(wanted.first.year)
    else:
        # The model made its year up. The day before January is in the year before.
        years = (said.first.year, said.first.year - 1, said.first.year + 1)
    for year in years:
        found = wanted.in_year(year)
        whole = (found.first, found.last) == (said.first, said.last)
        if whole or (found.first == found.last and found.first in said.bounds()):
            return replace(found, year_said=said.year_said)
    return None


def _in_likely_year(period: Period, operator: str, today: date, lowest: date | None) -> Period:
    this_year = period.in_year(today.year)
    if operator not in _UPPER:
        return this_year if this_year.first <= today else period.in_year(today.year - 1)
    if lowest is None:
        return this_year
    same = period.in_year(lowest.year)
    return same if same.last >= lowest else period.in_year(lowest.year + 1)
