"""Whether evidence tells of what the question names: a value of the field by which passages are told apart, a thing
with a number, what a source states, or what a follow-up names together with what was asked before it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress
from operator import not_
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from groundgraph.answers.agreement import held_in_any_form
from groundgraph.answers.choices import labels_in, places_said, telling_stems
from groundgraph.core.evidence import NEEDS, SourceResult, changed, is_stated
from groundgraph.text.follow_up import cue_phrases, language_words, own_words, says, spoken_stems
from groundgraph.text.wording import held_codes, named_codes, with_ranges_listed
from groundgraph.text.words import WORD, fold, name_stems, numbered, small_words, stem, stems, words

if TYPE_CHECKING:
    from groundgraph.text.quantities import Date

# A shorter label, such as "A" or "17", stands in many questions for something else.
LEAST_LETTERS, LEAST_DIGITS = 2, 4


def named_labels(field: str, said: Sequence[str], evidence: Sequence[SourceResult]) -> frozenset[str]:
    """The values of `field` in `evidence` that the first of the texts `said` means which names one, of such that
    contain each other the longest; none where one before it rules one out, or compares."""
    labels = sorted({label for result in evidence for label in labels_in(result, field) if _is_telling(label)})
    for spoken in map(spoken_stems, said if labels else ()):
        if _rules_out(spoken):
            break
        if named := _whole(labels, spoken):
            return named
    return frozenset()


def _rules_out(spoken: Sequence[str]) -> bool:
    """Whether a message of the stems `spoken` rules something out or compares."""
    return says(spoken, cue_phrases("negation")) or says(spoken, cue_phrases("complexity", "comparison"))


def _whole(labels: Sequence[str], said: Sequence[str]) -> frozenset[str]:
    """Those of `labels` that the stems `said` name with all that tells them apart."""
    places, _ = places_said(labels, said)
    whole = [at for at in places if telling_stems(labels)[at].issubset(said)]
    return frozenset(labels[at] for at in whole)


def _is_telling(label: str) -> bool:
    letters, digits = sum(map(str.isalpha, label)), sum(map(str.isdecimal, label))
    return letters >= LEAST_LETTERS or digits >= LEAST_DIGITS


def left_out(fields: Sequence[str], said: Sequence[str], evidence: Sequence[SourceResult]) -> dict[int, frozenset[str]]:
    """The places, from 0, of what is of another value of one of `fields` than is meant, each with what is.

    Args:
        fields: by which passages are told apart.
        said: the question, or in front of everything said before it, the latest first.
        evidence: what was found.
    """
    out: dict[int, frozenset[str]] = {}
    for field in fields:
        if named := named_labels(field, said, evidence):
            own = [labels_in(result, field) for result in evidence]
            out |= {at: named for at, labels in enumerate(own) if labels and named.isdisjoint(labels)}
    return out


class Numbered(NamedTuple):
    """What evidence tells of the things that a question names by a word and a number or a letter, as in "valve 4" and
    "plan B", and of the dates that it names.

    Attributes:
        others: the places, from 0, of what tells of valves with other numbers only, where some tells of this one.
        apart: the things of which none tells though it does of others with the same word, in the words of the question.
    """

    others: set[int]
    apart: list[str]


def without_name(question: str, evidence: Sequence[SourceResult]) -> set[int]:
    """The places, from 0, of what holds nothing of what the question names, where some evidence does: a code such as
    `max_size` and HTTP/2, whose words by themselves, "max" and "size", are said of anything; and a document. What a
    source states of its tables is about the question, whatever it says."""
    told = {at: _text_of(result) for at, result in enumerate(evidence) if not _is_of_tables(result)}
    of_code = _of_code(named_codes(question), told)
    of_document = _of_named_document(question, {at: evidence[at] for at in told}, told)
    return {at for holders in (of_code, of_document) if holders for at in told if at not in holders}


def _of_code(codes: Sequence[str], told: Mapping[int, str]) -> set[int]:
    return {at for at, text in told.items() if _holds_code(codes, text)} if codes else set()


def _of_named_document(question: str, evidence: Mapping[int, SourceResult], told: Mapping[int, str]) -> set[int]:
    asked = frozenset(spoken_stems(question))
    called = {at: _called(result) for at, result in evidence.items()}
    named = {name for names in called.values() for name in names if name <= asked}
    return {at for at, names in called.items() if named and _holds_name(named, names, told[at])}


def _is_of_tables(result: SourceResult) -> bool:
    return is_stated(result.metadata) or bool(result.metadata.get(NEEDS))


def _called(result: SourceResult) -> tuple[frozenset[str], ...]:
    """The stems of the title of a document, and of its name; none of a row."""
    document = "" if "file_row" in result.metadata else str(result.metadata.get("document") or "")
    return _names_of(document, str(result.metadata.get("title") or "")) if document else ()


# The documents of a collection are few beside its pieces.
@lru_cache(maxsize=4096)
def _names_of(document: str, title: str) -> tuple[frozenset[str], ...]:
    return tuple(filter(None, (frozenset(name_stems(one)) for one in (title, PurePath(document).stem))))


def _holds_name(named: Collection[frozenset[str]], called: Sequence[frozenset[str]], text: str) -> bool:
    # A row has no name by which a question could ask for all that stands beside it.
    held = frozenset(stems(text)).union(*called)
    return not called or any(name <= held for name in named)


def _holds_code(codes: Sequence[str], text: str) -> bool:
    # An invalid client is no `invalid_client`, while "E-42" may be E42.
    return any("_" not in code or fold(code) in fold(text) for code in held_codes(codes, text))


_NONE = Numbered(set(), [])


def of_numbered(question: str, evidence: Sequence[SourceResult]) -> Numbered:
    """See `Numbered`: "Valve 3 opens at 4 bar" tells nothing of valve 4. A list or a range of numbers behind the word
    counts, such as "pumps 17 to 19"; nothing is told where the question rules something out or compares."""
    rest, dates = _dates_in(question)
    numbers = _numbers_behind(rest, {word for word, _ in numbered(rest)})
    letters = _letters_behind(_SHORTENED.sub(";", rest))
    if not (numbers or letters or dates) or _rules_out(spoken_stems(question)):
        return _NONE
    texts = list(map(_text_of, evidence))
    by_number = [_numbers_behind(text, numbers.keys()) for text in texts]
    by_letter = [_letters_behind(text) for text in texts if letters]
    named = ((numbers, by_number), (letters, by_letter))
    found = [_of_word(*one, told, question) for asked, told in named for one in asked.items()]
    found.append(_of_dates(question, dates[:_MOST_DATES], texts))
    others = set[int]().union(*(one.others for one in found))
    return Numbered(others, [*chain.from_iterable(one.apart for one in found)])


def _told(near: Mapping[int, bool], apart: Iterable[str]) -> Numbered:
    """What is told by the places that tell of such things at all, each with whether of one that is asked about."""
    if any(near.values()):
        return Numbered({at for at, is_asked in near.items() if not is_asked}, [])
    return Numbered(set(), list(apart) if near else [])


def _of_word(word: str, marks: set[str], told: Sequence[Mapping[str, set[str]]], question: str) -> Numbered:
    near = {at: not marks.isdisjoint(one[word]) for at, one in enumerate(told) if word in one}
    return _told(near, (f"{_as_said(word, question)} {mark.upper()}" for mark in sorted(marks)))


def _as_said(stemmed: str, question: str) -> str:
    return next(one.group() for one in WORD.finditer(question) if stem(fold(one.group())) == stemmed)


def _numbers_behind(text: str, wanted: Collection[str]) -> dict[str, set[str]]:
    """By stem of a word that is `wanted`, the numbers behind it, with nothing but small words and numbers between."""
    found: dict[str, set[str]] = {}
    current = ""
    for word in words(with_ranges_listed(text)) if wanted else ():
        if current and word.isdecimal():
            found.setdefault(current, set()).add(word)
        elif not current or word not in small_words():
            current = stem(word) if stem(word) in wanted else ""
    return found


# Single letters behind a word, and in a list behind the first.
_LETTER = r"[^\W\d_](?![\w'’])"
_LETTERED = re.compile(rf"(?<![^\W_])([^\W\d_]{{3,}}+)(\s++{_LETTER}(?:[\s,/&]++(?:[^\W\d_]{{2,3}}\s++)?{_LETTER})*)")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_](?!\w)")
# What is shortened to a letter, as in a name, has a full stop and a word behind it. A sentence may end so as well.
_SHORTENED = re.compile(r"(?<!\w)[^\W\d_]\.(?=\s*+\w)")


def _letters_behind(text: str) -> dict[str, set[str]]:
    """By stem of a word that means something, the single letters behind it that are no words, as in "plan B"."""
    found: dict[str, set[str]] = {}
    for word, behind in _LETTERED.findall(text):
        if stems(word) and (letters := {fold(one) for one in _LETTERS.findall(behind) if _is_letter(one)}):
            found.setdefault(stem(fold(word)), set()).update(letters)
    return found


def _is_letter(word: str) -> bool:
    plain = fold(word)
    is_one = word.isupper() or (word.upper() != word and plain not in small_words())
    return is_one and plain not in language_words("follow_up", "capitals")


def _dates_in(text: str) -> tuple[str, tuple[Date, ...]]:
    """`text` without its dates, and these: taken apart, the 12 of "12 May" stands in "3 May, 12 workers"."""
    if not any(map(str.isdecimal, text)):
        return text, ()
    # Loaded with the first question that may have one.
    from groundgraph.text.quantities import take_dates

    rest, dates = take_dates(text, as_written=True)
    return rest, tuple({(one.year, one.month, one.day, one.swapped): one for one in dates}.values())


# Of a question that names more dates, the first are looked at.
_MOST_DATES = 10


def _is_bound(question: str, dates: Sequence[Date]) -> bool:
    """Whether one of `dates` bounds what is asked for, as in "after 12 May"."""
    kinds = ("above", "below", "from", "to", "between")
    before = [phrase for kind in kinds for phrase in cue_phrases("computing", "side", "before", kind)]
    behind = [phrase for kind in ("from", "to") for phrase in cue_phrases("computing", "side", "behind", kind)]
    sides = [question.partition(date.text)[::2] for date in dates]
    return any(says(spoken_stems(left)[-2:], before) or says(spoken_stems(right)[:2], behind) for left, right in sides)


def _of_dates(question: str, dates: Sequence[Date], texts: Sequence[str]) -> Numbered:
    if not dates or _is_bound(question, dates):
        return _NONE
    told = [_dates_in(text)[1] for text in texts]
    near = {at: any(_tells_of(one, own) for one in dates) for at, own in enumerate(told) if own}
    return _told(near, (date.text for date in dates))


def _tells_of(asked: Date, told: Sequence[Date]) -> bool:
    return any(map(asked.agrees, told)) or _is_within(asked, told)


def _is_within(asked: Date, told: Sequence[Date]) -> bool:
    """Whether `asked` lies between two of the dates `told`, which may be a range."""
    year = asked.year or 0
    days = [((date.year or year) if year else 0, date.month, date.day or 1) for date in told]
    return bool(days) and min(days) <= (year, asked.month, asked.day or 1) <= max(days)


def _text_of(result: SourceResult) -> str:
    return " . ".join([str(result.metadata.get(name) or "") for name in ("title", "section")] + [result.content])


def found_beside(evidence: Sequence[SourceResult], keys: Sequence[str], leaning: Collection[str]) -> set[int]:
    """The places, from 0, of rows that a follow-up found by its own words alone, of a source that states what it asks
    for together with what it leans on: "And Graz?" behind employees asks for no customer.

    Args:
        evidence: everything that was found.
        keys: of each.
        leaning: the keys of what was found for the follow-up behind what it leans on.
    """
    pairs = zip(evidence, keys, strict=True)
    stated = [key in leaning and is_stated(result.metadata) for result, key in pairs]
    sources = {result.source_name for result, told in zip(evidence, stated, strict=True) if told}
    return {at for at, result in enumerate(evidence) if result.source_name in sources and not stated[at]}


def with_values(fields: Sequence[str], question: str, evidence: Sequence[SourceResult]) -> list[SourceResult]:
    """`evidence` as it is judged: a value that `question` names belongs to the title of what has it, and how well the
    words fit is counted anew, since no source counts those of a field."""
    named = {field: named_labels(field, [question], evidence) for field in fields}
    own = [_named_in(result, named) for result in evidence]
    return [_titled(result, labels) if labels else result for result, labels in zip(evidence, own, strict=True)]


def _named_in(result: SourceResult, named: dict[str, frozenset[str]]) -> list[str]:
    return [label for field, labels in named.items() for label in labels_in(result, field) if label in labels]


def _titled(result: SourceResult, labels: Collection[str]) -> SourceResult:
    title = " ".join([str(result.metadata.get("title") or ""), *labels]).strip()
    scores = {name: score for name, score in result.scores.items() if name != "lexical"}
    return changed(result, metadata={**result.metadata, "title": title}, scores=scores)


# Of follow-ups: what they name must stand with what was asked before. "And for engineers?" after "What is the car
# allowance for sales?" is answered only where engineers and the allowance stand in one piece; anywhere else the word is
# found by chance.

# One with full stops or commas in it, such as a version, is one; letters beside it make it part of a code.
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?!\w)")


class Apart(NamedTuple):
    """What a follow-up names that stands in no piece that fits the questions before it.

    Attributes:
        words: as they stand in the message.
        lacking: whether no piece at all holds them.
    """

    words: list[str]
    lacking: bool


class _Leaning(NamedTuple):
    """A follow-up as pieces are held against it.

    Attributes:
        own: the stems of its words that some piece holds; none where it names nothing new.
        numbers: those of it.
        behind: the stems of the words of the questions before it.
    """

    own: frozenset[str]
    numbers: frozenset[str]
    behind: frozenset[str]

    @classmethod
    def of(cls, message: str, behind: Sequence[str], evidence: Sequence[SourceResult]) -> _Leaning:
        before = " ".join(behind)
        said, told = (frozenset(own_words(_NUMBER.sub(" ", text))) for text in (message, before))
        own = frozenset[str]().union(*(held_in_any_form(said, result) for result in evidence))
        numbers = frozenset(_NUMBER.findall(message))
        # What was named before already tells no piece from another: "And the Falke S?" after "the Falke L".
        return cls(own if numbers or own - told else frozenset(), numbers, told - said)

    @property
    def names_something(self) -> bool:
        """Whether the message and the questions before it both name something."""
        return bool(self.own or self.numbers) and bool(self.behind)

    def lacking_numbers(self, evidence: Sequence[SourceResult]) -> list[str]:
        """The numbers of the message that no piece holds as they are written."""
        return [number for number in self.numbers if not any(_holds_numbers({number}, one) for one in evidence)]

    def is_answered_by(self, result: SourceResult) -> bool:
        """Whether `result` holds all that the message names, and a word of the questions before."""
        is_named = self.own <= held_in_any_form(self.own, result) and _holds_numbers(self.numbers, result)
        return is_named and bool(held_in_any_form(self.behind, result))


def stands_apart(
    message: str, behind: Sequence[str], evidence: Sequence[SourceResult], cited: Collection[tuple[str, str]]
) -> Apart | None:
    """What the follow-up `message` names that stands in no piece that fits the questions `behind` it; None where one
    piece holds both, or one of the two names nothing that any piece holds.

    Where "it" points at what was `cited`, see `found_elsewhere`, a piece of another document does not count.
    """
    asked = _Leaning.of(message, behind, evidence)
    if lacking := asked.lacking_numbers(evidence):
        return Apart(lacking, lacking=True)
    near = _near_those(cited, evidence) if cited else [True] * len(evidence)
    if not asked.names_something or any(map(asked.is_answered_by, compress(evidence, near))):
        return None
    named = [match.group() for match in WORD.finditer(_NUMBER.sub(" ", message))]
    own = [word for word in named if not asked.own.isdisjoint(stems(word))]
    return Apart([*own, *sorted(asked.numbers)], lacking=False)


def found_elsewhere(message: str, evidence: Sequence[SourceResult], cited: Collection[tuple[str, str]]) -> set[int]:
    """The places, from 0, of what stands in another document or table than what the answer before a follow-up cites,
    where a piece of these tells as much of what `message` names: "Who developed it?" asks of the same thing.

    Args:
        message: what it asks.
        evidence: everything that was found.
        cited: the source and the id of what the answer before cites.
    """
    near = _near_those(cited, evidence)
    own = frozenset(own_words(message))
    if not own or not any(near) or all(near):
        return set()
    told = [len(held_in_any_form(own, result)) for result in evidence]
    here, elsewhere = max(compress(told, near)), max(compress(told, map(not_, near)))
    return {*compress(range(len(near)), map(not_, near))} if here and here >= elsewhere else set()


def _near_those(cited: Collection[tuple[str, str]], evidence: Sequence[SourceResult]) -> list[bool]:
    """Of each piece whether it stands in a document or table of those `cited`."""
    holders = {(source, _holder(key)) for source, key in cited}
    return [(result.source_name, _holder(result.source_id)) in holders for result in evidence]


def _holder(key: str) -> str:
    """The document or the table of the piece with the id `key`."""
    document, mark, _ = key.rpartition("#")
    return document if mark else key.rpartition("/")[0] or key


def _holds_numbers(numbers: frozenset[str] | set[str], result: SourceResult) -> bool:
    """Whether each of `numbers` stands in `result`, and not just as part of another."""
    told = result.metadata
    text = f"{result.content} {told.get('title') or ''} {told.get('section') or ''}"
    return all(re.search(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?!\d|[.,]\d)", text) for number in numbers)
