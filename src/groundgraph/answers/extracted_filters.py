"""From the filters that a model proposes to those that are applied: declared, typed and in the user's words.

A model proposes values and never a query. What is not declared, does not fit or was not said is left out, one value at
a time, and told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from itertools import islice
from typing import Any, Literal

from groundgraph.answers.ground_fields import DateGround, UserWords, by_cue, grounded_days, is_grounded
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import OPERATORS, check_filters
from groundgraph.core.intent import Dropped
from groundgraph.core.schema import ExtractionAnnotation, SourceSchema, annotation_of, typed_value
from groundgraph.text.dates import Period, periods
from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import month_of, number_of
from groundgraph.text.words import WORD, fold, words

MAX_TEXT = 500
MAX_VALUES = 100
# Conditions of one reply that are looked at, and values in all of them: no message sets so many.
MAX_PROPOSALS = 200
MAX_LOOKED_AT = 500
_SHOWN_CHARS = 200
_MOST_INTEGER = 2**63 - 1
# What models write for the operators.
_WRITTEN = {
    "eq": ("$eq", "equals", "=", "==", "in", "$in"),
    "gte": ("min", "from", "since", "$gte", ">="),
    "gt": ("after", "$gt", ">"),
    "lte": ("max", "to", "until", "$lte", "<="),
    "lt": ("before", "$lt", "<"),
    "not": ("ne", "$ne", "!="),
}
_SPELLINGS = {written: operator for operator, every in _WRITTEN.items() for written in every}
_ORDER = ("gte", "gt", "lte", "lt")
# What a model leaves empty.
EMPTY: tuple[Any, ...] = (None, "", [], {})
_UNORDERED = ("boolean", "array")
_WORDED = ("string", "text", "array")
Reason = Literal["undeclared", "held", "value", "unsaid"]


@dataclass
class ExtractedFilters:
    """The filters to apply, by source and field, and what of the proposal was left out."""

    filters: dict[str, dict[str, Any]] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    _left: int = field(default=MAX_LOOKED_AT, repr=False)

    def take(self, values: list[Any]) -> list[Any]:
        """The beginning of `values`, as far as any of a list and of the whole reply are looked at."""
        taken = values[: min(MAX_VALUES, self._left)]
        self._left -= len(taken)
        return taken

    def drop(self, name: str, value: Any, kind: Reason, reason: str) -> None:
        """Note one value that is left out."""
        self.dropped.append({"field": name[:_SHOWN_CHARS], "value": shown(value), "kind": kind, "reason": reason})


def shown(value: Any) -> str:
    """`value` as a record shows it, at most 200 characters."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return clean_text(text[:_SHOWN_CHARS])


def extracted_filters(
    proposed: Any,
    schemas: Mapping[str, SourceSchema | None],
    held: Mapping[str, Collection[str]],
    said: UserWords,
    days: DateGround,
) -> ExtractedFilters:
    """The filters of `proposed` that may be applied.

    Args:
        proposed: what the model wrote: by source and field, or by field alone for every source that declares it.
        schemas: the declared fields, by source name.
        held: per source, the fields that have a default or scope filter already.
        said: the user's message.
        days: what dates are held against.
    """
    found = ExtractedFilters()
    if not isinstance(proposed, Mapping):
        if proposed:
            found.drop("filters", proposed, "value", "filters are a mapping of sources to their fields")
        return found
    for source, name, value in islice(_proposals(proposed, schemas, found), MAX_PROPOSALS):
        schema = schemas[source]
        if schema is None or name not in schema.fields:
            found.drop(f"{source}.{name}", value, "undeclared", "the source declares no such field")
        elif name in held.get(source, ()):
            found.drop(f"{source}.{name}", value, "held", "the field has a default or scope filter")
        else:
            condition = _Field(found, schema, name, said, days).condition(value)
            if condition is not None:
                found.filters.setdefault(source, {})[name] = condition
    return found


