"""How much of what an answer says stands in what it cites, by words alone, and whether its names do.

This is lexical support. It sees neither negation nor swapped roles: "the client sends the token to the server" and "the
server sends no token to the client" share all of their words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain

from groundgraph.answers.citations import CheckedAnswer, Claim, bare, named_text, without_fences
from groundgraph.answers.label_gate import CODE
from groundgraph.answers.sentence_index import sentences_of, stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Flag
from groundgraph.text.follow_up import language_words
from groundgraph.text.numbers import month_of, number_of, unit_of
from groundgraph.text.words import (
    LANGUAGES,
    detect_language,
    fold,
    language_data,
    sentences,
    stem,
    stems,
    stop_words,
    words,
)

# Whether the names of an answer stand in its evidence or in the question.

_PART = r"[^\W\d_a-zа-яё][^\W_]*(?:[’'-][^\W\d_]+)*"
_CAPITAL = r"(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])"
_NAME = re.compile(rf"(?<![\w@/.'’-]){_CAPITAL}{_PART}(?:[ \t]{_CAPITAL}{_PART})*")
_ACRONYM = re.compile(r"[A-ZА-ЯЁ]{2,6}s?")
# Behind these a capital begins a sentence, an item or a quotation, and says nothing about a name.
_BEGINS = frozenset('.!?:;…\n>|*_#"“«„([—–-')
# And a few words before a colon at the beginning are a heading.
_LEADS_IN = re.compile(r"(?:\s++[\w'’-]++){0,3}+[*_]*+:")


def check_names(answer: CheckedAnswer) -> list[Flag]:
    """A flag `name_unsupported` for every name that stands neither in the evidence nor in the question.

    Names are words with a capital within a sentence, several in a row as one, and acronyms. They are compared by stem,
    so that a Russian name is found in another case; an acronym also counts as found where its words stand.
    """
    # A short sentence may hold no word that tells its language.
    spoken = map(detect_language, (answer.question, answer.written))
    language = next((one for one in spoken if language_data(one, "nouns_have_capitals")), "en")
    named = [(claim, name) for claim in answer.claims for name in dict.fromkeys(_named(answer, claim, language))]
    if not named:
        return []
    texts = [named_text(result) for result in answer.evidence.values()]
    known = answer.asked.union(*map(_known, texts))
    initials = [_initials(text) for text in (*texts, answer.written)]
    return [
        claim.flag("name_unsupported", f"{name} stands neither in the evidence nor in the question")
        for claim, name in named
        if not _is_known(name, known, initials)
    ]


def _named(answer: CheckedAnswer, claim: Claim, language: str) -> Iterator[str]:
    """The names in `claim`, and its first word where that stands in a name's place."""
    if not language_data(language, "nouns_have_capitals"):
        yield from _first_name(answer, claim)
    yield from names_in(claim.text, language)


# The first word of a sentence, and up to two behind it.
_FIRST = re.compile(r"([^\W\d_]++)(?:[ \t]([^\W\d_]++)(?:[ \t]([^\W\d_]++))?)?")
_BEHIND_CAPITAL = re.compile(rf"(?<!\w){_CAPITAL}([^\W\d_]++)(?=[ \t]([^\W\d_]++)(?:[ \t]([^\W\d_]++))?)")


def _first_name(answer: CheckedAnswer, claim: Claim) -> Iterator[str]:
    """The first word of `claim` where a name stands in its evidence before the same words, or where it is all that is
    cited in answer to a question for a name.

    A first word has a capital in any case. Of 1 332 sentences of faithful answers 114 begin with one that the evidence
    does not hold ("Additionally", "Ensure"), of which this takes one for a name.
    """
    text = bare(claim.text)
    found = _FIRST.match(text)
    if not found or not found[1][0].isupper() or not _names(found[1]) or _LEADS_IN.match(text, found.end(1)):
        return
    if found[2]:
        places = map(_places_of_names, (result.content for result in answer.rests_on(claim)))
        is_name = any(not place.isdisjoint(_behind(found)) for place in places)
    else:
        is_name = bool(claim.labels) and not text[found.end() :].strip(" .*_") and _asks_for_a_name(answer.question)
    if is_name:
        yield found[1]


def _asks_for_a_name(question: str) -> bool:
    return not _asking_for_names().isdisjoint(words(question))


