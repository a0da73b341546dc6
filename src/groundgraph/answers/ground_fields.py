"""Whether the user's own words support what a model says that they ask for, and which days a condition on one means."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any

from groundgraph.core.schema import ExtractionAnnotation
from groundgraph.text.dates import Period, periods
from groundgraph.text.follow_up import as_phrase, cue_phrases, says, spoken_stems
from groundgraph.text.negation import denied_parts, without_denied
from groundgraph.text.quantities import quantities
from groundgraph.text.words import WORD, fold, is_cyrillic, query_stems, spaced, stem, stems, words

# How alike a misspelt word must be to what it stands for, from 0 to 100, and how many words of a value are compared.
_MISSPELT = 80
_COMPARED = 10
_ONLY_WORDS = re.compile(r"[\w\s]+")


@dataclass(frozen=True)
class UserWords:
    """A message as values are looked for in it. "Not critical" asks for no critical one: what stands behind a negation
    in its clause supports a condition that excludes, and no other."""

    text: str

    @cached_property
    def spoken(self) -> list[str]:
        """Its words, folded."""
        return words(self.text)

    @cached_property
    def distinct(self) -> list[str]:
        """The same, each once."""
        return list(dict.fromkeys(self.spoken))

    @cached_property
    def stems(self) -> list[str]:
        """The stems of its words."""
        return spoken_stems(self.text)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The numbers that stand in it, in digits or in words."""
        found = quantities(self.text)
        digits = (float(run) for run in re.findall(r"(?<![\d.,])\d{1,15}(?![.,]?\d)", self.text))
        return frozenset(value for number in (*found.numbers, *found.words) for value in number.values).union(digits)

    @cached_property
    def denials(self) -> int:
        """How many negations it holds."""
        return len(denied_parts(self.text))

    @cached_property
    def asserted(self) -> UserWords:
        """What no negation reaches; all as it stands where there is none."""
        return UserWords(without_denied(self.text)) if self.denials else self

    def denied(self, name: str, most: int) -> UserWords:
        """The first `most` content words behind each negation, but for those of the field `name`: "not in the city
        Leeds"."""
        own = set(query_stems(spaced(name)))
        return UserWords(" ; ".join(_beginning(text, own, most) for text in denied_parts(self.text)))

    def holds(self, value: str) -> bool:
        """Whether `value` stands in it at word boundaries, in the same form or that of a plural or of a case, and is
        not what the message excludes."""
        # A value may deny by itself: "not started".
        wanted, spoken = words(value), (self if UserWords(value).denials else self.asserted).spoken
        starts = range(len(spoken) - len(wanted) + 1)
        return bool(wanted) and any(
            all(_same_word(spoken[start + place], word) for place, word in enumerate(wanted)) for start in starts
        )


def _beginning(text: str, without: set[str], most: int) -> str:
    """The words of `text` up to the content word with the number `most`, those of `without` left out."""
    kept, counted = 0, 0
    for found in WORD.finditer(text):
        own = stems(found.group())
        counted += bool(own) and without.isdisjoint(own)
        if counted > most:
            break
        kept = found.end()
    return text[:kept]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    if is_cyrillic(other):
        return stem(one) == stem(other)
    # English stems are too short for this: "criticism" has that of "critical".
    return {one, other} in ({other, f"{other}s"}, {one, f"{one}s"}, {other, f"{other}es"}, {one, f"{one}es"})


def is_grounded(
    name: str, spec: Mapping[str, Any], annotation: ExtractionAnnotation, value: Any, said: UserWords
) -> bool:
    """Whether `said` supports `value`, a scalar of its field's type that is no date.

    Args:
        name: the field.
        spec: its specification, see `SourceSchema.fields`.
        annotation: how strict to be.
        value: what the model proposes.
        said: the user's message.
    """
    if annotation.grounding == "skip" or by_cue(annotation, value, said):
        return True
    text = str(value)
    if _is_small(text) and not _is_small_meant(name, spec, text.strip(), said):
        return False
    if annotation.grounding == "exact":
        return said.holds(text)
    if annotation.grounding == "fuzzy":
        return _is_nearly_said(text, said)
    if spec.get("enum"):
        return said.holds(text)
    if isinstance(value, bool):
        return _speaks_of(name, spec, said)
    if isinstance(value, int | float):
        return float(value) in said.numbers
    return _shares_words(text, annotation.overlap_threshold, said)