def _proposals(
    proposed: Mapping[Any, Any], schemas: Mapping[str, SourceSchema | None], found: ExtractedFilters
) -> Iterator[tuple[str, str, Any]]:
    for name, value in _given(proposed):
        if name in schemas and isinstance(value, Mapping):
            yield from ((name, own, one) for own, one in _given(value))
            continue
        declaring = [source for source, schema in schemas.items() if schema and name in schema.fields]
        if not declaring:
            found.drop(name, value, "undeclared", "no source declares it")
        yield from ((source, name, value) for source in declaring)


def _given(proposed: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """What is proposed, without what a model left empty."""
    return ((str(name), value) for name, value in proposed.items() if value not in EMPTY)


class _Field:
    """One proposed condition on one declared field."""

    def __init__(
        self, found: ExtractedFilters, schema: SourceSchema, name: str, said: UserWords, days: DateGround
    ) -> None:
        self.found, self.schema, self.name, self.said = found, schema, name, said
        self.spec = schema.fields[name]
        self.kind = str(self.spec.get("type", "string"))
        self.where = f"{schema.source_name}.{name}"
        self.annotation: ExtractionAnnotation = annotation_of(self.spec, self.where)
        self.days = DateGround(days.text, days.today, days.years, anything=self.annotation.grounding == "skip")

    def condition(self, value: Any) -> Any:
        """What of `value` may be applied; None when nothing may."""
        given = self._operators(value)
        kept = self._days(given) if self.kind in ("date", "datetime") else self._values(given)
        kept |= _end_of_last(kept, self.said.text, self.days.today)
        unasked = unasked_bounds(kept, self.name, self.said.text, self.days.today)
        if unasked and not self.days.anything:
            self._drop({one: kept.pop(one) for one in unasked}, "unsaid", "the user's words ask for another range")
        equal = kept.pop("eq", None)
        if equal is not None and kept:
            # An equality beside a range adds nothing that the range does not say.
            self._drop(kept, "value", "a value and a range cannot hold at once")
        condition = kept if equal is None else equal
        if condition in ({}, []):
            return None
        try:
            return check_filters(self.schema, {self.name: condition}, source=self.schema.source_name)[self.name]
        except FilterInvalid as error:
            self._drop(condition, "value", str(error))
            return None

    def _operators(self, value: Any) -> dict[str, Any]:
        """The proposal by operator, `eq` for a plain value."""
        if not isinstance(value, Mapping):
            return {"eq": value}
        given: dict[str, Any] = {}
        for key, operand in _given(value):
            operator = _SPELLINGS.get(key.strip().lower(), key.strip().lower())
            # One day, number or switch contains nothing but itself.
            operator = "eq" if operator == "contains" and self.kind not in _WORDED else operator
            if operator not in (*OPERATORS, "eq"):
                self._drop({key: operand}, "value", "there is no such operator")
            elif operator in _ORDER and self.kind in _UNORDERED:
                self._drop({key: operand}, "value", f"a value of type {self.kind} is neither more nor less")
            else:
                given[operator] = operand
        return given

    def _days(self, given: dict[str, Any]) -> dict[str, Any]:
        """Dates: see `grounded_days`. A list keeps the days in it that are supported."""
        given = self._undenied(given)
        ranges = {name: operand for name, operand in given.items() if not isinstance(operand, list | Mapping)}
        kept, unsupported = grounded_days(ranges, self.days)
        for operator in unsupported:
            self._drop(ranges[operator], "unsaid", "the user's words name no such date")
        for operator, operand in given.items():
            if isinstance(operand, list):
                kept |= self._listed_days(operator, self.found.take(operand))
            elif isinstance(operand, Mapping):
                self._drop(operand, "value", "a mapping is no date")
        return kept

    def _undenied(self, given: dict[str, Any]) -> dict[str, Any]:
        if "not" not in given or self.said.denials or self.days.anything:
            return given
        self._drop(given["not"], "unsaid", "the user's words exclude nothing")
        return {operator: operand for operator, operand in given.items() if operator != "not"}

    def _listed_days(self, operator: str, operand: list[Any]) -> dict[str, Any]:
        found: list[str] = []
        for item in operand:
            days, _ = grounded_days({"eq": item}, self.days)
            if isinstance(days.get("eq"), str):
                found.append(days["eq"])
            else:
                self._drop(item, "unsaid", "the user's words name no such day")
        return {operator: found} if found else {}

    def _values(self, given: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for operator, operand in given.items():
            items = self.found.take(operand) if isinstance(operand, list) else [operand]
            good = [one for one in (self._scalar(item, operator) for item in items) if one is not None]
            if good:
                kept[operator] = good if isinstance(operand, list) else good[0]
        return kept

    def _scalar(self, value: Any, operator: str) -> Any:
        """`value` in the field's type when the message supports it, else None."""
        typed = self._typed(value, operator)
        if typed is None:
            return None
        said = self._supporting(operator, typed)
        if by_cue(self.annotation, typed, self.said.asserted) or is_grounded(
            self.name, self.spec, self.annotation, typed, said
        ):
            return typed
        self._drop(value, "unsaid", "the user's words do not ask for it")
        return None

    def _supporting(self, operator: str, typed: Any) -> UserWords:
        """The words that may support a value: what excludes it stands behind a negation, what keeps it does not."""
        if operator in _ORDER:
            return self.said
        is_switch = isinstance(typed, bool)
        if (operator == "not") is (typed is False):
            return self.said.asserted
        return self.said.denied("" if is_switch else self.name, len(words(str(typed))) or 1)

    def _typed(self, value: Any, operator: str) -> Any:
        if isinstance(value, list | Mapping) or not _is_storable(value):
            self._drop(value, "value", "is no value that a field can have")
            return None
        ordered = operator in (*_ORDER, "contains")
        spec = {**self.spec, "enum": None} if ordered else self.spec
        plain = _of_enum(spec.get("enum"), clean_text(value) if isinstance(value, str) else value)
        try:
            typed = typed_value({**spec, "type": "string"} if operator == "contains" else spec, plain)
        except ValueError as error:
            self._drop(value, "value", str(error))
            return None
        typed = typed[0] if isinstance(typed, list) else typed
        if not _is_storable(typed):
            self._drop(value, "value", "is no value that a field can have")
            return None
        return typed

    def _drop(self, value: Any, kind: Reason, reason: str) -> None:
        self.found.drop(self.where, value, kind, reason)


def _end_of_last(condition: Mapping[str, Any], text: str, today: date) -> dict[str, str]:
    """The other end of "the last 30 days", of which models give the first day alone: rows may lie in the future."""
    first = condition.get("gte")
    last = {one.first.isoformat() for one in periods(text, today) if one.last == today and one.first < today}
    if set(condition) != {"gte"} or not isinstance(first, str) or first not in last:
        return {}
    return {"lte": today.isoformat()}


def _is_storable(value: Any) -> bool:
    """Whether a checkpoint and a database can hold `value`."""
    if isinstance(value, str):
        return 0 < len(value.strip()) <= MAX_TEXT
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) <= _MOST_INTEGER)


