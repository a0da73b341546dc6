"""The words that numbers, dates and units are written with: see `number_words.yaml`."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from groundgraph.core.data_file import read_data
from groundgraph.core.text import fold

# No word of the file is longer; to try each beginning of a longer one takes time by its square.
_LONGEST = 24


@cache
def _data() -> dict[str, Any]:
    text = (files("groundgraph.chains") / "number_words.yaml").read_text("utf-8")
    return read_data(text)


@cache
def _units() -> dict[str, tuple[str, float]]:
    return {
        word: (dimension, float(factor))
        for dimension, words in _data()["units"].items()
        for word, factor in words.items()
    }


def _find(table: dict[str, Any], word: str) -> Any:
    """The entry for `word`, or the one with an asterisk that it begins with."""
    if word in table:
        return table[word]
    longest = min(len(word), _LONGEST)
    return next((table[f"{word[:end]}*"] for end in range(longest, 2, -1) if f"{word[:end]}*" in table), None)


@lru_cache(maxsize=8192)
def number_of(word: str, *, loose: bool = False) -> float | None:
    """The number that a word is, as "three"; with `loose` also those such as "first"."""
    found = _find(_data()["numbers"], fold(word))
    if found is None and loose:
        found = _find(_data()["loose_numbers"], fold(word))
    return None if found is None else float(found)


@lru_cache(maxsize=8192)
def scale_of(word: str) -> float | None:
    """How much a word such as "million" multiplies by."""
    return _find(_data()["scales"], fold(word))  # type: ignore[no-any-return]


@lru_cache(maxsize=8192)
def month_of(word: str) -> int | None:
    """The number of a month."""
    return _find(_data()["months"], fold(word))  # type: ignore[no-any-return]


@lru_cache(maxsize=8192)
def unit_of(word: str) -> tuple[str, float] | None:
    """The dimension of a unit, and how many of the dimension's smallest it is."""
    return _find(_units(), fold(word))  # type: ignore[no-any-return]


@lru_cache(maxsize=8192)
def letter_scale(letter: str, *, money: bool) -> float | None:
    """How much a letter behind a number multiplies by, as in "1.5M", or with `money` "$1.5m"."""
    tables = [_data()["scale_letters"], *([_data()["money_letters"]] if money else [])]
    return next((float(table[letter]) for table in tables if letter in table), None)