def _is_small(value: str) -> bool:
    """Whether `value` has no word but such as say nothing, as "the" and "IT" do."""
    return bool(words(value)) and not stems(value) and _ONLY_WORDS.fullmatch(value.strip()) is not None


def _is_small_meant(name: str, spec: Mapping[str, Any], value: str, said: UserWords) -> bool:
    """Whether a `value` of small words is one in `said`: written with its capitals, and not because a message begins
    so, or right behind the name of its field, or alone; one of an enumeration without capitals, wherever it stands."""
    if (spec.get("enum") and value == value.lower()) or words(value) == said.spoken:
        return True
    places = re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", said.text)
    begins = re.match(r"\W*", said.text)
    first = begins.end() if begins and not (value.isupper() and len(value) > 1) else -1
    if value != value.lower() and any(one.start() != first for one in places):
        return True
    return f" {' '.join(words(spaced(name)))} {' '.join(words(value))} " in f" {' '.join(said.spoken)} "


def _is_nearly_said(text: str, said: UserWords) -> bool:
    # Few configurations need it, and importing it takes time.
    from rapidfuzz import fuzz, process

    wanted = words(text)[:_COMPARED]
    return any(process.extractOne(word, said.distinct, scorer=fuzz.ratio, score_cutoff=_MISSPELT) for word in wanted)


def by_cue(annotation: ExtractionAnnotation, value: Any, said: UserWords) -> bool:
    """Whether `said` holds a phrase by which the user's configuration says that `value` is asked for."""
    phrases = annotation.cues.get(str(value), ())
    return says(said.stems, [stems for phrase in phrases if (stems := as_phrase(phrase))])


def _speaks_of(name: str, spec: Mapping[str, Any], said: UserWords) -> bool:
    about = {*query_stems(name.replace("_", " ")), *query_stems(str(spec.get("description") or ""))}
    return bool(about & set(said.stems))


def _shares_words(value: str, threshold: float, said: UserWords) -> bool:
    """Whether `said` holds enough of the words of `value`, and all that have a digit: those tell one code from another.

    A value without a word, such as "C++" has beside its letter, must stand in the text as it is.
    """
    wanted = query_stems(value)
    if not wanted:
        return bool(value.strip()) and fold(value.strip()) in fold(said.text)
    spoken = set(said.stems)
    found = [word for word in wanted if word in spoken]
    codes = {word for word in wanted if any(character.isdigit() for character in word)}
    return codes <= spoken and len(found) >= threshold * len(wanted)


def is_meant(section: str, value: str, annotation: ExtractionAnnotation, said: UserWords) -> bool:
    """Whether `said` supports `value` of an intent's own field, by the word itself or by a cue for it.

    Args:
        section: where the cues stand in the data files of the languages: `scope` or `style`.
        value: what the model proposes.
        annotation: `exact` leaves only the word itself; `fuzzy` takes a misspelt one as well.
        said: the user's message.
    """
    if annotation.grounding in ("skip", "exact", "fuzzy") or by_cue(annotation, value, said):
        return is_grounded(section, {"enum": [value]}, annotation, value, said)
    cues: Sequence[tuple[str, ...]] = cue_phrases(section, value)
    return said.holds(value) or says(said.stems, cues)


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
        # A day at which a period begins or ends bounds what was asked for; it is not what was asked for.
        if found is not None and (operator in (*_LOWER, *_UPPER) or _is_same(found, said)):
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


def _is_same(found: Period, said: Period) -> bool:
    """Whether both are the same days, in whatever year."""
    own = said.in_year(found.first.year)
    return (found.first, found.last) == (own.first, own.last)


def _in_likely_year(period: Period, operator: str, today: date, lowest: date | None) -> Period:
    this_year = period.in_year(today.year)
    if operator not in _UPPER:
        return this_year if this_year.first <= today else period.in_year(today.year - 1)
    if lowest is None:
        return this_year
    same = period.in_year(lowest.year)
    return same if same.last >= lowest else period.in_year(lowest.year + 1)
