"""On which days the rows are that a question is about, by rule."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from typing import Any

from groundgraph.sources.sql.shape import Column, TableShape, Vocabulary, stands_behind, table_stems
from groundgraph.sources.sql.values_in_question import YEAR, Part, means_number
from groundgraph.text.find_cue import Language, sets_limit
from groundgraph.text.follow_up import language_words
from groundgraph.text.quantities import Date, take_dates
from groundgraph.text.words import fold, name_stems, spaced, stem, stems, words

# The full stop of "1. März".
_ORDINAL = re.compile(r"(?<=\d)\.(?=\s)")


def date_condition(
    part: Part,
    every: Sequence[str],
    shape: TableShape,
    vocabulary: Vocabulary,
    language: Language,
    before: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """The condition that "on 1 March 2026", "in March 2026", "in 2026" or "in March" puts on a date column, and the
    stems of `part` without these.

    Of the date columns it is the only one that `_meant_dates` gives for the words of `every` part.
    A month by itself is that of the year that was asked about before, else of the only year in which the column has it:
    the days that were, by column, are `before`. One that may be another word, as in "how many
    may be open?", needs a capital.
    """
    said = part.folded
    dated, asked = _meant_dates(shape, every), stems(said)
    if len(dated) != 1:
        return {}, asked
    rest, dates = take_dates(_ORDINAL.sub("", said))
    if dates:
        within = None if _years(stems(rest)) else _within_one(dates)
        return ({dated[0]: within}, stems(rest)) if within else ({}, asked)
    years = _years_meant(dated[0], asked, said, shape)
    if not years and may_be_verb(part, asked):
        return {}, asked
    asked_before = before.get(dated[0])
    year = int(str(asked_before["gte"])[:4]) if isinstance(asked_before, Mapping) else 0
    return _year_or_month(dated[0], asked, years, language.months, vocabulary, year)


def _years_meant(column: str, asked: Sequence[str], said: str, shape: TableShape) -> list[int]:
    """The places of the years in a question that say on which days of `column` the rows are."""
    others = [one for one in shape.columns if one.name != column]
    alone = [at for at in _years(asked) if _stands_alone(asked[at], said)]
    return [at for at in alone if not _is_named(shape.name, others, asked[at], said)]


def _stands_alone(year: str, said: str) -> bool:
    """Whether a `year` is no part of a code such as "L-1002", of which it would be told how many ended in that year."""
    return re.search(rf"(?<![\w#/-]){year}(?![\w#/-])", said) is not None


def _is_named(table: str, columns: Sequence[Column], year: str, said: str) -> bool:
    """Whether a year is part of the name of the `table`, as in "log_2024", or by the name of another column a value of
    that: "sponsor 1999"."""
    name = fold(spaced(table.rpartition(".")[2]))
    return (year in words(name) and name in spaced(said)) or any(
        stands_behind(one.name, year, said) or _is_named_year(one, year, said) for one in columns
    )


def _is_named_year(column: Column, year: str, said: str) -> bool:
    return column.kind == "integer" and means_number(column.name, year, said)


def may_be_verb(part: Part, asked: Sequence[str]) -> bool:
    """Whether what may be a month is another word: "may" without its capital."""
    verbs = {stem(fold(verb)) for verb in language_words("number_words", "verbs") if len(verb) <= len("may")}
    return any(not part.has_with_capital(verb) for verb in verbs.intersection(asked))


def _year_or_month(
    column: str,
    asked: Sequence[str],
    years: Sequence[int],
    months: Sequence[str],
    vocabulary: Vocabulary,
    before: int,
) -> tuple[dict[str, Any], list[str]]:
    """The condition on `column` of the only year, which stands at one of the places `years`, or the only month by
    itself, which is of the year `before` where that is known, and the stems without it."""
    named = [at for at, stem in enumerate(asked) if stem in months]
    if len(years) == 1 and not named:
        return {column: _within(int(asked[years[0]]))}, _without(asked, years)
    if years or len(named) != 1:
        return {}, list(asked)
    month = months.index(asked[named[0]]) + 1
    year = _only_year(column, asked[named[0]], month, vocabulary, before)
    return ({column: _within(year, month)}, _without(asked, named)) if year else ({}, list(asked))


def _within_one(dates: Sequence[Date]) -> dict[str, str] | None:
    """The days of the only one of `dates`, whose year is said and whose day and month are sure."""
    one = dates[0]
    plain = len(dates) == 1 and one.year and not one.swapped
    return _within(one.year or 0, one.month, one.day) if plain else None


def _years(asked: Sequence[str]) -> list[int]:
    return [at for at, stem in enumerate(asked) if YEAR.fullmatch(stem)]


def _within(year: int, month: int | None = None, day: int | None = None) -> dict[str, str] | None:
    """The days of a year, of a month, or one; None for a day that there is not."""
    try:
        first = date(year, month or 1, day or 1)
    except ValueError:
        return None
    last = month or 12
    after = first + timedelta(days=1) if day else date(year + last // 12, last % 12 + 1, 1)
    return {"gte": first.isoformat(), "lt": after.isoformat()}


def _without(asked: Sequence[str], places: Sequence[int]) -> list[str]:
    return [stem for at, stem in enumerate(asked) if at not in places]


def _only_year(column: str, said: str, month: int, vocabulary: Vocabulary, before: int) -> int:
    """The year `before`, else the only one of whose month `month` a date column holds a day; 0 where there is none or
    several, and where a column holds the name itself."""
    known = {int(name[0]) for name, found in vocabulary.items() if column in found and name[1:2] == (f"{month:02}",)}
    if (said,) in vocabulary:
        return 0
    return before or (known.pop() if len(known) == 1 else 0)


def _meant_dates(shape: TableShape, asked: Sequence[str]) -> list[str]:
    """The date columns that a question may mean: the named ones, else the declared, else those that are called date. Of
    "How many patients were there in 2024?" none is meant that is called "birth_date", or "patient_since"."""
    dated = _dated(shape, _hidden(shape, asked))
    called = set(chain.from_iterable(map(stems, language_words("computing", "date"))))
    # "orders" names no column of them, but "order_date", or "ordered_on", is the date of one.
    table = set(table_stems(shape))
    names = {one.name: set(name_stems(one.name)).difference(table) for one in dated}
    named = [name for name, own in names.items() if own.intersection(asked)]
    declared = [one.name for one in dated if one.declared]
    plain = [name for name, own in names.items() if own <= called]
    fitting = [names for names in (named, declared, plain) if names]
    return min(fitting, key=lambda names: len(names) > 1, default=[])


def _dated(shape: TableShape, hidden: Collection[str]) -> list[Column]:
    dated = [one for one in shape.columns if one.kind in ("date", "datetime") and one.name not in hidden]
    return [one for one in dated if not sets_limit(spaced(one.name))]


def _hidden(shape: TableShape, asked: Sequence[str]) -> set[str]:
    """The columns of partners that are called like one of the table itself, be that no date: it is meant, but where
    the question names the partner."""
    own = {tuple(name_stems(one.name)) for one in shape.own_columns}
    added = [(label, name_stems(name)) for join in shape.joins for label, name in join.columns]
    return {
        label
        for label, name in added
        if tuple(name) in own and set(asked).isdisjoint(set(name_stems(label)).difference(name))
    }
