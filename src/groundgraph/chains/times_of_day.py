"""Times of the day in a text: "16:00", "4 pm", "4 o'clock", "в 4 часа дня"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from groundgraph.core.cues import language_words

_NOON = 12 * 60
_DAY = 24 * 60


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
    joins = "|".join(map(re.escape, language_words("numbers", "joins")))
    return re.compile(rf"(?<![\d:.,])(\d{{1,2}})(?=\s?(?:[-–—]|{joins})\s?\Z)", re.IGNORECASE)


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
        return frozenset([(hours % 12 * 60 + rest + (_NOON if behind_noon else 0)) % _DAY])
    exact = (hours * 60 + rest) % _DAY
    # With a zero before it, it is one of 24 hours.
    either = 0 < hours <= 12 and not hour.startswith("0")
    return frozenset([exact, (exact + _NOON) % _DAY]) if either else frozenset([exact])


def times_named(text: str) -> frozenset[int]:
    """The minutes of the day that words of `text` name, as "noon" does."""
    lowered = text.lower()
    named = language_words("clock", "named")
    return frozenset(minute for word, minute in named.items() if word in lowered)