def _of_enum(allowed: Any, value: Any) -> Any:
    """`value` as the enumeration spells it: models write "In progress" for "in_progress"."""
    if not allowed or value in allowed:
        return value
    same = [one for one in allowed if list(words(str(one))) == list(words(str(value)))]
    return same[0] if len(same) == 1 else value


# On which side of a value the user's words ask for what a model's range keeps.

# Of a range, the side that each operator keeps; "from" and "to" keep the value itself too.
SIDES = {"gt": "above", "gte": "from", "lt": "below", "lte": "to"}
_DENIED = {"above": "to", "below": "from", "from": "below", "to": "above"}
# Signs, which are no words, as the words that they stand for.
_SIGNS = {"≥": "at least", ">=": "at least", "≤": "at most", "<=": "at most", ">": "more than", "<": "less than"}
_AND_MORE = re.compile(r"(?<=\d)\+")
_NEXT_CLAUSE = re.compile(r"(?<![,;:.!?()–—])[,;:.!?()–—]++(?=\s|$)|\n")
# So many words before a value, and behind it, may say on which side of it.
_BEFORE, _BEHIND, _FAR = 4, 2, 6
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
        """The side that is asked for; an empty text for none."""
        behind = _first(self.behind[:_BEHIND], "behind")
        if behind:
            return behind
        near = self.before[-_BEFORE:]
        for at in range(len(near) - 1, -1, -1):
            side = _first(near[at:], "before")
            if side:
                return self._told(side, near[:at], near[at + 1 :])
        # Of a date, that which stands before it is long.
        joined = _joins(self.before[-1:]) and any(_first([one], "before") == "between" for one in self.before[-_FAR:])
        return "to" if joined else ""

    @staticmethod
    def _told(side: str, before: Sequence[str], between: Sequence[str]) -> str:
        """The side of the value that is told by one `before` which and `between` which and the value these stand."""
        denied = _is_denied(before)
        if side == "between":
            return "" if denied else "to" if _joins(between) else "from"
        # Of "below 50 in March" it is one of 50, but of "31 March 2026" not one of 31.
        dated = bool(between) and month_of(between[-1]) is not None
        if any(word[0].isdigit() for word in (between[:-2] if dated else between)):
            return ""
        return _DENIED.get(side, side) if denied else side


