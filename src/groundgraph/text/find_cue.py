"""Which words of a question ask for a computation, by language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, takewhile

from groundgraph.text.follow_up import asks_for_name_or_time, begins_asking, is_follow_up, own_words
from groundgraph.text.words import LANGUAGES, detect_language, fold, language_data, stem, stems, stop_words, words


@dataclass(frozen=True)
class Language:
    """The data file of one language.

    Attributes:
        not_offered: by what is needed, a pattern for computations that are not offered.
        functions: by function, a pattern for those that are.
        filler: a pattern for what adds nothing to a question.
        plain: words that say nothing by themselves, such as "the". Any other one that is left out of stems, such as
            "or", a reading by rule would overlook.
        pronouns: words that say as little where an earlier question stands before them.
        negation: those that rule out, such as "not".
        deciding: those, and the ones that set a limit, such as "since".
        rows: a pattern for what asks for rows themselves, such as "list".
        belonging: words behind which that asks for what something else belongs to: "in which boat".
        exists: a pattern for what says that there is something, whose words point at nothing.
        months: the stems of the months in order.
        between: its folded stop words, without those that join.
    """

    not_offered: dict[str, re.Pattern[str]]
    functions: dict[str, re.Pattern[str]]
    filler: re.Pattern[str]
    plain: frozenset[str]
    pronouns: frozenset[str]
    negation: frozenset[str]
    deciding: frozenset[str]
    rows: re.Pattern[str]
    belonging: frozenset[str]
    exists: re.Pattern[str]
    months: tuple[str, ...]
    between: frozenset[str]

    def filler_in(self, text: str) -> frozenset[str]:
        """The stems of what adds nothing to the folded `text`; those of plain words, which a text in two languages may
        keep, among them."""
        added = chain.from_iterable(words(found.group()) for found in self.filler.finditer(text))
        return frozenset(map(stem, chain(added, self.plain.intersection(words(text)))))

    def lists(self, text: str) -> bool:
        """Whether the folded `text` asks for rows as such, and not for what something belongs to: "in which boat?"."""
        before = (words(text[: found.start()])[-1:] for found in self.rows.finditer(text))
        return any(map(self.belonging.isdisjoint, before))


@dataclass(frozen=True)
class Cue:
    """What a question asks for.

    Attributes:
        function: the function, or an empty string when the computation is not offered.
        parts: the folded question without the words that asked for it, and before it those that it leans on.
        asking: the stems of those words; of what is not offered, of the word that decided, if there is one.
        needs: what is needed in a word, such as `count` or `difference`.
        offered: whether a function of that kind is offered at all.
        counted: the words that stand together right behind those that asked, where some do; of each part.
        language: the language of the question.
        is_part_of_name: whether a word of content stands right before those that asked, and they begin no question:
            "the phone number of Ann".
    """

    function: str
    parts: tuple[str, ...]
    asking: frozenset[str]
    needs: str
    offered: bool
    language: Language
    counted: tuple[tuple[str, ...], ...] = ()
    is_part_of_name: bool = False

    @property
    def rest(self) -> str:
        """All parts in one."""
        return " ".join(self.parts)


@cache
def _language(code: str) -> Language:
    data = language_data(code, "computing")
    # "isn't" is two words, the first of which says it.
    negation = frozenset(words(phrase)[0] for phrase in language_data(code, "negation") if " " not in phrase)
    return Language(
        {name: re.compile(pattern) for name, pattern in data.get("not_offered", {}).items()},
        {name: re.compile(pattern) for name, pattern in data.get("functions", {}).items()},
        re.compile(data.get("filler", "(?!)")),
        frozenset(words(data.get("plain", ""))),
        frozenset(chain.from_iterable(map(words, language_data(code, "follow_up", "pronouns")))),
        negation,
        negation.union(map(fold, data.get("above", ())), map(fold, data.get("below", ()))),
        re.compile(data.get("rows", "(?!)")),
        frozenset(map(fold, data.get("belonging", ()))),
        re.compile(data.get("exists", "(?!)")),
        tuple(stem(fold(month)) for month in data.get("months", ())),
        stop_words().union(map(fold, language_data(code, "stop_words"))) - set(language_data(code, "replies", "joins")),
    )


@cache
def plain_words() -> frozenset[str]:
    """Those of all languages: what a column is called may be in another one than the question."""
    return frozenset().union(*(_language(code).plain for code in LANGUAGES))


@lru_cache(maxsize=1024)
def may_be_read(name: str) -> bool:
    """Whether what `name` says holds of what it names, which that of "not paid" does not."""
    said = words(name)
    ruled_out = any(not _language(code).negation.isdisjoint(said) for code in LANGUAGES)
    return not ruled_out and all(word in plain_words() or stem(word) in stems(name) for word in said)


def sets_limit(name: str) -> bool:
    """Whether `name` says since or until when something holds, in whatever language one asks: `customer_since`."""
    said = words(name)
    return any(not _language(code).deciding.isdisjoint(said) for code in LANGUAGES)


def find_cue(said: Sequence[str], *, before_rows: bool = False) -> Cue | None:
    """The computation that a question asks for, if it does.

    Args:
        said: the question, behind those that it leans on. What the later one asks for goes before what the earlier one
            did; when it has no word of its own, as "which ones?", it asks for nothing that could be computed, and when
            it asks for rows, as "which of them are open?", or for a name, as "where is she?", for no count.
        before_rows: give that of the earlier one all the same.
    """
    parts, language, rows = tuple(map(fold, said)), language_of(" ".join(said)), False
    for part in reversed(parts):
        cue = _cue_in(part, parts, language)
        if cue is not None:
            return None if rows and cue.function == "count" and not before_rows else cue
        if not before_rows and not set(own_words(part)) - language.filler_in(part):
            return None
        rows = rows or language.rows.search(part) is not None or asks_for_name_or_time(part)
    return None


def counts_by_itself(message: str) -> bool:
    """Whether `message` asks for a number of what it names and points at nothing said before: the "there" of "how many
    orders are there?" is no place."""
    cue = find_cue([message])
    if cue is None or cue.function != "count" or not cue.counted:
        return False
    return not is_follow_up(cue.language.exists.sub(" ", fold(message)))


def language_of(question: str) -> Language:
    """The data file of the language of `question`."""
    return _language(detect_language(question))


def _cue_in(part: str, parts: tuple[str, ...], language: Language) -> Cue | None:
    for needs, pattern in language.not_offered.items():
        found = pattern.search(part)
        if found:
            asking = frozenset(stem(word) for word in words(found.groupdict().get("word") or ""))
            return Cue("", parts, asking, needs, False, language)
    for function, pattern in language.functions.items():
        found = pattern.search(part)
        if found:
            rest = tuple(pattern.sub(" ", one, count=1) for one in parts)
            asking = frozenset(stems(found.group()))
            behind = [_noun_behind(pattern, one, language) for one in parts]
            before = [] if begins_asking(found.group()) else words(part[: found.start()])[-1:]
            named = not language.filler_in(part).issuperset(own_words(" ".join(before)))
            return Cue(function, rest, asking, function, True, language, tuple(filter(None, behind)), named)
    return None


def _noun_behind(pattern: re.Pattern[str], part: str, language: Language) -> tuple[str, ...]:
    found = pattern.search(part)
    behind = words(part[found.end() :]) if found else ()
    return tuple(takewhile(lambda word: word not in language.between, behind))
