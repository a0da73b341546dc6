"""What kind of thing a question asks for, whether a sentence holds one, and what it names; by surface alone."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from groundgraph.core.text import LANGUAGES, WORD, language_data, stems, words

Asked = Literal["number", "name"]
_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1024)
def asked_for(question: str) -> Asked | None:
    """`number` for a question such as "when" or "how many", `name` for "who" or "where", None for any other."""
    spoken = " ".join(words(question))
    for kind, phrases in _phrases():
        if any(f" {phrase} " in f" {spoken} " for phrase in phrases):
            return kind
    return None


def holds(text: str, asked: Asked | None) -> bool:
    """Whether `text` holds a digit for `number`, or for `name` a capital letter that does not only begin it."""
    if asked == "number":
        return _DIGIT.search(text) is not None
    if asked == "name":
        return any(found.group()[0].isupper() for found in list(WORD.finditer(text))[1:])
    return False


@lru_cache(maxsize=1024)
def named_stems(question: str) -> frozenset[str]:
    """The stems of the names in `question`: words that begin with a capital letter and are not its first one; none in a
    question that is written in capitals."""
    if question == question.upper():
        return frozenset()
    behind = list(WORD.finditer(question))[1:]
    return frozenset(stem for match in behind if match.group()[0].isupper() for stem in stems(match.group()))


@cache
def _phrases() -> tuple[tuple[Asked, tuple[str, ...]], ...]:
    kinds: tuple[Asked, ...] = ("number", "name")
    return tuple(
        (
            kind,
            tuple(
                " ".join(words(phrase))
                for language in LANGUAGES
                for phrase in language_data(language)["asks_for"][kind]
            ),
        )
        for kind in kinds
    )
