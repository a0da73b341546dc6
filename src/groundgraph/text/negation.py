"""What the negations of a text reach: "not critical" asks for no critical one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from groundgraph.text.follow_up import language_words
from groundgraph.text.words import WORD, fold, words

# What ends the reach of a negation: "from Leeds, not York", "not from Leeds. From York".
_BETWEEN_CLAUSES = re.compile(r"(?<![,;:.!?()–—])[,;:.!?()–—]++(?=\s|$)|\n")
_MOST_NEGATING = 3
# Of one clause so many negations are read.
_MOST_DENIALS = 20


def denied_parts(text: str) -> list[str]:
    """For each negation in `text`, what it reaches: the rest of its clause, to a word such as "but"."""
    clauses = _BETWEEN_CLAUSES.split(text)
    return [clause[end:last] for clause in clauses for _, end, last in _denials(clause)]


def denies(text: str) -> bool:
    """Whether `text` as a whole is a negation, such as the "no" of a column that says whether something holds."""
    return tuple(words(text)) in _negations()


def without_denied(text: str) -> str:
    """`text` without its negations and what they reach."""
    return " ; ".join(map(_clause_without_denied, _BETWEEN_CLAUSES.split(text)))


def _denials(clause: str) -> list[tuple[int, int, int]]:
    """Where negations begin and end in `clause`, and where what they reach ends: "not minor but critical". "No. 5" is
    none."""
    found = list(WORD.finditer(clause))
    said = [fold(one.group()) for one in found]
    turns = [one.start() for one in found if fold(one.group()) in _contrasts()]
    places = [
        (found[at].start(), found[at + length - 1].end())
        for at in range(len(said))
        for length in range(1, min(_MOST_NEGATING, len(said) - at) + 1)
        if tuple(said[at : at + length]) in _negations() and not _denies_nothing(said[at : at + 2])
    ]
    near = places[:_MOST_DENIALS]
    return [(start, end, next((turn for turn in turns if turn >= end), len(clause))) for start, end in near]


def _denies_nothing(said: Sequence[str]) -> bool:
    """Whether a negation is an abbreviation, or begins a phrase such as "not only"."""
    affirms = " ".join(said) in map(fold, language_words("affirming"))
    return affirms or (said[0] == "no" and said[-1].isdecimal())


def _clause_without_denied(clause: str) -> str:
    kept, at = "", 0
    for start, _, last in _denials(clause):
        kept, at = kept + clause[at:start], max(at, last)
    return kept + clause[at:]


@cache
def _contrasts() -> frozenset[str]:
    return frozenset(map(fold, language_words("contrast")))


@cache
def _negations() -> frozenset[tuple[str, ...]]:
    """As they are written: "rejected" may be a value."""
    return frozenset(tuple(words(phrase)) for phrase in language_words("negation") if "*" not in phrase)