@lru_cache(maxsize=4096)
def _places_of_names(text: str) -> frozenset[tuple[str, ...]]:
    """What stands in `text` behind words with a capital."""
    found = _BEHIND_CAPITAL.finditer(text)
    return frozenset(place for one in found if fold(one[1]) not in stop_words() for place in _behind(one))


def _behind(found: re.Match[str]) -> Iterator[tuple[str, ...]]:
    """The stem of the word behind the first when it says something by itself, and that of both words behind it."""
    own = [fold(word) for word in found.groups()[1:] if word]
    if own and own[0] not in stop_words():
        yield (stem(own[0]),)
    if len(own) > 1:
        yield (stem(own[0]), stem(own[1]))


@cache
def _asking_for_names() -> frozenset[str]:
    return frozenset(map(fold, language_words("asks_for", "name")))


def names_in(sentence: str, language: str = "en") -> Iterator[str]:
    """The names in `sentence`; where all nouns of its `language` have a capital, only the acronyms."""
    text = CODE.sub(" ` ", bare(sentence))
    starts = {start for start, _ in sentences(text)}
    for found in _NAME.finditer(text):
        before = text[max(0, found.start() - 20) : found.start()].rstrip(" \t")
        name = found.group()
        if _is_at_beginning(before, found.start(), starts):
            if _LEADS_IN.match(text, found.end()):
                continue
            name = _named_at_beginning(name)
        parts = list(filter(_names, name.split()))
        if language_data(language, "nouns_have_capitals"):
            parts = list(filter(_ACRONYM.fullmatch, parts))
        if any(len(part) > 1 for part in parts):
            yield " ".join(parts)


def _is_at_beginning(before: str, start: int, starts: Collection[int]) -> bool:
    # The full stop of "Mr." ends no sentence.
    return not before or (before[-1] in _BEGINS and (before[-1] != "." or start in starts))


def _named_at_beginning(words: str) -> str:
    """`words` without the first, which has its capital for another reason, unless the next one has one too."""
    first, _, others = words.partition(" ")
    if others and fold(first) not in stop_words():
        return words
    return others or (words if _ACRONYM.fullmatch(words) else "")


def _names(part: str) -> bool:
    """Whether a word is more than a stop word, a month or a unit; a code is looked for where the numbers are."""
    return not (fold(part) in stop_words() or month_of(part) or unit_of(part) or any(map(str.isdigit, part)))


def _is_known(name: str, known: frozenset[str], initials: Sequence[str]) -> bool:
    return all(_part_is_known(part, known, initials) for part in re.sub(r"[’']s\b", "", name).split())


def _part_is_known(part: str, known: frozenset[str], initials: Sequence[str]) -> bool:
    if all(stem(word) in known for word in words(part)):
        return True
    return _ACRONYM.fullmatch(part) is not None and any(fold(part.rstrip("s")) in text for text in initials)


@lru_cache(maxsize=4096)
def _known(text: str) -> frozenset[str]:
    """The stems of all words, and what they are joined from with a hyphen or an apostrophe."""
    return stems_of(text).union(stem(word) for word in words(text))


@lru_cache(maxsize=4096)
def _initials(text: str) -> str:
    return "".join(word[0] for word in words(text) if word not in stop_words())


# Which sentences of an answer say something that evidence could support.

# A sentence of fewer words ("Key features include:") says too little to be measured.
LEAST_STEMS = 3


def _in_any_language(name: str) -> re.Pattern[str]:
    patterns = [language_data(language, "replies", name) for language in LANGUAGES]
    return re.compile("|".join(filter(None, patterns)), re.IGNORECASE)


# What says that something is missing, or talks to the reader, needs no evidence.
_EXEMPT = _in_any_language("exempt")
_EVIDENCE = _in_any_language("evidence")


def says_missing(claim: Claim) -> bool:
    """Whether `claim` says what the evidence does not say, or that something is not known and nothing else."""
    text = bare(claim.text)
    return bool(_EXEMPT.search(text) and (_EVIDENCE.search(claim.text) or not stems_of(_EXEMPT.sub(" ", text))))


def is_statement(claim: Claim) -> bool:
    """Whether `claim` says something that evidence could support.

    Questions, headings, what leads to a list, what says that the evidence is missing and what talks to the reader do
    not.
    """
    return _says_something(claim) and len(stems_of(without_fences(claim.text))) >= LEAST_STEMS


def _says_something(claim: Claim) -> bool:
    text = without_fences(claim.text).strip()
    plain = text.rstrip("*_ ")
    return bool(plain) and not (text.startswith("#") or plain.endswith((":", "?")) or _EXEMPT.search(bare(text)))