def _joins(said: Sequence[str]) -> bool:
    return not {fold(word) for word in language_words("replies", "joins")}.isdisjoint(said)


def unasked_bounds(condition: Mapping[str, Any], name: str, text: str, today: date) -> list[str]:
    """The operators by which a condition on days or numbers would keep what the words of `text` do not ask for: all of
    a range where one does, since half of it may say the opposite.

    A value that stands nowhere in `text` is held against it elsewhere, and what the field `name` itself is called says
    no side, as in "valid until".
    """
    text = re.sub(rf"\b{re.escape(re.sub('[._]', ' ', name))}\b", " ", text, flags=re.IGNORECASE)
    if "eq" in condition:
        return [] if _is_asked_alone(condition["eq"], text, today) else ["eq"]
    bounds = {operator: operand for operator, operand in condition.items() if operator in SIDES}
    days = {operator: day for operator, operand in bounds.items() if (day := _day(operand))}
    kept = set(_day_sides(days, text, today)) if days else {True}
    kept |= {_number_side(operator, operand, text) for operator, operand in bounds.items() if operator not in days}
    return [] if kept <= {True} else list(bounds)


def _is_asked_alone(value: Any, text: str, today: date) -> bool:
    """Whether the words ask for a number or a day itself, or for each of several."""
    if isinstance(value, list):
        return all(_is_asked_alone(one, text, today) for one in value)
    if isinstance(value, str):
        return _is_day_alone(_day(value), text, today)
    return isinstance(value, bool) or not isinstance(value, int | float) or _is_number_alone(value, text)


def _is_number_alone(value: float, text: str) -> bool:
    found = list(_mentions(text, value))
    # A preposition by itself tells no side of a number.
    loose = {fold(word) for word in language_words("computing", "side", "loose")}
    tight = (_Mention([word for word in one.before if word not in loose], one.behind) for one in found)
    return not found or any(not one.side for one in tight)


def _is_day_alone(day: date | None, text: str, today: date) -> bool:
    own = [one for one in periods(text, today) if day and _is_same_day(one, day)]
    sides = [found.side for one in own for found in _mentions(text, one, today)]
    return not sides or "" in sides


def _is_same_day(period: Period, day: date) -> bool:
    own = period if period.year_said else period.in_year(day.year)
    return own.first == own.last == day


def _day_sides(bounds: Mapping[str, date], text: str, today: date) -> Iterator[bool]:
    """For each bound, whether a period of `text` asks for it."""
    said = [(found.side, period) for period in periods(text, today) for found in _mentions(text, period, today)]
    for operator, day in bounds.items():
        near = [(side, _at(operator, day, period)) for side, period in said]
        sides = [(side, wanted) for side, wanted in near if wanted]
        whole = [period for side, period in said if not side and _is_whole(bounds, period)]
        asked = any(side == wanted for side, wanted in sides)
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
    return not sides or SIDES[operator] in sides


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
