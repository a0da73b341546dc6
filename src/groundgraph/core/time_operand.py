"""The days and times of conditions on fields of type date or datetime, and how a value compares with them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

_DAY_CHARS = len("2026-11-21")
_SHORTEST = len("2026-11-21T17:00")
# How far apart the written days of two times can be that are one instant: a zone is less than a day from UTC.
_APART = timedelta(days=2)


class TimeOperand(str):
    """An ISO day or time that a condition on a field of times names; JSON and SQL see nothing but the text.

    A string field can hold text that only looks like a time; whether it does is known where filters are checked, and
    this type carries it to where rows are compared.

    Attributes:
        moment: the time; None for a bare day.
    """

    __slots__ = ("moment",)
    moment: datetime | None

    def __new__(cls, text: str) -> TimeOperand:
        """The operand for `text`, which `iso_form` gave."""
        made = super().__new__(cls, text)
        made.moment = written_time(text)
        return made

    def compares(self, comparison: Callable[[Any, Any], bool], value: str) -> bool:
        """Whether `comparison` holds between `value` and this one.

        Two times that name a zone compare as instants; a time without one counts as UTC when the other names one. A
        value that is no time, such as a bare day, is compared as text.
        """
        theirs, ours = written_time(value), self.moment
        if theirs is None or ours is None:
            return comparison(value, self)
        if theirs.tzinfo is None and ours.tzinfo is not None:
            theirs = theirs.replace(tzinfo=UTC)
        elif ours.tzinfo is None and theirs.tzinfo is not None:
            ours = ours.replace(tzinfo=UTC)
        return comparison(theirs, ours)

    def days_around(self) -> tuple[str, str] | None:
        """The days between which a value compares otherwise than as text, the second excluded; None without any.

        A value that stands as text before the first is less, one from the second on is greater, whatever the zones.
        There is none for a bare day, nor at the ends of the calendar.
        """
        if self.moment is None:
            return None
        written = date.fromisoformat(self[:_DAY_CHARS])
        try:
            return (written - _APART).isoformat(), (written + _APART + timedelta(days=1)).isoformat()
        except OverflowError:
            return None


def written_time(text: str) -> datetime | None:
    """The time that `text` writes as a day, `T` or a space, and hours and minutes with colons; None for other text."""
    # Looked at first, for most texts are none, and Python reads more forms than that.
    if len(text) < _SHORTEST or text[10] not in "T " or text[13] != ":" or text[4] != "-" or text[7] != "-":
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