# Sentences that say something and cite nothing.


def check_uncited(answer: CheckedAnswer) -> list[Flag]:
    """A flag `uncited` for every sentence without a label that should have one; one `no_citation` when none has, and
    be it that an answer is too short to be measured ("27 days."), or is code and nothing else."""
    unlabelled = [claim for claim in answer.claims if not claim.labels]
    if len(unlabelled) < len(answer.claims):
        return [claim.flag("uncited", "cites no evidence") for claim in unlabelled if is_statement(claim)]
    if any(map(_says_something, unlabelled)) or answer.written.lstrip().startswith("```"):
        return [{"kind": "no_citation", "sentence": "", "detail": "the answer cites no evidence"}]
    return []


# Below this a sentence is flagged. Sentences of other answers lie below it in 97 of 100 cases, those of faithful
# answers in 4 (`benchmarks/l15_citation_check.py`).
LEAST_SUPPORT = 0.45


def support_of(answer: CheckedAnswer, claim: Claim, held: Collection[str] = ()) -> float:
    """How much of `claim` its evidence holds, 0 to 1.

    The mean of two shares of its distinct stems: those that stand anywhere in the evidence, and those that stand in
    three neighbouring sentences of one piece. What the question says counts as held, and the stems `held`. Numbers,
    which are written in many ways, are left to their own check. 1 for a claim without words.
    """
    own = frozenset(stem for stem in stems_of(claim.text) if not stem.isdigit())
    if not own:
        return 1.0
    rest = own.difference(answer.asked, held)
    results = answer.rests_on(claim)
    anywhere = frozenset[str]().union(*(rest & stems_of(named_text(result)) for result in results))
    nearby = _most_nearby(rest, anywhere, results)
    return 1 - (2 * len(rest) - len(anywhere) - nearby) / (2 * len(own))


def _most_nearby(rest: frozenset[str], anywhere: frozenset[str], results: Sequence[SourceResult]) -> int:
    best = 0
    for result in results:
        if best < len(anywhere):
            best = max(best, *held_nearby(result.content, rest).values(), 0)
    return best


@lru_cache(maxsize=4096)
def windows(text: str) -> tuple[frozenset[str], ...]:
    """For each sentence of `text`, the stems of it and of its two neighbours."""
    own = [sentence.stems for sentence in sentences_of(text)]
    return tuple(frozenset[str]().union(*own[max(0, at - 1) : at + 2]) for at in range(len(own)))


@lru_cache(maxsize=4096)
def _windows_with(text: str) -> dict[str, list[int]]:
    """By stem the numbers of the `windows` of `text` that hold it."""
    found: dict[str, list[int]] = {}
    for number, window in enumerate(windows(text)):
        for one in window:
            found.setdefault(one, []).append(number)
    return found


def held_nearby(text: str, wanted: Iterable[str]) -> Counter[int]:
    """How many of the stems `wanted` each of the `windows` of `text` holds that holds any."""
    holding = _windows_with(text)
    return Counter(chain.from_iterable(holding.get(one, ()) for one in wanted))


def lexical_support(answer: CheckedAnswer) -> float:
    """The mean of `support_of` over the sentences, each weighted by the number of its words; 0 without evidence or
    words."""
    weighted = [(len(stems(claim.text)), support_of(answer, claim)) for claim in answer.claims]
    total = sum(weight for weight, _ in weighted)
    return sum(weight * share for weight, share in weighted) / total if total and answer.evidence else 0.0


def check_support(answer: CheckedAnswer) -> list[Flag]:
    """A flag `low_support` for every sentence that shares too few words with what it cites.

    A block of code counts in the score, since evidence holds code too, but no sentence is flagged for it; nor for
    units and numbers in words, which are written in many ways and have their own check.
    """
    said = [replace(claim, text=without_fences(claim.text)) for claim in answer.claims]
    return [
        claim.flag("low_support", f"its evidence holds {share:.0%} of it")
        for claim in said
        if len(stems_of(claim.text)) >= LEAST_STEMS
        and not (claim.text.startswith("#") or says_missing(claim))
        and (share := support_of(answer, claim, _amounts(claim.text))) < LEAST_SUPPORT
    ]


def _amounts(text: str) -> set[str]:
    return {stem(word) for word in words(text) if unit_of(word) or number_of(word)}
