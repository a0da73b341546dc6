"""Checked filters as one condition of an engine: the walk over operators and kinds, the same for every engine.

What a condition means is told by `core.filters.matches`. A dialect says how its engine is asked for one comparison, and
whether the answer is exact. The condition never drops a row that `matches` keeps; where it is not exact it may keep
more, so it is never negated, and `matches` decides afterwards.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto
from typing import Any, Generic, TypeGuard, TypeVar
from uuid import UUID

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import TimeOperand, matches

F = TypeVar("F")
C = TypeVar("C")
# Behind every text that begins with a day.
LAST_CHARACTER = "\U0010ffff"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DAY_CHARS = len("2026-11-21")
# As many times are looked for one by one; more of them in the days that span them all.
_MOST_TIMES = 50


class Times(Enum):
    """How an engine keeps days and times: as ISO text, as bare days, as moments; or this field has none."""

    TEXT = auto()
    DAYS = auto()
    MOMENTS = auto()
    NONE = auto()


@dataclass(frozen=True)
class Pushed(Generic[C]):
    """What an engine is asked.

    Attributes:
        condition: of the engine; None when it keeps every row.
        exact: it keeps the very rows that `matches` keeps, and not some more.
    """

    condition: C | None
    exact: bool


class Dialect(ABC, Generic[F, C]):
    """How an engine is asked about a field of type `F`; its conditions are of type `C`.

    Operands are JSON values as `check_filters` gives them; for a field that keeps `DAYS` or `MOMENTS` they are dates or
    datetimes.
    """

    @property
    @abstractmethod
    def never(self) -> C:
        """What no row satisfies."""

    @abstractmethod
    def all_of(self, conditions: Sequence[C]) -> C:
        """What satisfies each of several."""

    @abstractmethod
    def any_of(self, conditions: Sequence[C]) -> C:
        """What satisfies one of several."""

    @abstractmethod
    def negated(self, field: F, condition: C) -> C:
        """What does not satisfy an exact condition on `field`; rows without a value are among it."""

    @abstractmethod
    def equal(self, field: F, values: Sequence[Any]) -> Pushed[C]:
        """Equal to one of `values`, of which there is at least one."""

    @abstractmethod
    def compared(self, field: F, operator: str, operand: Any) -> Pushed[C]:
        """On the side of `operand` that `operator` (gte, gt, lte, lt) names; texts letter by letter."""

    @abstractmethod
    def contains(self, field: F, operand: Any) -> Pushed[C]:
        """A text that contains `operand`, or a list that has it."""

    def times(self, field: F) -> Times:  # noqa: ARG002 - of the engines that keep some
        """How the field keeps days and times."""
        return Times.NONE

    def decided(self, field: F, operator: str, times: Sequence[TimeOperand]) -> Pushed[C]:  # noqa: ARG002
        """Whether text stands to one of `times` as `operator` (or `equal`) says; most engines cannot tell instants."""
        return Pushed(None, exact=False)


def push_down(conditions: Mapping[str, Any], fields: Mapping[str, F], dialect: Dialect[F, C]) -> Pushed[C]:
    """The checked `conditions` as one of the engine; a field that is not among `fields` satisfies `not` alone."""
    parts: list[Pushed[C]] = []
    for name, condition in conditions.items():
        if name in fields:
            operators = condition if isinstance(condition, Mapping) else {"equal": condition}
            parts += [_part(dialect, fields[name], *one) for one in operators.items()]
        elif not matches({name: condition}, {}):
            parts.append(Pushed(dialect.never, exact=True))
    return _all_of(dialect, parts)


def _part(dialect: Dialect[F, C], field: F, operator: str, operand: Any) -> Pushed[C]:
    if operator == "contains":
        return dialect.contains(field, operand)
    if operator in ("equal", "not"):
        equal = _equal(dialect, field, operand if isinstance(operand, list) else [operand])
        return equal if operator == "equal" else _negated(dialect, field, equal)
    return _compared(dialect, field, operator, operand)


def _negated(dialect: Dialect[F, C], field: F, equal: Pushed[C]) -> Pushed[C]:
    if not equal.exact or equal.condition is None:
        # It may keep more than is equal, and the rest would lack rows that are not.
        return Pushed(None, exact=False)
    return Pushed(dialect.negated(field, equal.condition), exact=True)


def _equal(dialect: Dialect[F, C], field: F, values: Sequence[Any]) -> Pushed[C]:
    form = dialect.times(field)
    if form in _READ:
        values = list(filter(None, map(_READ[form], values)))
    times = list(filter(_is_time, values)) if form is Times.TEXT else []
    others = [value for value in values if value not in times]
    parts = [dialect.equal(field, others)] if others else []
    for some in [[time] for time in times] if len(times) <= _MOST_TIMES else [times]:
        parts.append(_at_times(dialect, field, some))
    return _any_of(dialect, parts)


def _compared(dialect: Dialect[F, C], field: F, operator: str, operand: Any) -> Pushed[C]:
    form = dialect.times(field)
    if not isinstance(operand, str) or form is Times.NONE:
        return dialect.compared(field, operator, operand)
    if form is Times.TEXT and _is_time(operand):
        return _beside_time(dialect, field, operator, operand)
    operator, bound = _bound(form, operator, operand)
    return Pushed(dialect.never, exact=True) if bound is None else dialect.compared(field, operator, bound)


def _bound(form: Times, operator: str, operand: str) -> tuple[str, Any]:
    """The comparison that says the same where days and times are kept as `form`; None for what is neither."""
    if form is Times.DAYS:
        # As text a day stands before every time on it.
        beside = operator if _is_day(operand) else {"gte": "gt", "lt": "lte"}.get(operator, operator)
        return beside, _day(operand[:_DAY_CHARS])
    if form is Times.MOMENTS:
        return moment_bound(operator, day) if (day := _day(operand)) else (operator, _moment(operand))
    if _is_day(operand) and operator in ("gt", "lte"):
        # A day includes every time on it.
        return {"gt": "gte", "lte": "lt"}[operator], operand + LAST_CHARACTER
    return operator, operand


def moment_bound(operator: str, day: date) -> tuple[str, datetime]:
    """The comparison with a moment that says the same as `operator` and `day`, which includes every time on it."""
    first = datetime.combine(day, datetime.min.time())
    if operator in ("gte", "lt"):
        return operator, first
    # "For ever" is often written as the last day that there is, behind which there is no other.
    after = first + timedelta(days=1) if day < date.max else datetime.max
    return {"gt": "gte", "lte": "lt"}[operator], after


def _at_times(dialect: Dialect[F, C], field: F, times: Sequence[TimeOperand]) -> Pushed[C]:
    decided = dialect.decided(field, "equal", times)
    spans = [time.days_around() for time in times]
    if None in spans:
        return decided
    first = dialect.compared(field, "gte", min(span[0] for span in spans if span))
    after = dialect.compared(field, "lt", max(span[1] for span in spans if span))
    return Pushed(_all_of(dialect, [first, after, decided]).condition, decided.exact)


def _beside_time(dialect: Dialect[F, C], field: F, operator: str, time: TimeOperand) -> Pushed[C]:
    """Only the texts of the days around have to be decided; an index can serve the rest."""
    decided, span = dialect.decided(field, operator, [time]), time.days_around()
    if span is None:
        return decided
    (first, after), lower = span, operator in ("gte", "gt")
    near = dialect.compared(field, "gte", first) if lower else dialect.compared(field, "lt", after)
    far = dialect.compared(field, "gte", after) if lower else dialect.compared(field, "lt", first)
    beyond = _any_of(dialect, [far, decided])
    return Pushed(_all_of(dialect, [near, beyond]).condition, beyond.exact)


def uuid_text(name: str, value: Any) -> str | None:
    """`value` where it is a UUID, for the field called `name`; None for what is none, and so equals none.

    Raises:
        FilterInvalid: it is written otherwise than engines write one. Texts are compared letter by letter, so nothing
            would be found, as if there were nothing.
    """
    try:
        written = str(UUID(value)) if isinstance(value, str) else None
    except ValueError:
        return None
    if written not in (None, value):
        raise FilterInvalid(f"'{name}' holds UUIDs in small letters: {value!r} has to be written {written!r}.")
    return written


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and _DAY.fullmatch(value) is not None


def _is_time(value: Any) -> TypeGuard[TimeOperand]:
    return isinstance(value, TimeOperand) and value.moment is not None


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value) if _is_day(value) else None
    except ValueError:
        return None


def _moment(value: Any) -> datetime | None:
    # One is written with its time, so that it is equal to no bare day.
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) and not _is_day(value) else None
    except ValueError:
        return None


_READ: dict[Times, Callable[[Any], date | None]] = {Times.DAYS: _day, Times.MOMENTS: _moment}


def _all_of(dialect: Dialect[F, C], parts: Iterable[Pushed[C]]) -> Pushed[C]:
    parts = list(parts)
    asked = [part.condition for part in parts if part.condition is not None]
    exact = all(part.exact for part in parts)
    if len(asked) <= 1:
        return Pushed(asked[0] if asked else None, exact)
    return Pushed(dialect.all_of(asked), exact)


def _any_of(dialect: Dialect[F, C], parts: Iterable[Pushed[C]]) -> Pushed[C]:
    parts = list(parts)
    asked = [part.condition for part in parts if part.condition is not None]
    if len(asked) < len(parts):
        return Pushed(None, exact=False)
    exact = all(part.exact for part in parts)
    if len(asked) <= 1:
        return Pushed(asked[0] if asked else dialect.never, exact)
    return Pushed(dialect.any_of(asked), exact)
